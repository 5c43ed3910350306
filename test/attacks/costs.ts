/** What a preview costs those who did not ask for it, and what the wake-up channel can be made to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect } from 'vitest';
import { createClient, type Outcome, type Row } from '../../src/client.js';
import { planKey } from '../../src/db/notify.js';
import { startOwnServer } from '../harness/own-server.js';
import { eventually } from '../harness/races.js';
import { previewed, refused, story, where, type Args, type Attack } from './attack.js';
import { readyPlan } from './runner.js';
import type { World } from './world.js';

const BIG_ROWS = 20_000;
/** The big table of the cases, as far as it has to be big here; no autovacuum may tidy up before somebody looks. */
const BIG = `create table public.big (id integer primary key, k integer, payload text, updated_at timestamptz default now()) with (autovacuum_enabled = false);
  insert into public.big select g, g % 1000, repeat('x', 100) from generate_series(1, ${BIG_ROWS}) g; create index on public.big (k); alter table public.big owner to <owner>;
  select countersign.allow('read', 'public.big'); select countersign.allow('write', 'public.big'); create extension pg_visibility`;

const OVER: readonly (readonly [string, Args])[] = [
  ['update_rows', { table: 'public.big', set: { payload: 'y' }, where: 'true' }], ['delete_rows', { table: 'public.big', where: 'true' }], ['update_rows', { table: 'public.big', set: { payload: 'z' }, where: 'id <= 15000' }],
  ['delete_rows', { table: 'public.big', confirm_full_table: true }], 
];

/** Size of the big table, and its pages that hold nothing but living rows: one row written and rolled back would show. */
const COSTS = `select pg_relation_size('public.big') as size, (select all_visible from pg_visibility_map_summary('public.big')) as visible`;

/** WAL in bytes and transaction ids that a call takes, on a session of its own; the second time, since the first touch after a checkpoint writes whole pages. */
async function costOf(world: World, call: string): Promise<{ wal: number; xids: number }> {
  const connection = await world.db.connect('agent');
  await connection.query(`select ${call}`);
  const xid = async (): Promise<number> => Number((await world.admin('select txid_snapshot_xmax(txid_current_snapshot())::text as xid'))[0]?.['xid']);
  const before = await xid();
  const { rows } = await connection.query<{ 'QUERY PLAN': { Plan: { 'WAL Bytes': number } }[] }>(`explain (analyze, wal, format json) select ${call}`);
  const xids = (await xid()) - before;
  await connection.end();
  return { wal: Number(rows[0]?.['QUERY PLAN'][0]?.Plan['WAL Bytes']), xids };
}

const DELETE = (condition: string): string => `countersign.preview_delete('public.big', '${condition}', '[]', false, 'a test', null)`;
const MANY = { table: 'public.orders', where: 'id <= 100' };

async function waiting(world: World): Promise<Args & { plan_token: string }> {
  const { detail } = await world.sql('update_rows', { ...MANY, set: { status: 'seen' } });
  expect(detail?.['status']).toBe('awaiting_approval');
  return { plan_token: String(detail?.['plan_token']), statement: detail?.['statement'], params: detail?.['params'] };
}

const seen = async (world: World): Promise<unknown> => (await world.admin('select count(*)::integer as n from public.orders where status = \'seen\''))[0]?.['n'];

async function listening(world: World): Promise<number> {
  const pid = await eventually(async () => (await world.admin('select pid from pg_stat_activity where datname = current_database() and application_name = \'countersign listener\' and state = \'idle\''))[0]?.['pid'], 'somebody listens');
  return Number(pid);
}

/** A login of an address, with the functions of the API. */
async function connectTo(url: string): Promise<{ connection: pg.Client; query(text: string, values?: readonly unknown[]): Promise<Row[]> }> {
  const connection = new pg.Client({ connectionString: url });
  connection.on('error', () => undefined);
  await connection.connect();
  return { connection, query: async (text, values = []) => (await connection.query<Row>(text, [...values])).rows };
}

