/** The journal of the in-memory predecessor: what it left executing comes in once. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { PlanStore, type PlanStoreOptions } from '../../src/index.js';
import { createTestDatabase } from '../harness/database.js';
import { eventsOf } from '../sql/application.js';

const db = await createTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'countersign-journal-'));
afterAll(() => { rmSync(folder, { recursive: true, force: true }); });

let files = 0;
function journal(lines: unknown[], torn = ''): string {
  const path = join(folder, `journal-${++files}.jsonl`);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join('') + torn);
  return path;
}

const options = (reconcile?: PlanStoreOptions<unknown>['reconcile']): PlanStoreOptions<unknown> => ({ databaseUrl: db.url('agent'), ...(reconcile ? { reconcile } : {}) });

test('brings in what was left executing, once, and reconciles it', async () => {
  const [done, notDone, unknown, over] = [randomUUID(), randomUUID(), 'plan-17', randomUUID()];
  const path = journal([
    { ts: 1, planToken: done, status: 'pending', tool: 'send_mail', payload: { to: 'a@example.org' }, reason: 'letter' },
    { ts: 2, planToken: over, status: 'executing' }, { ts: 3, planToken: done, status: 'executing' }, { ts: 4, planToken: notDone, status: 'executing' },
    { ts: 5, planToken: unknown, status: 'executing', caller: 'x' }, { ts: 6, planToken: over, status: 'executed' },
  ], `{"ts":7,"planToken":"${notDone}","sta`);
  const asked: string[] = [];
  const verdicts: Record<string, 'done' | 'not-done'> = { [done]: 'done', [notDone]: 'not-done' };
  const reconcile = (plan: { planToken: string }) => { asked.push(plan.planToken); return verdicts[plan.planToken] ?? 'unknown'; };

  const store = await PlanStore.fromJournal(path, options(reconcile));
  expect(store.journal).toEqual({ lines: 6, executing: [done, notDone, unknown], adopted: [done, notDone, unknown] });
  expect(asked.sort()).toEqual([done, notDone, unknown].sort());
  expect(await store.status(done)).toMatchObject({ status: 'executed', tool: 'send_mail' });
  expect(await store.status(notDone)).toMatchObject({ status: 'expired' });
  expect(await store.listExecuting()).toMatchObject([{ extra: { journalToken: unknown, caller: 'x', ts: 5 }, planToken: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
  // Nothing here gated it: what was not done is planned anew.
  expect(await store.beginExecute(notDone, null)).toMatchObject({ ok: false, error: { code: 'PLAN_EXPIRED' } });
  await store.close();

  const trail = await Promise.all([done, notDone].map((token) => eventsOf(db, token)));
  asked.length = 0;
  const again = await PlanStore.fromJournal(path, options(reconcile));
  expect(again.journal).toEqual({ lines: 6, executing: [done, notDone, unknown], adopted: [] });
  expect(asked).toEqual([]);
  expect(await Promise.all([done, notDone].map((token) => eventsOf(db, token)))).toEqual(trail);
  // What stayed unknown is reconciled like any other plan that hangs, under the name the host knows it by.
  expect(await again.reconcileStuck({ olderThanMs: 0 })).toMatchObject({ unknown: [{ why: 'reconcile does not know' }] });
  expect(asked).toEqual([unknown]);
  for (const plan of await again.listExecuting()) await again.confirmExecuted(plan.planToken);
  await again.close();
});

test('two processes that bring in the same journal at once bring in each token once', async () => {
  const tokens = Array.from({ length: 10 }, () => randomUUID());
  const path = journal(tokens.map((planToken, ts) => ({ ts, planToken, status: 'executing' })));
  const stores = await Promise.all([1, 2, 3].map(() => PlanStore.fromJournal(path, options(() => 'done'))));
  expect(stores.flatMap((store) => store.journal?.adopted ?? []).sort()).toEqual([...tokens].sort());
  for (const token of tokens) expect(await eventsOf(db, token)).toEqual(['previewed', 'executing', 'executed']);
  await Promise.all(stores.map((store) => store.close()));
});

test('without reconcile it stays executing, for a human to settle', async () => {
  const planToken = randomUUID();
  const store = await PlanStore.fromJournal(journal([{ planToken, status: 'executing' }]), options());
  expect(await store.listExecuting()).toMatchObject([{ planToken, tool: 'journal', payload: null }]);
  expect((await db.as('alice').query('select ok from countersign.settle($1, $2)', [planToken, 'done'])).rows).toEqual([{ ok: true }]);
  await store.close();
});

test.each([['nothing', ''], ['a torn first line', '{"ts":1,"planTo'], ['blank lines', '\n\n']])('a journal of %s brings in nothing', async (_what, text) => {
  const store = await PlanStore.fromJournal(journal([], text), options());
  expect(store.journal).toEqual({ lines: 0, executing: [], adopted: [] });
  await store.close();
});

test('a line in the middle that cannot be read stops everything, and says which', async () => {
  const planToken = randomUUID();
  const path = join(folder, 'broken.jsonl');
  writeFileSync(path, `{"planToken":"${planToken}","status":"executing"}\n{"planToken":"x","sta\n{"planToken":"y","status":"executing"}\n`);
  await expect(PlanStore.fromJournal(path, options())).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS', message: expect.stringContaining('Line 2'), detail: { line: 2 } });
  await expect(PlanStore.fromJournal(join(folder, 'missing.jsonl'), options())).rejects.toMatchObject({ code: 'ENOENT' });
  const store = await PlanStore.open(options());
  await expect(store.status(planToken)).rejects.toMatchObject({ code: 'UNKNOWN_TOKEN' });
  await store.close();
});
