/** An execution does what was previewed or nothing: other rows, other values, other effects, other settings, other names. */
import { expect } from 'vitest';
import { previewed, sharing, stale, story, type Args, type Attack } from './attack.js';
import { expectMeasured, readyPlan } from './runner.js';
import { trigger } from './shop.js';
import type { World } from './world.js';

const DELETE = 'delete_rows';
const UPDATE = 'update_rows';
const ONE = { table: 'public.orders', where: 'id = 1' };
const UPDATE_ONE = { ...ONE, set: { total: 5 } };

const reason = (input: Args): Args => ({ ...input, reason: 'a test' });

const ROWS: readonly Attack[] = [
  story('P019 P021', 'settings of the caller\'s session change neither the rows nor the table', async (world) => {
    await world.admin("alter table public.orders add created date default '2026-01-15'; select countersign.allow('read', 'public.orders'); create schema evil; create table evil.orders as select * from public.orders where id > 1000; grant usage on schema evil to public; grant all on evil.orders to public");
    const seen = new Set<string>();
    const settings = ['set datestyle = \'ISO, DMY\'', 'set datestyle = \'SQL, MDY\'', 'set search_path = evil, public', 'set timezone = \'Pacific/Kiritimati\'', 'set intervalstyle = \'postgres_verbose\'', 'set standard_conforming_strings = off', 'set transform_null_equals = on', 'set bytea_output = \'escape\'', 'set array_nulls = off', 'set quote_all_identifiers = on', 'set row_security = off', 'set extra_float_digits = -15',
      'set plpgsql.extra_errors = \'all\'', 'set lc_monetary = \'C\'', 'set default_text_search_config = \'pg_catalog.simple\'', 'set gin_fuzzy_search_limit = 1', 'set constraint_exclusion = on', 'set enable_seqscan = off', 'set default_transaction_read_only = off', 'set client_min_messages = error', 'set xmloption = document', 'set check_function_bodies = off', 'set escape_string_warning = off', 'set backslash_quote = on', 'set plan_cache_mode = force_custom_plan', 'set jit = off', 'set work_mem = \'64kB\'', 'set statement_timeout = 0', 'set synchronize_seqscans = off'];
    const [connection, other] = [await world.db.connect('agent'), await world.db.connect('agent')];
    await other.query("set datestyle = 'SQL, DMY'; set search_path = evil; set standard_conforming_strings = off");
    for (const setting of ['select 1', ...settings]) {
      await connection.query(setting);
      const outcome = await world.apiOn(connection).previewUpdate({ table: 'orders', set: { status: 'x' }, where: "created < '02/03/26' and status <> '\\' and id < $1 and (id = 1 or status = null or array['a', null] = '{a,NULL}' and id = 2)", params: [9], confirmFullTable: false, reason: 'a test', callerId: null });
      expect(outcome.ok, `${setting}: ${JSON.stringify(outcome).slice(0, 300)}`).toBe(true);
      const { affected_rows, effects, plan_token, statement, params } = outcome.detail as { affected_rows: number; effects: unknown; plan_token: string; statement: string; params: unknown[] };
      seen.add(JSON.stringify([affected_rows, effects]));
      // And the plan does the same whatever the settings are when it runs.
      const executed = await world.apiOn(other).executePlan({ planToken: plan_token, statement, params, callerId: null });
      expect(executed.code, setting).toBeNull();
      await connection.query('reset all');
      await world.admin("update public.orders set status = 'open' where status = 'x'");
    }
    expect([...seen]).toHaveLength(1);
  }),
  story('P025', 'a schema that bears the name of the login gives the table nothing of its own', async (world) => {
    expectMeasured((await world.tool(DELETE, reason({ table: 'orders', where: 'id <= 5' }))).content, { status: 'awaiting_approval', affected: 5, total: 20, effects: { 'public.order_items': [0, 0, 15], 'public.orders': [0, 0, 5] } });
    expect((await world.sql(DELETE, { table: 'orders', where: 'id <= 5' })).detail).toMatchObject({ target: 'public.orders' });
  }, 'create schema <agent>; create table <agent>.orders as select * from public.orders where id <= 2; grant usage on schema <agent> to <agent>, countersign_writer; grant all on <agent>.orders to <agent>, countersign_writer, countersign_reader'),
  stale('P016', 'a trigger that acts at execution only', 'EFFECTS_CHANGED', UPDATE, UPDATE_ONE, {
    setup: trigger('orders', 'before update', "begin if current_query() like '%execute%' then update public.customers set balance = 0; end if; return new; end"),
    measured: { status: 'previewed', affected: 1, total: 1 },
  }),
  stale('P016', 'a trigger that truncates at execution only', 'EFFECTS_CHANGED', UPDATE, UPDATE_ONE, {
    setup: trigger('orders', 'after update', "begin if current_query() like '%execute%' then truncate public.order_items; end if; return null; end"),
    measured: { status: 'previewed', affected: 1, total: 1 },
  }),
  stale('P016', 'a trigger that keeps a row from being changed at execution', 'ROWSET_CHANGED', UPDATE, { ...UPDATE_ONE, where: 'id <= 2' }, { setup: trigger('orders', 'before update', "begin if current_query() like '%execute%' and new.id = 2 then return null; end if; return new; end") }),
  stale('P015 P016', 'a trigger that writes another value at execution', 'ROWSET_CHANGED', UPDATE, UPDATE_ONE, { setup: trigger('orders', 'before update', "begin if current_query() like '%execute%' then new.total := 666; end if; return new; end") }),
  stale('P017', 'a default that differs at execution', 'ROWSET_CHANGED', 'insert_rows', { table: 'public.orders', columns: ['id', 'customer_id'], rows: [[9001, 1]] }, {
    setup: "create function public.dflt() returns text language plpgsql as $f$begin return case when current_query() like '%preview%' then 'open' else 'refund-approved' end; end$f$; alter table public.orders alter status set default public.dflt()",
    measured: { status: 'previewed', affected: 1, total: 1 },
  }),
  stale('P023', 'a view in the condition is redefined', 'ROWSET_CHANGED', UPDATE, { ...UPDATE_ONE, where: 'id in (select id from public.old_orders)' }, {
    setup: "create view public.old_orders as select * from public.orders where id <= 3; select countersign.allow('read', 'public.old_orders')",
    between: 'create or replace view public.old_orders as select * from public.orders where true', measured: { status: 'previewed', affected: 3, total: 3 },
  }),
  stale('P023', 'a view in the condition knows a preview when it sees one', 'ROWSET_CHANGED', UPDATE, { ...UPDATE_ONE, where: 'id in (select id from public.aware)' }, {
    setup: "create view public.aware as select id from public.orders where id = 1 or current_query() not like '%preview%'; select countersign.allow('read', 'public.aware')",
    measured: { status: 'previewed', affected: 1, total: 1 },
  }),
  stale('P001', 'a function that an administrator allowed knows a preview when it sees one', 'ROWSET_CHANGED', UPDATE, { ...UPDATE_ONE, where: 'id = 1 or public.aware()' }, {
    setup: "create function public.aware() returns boolean language sql stable as $f$select current_query() not like '%preview%'$f$; select countersign.allow('function', 'public.aware')",
    measured: { status: 'previewed', affected: 1, total: 1 },
  }),
  stale('P024', 'more rows meet the condition now', 'ROWSET_CHANGED', UPDATE, { table: 'public.orders', set: { total: 0 }, where: "status = 'done' and id <= 20" }, { between: "update public.orders set status = 'done' where id in (1, 2)", measured: { status: 'previewed', affected: 6, total: 6 } }),
  stale('P024', 'fewer rows meet the condition now', 'ROWSET_CHANGED', UPDATE, { table: 'public.orders', set: { total: 0 }, where: "status = 'done' and id <= 20" }, { between: "update public.orders set status = 'open' where id = 3" }),
  stale('P024', 'as many rows meet the condition, but others', 'ROWSET_CHANGED', UPDATE, { table: 'public.orders', set: { total: 0 }, where: "status = 'done' and id <= 20" }, { between: "update public.orders set status = case id when 3 then 'open' else 'done' end where id in (3, 4)" }),
  stale('P024', 'the same rows hold other values', 'ROWSET_CHANGED', UPDATE, { table: 'public.orders', set: { status: 'x' }, where: 'id <= 3' }, { between: 'update public.orders set total = total + 1 where id = 2' }),
  stale('P024', 'a row of an insert has been inserted by somebody else', 'STATEMENT_FAILED', 'insert_rows', { table: 'public.orders', columns: ['id', 'customer_id'], rows: [[9001, 1]] }, { between: 'insert into public.orders values (9001, 2)' }),
  stale('W026', 'a cascade has grown since a human approved', 'EFFECTS_CHANGED', DELETE, { table: 'public.customers', where: 'id = 7' }, { between: 'insert into public.order_items values (9001, 6)', measured: { status: 'awaiting_approval', affected: 1, total: 13 } }),
  stale('P018', 'a trigger has been put on the table since', 'EFFECTS_CHANGED', UPDATE, UPDATE_ONE, { between: trigger('orders', 'after update', 'begin update public.customers set balance = 0; return null; end') }),
  stale('P018', 'a rule has been put on the table since', 'STATEMENT_FAILED', DELETE, ONE, { between: 'create rule r as on delete to public.orders do instead delete from public.customers' }),
  stale('P025', 'another table has taken the name', 'EFFECTS_CHANGED', UPDATE, UPDATE_ONE, { between: 'alter table public.orders rename to orders_old; create table public.orders (like public.orders_old including all); insert into public.orders select * from public.orders_old; grant all on public.orders to countersign_writer' }),
  stale('W045', 'the table may no longer be written', 'NOT_WRITABLE', UPDATE, UPDATE_ONE, { between: "select countersign.revoke('write', 'public.orders')" }),
  story('W066', 'two plans over the same row: the second does nothing', async (world) => {
    const plans = [await readyPlan(world, UPDATE, { table: 'customers', set: { balance: 60 }, where: 'id = 7' }), await readyPlan(world, UPDATE, { table: 'customers', set: { balance: 60 }, where: 'id = 7 and balance = 70' })];
    const codes = [];
    for (const { plan_token, statement, params } of plans) codes.push((await world.sql('execute_plan', { plan_token, statement, params })).code);
    expect(codes).toEqual([null, 'ROWSET_CHANGED']);
    expect(await world.admin('select balance from public.customers where id = 7')).toEqual([{ balance: '60' }]);
  }),
  story('D013', 'functions and operators that fit better than Postgres\'s own, put where the application\'s names are looked up', async (world) => {
    // On 14, and on what was upgraded from it, everybody may create in public; what the agent made itself stops it altogether.
    await world.admin('grant create on schema public to public; grant usage on language plpgsql, sql to public; create table public.fooled (who text, what text); grant all on public.fooled to public');
    const somebody = await world.db.connect('nobody');
    const plant = (name: string, args: string, returns: string, answer: string): string =>
      `create function public.${name}(${args}) returns ${returns} language plpgsql as $$begin insert into public.fooled values (current_user, '${name}(${args})'); return ${answer}; exception when others then return ${answer}; end$$;`;
    const operator = (sign: string, left: string, right: string, answer = 'true', returns = 'boolean'): string => {
      const name = `op${[...sign].map((char) => char.charCodeAt(0)).join('')}_${left}_${right}`.replace(/\W/g, '');
      return `${plant(name, `a ${left}, b ${right}`, returns, answer)} create operator public.${sign} (leftarg = ${left}, rightarg = ${right}, procedure = public.${name});`;
    };
    await somebody.query([
      plant('convert_to', 'a text, b text', 'bytea', "'\\x00'"), plant('to_jsonb', 'a public.orders', 'jsonb', "'{}'"),
      plant('encode', 'a bytea, b name', 'text', "'x'"), plant('left', 'a text, b bigint', 'text', "'x'"),
      plant('jsonb_to_recordset', 'a text', 'record', 'null'), plant('string_agg', 'a bytea, b text', 'text', "'x'"),
      plant('jsonb_build_array', 'a text, b jsonb, c jsonb', 'jsonb', "'[]'"), plant('sha256', 'a text', 'bytea', "'\\x00'"),
      plant('count', 'a text', 'bigint', '0'), plant('replace', 'a text, b name, c text', 'text', "'x'"),
      operator('=', 'regtype', 'regtype', 'false'), operator('=', 'oid', 'regnamespace', 'false'), operator('=', 'oid', 'integer', 'false'),
      operator('>=', 'oid', 'integer', 'false'), operator('=', 'text[]', 'text[]', 'true'), operator('||', 'text[]', 'text', 'a', 'text[]'),
      operator('->', 'jsonb', 'jsonb', "'[]'", 'jsonb'), operator('->>', 'jsonb', 'jsonb', "'x'", 'text'), operator('!~', 'name', 'name', 'false'),
    ].join('\n'));
    const detail = async (outcome: Promise<{ code: unknown; detail: Record<string, unknown> | null }>) => {
      const { code, detail: found } = await outcome;
      return { code, affected: found?.['affected_rows'], effects: found?.['effects'] };
    };
    const counted = (n: number, inserted = 0) => ({ code: null, affected: n, effects: [{ table: 'public.orders', inserted, updated: n - inserted, deleted: 0, writable: true }] });
    expect(await detail(world.sql(UPDATE, { ...UPDATE_ONE, where: 'id = $1', params: [1] }))).toEqual(counted(1));
    expect(await detail(world.sql('insert_rows', { table: 'orders', columns: ['id', 'customer_id'], rows: [[9001, 1]] }))).toEqual(counted(1, 1));
    expect((await world.sql(UPDATE, { ...UPDATE_ONE, where: "id = 1 or current_query() <> 'x'" })).code).toBe('UNSAFE_FUNCTION');
    // A table that is readable in part has its images as JSON.
    expect((await world.sql(UPDATE, { table: 'customers', set: { name: 'x' }, where: 'id = 1' })).detail).toMatchObject({ affected_rows: 1, changes: [{ key: 'id=1', before: { name: 'name1' }, after: { name: 'x' } }] });
    const plan = await readyPlan(world, UPDATE, { table: 'orders', set: { status: 'zzz' }, where: 'id <= 2' });
    await world.admin('update public.orders set total = 777 where id = 1');
    expect((await world.sql('execute_plan', { plan_token: plan.plan_token, statement: plan.statement, params: plan.params })).code).toBe('ROWSET_CHANGED');
    expect(await world.admin('select distinct who, what from public.fooled')).toEqual([]);
  }),
  story('W069 W040', 'tables of every shape: what is previewed is executed, to the row', async (world) => {
    const executes = async (tool: string, input: Args, affected: number, total = affected): Promise<void> => {
      const { plan_token, statement, params, detail } = await readyPlan(world, tool, input);
      expect([detail['affected_rows'], detail['total_rows']], JSON.stringify(input)).toEqual([affected, total]);
      const outcome = await world.sql('execute_plan', { plan_token, statement, params });
      expect(outcome, JSON.stringify(input)).toMatchObject({ ok: true, detail: { affected_rows: affected } });
    };
    const all = '"Odd Schema"."Every Kind"';
    const values: [string, unknown, unknown][] = [
      ['Mixed', 'x"y', 'x"y'], ['select', 5, 5], ['tags', ['a', 'b,c', null, '{}'], ['a', 'b,c', null, '{}']], ['grid', [[1, 2], [3, 4]], [[1, 2], [3, 4]]],
      ['mood', 'bad', 'bad'], ['moods', ['ok', 'bad'], ['ok', 'bad']], ['span', '[1,5)', '[1,5)'], ['place', { street: 'a, b', no: 7 }, '("a, b",7)'],
      ['raw', '\\xdeadbeef', '\\xdeadbeef'], ['doc', { a: [1, null] }, { a: [1, null] }],
      ['amount', '12345678901234567890.123456789', '12345678901234567890.123456789'], ['big', '9007199254740993', '9007199254740993'],
      ['at', '2026-03-29T02:30:00+02:00', '2026-03-29T00:30:00+00:00'], ['day', '2026-03-29', '2026-03-29'], ['lasts', 'P1DT2H', 'P1DT2H'],
      ['net', '10.0.0.0/8', '10.0.0.0/8'], ['flag', true, true], ['ratio', 'NaN', 'NaN'],
    ];
    await executes('insert_rows', { table: all, columns: values.map(([column]) => column), rows: [values.map(([, value]) => value)] }, 1);
    const read = async () => (await world.tool('query', { statement: `SELECT * FROM ${all} WHERE "select" = 5`, reason: 'a test' })).content['rows'] as Record<string, unknown>[];
    expect((await read())[0]).toMatchObject(Object.fromEntries(values.map(([column, , shown]) => [column, shown])));
    for (const [column, value] of values) await executes(UPDATE, { table: all, set: { [column]: value }, where: '"select" = 5' }, 1);
    expect(await read()).toHaveLength(1);
    await executes(UPDATE, { table: all, set: { tags: null, place: null, doc: null }, where: `mood = 'bad' and span @> 2 and 'a' = any (tags) and (place).no = 7 and doc @> '{"a": [1]}' and "Mixed" like 'x%'` }, 1);
    await executes(UPDATE, { table: 'keyless', set: { a: 2 }, where: 'a = 1' }, 3);
    await executes(DELETE, { table: 'keyless', where: 'a = 2' }, 3);
    // A parent's rows are its children's too; they are counted where they lie, and a child that nobody allowed makes a human decide.
    await executes(UPDATE, { table: 'parent', set: { a: 9 }, where: 'true' }, 3);
    await executes('insert_rows', { table: 'made', columns: ['a'], rows: [[1], [2]] }, 2);
    expect(await world.admin('select id, a, double from public.made order by id')).toMatchObject([{ a: 1, double: 2 }, { a: 2, double: 4 }]);
    await executes(UPDATE, { table: 'made', set: { a: 5 }, where: 'double = 4' }, 1);
    await executes(DELETE, { table: all, where: '"select" = $1', params: [5] }, 1);
  }, `create schema "Odd Schema"; create type public.mood as enum ('ok', 'bad'); create type public.place as (street text, no integer);
    create table "Odd Schema"."Every Kind" ("Mixed" text, "select" integer, tags text[], grid integer[], mood public.mood, moods public.mood[], span int4range, place public.place, raw bytea, doc jsonb, amount numeric, big bigint, at timestamptz, day date, lasts interval, net cidr, flag boolean, ratio double precision);
    create table public.keyless (a integer); insert into public.keyless values (1), (1), (1); create table public.parent (a integer); create table public.child () inherits (public.parent); insert into public.parent values (1); insert into public.child values (1), (2);
    create table public.made (id bigint generated always as identity primary key, a integer, double integer generated always as (a * 2) stored);
    select countersign.allow(verb, name) from unnest(array['read', 'write']) verb, unnest(array['"Odd Schema"."Every Kind"', 'keyless', 'parent', 'made']) name`),
  story('D014 P021', 'a temporary table with a trigger shadows nothing, even where everybody may make one', async (world) => {
    await world.admin('grant temporary on database <database> to public; grant usage on language plpgsql to public');
    const connection = await world.db.connect('agent');
    await connection.query(`create temporary table orders (id integer, status text, total numeric, customer_id integer); insert into orders values (1, 'x', 1, 1); grant all on orders to public;
      create function pg_temp.f() returns trigger language plpgsql as 'begin delete from public.orders; return old; end'; create trigger t before delete or update on orders for each row execute function pg_temp.f();
      create function pg_temp.g() returns integer language plpgsql as 'begin update public.orders set total = 0; return 1; end'; create temporary view v as select pg_temp.g() as id; grant select on v to public;
      create domain pg_temp.d as integer check (pg_temp.g() = value); create temporary table customers as select 's3cr3t'::text as ssn, 1 as id`);
    const before = await world.fingerprint();
    const tries = async (api: World['api'], table: string, where: string) =>
      api.previewUpdate({ table, set: { total: 1 }, where, params: [], confirmFullTable: false, reason: 'a test', callerId: null }).then((outcome) => outcome.code ?? outcome.detail?.['target'], (error: { code?: string }) => error.code);
    // Its own session gets no further than its own objects; in another session there are none.
    for (const [table, where] of [['orders', 'id <= 3'], ['pg_temp.orders', 'true'], ['orders', 'id in (select id from pg_temp.v)'], ['orders', 'id in (select id from v)'], ['orders', 'id = pg_temp.g()'], ['orders', "'1'::pg_temp.d = id"], ['orders', 'id in (select id from pg_temp.orders)']] as const) {
      expect(await tries(world.apiOn(connection), table, where), where).toBe('42501');
    }
    const { plan_token, statement, params } = await readyPlan(world, UPDATE, UPDATE_ONE).catch(() => ({ plan_token: '', statement: '', params: [] }));
    await expect(world.apiOn(connection).executePlan({ planToken: plan_token, statement, params, callerId: null })).rejects.toMatchObject({ code: '42501' });
    expect(await world.fingerprint()).toBe(before);
    await connection.query('discard temp');
    expect(await tries(world.apiOn(connection), 'orders', 'id <= 3')).toBe('public.orders');
    expect(await tries(world.apiOn(connection), 'orders', 'id in (select id from pg_temp.v)')).toBe('UNKNOWN_TABLE');
  }),
];

export const EXECUTIONS: readonly Attack[] = sharing(ROWS);