/** One listener that stands in its transaction keeps the server's whole queue; somebody fills it. */
async function fullQueue(): Promise<void> {
  const server = await startOwnServer({ settings: { max_notify_queue_pages: '64' } });
  const [admin, agent, alice, idle] = await Promise.all([server.adminUrl, server.agentUrl, server.approverUrl, server.agentUrl].map(connectTo)) as [Awaited<ReturnType<typeof connectTo>>, Awaited<ReturnType<typeof connectTo>>, Awaited<ReturnType<typeof connectTo>>, Awaited<ReturnType<typeof connectTo>>];
  await admin.query('create table public.orders (id integer primary key, status text); ');
  await admin.query('insert into public.orders select n, \'open\' from generate_series(1, 300) n');
  for (const verb of ['read', 'write']) await admin.query('select countersign.allow($1, \'public.orders\')', [verb]);
  const api = createClient(agent.query);
  const preview = async (where: string): Promise<Outcome> => api.previewDelete({ table: 'orders', where, params: [], confirmFullTable: false, reason: 'a test', callerId: null });
  const run = ({ detail }: Outcome): Promise<Outcome> => api.executePlan({ planToken: String(detail?.['plan_token']), statement: String(detail?.['statement']), params: [], callerId: null });
  const [small, approved, waits] = [await preview('id = 1'), await preview('id between 100 and 210'), await preview('id > 150')];
  await alice.query('select countersign.approve($1)', [approved.detail?.['plan_token']]);

  await idle.query('listen x');
  await idle.query('begin');
  await idle.query('select 1');
  const flood = async (): Promise<string> => admin.query('select pg_notify(\'x\', repeat(\'y\', 7000) || n) from generate_series(1, 30) n').then(() => 'ok', (error: { code: string }) => error.code);
  let answer = 'ok';
  for (let n = 0; n < 100 && answer === 'ok'; n += 1) answer = await flood();
  expect(answer).toBe('54000');

  // What commits application data carries no notification: gated or not, it is done.
  expect((await run(small)).code).toBeNull();
  expect((await run(approved)).code).toBeNull();
  expect((await preview('id = 2')).detail).toMatchObject({ status: 'previewed' });
  // What must be announced either happens or says that it did not; nothing is half done.
  const rejected = await alice.query('select ok from countersign.reject($1)', [waits.detail?.['plan_token']]).then(() => true, (error: { code: string }) => { expect(error.code).toBe('54000'); return false; });
  const [{ state } = {}] = await admin.query('select state from countersign_data.plan where token = $1', [waits.detail?.['plan_token']]);
  expect(state).toBe(rejected ? 'rejected' : 'awaiting_approval');

  await idle.connection.end();
  await admin.query('select pg_notification_queue_usage()');
  if (!rejected) expect(await alice.query('select ok from countersign.reject($1)', [waits.detail?.['plan_token']])).toEqual([{ ok: true }]);
  await Promise.all([admin, agent, alice].map(({ connection }) => connection.end()));
  await server.stop();
}

