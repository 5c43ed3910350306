/** What a WHERE must not do: leave its place, tell a preview from an execution, act, or look where readers may not. */
import { expect } from 'vitest';
import { previewed, refused, story, where, type Args, type Attack } from './attack.js';
import { expectMeasured, expectNoSecret } from './runner.js';
import { BUMP } from './shop.js';

const DELETE = 'delete_rows';
const orders = (condition: string, params?: unknown[]): Args => ({ table: 'public.orders', where: condition, ...(params ? { params } : {}) });

/** An update of orders cascades to nothing, so that its total is its count. */
const touched = (condition: string, params?: unknown[]): Args => ({ ...orders(condition, params), set: { total: 1 } });

const FUNCTIONS = `${BUMP}
create function public.pay(integer) returns boolean language plpgsql security definer as 'begin perform public.bump(); return false; end';
create function public.evade() returns boolean language plpgsql as 'begin perform set_config(''transaction_read_only'', ''off'', true); insert into public.orders values (7777, 1); return true; end';
create function public.eqv(integer, integer) returns boolean language sql immutable as 'select $1 = $2';
create operator public.=== (leftarg = integer, rightarg = integer, procedure = public.eqv);
create type public.mood as (a integer); create function public.mk(public.orders) returns integer language plpgsql volatile as 'begin return 1; end';
create function public.mk2(text) returns macaddr language plpgsql volatile as 'begin return null; end'; create cast (text as macaddr) with function public.mk2(text) as assignment;
create domain public.checked as integer check (public.eqv(value, value)); create type public.noticed as (a public.checked); create domain public.positive as integer check (value > 0);
create function public.lower(varchar) returns text language sql immutable as 'select ''shadowed'''; create table public.labels (label varchar(10)); select countersign.allow('read', 'public.labels');
create aggregate public.summed(integer) (sfunc = int4pl, stype = integer); create sequence public.ctr; grant usage on sequence public.ctr to countersign_writer;
create view public.aware as select id from public.orders where pg_backend_pid() > 0; select countersign.allow('read', 'public.aware')`;

