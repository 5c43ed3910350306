/** Postgres goes away and comes back: who waits goes on waiting, and nothing that was stored is lost. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PlanStore } from '../../src/index.js';
import { startOwnServer, type OwnServer } from '../harness/own-server.js';
import { eventually } from '../harness/races.js';

let server: OwnServer;
let store: PlanStore<{ n: number }>;

beforeAll(async () => {
  server = await startOwnServer({ settings: { fsync: 'off' } });
  store = await PlanStore.open({ databaseUrl: server.agentUrl, approverUrl: server.approverUrl });
});
afterAll(() => store.close());

test('a wait survives kill -9 of the server, and so does what was begun', async () => {
  const waiting = await store.create({ n: 1 }, { tool: 'x', approvalRequired: true });
  const running = await store.create({ n: 2 }, { tool: 'x' });
  expect(await store.beginExecute(running.planToken, { n: 2 })).toMatchObject({ ok: true });
  const decision = store.waitForDecision(waiting.planToken, { timeoutMs: 30_000 });
  server.kill();
  // While it is away calls are refused, not thrown; confirmations try again by themselves.
  const confirmed = store.confirmExecuted(running.planToken);
  await eventually(async () => (await store.approve(waiting.planToken, 'after the crash')).ok, 'the server is back', 20_000);
  expect(await decision).toMatchObject({ status: 'approved', note: 'after the crash' });
  expect(await confirmed).toEqual({ ok: true, status: 'executed' });
  expect(await store.beginExecute(waiting.planToken, { n: 1 })).toMatchObject({ ok: true });
  expect((await store.listExecuting()).map((plan) => plan.planToken)).toEqual([waiting.planToken]);
});

test('with the server gone, begin answers DATABASE_UNAVAILABLE and create throws it', async () => {
  const plan = await store.create({ n: 3 }, { tool: 'x' });
  const gone = await PlanStore.open<{ n: number }>({ databaseUrl: server.agentUrl });
  await server.stop();
  expect(await gone.beginExecute(plan.planToken, { n: 3 })).toMatchObject({ ok: false, error: { name: 'PlanError', code: 'DATABASE_UNAVAILABLE', hint: expect.any(String) } });
  await expect(gone.create({ n: 4 }, { tool: 'x' })).rejects.toMatchObject({ name: 'PlanError', code: 'DATABASE_UNAVAILABLE' });
  await gone.close();
});
