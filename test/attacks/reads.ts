/** What a read must not reach: tables outside the allowlist, by whatever spelling, and code that does more than read. */
import { answered, read, refused, story, type Attack } from './attack.js';
import { expect } from 'vitest';
import { expectNoSecret } from './runner.js';
import { BUMP } from './shop.js';

const D63 = 'd'.repeat(63);

/** Operators, casts, domains, aggregates, defaults: ways to a writing function that no parse tree shows as a call. */
const HIDDEN_CALLS = `${BUMP}
create function public.opw(integer, integer) returns boolean language sql volatile as 'select public.bump() > 0';
create operator public.### (leftarg = integer, rightarg = integer, procedure = public.opw);
create function public.chk(text) returns boolean language sql volatile as 'select public.bump() > 0';
create domain public.note as text check (public.chk(value));
create domain public.note2 as public.note;
create type public.noted as (a public.note, b integer);
create function public.opt(text, text) returns boolean language sql volatile as 'select public.bump() > 0';
create operator public.@@@ (leftarg = text, rightarg = text, procedure = public.opt);
create domain public.by_operator as text check (value @@@ 'x');
create function public.step(integer, integer) returns integer language plpgsql volatile security definer as 'begin return public.bump(); end';
create aggregate public.harmless_sum(integer) (sfunc = public.step, stype = integer, initcond = '0');
create function public.with_default(a integer default public.bump()) returns integer language sql immutable as 'select a';
create function public.attr(public.orders) returns integer language plpgsql volatile as 'begin return public.bump(); end';
create function public.casting(text) returns macaddr language plpgsql volatile as 'begin perform public.bump(); return null; end';
create cast (text as macaddr) with function public.casting(text) as assignment;`;