export const CONDITIONS: readonly Attack[] = [
  where('P001 P010 P011 P013 W053 W058 N005 T018', 'functions that tell a preview from an execution, hold state between them, or act', 'UNSAFE_FUNCTION', [
    "id = 1 OR current_query() NOT LIKE '%preview%'", 'id = 1 OR pg_try_advisory_lock(77)', "id = 1 OR current_setting('application_name') = 'go'",
    'id = 1 OR pg_current_xact_id_if_assigned()::text::bigint % 2 = 1',
    "id = 1 AND set_config('search_path','evil,public',false) IS NOT NULL", 'id <= 100 AND pg_sleep(0.02) IS NOT NULL',
    "id = 1 AND pg_notify('sw_plans','forged') IS NOT NULL", "id = 1 OR pg_relation_size('orders') > 20000", 'id = 1 OR pg_backend_pid() % 2 = 0',
    'id = 1 OR txid_current() % 2 = 0', 'id = 1 OR txid_current_if_assigned() IS NULL', "id = 1 OR age('3'::xid) % 2 = 0", "id = 1 OR mxid_age('3'::xid) > 5",
    'id = 1 OR random() < 0.5', "id = 1 OR clock_timestamp() > '2026-01-01'", "id = 1 OR timeofday() LIKE '%'", 'id = 1 OR gen_random_uuid() IS NULL',
    "id = 1 OR pg_stat_get_xact_tuples_deleted('orders'::regclass) > 0", 'id = 1 OR pg_snapshot_xmax(pg_current_snapshot())::text::bigint > 5',
    'id = 1 OR pg_is_in_recovery()', 'id = 1 OR pg_trigger_depth() > 0', 'id = 1 OR pg_my_temp_schema() <> 0', "id = 1 OR pg_current_wal_insert_lsn() > '0/0'",
    'id = 1 OR pg_postmaster_start_time() < now()',
    'id = 1 OR inet_client_addr() IS NULL', "id = 1 OR query_to_xml('select 1', true, true, '') IS NULL",
    "id = 1 OR EXISTS (SELECT FROM ts_stat('select to_tsvector(token) from secrets'))", 'id = 1 OR current_schemas(true) IS NULL',
    "id = 1 OR has_table_privilege('orders', 'delete')", 'id = 1 OR pg_has_role(1, \'usage\')', "id = 1 OR row_security_active('orders')",
    'id = 1 OR pg_safe_snapshot_blocking_pids(1) IS NULL', "id = 1 OR pg_table_size('orders') > 1", 'id = 1 OR EXISTS (SELECT FROM pg_lock_status())',
    "id = 1 OR pg_get_expr(NULL, 0) IS NULL", "id = 1 OR version() LIKE 'P%'", "id = 1 OR lo_get(1) IS NULL", 'id = 1 OR pg_cancel_backend(1)',
    'id = 1 OR setseed(0.5) IS NULL', "id = 1 OR (SELECT count(*) FROM pg_show_all_settings()) > 0",
    "id = 1 OR textin('x'::cstring) = 'x'", "id = 1 OR domain_in('1'::cstring, 'information_schema.cardinal_number'::regtype, -1) IS NOT NULL",
    'id = 1 OR pg_xact_commit_timestamp(xmin) IS NULL', "id = (CASE WHEN current_query() LIKE '%preview%' THEN 1 END)", "status = ANY (ARRAY[current_query()])",
    "id IN (SELECT o.id FROM orders o WHERE current_query() <> '')",
    "id = 1 OR \"current_query\"() = ''", "id = 1 OR pg_catalog.current_query() = ''", "id = 1 OR U&\"\\0063urrent_query\"() = ''",
    "(SELECT current_query()) = ''", "id = coalesce(NULL, length(current_query()))", 'id = nullif(pg_backend_pid(), 0)', 'id = greatest(1, pg_backend_pid())',
    'NOT (id <> pg_backend_pid())', '(id, pg_backend_pid()) = (1, 1)', 'ROW(id, pg_backend_pid()) IS NOT NULL',
  ]),
  where('P004', 'a sequence counts the previews', 'UNSAFE_FUNCTION', ["id = 1 OR nextval('public.ctr') > 300", "id = 1 OR currval('ctr') > 1", 'id = 1 OR lastval() > 1', "id = 1 OR setval('ctr', 5) = 5"], FUNCTIONS),
  where('P003 T018', 'the product\'s own tables and functions', 'NOT_READABLE', [
    'id = 1 OR EXISTS (SELECT 1 FROM countersign_data.plan)', 'id = 1 OR EXISTS (TABLE countersign.pending)',
    'id = 1 OR (SELECT count(*) FROM countersign_data.event) > 5',
    "id = 1 AND (countersign.execute_plan('00000000-0000-0000-0000-000000000000', '', '[]', null)).ok", "id = 1 AND (countersign.approve('x')).ok",
    "id = 1 AND countersign_data.token_of('x') IS NULL", "id = 1 AND countersign_exec.resolve('x') IS NULL", 'id = (SELECT 1 FROM countersign.version())',
  ]),
  where('P014 T018', 'the catalogs, whose counters know whether this is a preview', 'NOT_READABLE', [
    'id = 1 OR (SELECT count(*) FROM pg_stat_xact_user_tables WHERE n_tup_upd > 0) > 0', 'id = 1 OR EXISTS (SELECT FROM pg_locks)',
    'id = 1 OR EXISTS (SELECT FROM pg_prepared_statements)', 'id = 1 OR EXISTS (SELECT FROM pg_cursors)', 'id IN (SELECT oid::int FROM pg_class)',
    "id = 1 OR EXISTS (SELECT FROM pg_settings WHERE name = 'x')",
  ]),
  where('P009 W020', 'system columns, which a rolled-back preview marks', 'UNSUPPORTED_STATEMENT', [
    "id = 1 OR xmax::text <> '0'", 'ctid IS NOT NULL', 'xmin IS NOT NULL', 'orders.xmax::text <> \'0\'', "public.orders.ctid = '(0,1)'", 'cmin = cmin',
    'cmax IS NOT NULL', 'tableoid > 0', 'id IN (SELECT o.id FROM orders o WHERE o.xmax::text <> \'0\')',
  ]),
  where('W001 W002 W003', 'a second statement', 'MULTI_STATEMENT', [
    'id = 1; DELETE FROM public.customers WHERE true; --', "id = 1; UPDATE countersign_data.plan SET state='approved'; SELECT 1",
    'id = 1; DROP TABLE public.x9; --', 'id = 1; SELECT 1', 'true; COMMIT', "id = 1; DO $$ begin end $$", "status = ';' AND id = 1; SELECT 1",
  ]),
  where('W001', 'a second statement that closes what it did not open', { tool: 'STATEMENT_FAILED', sql: 'MULTI_STATEMENT' }, [
    'id = 1); DELETE FROM orders; SELECT (1', 'true); select pg_advisory_lock(99); select (true', 'id = 1]); SELECT 1; SELECT (array[1', 'id = 1;', ';',
  ]),
  where('W004 W006', 'a bracket is closed that the text did not open', 'STATEMENT_FAILED', [
    'id = 1) OR (true', 'id = 1 RETURNING *), x AS (DELETE FROM public.customers RETURNING *), y AS (DELETE FROM public.orders WHERE false',
    'id = 1) RETURNING (true', 'id = 1)', '(id = 1', 'id = 1] OR array[true', 'id = 1)) OR ((true', 'id = 1) AND status IN (\'open\'', ') OR (', "id = '1",
    'id = "1', 'id = 1 /*', "id = E'\\'",
    'id = 1 AND', 'AND id = 1', 'id = = 1', '= 1', 'WHERE id = 1', 'id = 1 WHERE true', 'SELECT true', 'DELETE FROM orders', 'id = 1 AS x', 'true AS x', '*',
    'id = 1 USING customers', 'CURRENT OF c', 'id = 1 = 1 = 1',
  ]),
  where('W013', 'a clause after the condition', { tool: 'UNSUPPORTED_STATEMENT', sql: 'STATEMENT_FAILED' }, [
    'true LIMIT 1', 'true ORDER BY id', 'true GROUP BY id', 'true UNION SELECT 1', 'true HAVING true', 'true FOR UPDATE', 'true OFFSET 1',
    'true FETCH FIRST ROW ONLY', 'true WINDOW w AS ()', 'true INTERSECT SELECT 1', 'true EXCEPT ALL VALUES (1)',
  ]),
  where('W012', 'a cursor of the session, a RETURNING, another table', 'STATEMENT_FAILED', ['CURRENT OF c', 'true RETURNING *', 'id = 1 FROM customers']),
  where('W012', 'a list, a row, a type that is no boolean', 'STATEMENT_FAILED', ['id', "'x'", '(id, status)', "status || 'x'", 'NULL::int', 'ARRAY[true]', '1']),
  where('W005 W010', 'a comment, which speaks to the human alone', 'UNSUPPORTED_STATEMENT', [
    'id = 1 -- ', 'id = $1 -- $2', 'id = 1 /* one row */', 'id = 1 --\nOR true', '/**/ id = 1', 'id = 1 /* a /* nested */ b */ OR true',
    "id = 1 AND status = 'x' -- '", "id = 1 AND status <> E'\\'' -- '", 'id = 1--1', 'id/**/= 1',
  ]),
  where('W010', 'a dollar sign that begins no parameter', { tool: 'UNSUPPORTED_STATEMENT', sql: 'UNSUPPORTED_STATEMENT' }, ['status = $$x$$', 'status = $tag$x$tag$ OR true', 'id = 1 AND status = $a$1$a$']),
  where('W010', 'characters that no reader sees', 'INVALID_ARGUMENTS', ["status = 'a\u202eb'", "status = '\u0007'", 'id\u00a0= 1 AND status = \'\ufeff\'', "status = '\u2066x'", "status = '\u{e0041}'"]),
  refused('W010', 'parameters too few, too many, with a gap, or none', 'INVALID_ARGUMENTS', DELETE, [
    orders('id = $1'), orders('id = $1', [1, 2]), orders('id = $2', [1, 2]), orders('id = $1 AND total = $3', [1, 2, 3]), orders('id = 1', [1]),
    orders('id = $0', [1]), orders('$1 IS NULL', [1]), orders('id = $1', []), { ...orders('id = $1'), params: { 0: 1 } },
  ]),
  refused('W010 X010', 'a parameter that does not fit the type', 'STATEMENT_FAILED', DELETE, [
    orders('id = $1', ['2.5']), orders('id = $1', [true]), orders('id = $1', ['']), orders('id = $1', [[1]]), orders('id = any($1)', ['x']),
    orders("status::date = $1", ['2026-02-30']), orders('id = $1', ['1; drop table orders']), orders('id = $1', ["1' or '1'='1"]),
    orders('id = $1', [{ a: 1 }]), orders('id = $1', ['99999999999']), orders('id = $1', [2.5]),
  ]),
  previewed('W009 W010', 'a quote, a backslash or a placeholder within a literal is text', 'update_rows', [
    touched("id = 1 OR status = '\\'' OR true --'"), touched("id = 1 AND status <> '$1'"), touched("id = 1 AND status <> 'US$ and $$'"), touched("id = 1 AND status <> 'gr\u00fc\u00dfe \u{1f600}'"),
    touched("id = 1 AND status <> '''; drop table orders; --'"), touched("id = 1 AND status <> E'\\'\\\\'"),
    touched('id = $1 AND status <> $2', [1, "' OR true --"]), touched('id = $1 AND status <> $2', [1, '\\']), touched('"id" = 1'),
    touched("id = 1 AND status <> U&'\\0061'"),
    touched("id = 1 AND status <> 'a;b -- c /* d */'"), touched('id = $1', ['1']), touched('id = $1', [' 1 ']), touched('id = $1', [1.0]),
    touched("status = $1 AND id < $2", ['open', 2]),
  ], { status: 'previewed', affected: 1, total: 1, effects: { 'public.orders': [0, 1, 0] } }),
  where('W045 W046', 'a secret is asked for, row by row or by an error', 'NOT_READABLE', [
    "id = 1 AND (SELECT token FROM public.secrets WHERE id=1) LIKE 's%'", '(SELECT token FROM public.secrets WHERE id=1)::int = 1',
    'EXISTS (SELECT FROM secrets WHERE id = orders.id)', 'id IN (SELECT id FROM secrets)', 'id = (SELECT max(id) FROM order_items)',
    "id = ANY (ARRAY(SELECT id FROM secrets))", '(SELECT ssn FROM customers WHERE id = 1) IS NOT NULL',
    'EXISTS (SELECT FROM customers c WHERE c IS NOT NULL)', 'customer_id IN (SELECT id FROM customers ORDER BY ssn LIMIT 1)', 'EXISTS (TABLE secrets)',
    'id = 1 OR EXISTS (SELECT FROM orders o JOIN secrets s USING (id))', 'id = (WITH s AS (SELECT id FROM secrets) SELECT max(id) FROM s)',
    'EXISTS (SELECT FROM orders o, LATERAL (SELECT token FROM secrets WHERE id = o.id) s)', "(SELECT 1 FROM secrets LIMIT 1) = 1",
  ], 'grant select on public.secrets to countersign_writer'),
  refused('W045 W048', 'a hidden column of the table itself', 'NOT_READABLE', 'update_rows', ["ssn LIKE 's%'", 'customers IS NOT NULL', '(customers).ssn IS NULL', 'length(ssn) > 3', 'row(customers.*) IS NULL', 'EXISTS (SELECT FROM customers c WHERE c.ssn = customers.email)', "to_jsonb(customers) ->> 'ssn' <> ''"]
    .map((condition) => ({ table: 'customers', set: { name: 'x' }, where: condition }))),
  where('W050 W061 W064', 'functions of the application, called or hidden in operators, casts, attributes and types', 'UNSAFE_FUNCTION', [
    'id <= 10 AND public.pay(id)', 'public.evade()', 'id OPERATOR(public.===) 1', 'id === 1', 'orders.mk = 1', '(orders).mk = 1', 'mk(orders) = 1',
    "status::macaddr IS NULL", "id = '1'::public.checked", 'id::checked = 1', "status = ANY (ARRAY[1]::text[]) OR id = ALL (ARRAY[1]::checked[])",
    'id = 1 AND NOT EXISTS (SELECT FROM labels WHERE lower(label) IS NULL)',
    'id = (SELECT summed(o.id) FROM orders o)', 'id === ANY (ARRAY[1])', 'EXISTS (SELECT pay(1))', 'CASE WHEN false THEN pay(1) ELSE true END',
    'id = 1 OR bump() > 0', 'id IN (SELECT bump())', "id = (jsonb_populate_record(NULL::noticed, '{\"a\": 1}')).a", '$1 === id',
  ], FUNCTIONS),
  where('W051', 'a session outside of the transaction', 'UNSAFE_FUNCTION', ["dblink_exec('host=127.0.0.1 user=bob password=pw','insert into public.ext values (1)') = ''", "id IN (SELECT n FROM dblink('x', 'select 1') AS t(n int))"], 'create extension dblink'),
  where('W064', 'names that are neither columns nor attributes', 'UNKNOWN_COLUMN', ['orders.mk_attr = 1', 'nothing = 1', 'public.orders.nothing IS NULL', 'nowhere.id = 1'].slice(0, 3), FUNCTIONS),
  where('W064', 'a function notation of what is no row', 'STATEMENT_FAILED', ['(status).mk = 1', 'id OPERATOR(public.nothing) 1', "nothing(id) = 1", "id = 'x'::nothing"], FUNCTIONS),
  where('W045', 'a table that does not exist', 'UNKNOWN_TABLE', ['id IN (SELECT id FROM nowhere)', 'EXISTS (SELECT FROM public.оrders)', 'id IN (SELECT id FROM pg_temp.orders)']),
  previewed('W064', 'a field of a row, a check without functions, a cast in operator form: nothing of these is refused', 'update_rows', [touched('id = (ROW(1)::public.mood).a'), touched("id = '1'::public.positive"), touched("id = pg_catalog.int4('1')"), touched('id OPERATOR(pg_catalog.=) 1'), touched('id IN (SELECT id FROM aware WHERE id = 1)'), touched('orders.id = 1')],
    { status: 'previewed', affected: 1, total: 1 }, FUNCTIONS),
  story('W050 W061', 'a function that an administrator allowed, and that writes, is stopped before anything is written', async (world) => {
    await world.admin(`select countersign.allow('function', 'public.pay'); select countersign.allow('function', 'public.evade');
      grant execute on function pg_catalog.set_config(text, text, boolean) to public`);
    for (const [condition, code] of [['id <= 10 AND public.pay(id)', 'UNSAFE_FUNCTION'], ['public.evade()', 'STATEMENT_FAILED']] as const) {
      const before = await world.fingerprint();
      expect((await world.tool(DELETE, { ...orders(condition), reason: 'a test' })).code).toBe(code);
      expect((await world.sql(DELETE, orders(condition))).code).toBe(code);
      expect(await world.fingerprint()).toBe(before);
    }
  }, FUNCTIONS),
  story('W052', 'what a preview leaves behind is the place of sequences, and nothing else', async (world) => {
    await world.admin(`create sequence public.seen; create function public.leaves() returns trigger language plpgsql security definer as $$begin
      perform nextval('public.seen'), pg_advisory_lock(4711), set_config('app.left', 'behind', false), lo_from_bytea(0, 'x'), pg_notify('behind', 'x');
      create temporary table if not exists left_behind (n integer); prepare left_behind as select 1; return null; end$$;
      create trigger leaves after update on public.orders execute function public.leaves()`);
    const heard: string[] = [];
    const listener = await world.db.connect('admin');
    listener.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await listener.query('listen behind');
    // A trigger that makes a table takes an exclusive lock: refused, and rolled back all the same.
    expect((await world.tool('update_rows', { ...touched('id = 1'), reason: 'a test' })).code).toBe('UNSUPPORTED_STATEMENT');
    await world.tool('query', { statement: 'SELECT 1', reason: 'the sessions are put back' });
    await listener.query('select 1');
    expect(heard).toEqual([]);
    expect(await world.admin(`select last_value::integer as seen, (select count(*)::integer from pg_largeobject_metadata) as objects, (select count(*)::integer from pg_class where relname = 'left_behind') as tables,
      (select count(*)::integer from pg_locks where locktype = 'advisory' and objid = 4711 and database = (select oid from pg_database where datname = current_database())) as locks from public.seen`)).toEqual([{ seen: 1, objects: 0, tables: 0, locks: 0 }]);
  }),
  story('W068', 'the caller\'s session cannot blind the counters', async (world) => {
    const connection = await world.db.connect('agent');
    await connection.query("set stats_fetch_consistency = 'snapshot'").catch(() => undefined);
    await expect(connection.query("select set_config('track_counts', 'off', true)")).rejects.toMatchObject({ code: '42501' });
    await expect(connection.query('set track_counts = off')).rejects.toMatchObject({ code: '42501' });
    await expect(connection.query('select pg_stat_reset()')).rejects.toMatchObject({ code: '42501' });
    await connection.query('select pg_stat_clear_snapshot()');
    const outcome = await world.apiOn(connection).previewDelete({ table: 'customers', where: 'id = 7', params: [], confirmFullTable: false, reason: 'a test', callerId: null });
    expectMeasured(outcome.detail ?? {}, { status: 'awaiting_approval', affected: 1, total: 13, effects: { 'public.order_items': [0, 0, 9], 'public.orders': [0, 0, 3], 'public.customers': [0, 0, 1] } });
  }),
  ...([
    ['id = 1', 1], ["id in (1,2,3) and status = 'open'", 2], ['total between 1 and 5', 5], ["status like 'op%'", 200],
    ["lower(status) = 'open' and total*2 > 10", 196], ['status is null', 0], ["id = any('{1,2,3}'::int[])", 3], ['(id, total) in ((1,1),(2,2))', 2],
    ["total::text = '5'", 1], ['not (id > 5)', 5], ['coalesce(total,0) < 3', 2], ["status ~ '^o' and length(status) < 9", 200], ['id % 100 = 0', 3],
    ['case when id=1 then true else false end', 1],
    ['id in (select id from orders where total > 295)', 5], ['exists (select from customers c where c.id = orders.customer_id and c.balance >= 1000)', 3],
    ["now() > '2020-01-01' and id < 3", 2], ["current_date > date '2020-01-01' and id = 2", 1], ["status in ('open', 'x') or id is distinct from id", 200],
    ['id = (select max(o.id) from orders o)', 1],
    ['total >= all (select o.total from orders o)', 1], ["to_char(now(), 'YYYY') >= '2026' and id = 4", 1],
    ["position('n' in status) > 0 and substring(status from 1 for 1) = 'o' and trim(both ' ' from status) = 'open' and id <= 3", 2],
    ["extract(year from now()) > 2000 and id = 1", 1], ["status similar to 'o%' and id < 4", 2], ["(total / 2)::int between 1 and 2", 4],
    ["id in (1, 2) and total is not null and status is not null", 2], ['row(id, status) = row(1, \'open\')', 1], ["md5(status) = md5('done') and id <= 6", 2],
    ["jsonb_build_object('a', id) @> '{\"a\": 3}'", 1], ["array[id] <@ array[1, 2, 3]", 3], ["id <@ int4range(1, 4)", 3],
    ["regexp_replace(status, 'o', 'x') = 'xpen' and id = 1", 1], ["id = 7 and now() - interval '1 day' < now()", 1],
    ['(select count(*) from orders o where o.customer_id = orders.customer_id) = 3 and id < 5', 4], ['id not in (select o.id from orders o where o.id > 2)', 2],
    ['with_total.id = 1', -1],
  ] as const).filter(([, n]) => n >= 0).map(([condition, n]) => previewed('W069 W024', `ordinary: ${condition}`, 'update_rows', [touched(condition)], { status: n > 10 ? 'awaiting_approval' : 'previewed', affected: n, total: n, effects: n === 0 ? {} : { 'public.orders': [0, n, 0] } })),
  previewed('W069', 'ordinary with parameters', 'update_rows', [touched('id = $1 or status = $2 and id < $3', [1, 'done', 7]), touched('id = any($1) or id = $2', [[3, 6], 1]), touched("id = any($1) or id = $2", ['{3,6}', '1'])], { status: 'previewed', affected: 3, total: 3 }),
  previewed('W020', 'a condition that is always true', DELETE, [
    '1=1', 'true', 'NOT false', 'id = id', 'id IS NOT NULL', 'id > -2147483648', "'a' = 'a'", 'id IN (SELECT id FROM public.orders)', "status LIKE '%'",
    'length(status) >= 0', 'total IS NULL OR total IS NOT NULL', 'id IN (1) OR id NOT IN (1)', 'EXISTS (SELECT 1)',
    'id = ANY (ARRAY(SELECT generate_series(1,1000)))',
    '(id, id) = (id, id)', 'coalesce(total,0) = coalesce(total,0)', 'id BETWEEN 0 AND 2147483647', 'id <> -1', 'orders IS NOT NULL',
    'CASE WHEN true THEN true END', 'now() IS NOT NULL', "NOT EXISTS (SELECT 1 WHERE false)", 'id > 0 OR 1 = 0',
  ].map((condition) => orders(condition)), { status: 'awaiting_approval', affected: 300, total: 1200, effects: { 'public.order_items': [0, 0, 900], 'public.orders': [0, 0, 300] }, gate: /1200 rows in all tables/ }),
  previewed('W021', 'a column that the inner table lacks is the outer one\'s', DELETE, [orders('id IN (SELECT id FROM public.to_purge)')], { status: 'awaiting_approval', affected: 300, total: 1200 },
    "create table public.to_purge (order_ref integer); insert into public.to_purge values (1), (2); select countersign.allow('read', 'public.to_purge')"),
  previewed('W024', 'AND binds closer than OR', 'update_rows', [touched("status = 'open' OR status = 'x' AND id = 5")], { status: 'awaiting_approval', affected: 200, total: 200 }),
  previewed('W025', 'an underscore stands for any character', 'update_rows', [{ table: 'public.customers', set: { name: 'x' }, where: "email LIKE 'user1_@example.com'" }], { status: 'previewed', affected: 10, total: 10 }),
  refused('T022 W020', 'no condition, blank or missing', 'WHERE_REQUIRED', DELETE, [{ table: 'orders' }, { table: 'orders', where: '' }, { table: 'orders', where: '  ' }, { table: 'orders', where: '', confirm_full_table: false }]),
  refused('T022 W020', 'no condition in an update', 'WHERE_REQUIRED', 'update_rows', [{ table: 'orders', set: { total: 1 } }, { table: 'orders', set: { total: 1 }, where: ' ' }]),
  previewed('T022', 'what the agent confirms loosens nothing', DELETE, [{ table: 'orders', confirm_full_table: true }, { ...orders('true'), confirm_full_table: true }], { status: 'awaiting_approval', affected: 300, total: 1200 }),
  story('W046', 'an error while the condition runs does not print the value', async (world) => {
    for (const condition of ["email::int = 1", "id = 1 AND status::date IS NULL", "status::uuid IS NOT NULL", "status::jsonb IS NOT NULL"]) {
      const table = condition.startsWith('email') ? 'customers' : 'orders';
      const answer = await world.tool('update_rows', { table, set: table === 'orders' ? { total: 1 } : { name: 'x' }, where: condition, reason: 'a test' });
      expect(answer.code).toBe('STATEMENT_FAILED');
      expect(answer.text).not.toMatch(/user1|"open|\\"open/);
      expectNoSecret(answer.text);
    }
  }),
];
