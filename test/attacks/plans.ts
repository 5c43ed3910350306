/** A preview must count what really happens, and an execution must do what was previewed: cascades, triggers, rules, views, time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { waitForLockWait } from '../harness/races.js';
import { previewed, refused, sharing, story, type Args, type Attack } from './attack.js';
import { expectMeasured, expectNoSecret, readyPlan } from './runner.js';
import { trigger } from './shop.js';
import type { World } from './world.js';

const DELETE = 'delete_rows';
const UPDATE = 'update_rows';
const ONE = { table: 'public.orders', where: 'id = 1' };
const UPDATE_ONE = { ...ONE, set: { total: 5 } };

const reason = (input: Args): Args => ({ ...input, reason: 'a test' });

async function refusedAlike(world: World, tool: string, input: Args, code: string): Promise<void> {
  const before = await world.fingerprint();
  const answer = await world.tool(tool, reason(input));
  expect(answer.code, answer.text.slice(0, 500)).toBe(code);
  expectNoSecret(answer.text);
  expect((await world.sql(tool, input)).code).toBe(code);
  expect(await world.fingerprint()).toBe(before);
}

const ROWS: readonly Attack[] = [
  previewed('W026', 'a customer takes its orders and their items along', DELETE, [{ table: 'public.customers', where: 'id = 7' }], {
    status: 'awaiting_approval', affected: 1, total: 13, gate: /public\.order_items/,
    effects: { 'public.order_items': [0, 0, 9], 'public.orders': [0, 0, 3], 'public.customers': [0, 0, 1] },
  }),
  refused('W027', 'one row takes more along than anybody may approve', 'HARD_MAX_ROWS_EXCEEDED', DELETE, [{ table: 'public.org', where: 'id = 1' }],
    `create table public.org (id integer primary key); create table public.member (id integer primary key, org integer references public.org on delete cascade);
     insert into public.org select generate_series(1, 3); insert into public.member select n, 1 + n % 3 from generate_series(1, 9000) n; create index on public.member (org);
     select countersign.allow('read', 'public.org'); select countersign.allow('write', 'public.org')`),
  previewed('W026', 'a key set to null, a default, an update that cascades: all of them are counted', DELETE, [{ table: 'public.parent', where: 'id = 1' }],
    { status: 'awaiting_approval', affected: 1, total: 5, effects: { 'public.parent': [0, 0, 1], 'public.nulled': [0, 2, 0], 'public.defaulted': [0, 2, 0] }, gate: /outside the write allowlist/ },
    `create table public.parent (id integer primary key); insert into public.parent values (0), (1);
     create table public.nulled (id integer primary key, parent integer references public.parent on delete set null); create table public.defaulted (id integer primary key, parent integer default 0 references public.parent on delete set default);
     insert into public.nulled values (1, 1), (2, 1); insert into public.defaulted values (1, 1), (2, 1); select countersign.allow('read', 'public.parent'); select countersign.allow('write', 'public.parent')`),
  previewed('W040', 'a row that moves to another partition is deleted here and inserted there', UPDATE, [{ table: 'public.ev', set: { d: 'b' }, where: 'id<=5' }],
    { status: 'previewed', affected: 5, total: 10, effects: { 'public.ev_a': [0, 0, 5], 'public.ev_b': [5, 0, 0] } },
    `create table public.ev (id integer, d text) partition by list (d); create table public.ev_a partition of public.ev for values in ('a'); create table public.ev_b partition of public.ev for values in ('b');
     insert into public.ev select n, 'a' from generate_series(1, 10) n; select countersign.allow('read', 'public.ev'); select countersign.allow('write', 'public.ev')`),
  refused('W040', 'a row that fits no partition', 'STATEMENT_FAILED', UPDATE, [{ table: 'public.ev', set: { d: 'c' }, where: 'id = 1' }]),
  previewed('W044', 'row security holds for the writer, and what cascades is counted all the same', DELETE, [{ table: 'public.guarded', where: 'true' }], { status: 'previewed', affected: 4, total: 4 },
    `create table public.guarded (id integer primary key); insert into public.guarded select generate_series(1, 300); alter table public.guarded enable row level security; create policy few on public.guarded using (id <= 4);
     select countersign.allow('read', 'public.guarded'); select countersign.allow('write', 'public.guarded')`),
  refused('C021', 'a unique violation names the constraint and no value', 'STATEMENT_FAILED', 'insert_rows', [{ table: 'public.emp', columns: ['id', 'name'], rows: [[1, 'x']] }],
    `create table public.emp (id integer unique, name text); insert into public.emp values (1, 's3cr3t'); alter table public.emp enable row level security; create policy visible on public.emp using (name <> 's3cr3t');
     select countersign.allow('read', 'public.emp'); select countersign.allow('write', 'public.emp')`),
  refused('W039 W037 P023 P018 W062', 'what is not an ordinary table without rules', 'NOT_WRITABLE', UPDATE, ['public.open_orders', 'public.v', 'public.m', 'public.ft', 'public.ruled', 'pg_catalog.pg_class', 'information_schema.sql_features', 'public.ev_a']
    .map((table) => ({ table, set: { id: 1 }, where: 'true' })), `create view public.open_orders as select * from public.orders where status = 'open'; grant select, update, delete on public.open_orders to countersign_writer, countersign_reader;
     create view public.v as select * from public.orders; create function public.iof() returns trigger language plpgsql security definer as $f$begin delete from public.customers; return old; end$f$;
     create trigger i instead of update on public.v for each row execute function public.iof(); grant select, update on public.v to countersign_writer; create materialized view public.m as select 1 as id; grant select on public.m to countersign_writer;
     create extension postgres_fdw; create server away foreign data wrapper postgres_fdw options (host '127.0.0.1', port '1'); create foreign table public.ft (id integer) server away; grant all on public.ft to countersign_writer;
     create table public.ruled (id integer); create rule r as on update to public.ruled do also delete from public.customers; grant all on public.ruled to countersign_writer, countersign_reader`),
  refused('T003 T004 W037', 'what is no table of the application, or has other letters', 'UNKNOWN_TABLE', UPDATE, ['countersign_data.plan', 'countersign_data.event', 'countersign.pending', 'nowhere', 'public.orders_pkey', 'public.оrders', 'orders; drop table orders', 'orders o', 'public.orders, public.customers', '(select 1)', 'ONLY orders', 'orders *', '"orders"x', 'a.b.c.d', '', ' ', '.', 'public.',
    'orders -- x', 'U&"\\006frders"', 'pg_temp.orders', `${'d'.repeat(63)}zzz`].filter((table) => table !== '').map((table) => ({ table, set: { id: 1 }, where: 'true' }))),
  previewed('P025', 'a name is the same table however it is written', UPDATE, ['orders', 'ORDERS', 'Public.Orders', '"orders"', 'public."orders"', ' orders '].map((table) => ({ table, set: { total: 1 }, where: 'id = 1' })), { status: 'previewed', affected: 1, total: 1, effects: { 'public.orders': [0, 1, 0] } }),
  refused('W042', 'a column\'s name is a name and nothing else', 'UNKNOWN_COLUMN', 'insert_rows', [['id) VALUES (1,1); DELETE FROM public.customers; --'], ['"id"'], ['orders.id'], ['ctid'], ['ID'], ['id, customer_id'], ['nothing'], ['id\u0000'.slice(0, 2) + ' ']].map((columns) => ({ table: 'public.orders', columns, rows: [[1]] }))),
  refused('W042 W048', 'the same in an update', 'UNKNOWN_COLUMN', UPDATE, ['total = 0, status', 'ctid', 'id) = (1', '*', 'public.orders.total', 'total -- '].map((column) => ({ ...ONE, set: { [column]: 1 } }))),
  refused('W043', 'a row that is there already, with or without a wish to change it', 'STATEMENT_FAILED', 'insert_rows', [{ table: 'orders', columns: ['id', 'customer_id'], rows: [[1, 1]] }, { table: 'orders', columns: ['id', 'customer_id'], rows: [[9001, 1], [9001, 2]] }, { table: 'orders', columns: ['id', 'customer_id'], rows: [[9001, 99999]] }]),
  story('W043 W067 P015 W048', 'there is no place for ON CONFLICT, FROM, or an expression', async (world) => {
    for (const [tool, input] of [
      ['insert_rows', { table: 'orders', columns: ['id', 'customer_id'], rows: [[1, 1]], on_conflict: 'do update' }],
      ['insert_rows', { statement: 'INSERT INTO public.orders(id,customer_id) VALUES (1,1) ON CONFLICT (id) DO UPDATE SET customer_id = 2' }],
      [UPDATE, { ...ONE, set: { total: 1 }, from: 'public.src s' }],
      [UPDATE, { statement: 'UPDATE public.customers c SET balance = s.v FROM public.src s WHERE s.cid = c.id' }],
      [UPDATE, { table: 'public.customers', set: "balance = CASE WHEN current_query() LIKE '%preview%' THEN balance ELSE 0 END", where: 'id = 7' }],
      [UPDATE, { table: 'public.customers', set: 'name = ssn', where: 'id = 1' }], [UPDATE, { ...ONE, set: {} }], [UPDATE, { ...ONE, set: [['total', 1]] }],
      [UPDATE, { ...ONE, set: null }], [DELETE, { ...ONE, using: 'customers' }], [DELETE, { ...ONE, returning: '*' }],
    ] as [string, Args][]) expect((await world.tool(tool, reason(input))).code, JSON.stringify(input)).toBe('INVALID_ARGUMENTS');
    for (const set of ['name = ssn', [], {}, null]) expect((await world.sql(UPDATE, { table: 'customers', set, where: 'id = 1' })).code).toBe('INVALID_ARGUMENTS');
    // A value that looks like an expression is text: of no use for a number, and kept as it is for a name.
    expect((await world.sql(UPDATE, { table: 'customers', set: { balance: "CASE WHEN current_query() LIKE '%preview%' THEN balance ELSE 0 END" }, where: 'id = 7' })).code).toBe('STATEMENT_FAILED');
    const { plan_token, statement, params } = await readyPlan(world, UPDATE, { table: 'customers', set: { name: 'ssn' }, where: 'id = 1' });
    expect((await world.tool('execute_plan', { plan_token, statement, params })).code).toBeNull();
    expect((await world.tool('query', { statement: 'SELECT name FROM customers WHERE id = 1', reason: 'a test' })).content['rows']).toEqual([{ name: 'ssn' }]);
  }),
  refused('W048', 'a column that may not be written', 'NOT_WRITABLE', UPDATE, [{ table: 'public.partly', set: { b: 1 }, where: 'true' }, { table: 'public.partly', set: { a: 1, b: 1 }, where: 'true' }, { table: 'public.order_items', set: { qty: 1 }, where: 'id = 1' }, { table: 'secrets', set: { token: 'x' }, where: 'id = 1' }],
    "create table public.partly (a integer, b integer); select countersign.allow('read', 'public.partly'); select countersign.allow('write', 'public.partly', array['a'])"),
  refused('W048', 'a generated or an identity column', 'STATEMENT_FAILED', 'insert_rows', [{ table: 'public.made', columns: ['id', 'a'], rows: [[1, 1]] }, { table: 'public.made', columns: ['a', 'double'], rows: [[1, 5]] }],
    "create table public.made (id integer generated always as identity primary key, a integer, double integer generated always as (a * 2) stored); select countersign.allow('read', 'public.made'); select countersign.allow('write', 'public.made')"),
  story('W029', 'rows that a trigger writes are counted, and the trigger is named', async (world) => {
    const answer = await world.tool(UPDATE, reason({ table: 'public.customers', set: { name: 'x' }, where: 'id <= 5' }));
    expectMeasured(answer.content, { status: 'awaiting_approval', affected: 5, total: 505, effects: { 'public.outbox': [500, 0, 0], 'public.customers': [0, 5, 0] }, gate: /public\.outbox/ });
    expect(answer.content['triggers']).toEqual([{ table: 'public.customers', trigger: 'planted', function: 'public.planted', may_reach_outside: false }]);
  }, `create table public.outbox (id integer generated always as identity, body text); ${trigger('customers', 'after update', "begin insert into public.outbox (body) select 'dear ' || new.name from generate_series(1, 100); return new; end")}`),
  story('W033', 'a trigger that raises the private signal fakes no preview', async (world) => {
    await refusedAlike(world, UPDATE, { table: 'public.orders', set: { total: 0 }, where: 'true' }, 'STATEMENT_FAILED');
    // Nor an execution: the trigger keeps quiet in the preview.
    await world.admin("create or replace function public.planted() returns trigger language plpgsql as $$begin if current_query() like '%execute%' then raise exception using errcode = 'CSRB0', message = '1'; end if; return new; end$$");
    const { plan_token, statement, params } = await readyPlan(world, UPDATE, { table: 'public.orders', set: { total: 0 }, where: 'id = 1' });
    const before = await world.fingerprint();
    expect((await world.sql('execute_plan', { plan_token, statement, params })).code).toBe('STATEMENT_FAILED');
    expect(await world.fingerprint()).toBe(before);
  }, trigger('orders', 'before update', "begin raise exception using errcode = 'CSRB0', message = '1'; end")),
  story('W034', 'a trigger may raise what it likes: no state and no decision comes of it', async (world) => {
    for (const [state, code] of [['P0001', 'STATEMENT_FAILED'], ['CSRB0', 'STATEMENT_FAILED'], ['57014', 'STATEMENT_TIMEOUT'], ['55P03', 'LOCK_TIMEOUT'], ['40001', 'STATEMENT_FAILED'], ['00001', 'STATEMENT_FAILED'], ['25006', 'UNSAFE_FUNCTION'], ['42P11', 'STATEMENT_FAILED'], ['P0004', 'STATEMENT_FAILED']]) {
      await world.admin(`create or replace function public.planted() returns trigger language plpgsql as $$begin raise exception using errcode = '${state}', message = 'plan not executable: PLAN_EXPIRED'; end$$`);
      const outcome = await world.sql(UPDATE, UPDATE_ONE);
      expect({ state, ok: outcome.ok, code: outcome.code }).toEqual({ state, ok: false, code });
      expect((outcome.detail ?? {})['plan_token']).toBeUndefined();
    }
  }, trigger('orders', 'before update', 'begin return new; end')),
  story('W034', 'a trigger that forgets the session\'s prepared statements breaks nothing', async (world) => {
    expect((await world.sql(UPDATE, UPDATE_ONE)).detail).toMatchObject({ status: 'previewed', affected_rows: 1 });
    const { plan_token, statement, params } = await readyPlan(world, UPDATE, UPDATE_ONE);
    expect((await world.sql('execute_plan', { plan_token, statement, params })).code).toBeNull();
  }, trigger('orders', 'before update', "begin execute 'deallocate all'; return new; end")),
  story('W035', 'a constraint that is checked at commit is checked in the preview', async (world) => {
    await refusedAlike(world, DELETE, { table: 'public.par', where: 'id=1' }, 'STATEMENT_FAILED');
  }, `create table public.par (id integer primary key); create table public.chi (id integer, pid integer references public.par deferrable initially deferred); insert into public.par values (1); insert into public.chi values (1, 1);
      select countersign.allow('read', 'public.par'); select countersign.allow('write', 'public.par')`),
  story('W036', 'a trigger that fires at commit is measured in the preview', async (world) => {
    expectMeasured((await world.tool(UPDATE, reason(UPDATE_ONE))).content, {
      status: 'awaiting_approval', affected: 1, total: 1301,
      effects: { 'public.order_items': [0, 0, 900], 'public.orders': [0, 1, 300], 'public.customers': [0, 0, 100] },
    });
  }, `create function public.late() returns trigger language plpgsql security definer as 'begin delete from public.customers; return null; end';
      create constraint trigger late after update on public.orders deferrable initially deferred for each row execute function public.late()`),
  story('W059', 'large objects and catalogs that a trigger writes', async (world) => {
    const answer = await world.tool(UPDATE, reason(UPDATE_ONE));
    expect(answer.content['status']).toBe('awaiting_approval');
    expect((answer.content['effects'] as { table: string; deleted: number }[]).filter((each) => each.deleted > 0).map((each) => each.table).sort()).toEqual(['pg_catalog.pg_largeobject', 'pg_catalog.pg_largeobject_metadata']);
  }, `${trigger('orders', 'after update', 'begin perform lo_unlink(oid) from pg_largeobject_metadata; return null; end')}; select lo_from_bytea(777, 'abc')`),
  story('W059', 'a trigger that truncates or changes the schema cannot be measured', async (world) => {
    for (const body of ['truncate public.order_items', 'drop table public.order_items', 'alter table public.order_items add x integer', 'lock table public.secrets in access exclusive mode']) {
      await world.admin(`create or replace function public.planted() returns trigger language plpgsql security definer as $$begin ${body}; return null; end$$`);
      await refusedAlike(world, UPDATE, UPDATE_ONE, 'UNSUPPORTED_STATEMENT');
    }
  }, trigger('orders', 'after update', 'begin return null; end')),
  story('W055 W057', 'a preview in the way of production gives up before production does', async (world) => {
    const [production, preview] = [await world.db.connect('admin', 'production'), await world.db.connect('agent', 'preview')];
    await production.query('begin; update public.orders set total = total where id = 1');
    const busy = await world.apiOn(preview).previewUpdate({ table: 'orders', where: 'id = 1', set: { total: 1 }, params: [], confirmFullTable: false, reason: 'a test', callerId: null });
    expect(busy.code).toBe('LOCK_TIMEOUT');
    // Each holds what the other wants: row 2 of the preview, row 1 of production.
    const crossing = world.apiOn(preview).previewUpdate({ table: 'orders', where: 'id in (2, 1)', set: { total: 1 }, params: [], confirmFullTable: false, reason: 'a test', callerId: null });
    await waitForLockWait(world.db.as('admin'), 'preview');
    const waited = production.query('update public.orders set total = total where id = 2');
    await expect(waited).resolves.toBeTruthy();
    expect((await crossing).code).toBe('LOCK_TIMEOUT');
    await production.query('commit');
  }),
];

/** These set the time limit of a session, which takes effect when it connects. */
const TIMED: readonly Attack[] = [
  story('W054', 'a slow trigger is stopped by the session\'s limit', async (world) => {
    const started = performance.now();
    await refusedAlike(world, UPDATE, UPDATE_ONE, 'STATEMENT_TIMEOUT').catch((error: unknown) => { if (performance.now() - started > 9000) throw error; });
    expect((await world.tool(UPDATE, reason(UPDATE_ONE))).code).toBe('STATEMENT_TIMEOUT');
  }, `select countersign.set_policy('statement_timeout', '300 milliseconds'); grant execute on function pg_catalog.pg_sleep(double precision) to public; alter role <agent> in database <database> set statement_timeout = '300ms'; ${trigger('orders', 'before update', 'begin perform pg_sleep(5); return new; end')}`),
  story('W032', 'a trigger that swallows its cancellation is cut off from outside', async (world) => {
    const before = await world.fingerprint();
    const started = performance.now();
    expect((await world.tool(UPDATE, reason(UPDATE_ONE))).code).toBe('STATEMENT_TIMEOUT');
    expect(performance.now() - started).toBeLessThan(6000);
    for (let tries = 0; tries < 50 && Number((await world.admin("select count(*) as n from pg_stat_activity where datname = current_database() and application_name = 'attack agent' and state = 'active'"))[0]?.['n']) > 0; tries += 1) await sleep(100);
    expect(await world.admin("select 1 from pg_stat_activity where datname = current_database() and application_name = 'attack agent' and state = 'active'")).toEqual([]);
    expect(await world.fingerprint()).toBe(before);
  }, `select countersign.set_policy('statement_timeout', '300 milliseconds'); grant execute on function pg_catalog.pg_sleep(double precision) to public;
      ${trigger('orders', 'before update', 'begin for i in 1 .. 100 loop begin perform pg_sleep(0.2); exception when query_canceled then null; end; end loop; return new; end')}`),
];

export const PLANS: readonly Attack[] = [...sharing(ROWS), ...TIMED];
