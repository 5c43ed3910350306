/** kill -9 of the host at every point between planning and confirming: after a restart each effect has happened exactly once. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { PlanStore } from '../../src/index.js';
import { createTestDatabase } from '../harness/database.js';
import { one } from '../sql/application.js';

const ROUNDS = 50;
const AT_ONCE = 10;
const POINTS = ['opened', 'creating', 'created', 'decided', 'beginning', 'begun', 'sent', 'confirming', 'confirmed'];

interface Mail { to: string; n: number }
interface Round { n: number; point: string; token: string | null; signal: string | null }

const db = await createTestDatabase();
const outbox = mkdtempSync(join(tmpdir(), 'countersign-outbox-'));
afterAll(() => { rmSync(outbox, { recursive: true, force: true }); });

const sent = (): Mail[] => readdirSync(outbox).map((token) => JSON.parse(readFileSync(join(outbox, token), 'utf8')) as Mail);

/** Runs a host until it is killed; a human approves as soon as its plan is there. */
function run(n: number): Promise<Round> {
  const point = POINTS[n % POINTS.length] ?? '';
  const child = spawn(process.execPath, [fileURLToPath(new URL('mailer.mjs', import.meta.url)), db.url('agent'), outbox, point, String(n), n % 2 ? 'yes' : 'no'], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let token: string | null = null;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      token = text.trim();
      if (n % 2) db.as('alice').query('select * from countersign.approve($1)', [token]).catch(reject);
    });
    child.once('error', reject);
    child.once('close', (_code, signal) => resolve({ n, point, token, signal }));
  });
}

/** What the host does when it is started again: first it finds out what became of what it had begun, then it goes on. */
async function recover(rounds: Round[]): Promise<void> {
  const store = await PlanStore.open<Mail>({
    databaseUrl: db.url('agent'), approverUrl: db.url('alice'), reconcile: (plan) => (existsSync(join(outbox, plan.planToken)) ? 'done' : 'not-done'),
  });
  await store.reconcileStuck({ olderThanMs: 0 });
  expect(await store.listExecuting()).toEqual([]);
  for (const { n, token } of rounds) {
    const payload = { to: 'a@example.org', n };
    // The plan it made and did not live to tell of is one that nobody will begin.
    const planToken = token ?? (await store.create(payload, { tool: 'send_mail' })).planToken;
    if ((await store.status(planToken)).status === 'awaiting_approval') await store.approve(planToken);
    const begun = await store.beginExecute(planToken, payload);
    if (!begun.ok) {
      expect(begun.error.code).toBe('PLAN_USED');
      continue;
    }
    writeFileSync(join(outbox, planToken), JSON.stringify(payload), { flag: 'wx' });
    expect(await store.confirmExecuted(planToken)).toMatchObject({ ok: true });
  }
  await store.close();
}

test(`${ROUNDS} hosts killed between planning and confirming: every mail is sent once`, async () => {
  const rounds: Round[] = [];
  for (let first = 0; first < ROUNDS; first += AT_ONCE) {
    const batch = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => run(first + n)));
    expect(batch.map((round) => round.signal)).toEqual(Array(AT_ONCE).fill('SIGKILL'));
    await recover(batch);
    rounds.push(...batch);
  }
  expect(sent().map((mail) => mail.n).sort((a, b) => a - b)).toEqual(Array.from({ length: ROUNDS }, (_, n) => n));
  // and the plans say the same: executed where there is a mail, never begun where there is none
  const tokens = readdirSync(outbox);
  expect(await one(db, 'select count(*)::integer from countersign_data.plan where state = \'executed\' and token = any($1::uuid[])', [tokens])).toBe(ROUNDS);
  expect(await one(db, 'select count(*)::integer from countersign_data.plan where state in (\'executed\', \'executing\', \'failed\') and not token = any($1::uuid[])', [tokens])).toBe(0);
  // the points were really met: some were released and begun again, some were found to be done
  const notes = await db.as('auditor').query<{ note: string; count: number }>('select note, count(*)::integer as count from countersign.audit_log where note ~ \'^reconciled\' group by 1 order by 1');
  expect(notes.rows.map((row) => row.note)).toEqual(['reconciled: done', 'reconciled: not done']);
  expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
}, 120_000);