export const READS: readonly Attack[] = [
  read('A001', 'a query held in a string is run by an XML function', 'UNSAFE_FUNCTION', [
    "SELECT query_to_xml('select token from public.secrets',true,true,'')",
    "SELECT query_to_xmlschema('select token from public.secrets',true,true,'')",
    "SELECT query_to_xml_and_xmlschema('select token from public.secrets',true,true,'')",
    "SELECT pg_catalog.query_to_xml('table secrets', true, true, '')",
    "SELECT \"query_to_xml\"/**/('table secrets', true, true, '')",
    "SELECT U&\"\\0071uery_to_xml\"('table secrets', true, true, '')",
    "SELECT * FROM query_to_xml('table secrets', true, true, '') x",
    "SELECT id FROM orders ORDER BY query_to_xml('table secrets', true, true, '')::text",
    "SELECT (xpath('/row', query_to_xml('table secrets', true, true, '')))[1]",
  ]),
  read('A002', 'a table named by a constant is dumped by an XML function', 'UNSAFE_FUNCTION', [
    "SELECT table_to_xml('public.secrets'::regclass,true,true,'')",
    "SELECT table_to_xmlschema('public.secrets',true,true,'')",
    "SELECT table_to_xml_and_xmlschema('public.secrets',true,true,'')",
  ]),
  read('A004', 'everything is dumped into one cell', 'UNSAFE_FUNCTION', [
    "SELECT database_to_xml(true,true,'')",
    "SELECT database_to_xmlschema(true,true,'')",
    "SELECT database_to_xml_and_xmlschema(true,true,'')",
    "SELECT schema_to_xml('public',true,true,'')",
    "SELECT schema_to_xmlschema('public',true,true,'')",
    "SELECT schema_to_xml_and_xmlschema('public',true,true,'')",
  ]),
  read('A005', 'a cursor of somebody else is read by name', 'UNSAFE_FUNCTION', [
    "SELECT cursor_to_xml('cur',10,true,true,'')",
    "SELECT cursor_to_xmlschema('cur',true,true,'')",
  ]),
  read('A006', 'text search functions run a query held in a string', 'UNSAFE_FUNCTION', [
    "SELECT word FROM ts_stat('select to_tsvector(''simple'',token) from public.secrets')",
    "SELECT word FROM ts_stat('select to_tsvector(token) from public.secrets', 'ab')",
    "SELECT ts_rewrite('a'::tsquery, 'select to_tsquery(token), to_tsquery(token) from public.secrets')",
  ]),
  read('A008', 'functions of extensions run a query held in a string', 'UNSAFE_FUNCTION', [
    "SELECT * FROM crosstab('select 1, token, token from public.secrets') AS c(a int, b text)",
    "SELECT * FROM crosstab2('select 1::text, token, token from public.secrets')",
    "SELECT * FROM crosstab('select 1, 1, token from secrets', 'select 1') AS c(a int, b text)",
    "SELECT * FROM connectby('secrets', 'id', 'id', '1', 0) AS t(a int, b int, l int)",
    "SELECT * FROM xpath_table('id', 'token', 'secrets', '/x', 'true') AS t(id int, x text)",
  ], 'create extension tablefunc; create extension xml2;'),
  read('A010 A011', 'a common table expression lends its name to a table', 'NOT_READABLE', [
    'WITH secrets AS (SELECT 1) SELECT * FROM public.secrets',
    'SELECT * FROM (WITH secrets AS (SELECT 1) SELECT 1) x, secrets',
    'WITH a AS (WITH secrets AS (SELECT 1 AS id) SELECT * FROM secrets) SELECT * FROM a JOIN secrets USING (id)',
    'WITH x AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM x',
    'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r, public.secrets WHERE n < 3) SELECT * FROM r',
  ]),
  answered('A010', 'a common table expression may bear any name', ['WITH secrets AS (SELECT 1 AS id) SELECT id FROM secrets'], [{ id: 1 }]),
  read('A014 A015', 'a partition is read by its own name, past what its parent grants', 'NOT_READABLE', [
    'SELECT id FROM public.pt_a', 'SELECT k FROM pt_a', 'SELECT id FROM public.pt', 'SELECT pt FROM public.pt', 'SELECT * FROM public.rp1', 'TABLE rp1',
    'SELECT k FROM public.pt UNION ALL SELECT k FROM public.pt_a',
  ], `create table public.pt (id integer, k text) partition by list (k);
    create table public.pt_a partition of public.pt for values in ('a'); insert into public.pt values (1, 'a');
    create table public.rp (id integer, owner text) partition by list (id);
    create table public.rp1 partition of public.rp for values in (1); insert into public.rp values (1, 's3cr3t');
    alter table public.rp enable row level security; create policy own on public.rp using (owner = current_user);
    select countersign.allow('read', 'public.pt', array['k']); select countersign.allow('read', 'public.rp');
    grant select on public.pt_a to countersign_reader`),
  answered('A016', 'a schema that bears the name of the login shadows nothing', [
    "SELECT count(*)::int AS n, count(*) FILTER (WHERE status LIKE 's3c%')::int AS forged FROM orders",
  ], [{ n: 300, forged: 0 }], `create schema <reader>; create table <reader>.orders as select 1 as id, 's3cr3t-shadow'::text as status;
    grant usage on schema <reader> to <reader>; grant select on <reader>.orders to <reader>`),
  read('A017 A018 A019 A020 A022 A023 A024 A025 A027 A030', 'a table outside the allowlist, however it is spelled', 'NOT_READABLE', [
    'TABLE secrets', 'SELECT * FROM "secrets"', 'SELECT * FROM U&"\\0073ecrets"', 'SELECT * FROM U&"!0073ecrets" UESCAPE \'!\'',
    'SELECT * FROM ONLY (secrets)', 'SELECT s FROM secrets AS orders(id, s)', 'SELECT (SELECT token FROM secrets LIMIT 1)',
    'SELECT * FROM orders o, LATERAL (SELECT token FROM secrets WHERE id=o.id) s', 'VALUES ((SELECT token FROM secrets LIMIT 1))',
    'SELECT 1 FROM orders WHERE EXISTS (TABLE secrets) ORDER BY (SELECT token FROM secrets LIMIT 1)',
    'SELECT secrets FROM secrets', 'SELECT (s).token FROM secrets s', 'SELECT s.* FROM secrets s', 'SELECT to_jsonb(secrets) FROM secrets',
    'SELECT count(*) FROM secrets', 'SELECT 1 FROM secrets', 'SELECT FROM secrets', 'SELECT * FROM SECRETS', 'SELECT * FROM secrets *',
    'SELECT id FROM orders UNION SELECT id FROM secrets', 'SELECT id, status FROM orders EXCEPT TABLE secrets', 'SELECT * FROM orders NATURAL JOIN secrets',
    'SELECT id FROM orders LIMIT (SELECT id FROM secrets LIMIT 1)', 'SELECT id FROM orders OFFSET (SELECT count(*) FROM secrets)',
    'SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM secrets)) FROM orders', 'SELECT rank() OVER (ORDER BY (SELECT max(token) FROM secrets)) FROM orders',
    'SELECT CASE WHEN (SELECT token FROM secrets WHERE id = 1) LIKE \'a%\' THEN 1 END', 'SELECT ARRAY(SELECT token FROM secrets)',
    'SELECT id FROM orders GROUP BY id HAVING id IN (SELECT id FROM secrets)', 'SELECT * FROM secrets TABLESAMPLE SYSTEM (100)',
    'SELECT * FROM ROWS FROM (generate_series(1, (SELECT max(id) FROM secrets))) g', 'SELECT NOT EXISTS (SELECT FROM secrets)',
    'SELECT json_agg(s) FROM secrets s', 'SELECT (SELECT s FROM secrets s LIMIT 1)::text', 'SELECT /* SELECT 1 */ * FROM /**/ secrets --',
    'SELECT * FROM public."secrets"', 'SELECT * FROM order_items', 'SELECT o.id FROM orders o JOIN order_items i ON i.order_id = o.id',
  ]),
  read('A023', 'a column outside the allowlist, named or not', 'NOT_READABLE', [
    'SELECT ssn FROM customers', 'SELECT * FROM customers', 'SELECT c FROM customers c', 'SELECT c.* FROM customers c', 'TABLE customers',
    'SELECT to_jsonb(c) FROM customers c', 'SELECT row_to_json(customers) FROM customers', 'SELECT id FROM customers ORDER BY ssn',
    "SELECT id FROM customers WHERE ssn LIKE 's%'", 'SELECT count(ssn) FROM customers', 'SELECT count(DISTINCT c) FROM customers c',
    'SELECT a FROM customers AS c(i, e, n, b, a)',
    'SELECT o.id FROM orders o JOIN customers c ON c.ssn = o.status', 'SELECT id FROM customers GROUP BY id, ssn', 'SELECT (customers).ssn FROM customers',
    'SELECT max(ssn) FROM customers', 'SELECT id FROM customers c WHERE c IS NOT NULL', 'SELECT id, lag(ssn) OVER () FROM customers',
    'SELECT coalesce(name, ssn) FROM customers',
    'SELECT * FROM orders NATURAL JOIN customers', 'SELECT x.s FROM (SELECT ssn AS s FROM customers) x',
  ]),
  answered('A023', 'the readable columns of the same table', ['SELECT id, email, name, balance FROM customers WHERE id = 7'], [
    { id: 7, email: 'user7@example.com', name: 'name7', balance: '70' },
  ]),
  read('A033', 'a name longer than Postgres keeps means the table it is cut to', 'NOT_READABLE', [
    `SELECT * FROM public.${D63}zzz`, `SELECT * FROM "${D63}extra"`, `SELECT * FROM ${D63}`,
  ], `create table public.${D63} (token text); insert into public.${D63} values ('s3cr3t-cut')`),
  read('A034', 'a letter of another alphabet makes another name', 'UNKNOWN_TABLE', ['SELECT * FROM оrders', 'SELECT * FROM "ordеrs"', 'SELECT * FROM ｏrders']),
  read('R002', 'several statements in one text', 'MULTI_STATEMENT', [
    'ROLLBACK; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE; SELECT public.bump()', 'SELECT 1; SELECT public.bump()', 'SELECT 1; COMMIT',
    'SELECT 1;;SELECT 2', 'SELECT 1 /* ; */; SELECT 2', "SELECT ';'; SELECT 2", 'BEGIN; SELECT public.bump(); COMMIT',
  ], BUMP),
  read('R004', 'a view that was allowed writes when it is read', { tool: 'NOT_A_SELECT', sql: 'readable' }, [
    'SELECT count(b) FROM public.harmless', 'SELECT b FROM harmless LIMIT 1', 'SELECT * FROM orders WHERE id IN (SELECT b FROM harmless)',
  ], `${BUMP} create view public.harmless as select id, public.bump() as b from public.orders; select countersign.allow('read', 'public.harmless')`),
  read('R005 R006', 'a writing function behind an operator, a cast, a type, an aggregate or a default', 'UNSAFE_FUNCTION', [
    'SELECT id FROM public.orders WHERE id ### 1 LIMIT 1', "SELECT 'x'::public.note", 'SELECT id FROM orders WHERE id OPERATOR(public.###) 1',
    'SELECT id FROM orders WHERE id ### ANY (ARRAY[1, 2])', "SELECT note 'x'", "SELECT CAST('x' AS note2)", "SELECT status::note FROM orders",
    "SELECT '{x}'::note[]",
    "SELECT ARRAY['x']::note[]", "SELECT ROW('x', 1)::noted", "SELECT '(x,1)'::noted", "SELECT 'x'::by_operator", 'SELECT NULL::note',
    `SELECT * FROM json_to_record('{"a":"x"}') AS r(a note)`, `SELECT * FROM jsonb_to_recordset('[{"a":"x"}]') AS r(a note)`,
    `SELECT * FROM jsonb_populate_record(NULL::noted, '{"a":"x"}')`, "SELECT * FROM XMLTABLE('/r' PASSING XML '<r/>' COLUMNS a public.note PATH 'x')",
    'SELECT harmless_sum(id) FROM orders', 'SELECT harmless_sum(id) OVER () FROM orders', 'SELECT with_default()', 'SELECT o.attr FROM orders o',
    'SELECT (o).attr FROM orders o', 'SELECT attr(o) FROM orders o',
    "SELECT '1'::text::macaddr", 'SELECT status::macaddr FROM orders', "SELECT domain_in('x'::cstring, 'note'::regtype, -1) IS NULL",
    "SELECT record_in('(x,1)'::cstring, 'noted'::regtype, -1)::text",
    'SELECT id FROM orders WHERE $1 ### id', 'SELECT bump()', 'SELECT * FROM bump()', 'SELECT public.bump() FROM orders', 'SELECT "bump"()',
    'SELECT id FROM orders ORDER BY bump()',
    'SELECT id FROM orders LIMIT bump()', 'VALUES (bump())', 'SELECT (SELECT bump())', 'SELECT id FROM orders GROUP BY id HAVING bump() > 0',
    'SELECT count(*) FILTER (WHERE bump() > 0) FROM orders', 'SELECT row_number() OVER (ORDER BY bump()) FROM orders', 'SELECT CASE WHEN false THEN bump() END',
    'WITH x AS (SELECT bump() AS b) SELECT * FROM x', 'SELECT * FROM orders o, LATERAL bump() b', 'SELECT * FROM ROWS FROM (bump(), bump()) r',
  ], HIDDEN_CALLS),
  story('R006', 'none of these functions has run, not even once', async (world) => {
    for (const row of READS) {
      if (row.kind !== 'refused' || row.setup !== HIDDEN_CALLS) continue;
      for (const input of row.inputs) await world.tool('query', { ...input, reason: 'a test' });
      for (const input of row.inputs) await world.sql('query', input);
    }
    expect(await world.admin('select last_value, is_called from public.calls')).toEqual([{ last_value: '1', is_called: false }]);
  }, HIDDEN_CALLS),
  answered('R005', 'ordinary functions, operators and casts of a read', [
    { statement: "SELECT count(*)::int AS n FROM orders WHERE lower(status) = 'open' AND total * 2 > 10 AND id % 100 = 0 AND status ~ '^o' AND total::text <> '5' AND id = ANY ('{100,200,300}'::int[])" },
    { statement: 'SELECT count(*)::int AS n FROM orders WHERE id = ANY ($1) AND status LIKE $2 AND total BETWEEN $3 AND $4', params: [[100, 200, 300], 'op%', 1, '1000'] },
    { statement: "SELECT max(r)::int AS n FROM (SELECT dense_rank() OVER (ORDER BY status) AS r FROM orders WHERE status IN ('open', 'done') GROUP BY status) x" },
  ], [{ n: 2 }]),
  answered('R005', 'honest functions of the application and of extensions', ["SELECT plus_one(1) AS n, double_sum(id)::int AS d, similarity('abc', 'abc')::int AS s FROM orders WHERE id < 3"], [{ n: 2, d: 6, s: 1 }],
    `create function public.plus_one(integer) returns integer language sql immutable as 'select $1 + 1';
     create function public.twice(bigint, integer) returns bigint language sql immutable as 'select $1 + 2 * $2';
     create aggregate public.double_sum(integer) (sfunc = public.twice, stype = bigint, initcond = '0'); create extension pg_trgm`),
  story('A002 C008', 'no text is planned by a role that may read what the agent may not: planning runs functions, and their errors talk', async (world) => {
    await world.sql('delete_rows', { table: 'public.orders', where: 'id = 1' });
    const probes = (cast: string) => [
      `select 1 from pg_catalog.pg_class where relname = (table_to_xml('countersign_data.plan'::regclass,true,true,'')::text${cast})::text`,
      `select 1 from pg_catalog.pg_class where relname = (select current_setting('x')) || (database_to_xml(true,true,'')::text${cast})::text`,
    ].flatMap((text) => [text, `;${text}`, `/* ; */ ;${text}`, `/* /* */ a */; ${text}`, `-- x\n;${text}`, `(${text})`, `explain ${text}`, `explain analyze ${text}`, `create table x as ${text}`, `create view v as ${text}`, `declare c cursor for ${text}`, `prepare x as ${text}`, `copy (${text}) to stdout`]);
    const told = async (statement: string) => [await world.sql('run_migration', { statement }), await world.sql('query', { statement }), await world.sql('delete_rows', { table: 'public.orders', where: statement })].map(({ code, message }) => [code, message]);
    const [fails, works] = [probes('::integer'), probes('')];
    for (const [index, statement] of fails.entries()) {
      const answers = await told(statement);
      // Neither the text of the error nor whether there was one.
      expect(JSON.stringify(answers)).not.toMatch(/invalid input syntax|plan_token|<token>/);
      expect((await told(works[index] as string)).map(([code]) => code)).toEqual(answers.map(([code]) => code));
    }
  }),
  story('R002', 'a dollar quote that changes its tag when parameters are taken out breaks nothing open', async (world) => {
    const agent = await world.db.connect('agent');
    await agent.query("select 1");
    await world.admin('grant execute on function pg_catalog.pg_advisory_lock(bigint) to public');
    await world.apiOn(agent).checkRead({ tool: 'query', statement: "select $q$1$q$, 'HIDDEN $qnull$ ) as z; end; select pg_advisory_lock(4711) from (select 1 --'", params: [], reason: null, callerId: null });
    expect((await agent.query("select count(*)::integer as held from pg_locks where locktype = 'advisory' and objid = 4711")).rows).toEqual([{ held: 0 }]);
  }),
  read('R007', 'a sequence is moved', 'UNSAFE_FUNCTION', [
    "SELECT setval('public.inv_no', 999999), nextval('public.inv_no')", "SELECT nextval('inv_no')", "SELECT currval('inv_no')", 'SELECT lastval()',
  ], 'create sequence public.inv_no; grant usage, update on public.inv_no to countersign_reader'),
  read('R008 R011 R012 C020 C025', 'a setting is changed from within a SELECT', 'UNSAFE_FUNCTION', [
    "SELECT set_config('transaction_read_only','off',true), public.bump()", "SELECT set_config('default_transaction_read_only','off',false)",
    "SELECT set_config('role','none',true), query_to_xml('select * from public.secrets',true,false,'')", "SELECT set_config('row_security','off',true)",
    "WITH s AS MATERIALIZED (SELECT set_config('app.tenant','b',true)) SELECT o.* FROM s, public.orders o",
    "SELECT * FROM set_config('search_path', 'evil', false)",
    "SELECT set_config('statement_timeout','0',false)",
  ], BUMP),
  read('R011', 'the call after it writes', 'UNSAFE_FUNCTION', ['SELECT public.bump()'], BUMP),
  read('R009 R014 R040 R043 R044 R047 R048 R049 R050 R024', 'anything that is not one SELECT', 'NOT_A_SELECT', [
    'SET TRANSACTION READ WRITE', 'SET ROLE app_owner', 'RESET ROLE', 'SET SESSION AUTHORIZATION DEFAULT', 'CREATE TEMP TABLE orders AS SELECT 1 AS id',
    "PREPARE sw_get_plan(text) AS SELECT 'approved'::text AS status", 'DEALLOCATE ALL', 'LISTEN sw_plans', 'UNLISTEN *', 'COPY public.orders TO STDOUT',
    'COPY orders FROM STDIN',
    "COPY (SELECT 1) TO PROGRAM 'id'", "COPY secrets TO '/tmp/x'", "ALTER ROLE CURRENT_USER PASSWORD 'attacker'",
    'ALTER ROLE CURRENT_USER SET search_path = evil',
    'BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT a', 'ROLLBACK TO a', "PREPARE TRANSACTION 'x'", 'DISCARD ALL', 'RESET ALL', 'SHOW search_path',
    'LOCK TABLE orders', 'TRUNCATE orders', 'VACUUM', 'ANALYZE secrets',
    'CHECKPOINT', "DO $$ begin perform 1; end $$", 'DECLARE c CURSOR FOR SELECT 1', 'CLOSE ALL', "NOTIFY countersign, 'x'", 'REINDEX TABLE orders', 'CLUSTER',
    "LOAD 'x'", 'GRANT SELECT ON secrets TO PUBLIC', 'DROP TABLE orders',
    'INSERT INTO orders VALUES (1)', "UPDATE orders SET status = 'x' RETURNING *", 'DELETE FROM orders', 'DELETE FROM orders RETURNING *',
    'ALTER TABLE orders ADD x int', 'COMMENT ON TABLE orders IS NULL', 'REFRESH MATERIALIZED VIEW m',
    'CREATE TABLE x AS SELECT 1', 'EXPLAIN SELECT 1', 'EXECUTE nothing', 'SECURITY LABEL ON TABLE orders IS NULL',
    'IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c', 'REASSIGN OWNED BY a TO b',
  ]),
  read('R048', 'what is no SELECT and cannot be looked up either', { tool: 'NOT_A_SELECT', sql: 'STATEMENT_FAILED' }, ['CALL public.proc()']),
  read('R048', 'a query under EXPLAIN', 'NOT_A_SELECT', ['EXPLAIN ANALYZE DELETE FROM orders']),
  read('R037 R038 R041', 'a SELECT that writes, creates or locks', 'NOT_A_SELECT', [
    'WITH d AS (DELETE FROM public.orders RETURNING *) SELECT count(*) FROM d', 'SELECT * INTO TEMP leak FROM public.orders', 'SELECT id INTO leak FROM orders',
    'SELECT * FROM public.orders FOR UPDATE', 'SELECT id FROM orders FOR SHARE SKIP LOCKED',
    'SELECT * FROM (SELECT * FROM orders FOR UPDATE) x', "WITH u AS (UPDATE orders SET status = 'x' RETURNING id) SELECT id FROM u",
    'WITH i AS (INSERT INTO orders VALUES (999, 1) RETURNING id) TABLE i',
    'SELECT (WITH d AS (DELETE FROM orders RETURNING 1) SELECT count(*) FROM d)',
    'WITH a AS (WITH d AS (DELETE FROM orders RETURNING 1) SELECT * FROM d) SELECT * FROM a', 'SELECT id FROM orders FOR NO KEY UPDATE OF orders NOWAIT',
  ]),
  answered('R040', 'the table that everybody means is read, whatever was tried before', ['SELECT count(*)::int AS n FROM orders'], [{ n: 300 }]),
  read('R015 R016', 'other sessions are ended', 'UNSAFE_FUNCTION', [
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()',
    'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()', 'SELECT pg_terminate_backend(1)',
    'SELECT pg_log_backend_memory_contexts(1)', 'SELECT pg_reload_conf()', 'SELECT pg_rotate_logfile()',
  ]),
  read('R017', 'locks that outlive the transaction', 'UNSAFE_FUNCTION', [
    'SELECT pg_advisory_lock(42)', 'SELECT pg_try_advisory_lock(42)', 'SELECT pg_advisory_lock_shared(1, 2)', 'SELECT pg_try_advisory_lock_shared(1)',
    'SELECT pg_advisory_xact_lock(1)', 'SELECT pg_try_advisory_xact_lock_shared(1)',
    'SELECT pg_advisory_unlock_all()', 'SELECT pg_advisory_unlock(1)', 'SELECT count(pg_advisory_lock(g)) FROM generate_series(1, 1000000) g',
    'SELECT id FROM orders WHERE pg_try_advisory_lock(id)',
  ]),
  read('R046 R051', 'what is sent or written past the end of the transaction', 'UNSAFE_FUNCTION', [
    `SELECT pg_notify('sw_plans', '{"token":"x","status":"approved"}')`,
    "SELECT sum(length(pg_logical_emit_message(false,'x',repeat('y',1000000))::text)) FROM generate_series(1,100)",
    "SELECT pg_logical_emit_message(true, 'x', 'y')", "SELECT pg_create_restore_point('x')", 'SELECT pg_switch_wal()',
    'SELECT pg_export_snapshot()', 'SELECT txid_current()', 'SELECT pg_current_xact_id()', "SELECT pg_create_logical_replication_slot('x', 'y')",
    'SELECT pg_stat_reset()', "SELECT pg_replication_origin_create('x')", 'SELECT setseed(0.5)',
  ]),
  read('R019 R020 R021 R022', 'files and large objects', 'UNSAFE_FUNCTION', [
    "SELECT lo_from_bytea(0, decode(repeat('41',1000),'hex'))", "SELECT lo_import('/etc/passwd')", "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('.')", 'SELECT lo_create(0)', 'SELECT lo_creat(-1)', "SELECT lo_export(1, '/tmp/x')",
    'SELECT lo_unlink(1)', 'SELECT lo_get(1)', "SELECT lo_put(1, 0, 'x')", 'SELECT loread(1, 1)', "SELECT lowrite(1, 'x')", "SELECT pg_read_binary_file('x')",
    "SELECT pg_stat_file('x')", 'SELECT * FROM pg_ls_logdir()', 'SELECT pg_current_logfile()',
  ]),
  read('R025', 'another session, outside of the transaction', 'UNSAFE_FUNCTION', [
    "SELECT * FROM dblink('host=127.0.0.1 user=reader password=pw','SELECT public.bump()') AS t(n int)", "SELECT dblink_connect('host=127.0.0.1')",
    "SELECT dblink_exec('x', 'delete from orders')", 'SELECT dblink_get_connections()',
  ], `${BUMP} create extension dblink`),
  read('R026', 'a foreign table', 'NOT_READABLE', ['SELECT * FROM public.ft', 'SELECT 1 FROM orders, ft'],
    `create extension postgres_fdw; create server elsewhere foreign data wrapper postgres_fdw options (host '127.0.0.1', port '1');
     create foreign table public.ft (b integer) server elsewhere; grant select on public.ft to countersign_reader; grant usage on foreign server elsewhere to countersign_reader`),
  refused('R033 R034', 'the text begins where EXPLAIN takes its options', { tool: 'NOT_A_SELECT', sql: 'STATEMENT_FAILED' }, 'explain_plan', [
    { statement: 'ANALYZE DELETE FROM public.orders' }, { statement: '(ANALYZE) WITH d AS (DELETE FROM public.orders RETURNING 1) SELECT * FROM d' },
    { statement: 'ANALYZE VERBOSE SELECT 1' }, { statement: '(ANALYZE, BUFFERS) SELECT 1' },
    { statement: 'VERBOSE SELECT 1' },
  ]),
  refused('R033 R034', 'a write is explained', 'NOT_A_SELECT', 'explain_plan', [
    { statement: 'DELETE FROM public.orders' }, { statement: 'WITH d AS (DELETE FROM public.orders RETURNING 1) SELECT * FROM d' },
    { statement: 'EXPLAIN ANALYZE SELECT 1' }, { statement: 'EXECUTE x' }, { statement: 'CREATE TABLE x AS SELECT 1' },
  ]),
  refused('R036', 'a plan is made by running a function', 'UNSAFE_FUNCTION', 'explain_plan', [
    { statement: 'SELECT * FROM public.orders WHERE id = public.fold_me()' }, { statement: 'SELECT fold_me()' },
    { statement: 'SELECT * FROM orders WHERE id = $1::int + fold_me()', params: [1] },
  ], `${BUMP} create function public.fold_me() returns integer language plpgsql stable security definer as 'begin perform nextval(''public.calls''); return 1; end'`),
  refused('R036', 'a table outside the allowlist is explained', 'NOT_READABLE', 'explain_plan', [{ statement: 'SELECT * FROM secrets' }, { statement: "SELECT id FROM customers WHERE ssn = 'x'" }]),
  read('C022 R042', 'time is what tells', 'UNSAFE_FUNCTION', [
    "SELECT CASE WHEN (SELECT token FROM public.secrets WHERE id=1) LIKE 's%' THEN pg_sleep(0.5) END", 'SELECT pg_sleep(60) FROM public.orders LIMIT 1',
    "SELECT pg_sleep_for('1 minute')", "SELECT pg_sleep_until('tomorrow')",
  ]),
  read('C023', 'a function of the application that runs with its owner\'s rights', 'UNSAFE_FUNCTION', ['SELECT public.lookup(1)', 'SELECT * FROM lookup(1)', 'SELECT id FROM orders WHERE lookup(id) = 1'],
    "create function public.lookup(i integer) returns integer language plpgsql security definer as $$declare v text; begin select token into v from public.secrets where id = i; return v::integer; end$$"),
  story('C018', 'a view that hides rows: an error must not print what it hides', async (world) => {
    for (const statement of ['SELECT * FROM public.my_acc WHERE pin::int > 0', "SELECT * FROM my_acc WHERE pin::date > '2020-01-01'", 'SELECT * FROM my_acc WHERE pin::uuid IS NOT NULL', 'SELECT * FROM my_acc WHERE pin::jsonb IS NOT NULL', 'SELECT * FROM my_acc WHERE cast(pin AS inet) IS NULL']) {
      const answer = await world.tool('query', { statement, reason: 'a test' });
      expect(answer.code).toBe('STATEMENT_FAILED');
      expectNoSecret(answer.text);
    }
    const guarded = await world.tool('query', { statement: 'SELECT id, pin FROM public.my_acc_sb WHERE pin::int > 0', reason: 'a test' });
    expect(guarded.content['rows']).toEqual([{ id: 1, pin: '1111' }]);
  }, `create table public.acc (id integer, owner text, pin text); insert into public.acc values (2, 'other', 's3cr3t-pin'), (1, '<reader>', '1111');
    create function public.can_see(o text) returns boolean language plpgsql stable as 'begin return o = current_user; end';
    create view public.my_acc as select id, pin from public.acc where public.can_see(owner);
    create view public.my_acc_sb with (security_barrier) as select id, pin from public.acc where public.can_see(owner);
    select countersign.allow('read', 'public.my_acc'); select countersign.allow('read', 'public.my_acc_sb')`),
  answered('C024', 'no value is rounded, merged or moved on its way out', [
    "SELECT 9007199254740993::bigint AS id, 1 AS a, 2 AS a, 'NaN'::float8 AS f, 12345678901234567890.123456789::numeric AS n, '2026-03-29 02:30'::timestamp AS ts",
  ], [{ id: '9007199254740993', a: 1, a_2: 2, f: 'NaN', n: '12345678901234567890.123456789', ts: '2026-03-29T02:30:00' }]),
  answered('R054', 'parameters', [{ statement: 'SELECT id FROM orders WHERE id > $1 AND status = $2 ORDER BY id LIMIT 2', params: [6, 'open'] }], [{ id: 7 }, { id: 8 }]),
  answered('R054', 'VALUES, TABLE, WITH and a trailing semicolon', ['VALUES (7), (8)', 'SELECT n AS column1 FROM generate_series(7, 8) n;', 'WITH x (column1) AS (VALUES (7), (8)) TABLE x', '(SELECT 7 AS column1) UNION ALL (SELECT 8) ORDER BY 1'], [{ column1: 7 }, { column1: 8 }]),
];
