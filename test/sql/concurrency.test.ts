/** Sixty-four callers and one token; and what callers see who meet in the middle of something. */
import { beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { eventually, waitForLockWait } from '../harness/races.js';
import { createShop, eventsOf, one, setPolicy } from './application.js';
import { accepted, approve, execute, previewDelete, previewInsert, previewUpdate, reject } from './calls.js';

const db = await createTestDatabase();
const [admin, agent] = [db.as('admin'), db.as('agent')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

/** How many of the test's own sessions wait for a lock. */
async function waitingFor(prefix: string): Promise<number> {
  const { rows } = await admin.query<{ count: number }>(
    'select count(*)::integer as count from pg_stat_activity where datname = current_database() and starts_with(application_name, $1) and wait_event_type = \'Lock\'', [prefix]);
  return rows[0]?.count ?? 0;
}

test('of 64 concurrent executions of one plan, one executes and 63 are refused', async () => {
  await setPolicy(db, 'lock_timeout', '30 seconds');
  // 64 connections where the server has room for them, else as many as fit, each with several calls.
  const room = Number(await one(db, 'select current_setting(\'max_connections\')')) >= 200 ? 64 : 16;
  const plan = accepted(await previewUpdate(agent, 'stock', { amount: 50 }, 'id = $1', [1]));
  const holder = await db.connect('admin');
  await holder.query('begin');
  await holder.query('select from countersign_data.plan where token = $1 for update', [plan.detail.plan_token]);
  const clients = await Promise.all(Array.from({ length: room }, (_, n) => db.connect('agent', `crowd ${n}`)));
  const calls = Array.from({ length: 64 }, (_, n) => execute(clients[n % room] ?? agent, plan));
  await eventually(async () => (await waitingFor('crowd ')) === room, `all ${room} callers wait for the plan`, 20_000);
  await holder.query('commit');
  const outcomes = await Promise.all(calls);
  await Promise.all([holder, ...clients].map((client) => client.end()));
  await setPolicy(db, 'lock_timeout', null);

  expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
  const refused = outcomes.filter((outcome) => !outcome.ok);
  expect(refused).toHaveLength(63);
  for (const outcome of refused) expect(outcome.code).toMatch(/^(PLAN_USED|ALREADY_EXECUTING)$/);
  expect(await one(db, 'select count(*) from stock where amount = 50')).toBe('1');
  const events = await eventsOf(db, plan.detail.plan_token);
  expect(events.filter((event) => event === 'executed')).toHaveLength(1);
  expect(events.filter((event) => event.startsWith('refused'))).toHaveLength(63);
  expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
});

test('who comes while a plan is being executed, and may not wait, is told so', async () => {
  await setPolicy(db, 'lock_timeout', '100 milliseconds');
  const plan = accepted(await previewUpdate(agent, 'stock', { amount: 51 }, 'id = $1', [2]));
  const first = await db.connect('agent');
  await first.query('begin');
  accepted(await execute(first, plan));
  expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'ALREADY_EXECUTING' });
  expect(await reject(db.as('alice'), plan)).toMatchObject({ ok: false, code: 'ALREADY_EXECUTING' });
  await first.query('commit');
  expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'PLAN_USED' });
  await first.end();
  await setPolicy(db, 'lock_timeout', null);
});

test('an execution that its caller rolls back did not happen, and the plan can be executed', async () => {
  const plan = accepted(await previewUpdate(agent, 'stock', { amount: 52 }, 'id = $1', [3]));
  const caller = await db.connect('agent');
  await caller.query('begin');
  accepted(await execute(caller, plan));
  await caller.query('rollback');
  await caller.end();
  expect(await one(db, 'select amount from stock where id = 3')).toBe(1);
  expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['previewed']);
  expect(await execute(agent, plan)).toMatchObject({ ok: true });
});

test('approve and reject at the same time: one decides, the other is told', async () => {
  const plan = accepted(await previewDelete(agent, 'stock', 'id between 100 and 300'));
  const [alice, bob] = [await db.connect('alice'), await db.connect('bob', 'bob decides')];
  await alice.query('begin');
  accepted(await reject(alice, plan, 'no'));
  const second = approve(bob, plan);
  await waitForLockWait(admin, 'bob decides');
  await alice.query('commit');
  expect(await second).toMatchObject({ ok: false, code: 'PLAN_REJECTED' });
  expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['awaiting_approval', 'rejected', 'refused PLAN_REJECTED']);
  await Promise.all([alice.end(), bob.end()]);
});

test('two previews at once cannot both be the last one within the hourly budget', async () => {
  await setPolicy(db, 'ungated_rows_per_hour', '15');
  const [first, second] = [await db.connect('agent2'), await db.connect('agent2', 'second preview')];
  const insert = (client: typeof first, from: number) => previewInsert(client, 'stock', ['id', 'amount'], Array.from({ length: 10 }, (_, n) => [from + n, 1]));
  accepted(await insert(first, 400_000)); // so that the login is known
  await admin.query('set session_replication_role = replica; delete from countersign_data.plan; reset session_replication_role');
  await first.query('begin');
  expect((await insert(first, 400_100)).detail.status).toBe('previewed');
  const meanwhile = insert(second, 400_200);
  await waitForLockWait(admin, 'second preview');
  await first.query('commit');
  expect((await meanwhile).detail.status).toBe('awaiting_approval');
  await Promise.all([first.end(), second.end()]);
  await setPolicy(db, 'ungated_rows_per_hour', null);
});

test('previews of different logins do not wait for each other', async () => {
  const first = await db.connect('agent');
  await first.query('begin');
  accepted(await previewInsert(first, 'stock', ['id', 'amount'], [[500_000, 1]]));
  expect(await previewInsert(db.as('agent2'), 'stock', ['id', 'amount'], [[500_001, 1]])).toMatchObject({ ok: true });
  await first.query('rollback');
  await first.end();
});
