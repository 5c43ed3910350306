/** Proves that two sessions meet, by watching one wait for the other's lock; never by sleeping and hoping. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** Resolves when a session of that `application_name` waits for a lock. `observer` needs to see other sessions (admin). */
export async function waitForLockWait(observer: pg.Pool, applicationName: string, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { rowCount } = await observer.query(
      'select from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = \'Lock\'', [applicationName]);
    if (rowCount) return;
    if (Date.now() > deadline) throw new Error(`no session "${applicationName}" waited for a lock within ${timeoutMs} ms`);
    await sleep(5);
  }
}

/** Polls until `look` returns something other than undefined, null or false. */
export async function eventually<T>(look: () => Promise<T | undefined | null | false>, what: string, timeoutMs = 10_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error(`did not happen within ${timeoutMs} ms: ${what}`);
    await sleep(20);
  }
}