export const COSTS_AND_SIGNALS: readonly Attack[] = [
  story('M001 M002 M004', 'what is over the cap is refused before it writes: no dead row, no WAL, no lock', async (world) => {
    await world.admin('vacuum analyze public.big');
    // Production holds one of the rows; whoever only counts does not wait for it, nor make anybody wait.
    const holder = await world.db.connect('owner');
    await holder.query('begin; update public.big set k = k where id = 5');
    const before = await world.admin(COSTS);
    const started = performance.now();
    for (const [tool, input] of OVER) {
      expect((await world.sql(tool, input)).code).toBe('HARD_MAX_ROWS_EXCEEDED');
      expect((await world.tool(tool, { ...input, reason: 'a test' })).content).toMatchObject({ code: 'HARD_MAX_ROWS_EXCEEDED' });
    }
    expect(performance.now() - started).toBeLessThan(20_000);
    await holder.query('rollback');
    await holder.end();
    for (const condition of ['true', 'id <= 15000']) {
      expect((await costOf(world, DELETE(condition))).wal).toBeLessThan(16_000);
    }
    expect(await world.admin(COSTS)).toEqual(before);
    // The look is sharp enough: what one preview below the cap leaves behind, it sees.
    expect((await world.sql('delete_rows', { table: 'public.big', where: 'id = 15000' })).code).toBeNull();
    expect(await world.admin(COSTS)).not.toEqual(before);
  }, BIG),
  refused('M001 M002', 'an insert over the cap writes nothing either', 'HARD_MAX_ROWS_EXCEEDED', 'insert_rows', [{ table: 'orders', columns: ['id', 'customer_id'], rows: Array.from({ length: 2001 }, (_, n) => [1000 + n, 1]) }]),
  story('M004', 'a preview that stands in production\'s way gives up', async (world) => {
    const holder = await world.db.connect('owner');
    await holder.query('begin; update public.orders set total = 1 where id = 5');
    const started = performance.now();
    expect((await world.sql('update_rows', { ...MANY, set: { status: 'x' } })).code).toBe('LOCK_TIMEOUT');
    expect(performance.now() - started).toBeLessThan(5000); // half of deadlock_timeout: production is never the victim
    await holder.query('rollback');
    await holder.end();
    const [{ ms } = {}] = await world.admin('select countersign_data.preview_lock_timeout(0) as ms');
    expect(ms).toBe('500ms');
    // After the preview nobody holds anything.
    expect((await world.sql('update_rows', { ...MANY, set: { status: 'x' } })).code).toBeNull();
    expect(await world.admin('select 1 from pg_locks l join pg_class c on c.oid = l.relation where c.relname = \'orders\' and l.database = (select oid from pg_database where datname = current_database()) and l.pid <> pg_backend_pid()')).toEqual([]);
  }),
  story('M004', 'how long the rows of a preview are held is limited by the policy', async (world) => {
    await world.admin('select countersign.set_policy(\'statement_timeout\', \'300 milliseconds\')');
    const slow = await world.tool('update_rows', { table: 'public.orders', set: { status: 'x' }, where: 'id <= 20', reason: 'a test' });
    expect(slow.code).toBe('STATEMENT_TIMEOUT');
    expect(await world.admin('select count(*)::integer as n from public.orders where status = \'x\'')).toEqual([{ n: 0 }]);
  }, `create function public.takes_long() returns trigger language plpgsql as $$begin perform pg_catalog.count(*) from pg_catalog.generate_series(1, 3000000); return new; end$$;
    create trigger takes_long before update on public.orders for each row execute function public.takes_long()`),
  story('M005', 'a change that rewrites a table says so, waits for a human, and does not wait for production', async (world) => {
    await world.admin('analyze public.big');
    const rewriting = { statement: 'ALTER TABLE public.big ALTER COLUMN k TYPE bigint' };
    const { detail } = await world.sql('run_migration', rewriting);
    expect(detail).toMatchObject({ status: 'awaiting_approval', migration: { rewrites: [{ table: 'public.big', rows_estimate: expect.any(Number) as number }] } });
    expect(JSON.stringify(detail?.['migration'])).toContain('AccessExclusiveLock');
    expect(await world.admin('select data_type from information_schema.columns where table_name = \'big\' and column_name = \'k\'')).toEqual([{ data_type: 'integer' }]);
    const reader = await world.db.connect('owner');
    await reader.query('begin; select 1 from public.big limit 1');
    expect((await world.sql('run_migration', rewriting)).code).toBe('LOCK_TIMEOUT');
    await reader.query('rollback');
    await reader.end();
  }, BIG),
  previewed('M006', 'a trigger that swallows errors row by row is measured, with what it writes', 'update_rows', [{ table: 'public.orders', set: { total: 0 }, where: 'true' }],
    { status: 'awaiting_approval', affected: 300, total: 600, effects: { 'public.orders': [0, 300, 0], 'public.secrets': [0, 300, 0] }, gate: /outside the write allowlist/ },
    `create function public.swallow() returns trigger language plpgsql security definer as $f$begin begin new.total := new.total + 1; perform 1 / (case when new.id < 0 then 0 else 1 end);
       update public.secrets set token = token where id = 1; exception when others then null; end; return new; end$f$;
     create trigger s before update on public.orders for each row execute function public.swallow()`),
  story('M007', 'looking at a condition costs little, and the second time next to nothing', async (world) => {
    const fresh = world.db.major >= 15 ? await costOf(world, DELETE('id = 0 and k in (select k from public.big where id = 1)')) : null; // reads a relation: looked at every time
    const known = await costOf(world, DELETE('id = 0'));
    expect(known.wal).toBeLessThan(16_000);
    expect(known.xids).toBeLessThan(10);
    if (fresh) expect(fresh.wal).toBeLessThan(100_000);
    const catalogs = async (): Promise<unknown> => (await world.admin('select (select count(*) from pg_class) as classes, (select count(*) from pg_proc) as functions, (select count(*) from pg_prepared_statements) as prepared'))[0];
    const before = await catalogs();
    for (let n = 0; n < 20; n += 1) await world.sql('delete_rows', { table: 'public.big', where: `id = ${n}` });
    expect(await catalogs()).toEqual(before);
  }, BIG),

  { ...story('N002', 'the notification queue is full: what was approved is executed all the same', fullQueue),
    since: { major: 17, why: 'before 17 the queue holds 8 GB and has no setting (max_notify_queue_pages) that makes it smaller' } },
  story('N004', 'forged, broken and countless notifications wake, and decide nothing', async (world) => {
    await listening(world);
    const plan = await waiting(world);
    const held = world.tool('execute_plan', plan, { holdMs: 1500 });
    const payloads = [JSON.stringify({ plan: planKey(plan.plan_token), status: 'approved' }), JSON.stringify({ plan: planKey(plan.plan_token), status: 'executed' }), plan.plan_token, '{"token":"x","stmt":"<script>"}', 'null', '[]', '7', '{"plan":{}}', '{', 'x'.repeat(7000)];
    for (let round = 0; round < 5; round += 1) {
      for (const payload of payloads) await world.db.as('nobody').query(`notify countersign, ${pg.escapeLiteral(payload)}`);
    }
    await world.admin('select pg_notify(\'countersign\', json_build_object(\'plan\', md5(n::text), \'status\', \'approved\')::text) from generate_series(1, 5000) n');
    expect((await held).code).toBe('AWAITING_APPROVAL');
    expect(await seen(world)).toBe(0);
    // And the real decision is still heard.
    const again = world.tool('execute_plan', plan, { holdMs: 10_000 });
    expect(await world.alice.approve(plan.plan_token, null, 'psql')).toMatchObject({ ok: true });
    expect((await again).content['affected_rows']).toBe(100);
  }),
  story('N004', 'what is on the channel is no token, and every listener may know it', async (world) => {
    const heard: string[] = [];
    const anybody = await world.db.connect('nobody');
    anybody.on('notification', (message) => heard.push(message.payload ?? ''));
    await anybody.query('listen countersign');
    const plan = await waiting(world);
    await world.alice.approve(plan.plan_token, 'a note', 'psql');
    expect((await world.tool('execute_plan', plan)).code).toBeNull();
    await eventually(async () => heard.length >= 3, 'three notifications');
    for (const payload of heard) {
      expect(JSON.parse(payload)).toEqual({ plan: planKey(plan.plan_token), status: expect.stringMatching(/^(awaiting_approval|approved|executed)$/) as string });
      expect((await world.tool('plan_status', { plan_token: planKey(plan.plan_token) })).code).toBe('UNKNOWN_TOKEN');
      expect((await world.alice.approve(planKey(plan.plan_token), null, 'psql')).code).toBe('UNKNOWN_TOKEN');
    }
    await anybody.end();
  }),
  where('N005', 'a condition that notifies', 'UNSAFE_FUNCTION', ["id = 1 AND pg_notify('countersign','forged') IS NOT NULL", "pg_catalog.pg_notify('sw_plans', 'x')::text = ''", "id = (SELECT 1 FROM pg_notify('x', 'y'))"]),
  refused('N005', 'a read that notifies', 'UNSAFE_FUNCTION', 'query', [{ statement: "SELECT pg_notify('countersign', 'forged')" }]),
  story('N006', 'a wake-up that is merged with another, or lost, delays and changes nothing', async (world) => {
    await listening(world);
    // Two plans and both decisions in one transaction: what is equal is delivered once.
    const [first, second] = [await waiting(world), await waiting(world)];
    const held = [first, second].map((plan) => world.tool('execute_plan', plan, { holdMs: 12_000 }));
    const alice = await world.db.connect('alice');
    await alice.query('begin');
    for (const plan of [first, second]) await alice.query('select countersign.approve($1)', [plan.plan_token]);
    await alice.query('commit');
    const codes = await Promise.all(held.map(async (answer) => (await answer).code));
    expect(codes.filter((code) => code === null).length).toBeGreaterThanOrEqual(1);
    expect(codes.every((code) => code === null || code === 'ROWSET_CHANGED')).toBe(true);
    expect(await seen(world)).toBe(100);

    // A decision of which nobody is told: the trigger that tells is away. Whoever waits looks again by itself.
    await world.admin('update public.orders set status = \'open\'');
    const silent = await waiting(world);
    const waits = world.tool('execute_plan', silent, { holdMs: 12_000 });
    await world.admin('alter table countersign_data.event disable trigger _20_decision_is_announced');
    await sleep(100);
    await alice.query('select countersign.approve($1)', [silent.plan_token]);
    expect((await waits).code).toBeNull();
    await world.admin('alter table countersign_data.event enable trigger _20_decision_is_announced');
    await alice.end();
  }),
  story('N007', 'the connection that listens is nobody else\'s: no reset of a pool makes it deaf, and a lost one comes back', async (world) => {
    const pid = await listening(world);
    for (let n = 0; n < 5; n += 1) await world.tool('query', { statement: 'SELECT 1', reason: 'a test' }); // each ends with UNLISTEN *
    expect(await listening(world)).toBe(pid);
    const plan = await waiting(world);
    const held = world.tool('execute_plan', plan, { holdMs: 12_000 });
    await world.admin(`select pg_terminate_backend(${pid})`);
    await world.alice.approve(plan.plan_token, null, 'psql');
    expect((await held).code).toBeNull();
    expect(await listening(world)).not.toBe(pid);
  }),
  story('', 'a plan that is over the cap by the time it runs is stopped before it writes', async (world) => {
    const plan = await readyPlan(world, 'update_rows', { ...MANY, set: { status: 'x' } });
    await world.admin('select countersign.set_policy(\'approval_required_above_rows\', \'5\'); select countersign.set_policy(\'hard_max_rows\', \'50\')');
    expect((await world.sql('execute_plan', { plan_token: plan.plan_token, statement: plan.statement, params: plan.params })).code).toBe('HARD_MAX_ROWS_EXCEEDED');
  }),
];

/** What the product cannot contain by nature: each with what is left of it. */
export const NOT_CONTAINED: Readonly<Record<string, string>> = {
  M004: 'Below the cap a preview holds the locks of its rows for as long as it runs; hard_max_rows and statement_timeout limit for how many and how long.',
  M005: 'The preview of a rewriting ALTER rewrites the table under its lock, and execution does it again; lock_timeout and statement_timeout limit both, and the human sees the rewrite with the number of rows.',
  M006: 'A trigger that opens a subtransaction for each row burns a transaction id for each in the preview too; the hard cap limits how many.',
  M007: 'Looking at a new condition writes catalog rows that are rolled back; conditions found harmless are remembered, so it is paid once each.',
  N002: 'While somebody keeps the queue full, a plan that waits for a human cannot be stored or decided, since its announcement commits with it: it fails closed, says so, and needs an administrator to end the idle listener.',
  N004: 'Any login may NOTIFY on any channel: forged wake-ups cost a read of the plan\'s state each, and nothing else.',
};
