/**
 * Connections for a login on which no agent's SQL ever runs: only calls of our own functions, which leave nothing behind in
 * a session. So there is nothing to reset between calls, and a call is one round trip.
 */
import pg from 'pg';
import { connectionTargets } from '../address.js';
import { acceptsWrites, isUnavailable, unavailable } from './connect.js';
import { applySettings, createDriverPool, listDefaults, type CallPoolOptions } from './pool.js';

export interface SteadyPool {
  /**
   * Runs one statement on any session and commits it.
   * @throws CountersignError DATABASE_UNAVAILABLE; other errors as they come from the driver.
   */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  end(): Promise<void>;
}

export interface SteadyPoolOptions extends Pick<CallPoolOptions, 'url' | 'applicationName' | 'max' | 'log'> {
  /** Whether the login is an agent's: its sessions take the settings that the database asks for. */
  agent: boolean;
  /** Whether whoever calls announces what it created and decided itself, after the commit. */
  announceLater?: boolean;
}

const ANNOUNCE_LATER = { name: 'countersign.announce', value: 'later' };

/** Beyond the longest statement_timeout that makes sense here: a server that hangs is given up. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Opens a pool. No connection is made before the first call, and idle ones keep no process alive. */
export function createSteadyPool(options: SteadyPoolOptions): SteadyPool {
  const targets = connectionTargets(options.url);
  const { pool, rotate } = createDriverPool({ ...options, allowExitOnIdle: true }, targets, async (client, target) => {
    if (target.writable && !await acceptsWrites(client)) throw new Error('the server is a read-only standby');
    const defaults = options.agent ? await listDefaults(client) : [];
    await applySettings(client, options.announceLater ? [...defaults, ANNOUNCE_LATER] : defaults);
  });

  async function connect(): Promise<pg.PoolClient> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await pool.connect();
      } catch (error) {
        if (attempt >= targets.length || !isUnavailable(error)) throw unavailable(error);
        rotate();
      }
    }
  }

  return {
    async query(text, values = []) {
      const client = await connect();
      let lost: Error | undefined;
      try {
        const config = { text, values: [...values], query_timeout: ANSWER_TIMEOUT_MS };
        return (await client.query<Record<string, unknown>>(config)).rows;
      } catch (error) {
        if (isUnavailable(error)) lost = error as Error;
        throw unavailable(error);
      } finally {
        client.release(lost);
      }
    },
    end: () => pool.end(),
  };
}
