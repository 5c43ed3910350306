/** What a migration must not do: more than one thing, code that others run, rights, hidden losses; and that honest ones pass. */
import { expect } from 'vitest';
import type { Code } from '../../src/errors.js';
import { migration, notKnownTo, refused, story, type Attack } from './attack.js';
import { expectNoSecret, readyPlan } from './runner.js';
import { BUMP } from './shop.js';
import type { World } from './world.js';

/** Cases, or the part of a case, that no check of a statement can answer. */
export const NOT_CONTAINED_MIGRATIONS: ReadonlyArray<{ id: string; why: string }> = [
  { id: 'D018', why: 'CREATE TABLE AS is refused, but a DEFAULT nextval(…) moves its sequence already in the preview: no rollback takes a sequence back.' },
  { id: 'D037', why: 'Prepared statements of other sessions that select every column fail once after a column was added; Postgres tells only them.' },
  { id: 'D040', why: 'The preview tells the rewrite and both types, not how many values are rounded: who may not read the table may not count them either.' },
  { id: 'D042', why: 'The preview holds the locks of the statement as long as it runs; lock_timeout bounds the wait for them, statement_timeout the rest.' },
];

interface Facts { tag: string; locks: { table: string; mode: string }[]; rewrites: { table: string; rows_estimate: number }[]; added: string[]; removed: string[]; rows_lost_estimate: { object: string; rows: number }[] }

/** Facts that a preview must show; arrays are subsets, `lost` and `rewrites` are all. */
interface Shown { added?: RegExp[]; removed?: RegExp[]; locks?: string[]; rewrites?: string[]; lost?: Record<string, number> }

function expectFacts(facts: Facts, { added = [], removed = [], locks, rewrites, lost }: Shown): void {
  for (const line of added) expect(facts.added.join('\n')).toMatch(line);
  for (const line of removed) expect(facts.removed.join('\n')).toMatch(line);
  const held = facts.locks.map((lock) => `${lock.mode} ${lock.table}`);
  if (locks) expect(held).toEqual(expect.arrayContaining(locks));
  if (rewrites) expect(facts.rewrites.map((rewrite) => rewrite.table)).toEqual(rewrites);
  if (lost) expect(Object.fromEntries(facts.rows_lost_estimate.map(({ object, rows }) => [object, rows]))).toEqual(lost);
}

/** Previewed on both paths, always for a human, with these facts in front of them. */
async function expectGated(world: World, statement: string, shown: Shown): Promise<void> {
  const answer = await world.tool('run_migration', { statement, reason: 'a test' });
  expect([statement, answer.code, answer.text.slice(0, 400)]).toEqual([statement, null, expect.any(String)]);
  const outcome = await world.sql('run_migration', { statement });
  expect(outcome.code, JSON.stringify(outcome).slice(0, 400)).toBeNull();
  for (const detail of [answer.content, outcome.detail ?? {}]) {
    expect(detail).toMatchObject({ status: 'awaiting_approval', affected_rows: 0, total_rows: 0, gate: ['Migrations always wait for a human.'] });
    expectFacts(detail['migration'] as Facts, shown);
    expectNoSecret(detail);
  }
}

/** Refused on both paths, with a hint and an event. */
async function expectKept(world: World, statement: string, code: Code): Promise<void> {
  const answer = await world.tool('run_migration', { statement, reason: 'a test' });
  expect([statement, answer.code]).toEqual([statement, code]);
  const outcome = await world.sql('run_migration', { statement });
  expect([statement, outcome.code, outcome.hint]).toEqual([statement, code, expect.stringMatching(/\S/)]);
  expectNoSecret([answer.text, outcome]);
  expect(await world.lastCode()).toBe(code);
}

/** A story that brings its own setup, so that all stories can share one world, in the order below. */
const scene = (ids: string, title: string, play: (world: World) => Promise<void>, setup = 'select 1'): Attack =>
  story(ids, title, async (world) => {
    await world.admin(setup);
    await play(world);
  });

/** Gated one after the other; rows are as before. */
const gated = (ids: string, title: string, cases: ReadonlyArray<readonly [statement: string, shown: Shown]>, setup?: string): Attack =>
  scene(ids, title, async (world) => {
    const before = await world.fingerprint();
    for (const [statement, shown] of cases) {
      if (notKnownTo(world.db.major, statement)) await expectKept(world, statement, 'STATEMENT_FAILED');
      else await expectGated(world, statement, shown);
    }
    expect(await world.fingerprint()).toBe(before);
  }, setup);

/** Refused one after the other on both paths; rows are as before, and no function has run. */
const kept = (ids: string, title: string, code: Code, statements: readonly string[], setup: string): Attack =>
  scene(ids, title, async (world) => {
    const before = await world.fingerprint();
    for (const statement of statements) await expectKept(world, statement, notKnownTo(world.db.major, statement) ? 'STATEMENT_FAILED' : code);
    expect(await world.fingerprint()).toBe(before);
    if (setup.includes('bump()')) expect(await world.admin('select is_called from public.calls')).toEqual([{ is_called: false }]);
  }, setup);

/** Approved; then something happens; execution does nothing and says so. */
const outdated = (ids: string, title: string, statement: string, between: string, setup?: string): Attack =>
  scene(ids, title, async (world) => {
    const plan = await readyPlan(world, 'run_migration', { statement });
    await world.admin(between);
    const before = await world.fingerprint();
    const args = { plan_token: plan.plan_token, statement: plan.statement, params: plan.params };
    expect(await world.sql('execute_plan', args)).toMatchObject({ code: 'EFFECTS_CHANGED', detail: { status: 'stale' } });
    expect((await world.tool('execute_plan', args)).code).toBe('EFFECTS_CHANGED');
    expect(await world.fingerprint()).toBe(before);
  }, setup);

async function run(world: World, statement: string): Promise<void> {
  const plan = await readyPlan(world, 'run_migration', { statement });
  expect(await world.sql('execute_plan', { plan_token: plan.plan_token, statement: plan.statement, params: plan.params })).toMatchObject({ ok: true });
}

/** What an application may have lying about that writes when a migration touches it. */
const PLANTED = `${BUMP}
create function public.vol() returns integer language plpgsql as 'begin return public.bump(); end';
create function public.lie(integer) returns integer language plpgsql immutable as 'begin perform public.vol(); return 1; end';
create function public.lie_bool(integer) returns boolean language plpgsql immutable as 'begin perform public.vol(); return true; end';
create function public.recode(text) returns integer language plpgsql security definer as 'begin return public.bump(); end';
create function public.op(integer, integer) returns boolean language plpgsql as 'begin return public.bump() > 0; end';
create operator public.### (leftarg = integer, rightarg = integer, procedure = public.op);
create domain public.checked as text check (public.recode(value) > 0);
create function public.attr(public.orders) returns integer language plpgsql immutable as 'begin return public.bump(); end'`;

const CASTING = `create type public.cst as enum ('a'); create function public.casting(text) returns public.cst language plpgsql volatile as 'begin perform public.bump(); return ''a''; end';
create cast (text as public.cst) with function public.casting(text) as assignment; alter type public.cst owner to <owner>`;

const AUDITED = `create function public.aud() returns trigger language plpgsql as 'begin return new; end';
create trigger a before update on public.orders for each row execute function public.aud();
create table public.hidden_orders (like public.orders including all); alter table public.hidden_orders owner to <owner>;
insert into public.hidden_orders values (9001, 1, 's3cr3t-inh', 0);
create policy p on public.customers using (true); alter table public.customers enable row level security; alter table public.customers force row level security;
create view public.fenced with (security_barrier = true) as select id from public.orders; alter view public.fenced owner to <owner>;
create table public.parted (id integer, note text) partition by range (id); alter table public.parted owner to <owner>;
create table public.parted_1 partition of public.parted for values from (1) to (10); alter table public.parted_1 owner to <owner>;
create table public.loose (id integer, note text); alter table public.loose owner to <owner>; insert into public.loose values (11, 's3cr3t')`;

export const MIGRATIONS: readonly Attack[] = [
  migration('D001 D046', 'a second statement behind the first', 'MULTI_STATEMENT', [
    'ALTER TABLE public.orders ADD COLUMN x int; DELETE FROM public.customers', `ALTER TABLE orders ADD x int;${' '.repeat(5000)}DROP TABLE customers`, `ALTER TABLE orders ADD x int;${'\n'.repeat(3000)}DROP TABLE customers`,
    'ALTER TABLE orders ADD x int /* ; */; DROP TABLE customers', "COMMENT ON TABLE orders IS ';'; DROP TABLE customers", 'CREATE TABLE x (id int); CREATE TABLE y (id int);', 'ALTER TABLE orders ADD x int; COMMIT', 'ALTER TABLE orders ADD x int;;DROP TABLE customers',
    'SELECT 1; ALTER TABLE orders ADD x int', 'COMMIT; DROP TABLE orders',
  ]),
  migration('D002 D011 D013 D044 D045', 'code is planted: functions, triggers, rules, policies, operators, casts', 'UNSUPPORTED_STATEMENT', [
    'CREATE FUNCTION public.backdoor(q text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $f$BEGIN EXECUTE q; END$f$', "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'select 1'", 'CREATE FUNCTION public.lower(varchar) RETURNS text LANGUAGE sql AS $$select current_user::text$$',
    "CREATE PROCEDURE p() LANGUAGE sql AS 'select 1'", 'CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1', 'CREATE TRIGGER t BEFORE INSERT ON public.orders FOR EACH ROW EXECUTE FUNCTION public.t()', 'CREATE RULE r AS ON INSERT TO orders DO ALSO DELETE FROM customers',
    'CREATE POLICY p ON orders USING (true)', 'CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, PROCEDURE = int4pl)', 'CREATE CAST (text AS int) WITH INOUT AS IMPLICIT', 'CREATE AGGREGATE a(int) (SFUNC = int4pl, STYPE = int)', 'CREATE DOMAIN d AS int CHECK (value > 0)',
    'CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()', 'CREATE LANGUAGE plperl', 'CREATE CONVERSION c FOR \'UTF8\' TO \'LATIN1\' FROM f', 'CREATE OPERATOR CLASS c FOR TYPE int USING btree AS STORAGE int', 'CREATE ACCESS METHOD m TYPE INDEX HANDLER bthandler',
    'ALTER FUNCTION f() SECURITY DEFINER', 'DROP FUNCTION f()', 'ALTER TRIGGER t ON orders RENAME TO u', 'DROP TRIGGER t ON orders', 'DROP POLICY p ON orders', 'DROP RULE r ON orders', 'CREATE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION f(internal))',
  ]),
  migration('D031 D045', 'code is run at once', 'UNSUPPORTED_STATEMENT', ['DO $$ BEGIN DELETE FROM public.customers; END $$', "DO 'begin end'", 'PREPARE p AS DELETE FROM orders', 'DEALLOCATE ALL', 'EXECUTE nothing']),
  migration('D031', 'what cannot even be looked up', { tool: 'UNSUPPORTED_STATEMENT', sql: 'STATEMENT_FAILED' }, ['CALL public.proc()']),
  migration('D031', 'a query under EXPLAIN', 'UNSUPPORTED_STATEMENT', ['EXPLAIN ANALYZE DELETE FROM orders']),
  migration('D005 D006 D045', 'rights and roles', 'UNSUPPORTED_STATEMENT', [
    'GRANT SELECT ON public.customers TO countersign_reader', 'GRANT SELECT (ssn) ON customers TO PUBLIC', 'REVOKE ALL ON orders FROM PUBLIC', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC', 'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO countersign_reader',
    'GRANT countersign_approver TO countersign_agent', 'CREATE ROLE x LOGIN', 'ALTER ROLE CURRENT_USER SUPERUSER', 'ALTER USER CURRENT_USER SET search_path = evil', 'DROP ROLE x', 'REASSIGN OWNED BY CURRENT_USER TO countersign_agent', 'DROP OWNED BY CURRENT_USER',
    'CREATE USER MAPPING FOR PUBLIC SERVER s', "SECURITY LABEL ON TABLE orders IS 'x'",
  ]),
  migration('D043 D027 D045 D036', 'settings, locks and sessions', 'UNSUPPORTED_STATEMENT', [
    'SET session_replication_role = replica', 'SET LOCAL row_security = off', 'SET ROLE countersign_owner', 'RESET ROLE', 'SET SESSION AUTHORIZATION DEFAULT', 'RESET ALL', 'DISCARD ALL', 'LOCK TABLE public.orders IN ACCESS EXCLUSIVE MODE', 'LOCK orders', 'LISTEN x', "NOTIFY countersign, 'x'", "LOAD 'x'",
    'SET CONSTRAINTS ALL DEFERRED', 'CHECKPOINT', 'SET TRANSACTION READ ONLY',
  ]),
  migration('D017 D018 D019 D045', 'rows are copied, emptied or changed', 'UNSUPPORTED_STATEMENT', [
    'TRUNCATE public.customers CASCADE', 'TRUNCATE orders', 'CREATE TABLE public.x AS SELECT 1 AS n FROM generate_series(1,50)', 'CREATE TABLE public.leak AS SELECT * FROM public.secrets', 'CREATE TABLE leak AS TABLE public.secrets WITH NO DATA', 'SELECT token INTO leak FROM public.secrets', 'CREATE TABLE leak AS EXECUTE p',
    'CREATE MATERIALIZED VIEW leak AS SELECT * FROM public.secrets', 'REFRESH MATERIALIZED VIEW leak', 'COPY secrets TO STDOUT', "COPY orders FROM PROGRAM 'id'", 'INSERT INTO orders VALUES (1)', 'UPDATE orders SET total = 0', 'DELETE FROM orders', 'MERGE INTO orders o USING customers c ON true WHEN MATCHED THEN DELETE',
    'WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d', 'SELECT public.bump()',
  ]),
  migration('D025 D045', 'what no rollback takes back is never run instead', 'UNSUPPORTED_STATEMENT', [
    'CREATE INDEX CONCURRENTLY i1 ON public.orders(total)', 'REINDEX TABLE CONCURRENTLY public.orders', 'REINDEX TABLE orders', 'DROP INDEX CONCURRENTLY public.orders_pkey', 'VACUUM public.orders', 'ANALYZE orders', 'CREATE DATABASE x9', 'DROP DATABASE x9', "ALTER SYSTEM SET work_mem='8MB'", "CREATE TABLESPACE t9 LOCATION '/tmp/x'",
    'ALTER DATABASE postgres SET work_mem = 1', 'CLUSTER', 'CLUSTER orders USING orders_pkey', 'COMMIT', 'ROLLBACK', 'SAVEPOINT a', "PREPARE TRANSACTION 'x'", 'BEGIN', 'CREATE SUBSCRIPTION s CONNECTION \'host=x\' PUBLICATION p', 'CREATE PUBLICATION p FOR ALL TABLES',
  ]),
  migration('D029 D034 D045', 'extensions, schemas and servers', 'UNSUPPORTED_STATEMENT', [
    'CREATE EXTENSION dblink', 'CREATE EXTENSION tablefunc', "ALTER EXTENSION plpgsql UPDATE", 'CREATE SCHEMA reader CREATE TABLE orders(id int)', 'CREATE SCHEMA s', 'ALTER SCHEMA public RENAME TO old', 'DROP SCHEMA public CASCADE', 'CREATE SERVER s FOREIGN DATA WRAPPER w', 'CREATE FOREIGN DATA WRAPPER w',
    'CREATE FOREIGN TABLE f (a int) SERVER s', 'IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c', "CREATE COLLATION c (locale = 'C')", 'CREATE TEXT SEARCH CONFIGURATION c (PARSER = "default")',
  ]),
  migration('D015', 'out of the product, and into it', 'NOT_WRITABLE', [
    'ALTER TABLE public.orders SET SCHEMA countersign_data', 'ALTER TABLE orders SET SCHEMA countersign', 'ALTER TABLE countersign_data.event SET SCHEMA public', 'DROP TABLE countersign_data.plan', 'ALTER TABLE countersign_data.event DISABLE TRIGGER ALL', 'CREATE TABLE countersign.approve (id int)',
    'CREATE VIEW v AS SELECT * FROM countersign_data.plan', 'CREATE TABLE pg_catalog.x (id int)', 'ALTER TABLE pg_class ADD COLUMN x int', 'COMMENT ON TABLE countersign_data.event IS NULL',
  ]),
  migration('D014', 'temporary tables', 'NOT_WRITABLE', ['CREATE TEMP TABLE orders (id int)', 'CREATE TEMP VIEW v AS SELECT 1', 'CREATE TABLE pg_temp.orders (id int)']),
  migration('D007', 'the triggers of constraints', 'NOT_WRITABLE', ['ALTER TABLE orders DISABLE TRIGGER ALL']),
  migration('D042', 'a unique index that the rows do not allow', 'STATEMENT_FAILED', ['CREATE UNIQUE INDEX u ON public.orders(customer_id)', 'ALTER TABLE orders ADD UNIQUE (status)']),
  refused('D046', 'names that deceive, and texts that hide what they call', 'UNSUPPORTED_STATEMENT', 'run_migration', [
    { statement: 'CREATE TABLE "оrders" (id int)' }, { statement: 'ALTER TABLE orders ADD COLUMN tоtal int' }, { statement: `ALTER TABLE orders ADD COLUMN ${'x'.repeat(64)} int` }, { statement: 'ALTER TABLE orders ADD COLUMN x text DEFAULT $$a$$' }, { statement: 'ALTER TABLE U&"\\006frders" ADD COLUMN x int' }, { statement: "COMMENT ON TABLE orders IS U&'\\202e'" },
  ]),
  refused('D046', 'text that a terminal would obey', 'INVALID_ARGUMENTS', 'run_migration', [{ statement: "COMMENT ON TABLE orders IS '\u001b[2J'" }, { statement: 'ALTER TABLE orders ADD x int -- \u202e' }]),
  gated('D046', 'one statement with several parts, comments and blanks: every part is shown', [
    ["ALTER TABLE public.orders ADD COLUMN note text DEFAULT 'x'; -- 1 stmt\n/* */", { added: [/^column public\.orders\.note : text default 'x'::text$/m], lost: {} }],
    [`ALTER TABLE orders ADD COLUMN x int,${'\n'.repeat(3000)}DROP COLUMN total`, { added: [/public\.orders\.x/], removed: [/public\.orders\.total : numeric/], lost: { 'public.orders.total': 300 } }],
    ['ALTER TABLE orders ADD COLUMN y int -- nothing is dropped\n, DROP COLUMN status', { removed: [/public\.orders\.status/], lost: { 'public.orders.status': 300 } }],
    ['DROP TABLE order_items -- rename', { lost: { 'public.order_items': 900 } }],
    ['CREATE INDEX by_day ON orders USING hash (id) /* ; */;', { added: [/by_day ON public\.orders USING hash/] }],
  ], 'analyze'),
  scene('D018', 'a copy of a moving sequence is refused before it moves', async (world) => {
    for (const statement of ["CREATE TABLE public.x AS SELECT nextval('public.inv') n FROM generate_series(1,50)", "EXPLAIN ANALYZE SELECT nextval('public.inv')", "SELECT nextval('public.inv')"]) {
      expect((await world.tool('run_migration', { statement, reason: 'a test' })).code).toBe('UNSUPPORTED_STATEMENT');
      expect((await world.sql('run_migration', { statement })).ok).toBe(false);
    }
    expect(await world.admin('select is_called from public.inv')).toEqual([{ is_called: false }]);
  }, 'create sequence public.inv; alter sequence public.inv owner to <owner>'),
  scene('D011', 'a trigger on a table that a human writes to approves nothing', async (world) => {
    const { detail } = await world.sql('run_migration', { statement: 'alter table orders drop column total' });
    await expect(world.db.as('alice').query("insert into public.plan_comments values ('x', 'looks fine')")).rejects.toThrow();
    expect(await world.admin(`select state from countersign_data.plan where token = '${String(detail?.['plan_token'])}'`)).toEqual([{ state: 'awaiting_approval' }]);
  }, `create table public.plan_comments (token text, note text); grant insert on public.plan_comments to <alice>;
     create function public.t() returns trigger language plpgsql as
     $$begin perform countersign.approve(p.token::text, null, 'psql') from countersign.pending p; return new; end$$;
     create trigger t before insert on public.plan_comments for each row execute function public.t()`),
  gated('D044', 'expressions of Postgres itself are planted openly', [
    ["ALTER TABLE orders ADD COLUMN at timestamptz NOT NULL DEFAULT now()", { added: [/orders\.at : timestamp with time zone not null default now\(\)/], rewrites: [] }],
    ["ALTER TABLE orders ALTER COLUMN status SET DEFAULT upper('new')", { added: [/orders\.status : text not null default upper\('new'::text\)/], removed: [/default 'open'/] }],
    ['CREATE INDEX ON orders (lower(status)) WHERE total > 0', { added: [/lower\(status\)\) WHERE/], locks: ['ShareLock public.orders'] }],
    ['ALTER TABLE orders ADD CONSTRAINT positive CHECK (total >= 0 AND length(status) < 50)', { added: [/constraint public\.orders positive : CHECK/], locks: ['AccessExclusiveLock public.orders'] }],
    ["ALTER TABLE orders ADD COLUMN gross numeric GENERATED ALWAYS AS (round(total * 1.2, 2)) STORED", { rewrites: ['public.orders'] }],
    ['ALTER TABLE orders ADD COLUMN u uuid DEFAULT gen_random_uuid()', { rewrites: ['public.orders'] }],
    ["ALTER TABLE orders ALTER COLUMN status DROP DEFAULT, ALTER COLUMN status TYPE integer USING CASE status WHEN 'open' THEN 1 ELSE 0 END, ALTER COLUMN status SET DEFAULT 1", { rewrites: ['public.orders'], removed: [/orders\.status : text/], added: [/orders\.status : integer/] }],
  ]),
  kept('D019', 'a hidden table through a view, new or old', 'NOT_READABLE', [
    'CREATE VIEW leak AS SELECT * FROM public.secrets', 'CREATE VIEW leak AS SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM secrets)', 'CREATE VIEW leak AS SELECT (SELECT max(token) FROM secrets) AS t', 'CREATE RECURSIVE VIEW leak (t) AS SELECT token FROM secrets UNION SELECT t FROM leak', 'CREATE VIEW leak AS SELECT ssn FROM customers',
    'CREATE VIEW leak AS TABLE customers', 'CREATE VIEW leak AS SELECT c FROM customers c', 'CREATE VIEW leak AS SELECT * FROM pg_authid', 'CREATE VIEW leak AS SELECT query FROM pg_stat_activity', 'CREATE VIEW leak AS SELECT * FROM order_items', 'CREATE OR REPLACE VIEW seen AS SELECT id, token FROM secrets',
    'CREATE OR REPLACE VIEW seen AS SELECT length(token) AS id FROM secrets', 'CREATE VIEW leak AS SELECT * FROM guarded', 'CREATE VIEW leak WITH (security_invoker = false) AS SELECT * FROM guarded',
  ], `create view public.seen as select id from public.secrets; alter view public.seen owner to <owner>; select countersign.allow('read', 'public.seen');
     create table if not exists public.guarded (id integer, t text); alter table public.guarded owner to <owner>; alter table public.guarded enable row level security; select countersign.allow('read', 'public.guarded');
     alter default privileges for role countersign_migrator in schema public grant select on tables to countersign_reader`),
  gated('D006 D019', 'default privileges that open new tables are shown with them', [
    ['CREATE TABLE fresh (id int)', { added: [/^privilege public\.fresh : .*countersign_reader=r/m] }],
    ['CREATE TABLE fresh (LIKE secrets INCLUDING ALL)', { added: [/^privilege public\.fresh : .*countersign_reader=r/m], locks: ['AccessExclusiveLock public.fresh'] }],
    ['CREATE VIEW fresh AS SELECT id, status FROM orders', { added: [/^privilege public\.fresh : .*countersign_reader=r/m, /^read public\.fresh : public\.orders$/m] }],
  ], 'alter default privileges for role countersign_migrator in schema public grant select on tables to countersign_reader'),
  kept('D019 D022 D024', 'expressions over rows that agents may not read', 'NOT_READABLE', [
    "ALTER TABLE secrets ADD CHECK (token NOT LIKE 's%')", "ALTER TABLE ONLY public.secrets ADD CHECK (token LIKE 's%')", 'ALTER TABLE secrets ADD COLUMN x int GENERATED ALWAYS AS (1 / (ascii(token) - 115)) STORED', 'CREATE INDEX ON secrets ((1 / (ascii(token) - 115)))', 'CREATE INDEX ON secrets (lower(token))', "CREATE INDEX ON secrets (id) WHERE token LIKE 's%'",
    'ALTER TABLE secrets ALTER token TYPE int USING 1 / (ascii(token) - 115)', 'ALTER TABLE customers ALTER COLUMN email TYPE text USING ssn', "ALTER TABLE customers ADD CHECK (ssn <> 'x')", "ALTER TABLE customers ADD CHECK (customers::text NOT LIKE '%x%')", "ALTER TABLE customers ADD CHECK (public.customers.ssn <> 'x')", 'ALTER TABLE customers ADD leak text GENERATED ALWAYS AS (ssn) STORED',
    'ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES secrets', 'ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES public.secrets (id)', 'ALTER TABLE orders ADD COLUMN s int DEFAULT 7 REFERENCES secrets', "ALTER TABLE secrets ADD COLUMN valid boolean, ADD CHECK (token LIKE 's%')", "ALTER TABLE secrets ADD CHECK (token LIKE 's%'), ADD CONSTRAINT c CHECK (id > 0) NOT VALID",
    'ALTER TABLE secrets ADD EXCLUDE USING btree (token WITH =)', "ALTER TABLE IF EXISTS secrets ADD CHECK (\"token\" LIKE 's%')",
  ], 'select 1'),
  scene('D022', 'a cast that fails does not quote what it could not take', async (world) => {
    for (const type of ['regclass', 'integer USING token::integer', 'regtype USING token::regtype', 'tsquery USING token::tsquery', 'date USING token::date', 'regrole USING token::regrole', 'uuid USING token::uuid', 'jsonb USING token::jsonb', 'regproc USING token::regproc']) {
      const statement = `ALTER TABLE secrets ALTER COLUMN token TYPE ${type}`;
      const answer = await world.tool('run_migration', { statement, reason: 'a test' });
      expect([type, answer.code]).toEqual([type, type === 'regclass' ? 'UNKNOWN_TABLE' : 'NOT_READABLE']);
      expectNoSecret(answer.text);
    }
    // approved by a human while it went well, executed when it does not any more
    const plan = await readyPlan(world, 'run_migration', { statement: 'ALTER TABLE empty_secrets ALTER COLUMN token TYPE regclass' });
    await world.admin("insert into public.empty_secrets values ('s3cr3t-late')");
    const outcome = await world.sql('execute_plan', { plan_token: plan.plan_token, statement: plan.statement, params: [] });
    expect(outcome).toMatchObject({ ok: false, detail: { status: 'failed' } });
    expect(outcome.message).toContain('public.empty_secrets');
    expectNoSecret(outcome);
    expectNoSecret(await world.admin('select note, statement from countersign_data.event'));
  }, 'create table public.empty_secrets (token text); alter table public.empty_secrets owner to <owner>'),
  gated('D019', 'tables that agents may not read are changed where nothing depends on their rows', [
    ['ALTER TABLE order_items ADD COLUMN note text', { added: [/order_items\.note/] }], ['CREATE INDEX ON order_items (order_id, sku)', { locks: ['ShareLock public.order_items'] }], ['ALTER TABLE order_items ALTER COLUMN qty TYPE bigint', { rewrites: ['public.order_items'] }],
    ['ALTER TABLE order_items ADD COLUMN packs int NOT NULL DEFAULT 1 CHECK (packs > 0)', {}], ['ALTER TABLE order_items ADD CONSTRAINT qty_is_positive CHECK (qty > 0) NOT VALID', { added: [/NOT VALID/] }], ['CREATE TABLE reviews (item_id int REFERENCES order_items (id))', {}],
    ['ALTER TABLE orders ADD COLUMN best_item int REFERENCES order_items', {}], ['ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES order_items (id) NOT VALID', {}], ['ALTER TABLE order_items RENAME COLUMN qty TO quantity', { lost: {} }], ['CREATE UNIQUE INDEX ON customers (email)', {}],
    ["ALTER TABLE customers ADD CHECK (email LIKE '%@%')", {}], ['CREATE VIEW mine WITH (security_invoker = true) AS SELECT id FROM guarded', { added: [/view security public\.mine : security_invoker=true/] }], ['DROP TABLE order_items', { removed: [/relation public\.order_items : table/] }],
  ], "create table if not exists public.guarded (id integer, t text); alter table public.guarded owner to <owner>; alter table public.guarded enable row level security; select countersign.allow('read', 'public.guarded'); analyze"),
  scene('D017 D039', 'rows of a table that was never analyzed are never shown as none', async (world) => {
    const { detail } = await world.sql('run_migration', { statement: 'DROP TABLE unknown' });
    expect((detail?.['migration'] as Facts).rows_lost_estimate).toEqual([{ object: 'public.unknown', rows: expect.toSatisfy((rows: unknown) => rows === null || rows === 1) as number }]);
  }, 'create table public.unknown as select 1 as id; alter table public.unknown owner to <owner>'),
  gated('D017 D039 D040', 'losses, rewrites and what falls with it are shown', [
    ['ALTER TABLE public.orders DROP COLUMN total', { removed: [/column public\.orders\.total : numeric/], lost: { 'public.orders.total': 300 }, locks: ['AccessExclusiveLock public.orders'] }], ['ALTER TABLE orders DROP COLUMN "a.b"', { lost: { 'public.orders."a.b"': 300 } }],
    ['ALTER TABLE public.orders ALTER COLUMN total TYPE numeric(4,0)', { removed: [/orders\.total : numeric not null/], added: [/orders\.total : numeric\(4,0\)/], rewrites: ['public.orders'], lost: {} }],
    ['DROP TABLE customers CASCADE', { removed: [/orders_customer_id_fkey/, /relation public\.customers : table/, /privilege public\.customers\.id/], lost: { 'public.customers': 100 } }], ['DROP TABLE orders CASCADE', { removed: [/view public\.of_orders/, /order_items_order_id_fkey/], lost: { 'public.orders': 300 } }],
    ['DROP TYPE st CASCADE', { removed: [/column public\.states\.s : st|column public\.states\.s : public\.st/], lost: { 'public.states.s': 3 } }], ['ALTER TABLE orders REPLICA IDENTITY NOTHING', { added: [/replica identity n/], lost: {} }], ['ALTER TABLE states SET UNLOGGED', { added: [/public\.states : table unlogged/], rewrites: ['public.states'], lost: {} }],
    ['ALTER TABLE orders DROP CONSTRAINT orders_customer_id_fkey', { removed: [/FOREIGN KEY \(customer_id\)/] }], ['ALTER TABLE orders ALTER COLUMN status DROP NOT NULL', { removed: [/status : text not null/] }], ['ALTER SEQUENCE bills RESTART WITH 5', { rewrites: ['public.bills'] }], ['ALTER SEQUENCE bills CACHE 50', { added: [/sequence public\.bills : .* 50$/m] }],
    ['CREATE TABLE countersignatures.x (id int)', { added: [/relation countersignatures\.x : table/] }], ['DROP TABLE countersignatures.kept', { lost: { 'countersignatures.kept': 3 } }],
  ], `create view public.of_orders as select id from public.orders; alter view public.of_orders owner to <owner>; alter table public.orders add "a.b" integer; create sequence public.bills; alter sequence public.bills owner to <owner>;
     create type public.st as enum ('a'); alter type public.st owner to <owner>; create table public.states (s public.st); alter table public.states owner to <owner>; insert into public.states values ('a'), ('a'), ('a'); analyze public.states;
     create schema if not exists countersignatures authorization <owner>; create table if not exists countersignatures.kept (id integer); alter table countersignatures.kept owner to <owner>; insert into countersignatures.kept values (1), (2), (3); analyze`),
  kept('D007 D020', 'a schema with a name like the product\'s is looked at too', 'UNSUPPORTED_STATEMENT', ['ALTER TABLE countersignatures.kept OWNER TO countersign_migrator', 'ALTER TABLE countersignatures.kept ENABLE ROW LEVEL SECURITY', 'ALTER TABLE countersignatures.kept INHERIT countersignatures.parent'],
    `create schema if not exists countersignatures authorization <owner>; create table if not exists countersignatures.kept (id integer); alter table countersignatures.kept owner to <owner>; create table countersignatures.parent (id integer); alter table countersignatures.parent owner to <owner>`),
  scene('D027 D042 D037', 'a preview gives way: what others hold, it does not wait for', async (world) => {
    const other = await world.db.connect('owner');
    await other.query('begin; select from public.orders limit 1');
    expect((await world.tool('run_migration', { statement: 'ALTER TABLE public.orders ADD COLUMN z int', reason: 'a test' })).code).toBe('LOCK_TIMEOUT');
    await other.query('rollback');
    // and it holds nothing once it is previewed
    await expectGated(world, 'ALTER TABLE public.orders ADD COLUMN z int', { locks: ['AccessExclusiveLock public.orders'], rewrites: [] });
    await other.query("begin; set local lock_timeout = '100ms'; lock table public.orders in access exclusive mode; rollback");
  }),
  scene('D026', 'a new value of an enum, and its use, are two migrations', async (world) => {
    await run(world, "ALTER TYPE public.tint ADD VALUE 'b'");
    await expectGated(world, "ALTER TYPE tint ADD VALUE 'c' BEFORE 'b'", { added: [/enum \(a, c, b\)/], removed: [/enum \(a, b\)/] });
    await expectGated(world, "ALTER TABLE orders ADD COLUMN s tint DEFAULT 'b'", {});
  }, "create type public.tint as enum ('a'); alter type public.tint owner to <owner>"),
  scene('D036', 'owners: nobody is made a member of anything, and who is not is told the remedy', async (world) => {
    for (const statement of ['ALTER TABLE public.of_dba ADD COLUMN x int', 'DROP TABLE of_dba', 'CREATE INDEX ON of_dba (id)', "COMMENT ON TABLE of_dba IS 'x'"]) {
      for (const answer of [(await world.tool('run_migration', { statement, reason: 'a test' })).content, await world.sql('run_migration', { statement })]) {
        expect(answer).toMatchObject({ code: 'NOT_WRITABLE', hint: expect.stringContaining('grant <owner> to countersign_migrator') as string });
      }
    }
    expect(await world.admin("select count(*)::int as n from pg_auth_members where member = 'countersign_writer'::regrole")).toEqual([{ n: 0 }]);
  }, 'create table public.of_dba (id integer)'),
  kept('D014', 'temporary tables, where the database lets everybody make them', 'UNSUPPORTED_STATEMENT', ['CREATE TEMP TABLE orders (id int)', 'CREATE TABLE pg_temp.orders (id int)'],
    `do 'begin execute format(''grant temporary on database %I to public'', current_database()); end'`),
  scene('D014', 'a temporary table of the agent\'s own session stands in for nothing', async (world) => {
    const connection = await world.db.connect('agent');
    await connection.query('create temp table orders (id integer); grant all on orders to public; insert into orders values (7)');
    const api = world.apiOn(connection);
    const common = { table: 'orders', where: 'id < 4', params: [], reason: 'a test', callerId: null, confirmFullTable: false };
    await expect(api.previewDelete(common)).rejects.toMatchObject({ code: '42501' });
    await expect(api.previewMigration({ statement: 'drop table orders cascade', reason: 'a test', callerId: null })).rejects.toMatchObject({ code: '42501' });
    // Other sessions of the login do not see it, and go on.
    expect((await world.api.previewDelete(common)).detail).toMatchObject({ target: 'public.orders', affected_rows: 3 });
    expect((await connection.query('select count(*)::int as n from orders')).rows).toEqual([{ n: 1 }]);
  }, `do 'begin execute format(''grant temporary on database %I to public'', current_database()); end'; analyze`),
  outdated('D046', 'more falls with it than was previewed', 'DROP TABLE order_items CASCADE', 'create view public.late as select id from public.order_items'),
  outdated('D039', 'the column is not what it was', 'ALTER TABLE orders DROP COLUMN total', 'alter table public.orders alter column total type numeric(20,4)'),
  outdated('D046', 'the same name, another table', 'DROP TABLE IF EXISTS spare', 'drop table public.spare; create table public.spare (id integer, precious text); alter table public.spare owner to <owner>', 'create table public.spare (id integer); alter table public.spare owner to <owner>'),
  outdated('D006', 'default privileges came in between', 'CREATE TABLE fresh (id int)', 'alter default privileges for role countersign_migrator in schema public grant select on tables to public'),
  scene('D046', 'honest migrations are previewed, approved and done', async (world) => {
    for (const statement of [
      'ALTER TABLE orders ADD COLUMN note text', "ALTER TABLE orders ADD COLUMN priority int NOT NULL DEFAULT 3", 'CREATE INDEX orders_by_status ON orders (status)', 'CREATE TABLE coupons (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, code text UNIQUE NOT NULL, order_id int REFERENCES orders ON DELETE CASCADE, used_at timestamptz DEFAULT now())',
      'CREATE VIEW open_orders AS SELECT id, total FROM orders WHERE status = \'open\'', 'ALTER TABLE orders RENAME COLUMN note TO remark', "COMMENT ON COLUMN orders.remark IS 'what the customer said'", 'ALTER TABLE orders ADD CONSTRAINT total_is_positive CHECK (total >= 0)', "CREATE TYPE mood AS ENUM ('good', 'bad')", "ALTER TYPE mood ADD VALUE 'fair' AFTER 'good'",
      'ALTER TABLE coupons ADD COLUMN mood mood', "ALTER TABLE coupons ALTER COLUMN mood SET DEFAULT 'fair'", 'ALTER VIEW open_orders RENAME TO orders_open', 'DROP VIEW orders_open', 'ALTER TABLE orders ALTER COLUMN total TYPE numeric(12,2)', 'CREATE SEQUENCE invoice_no START 1000', 'ALTER TABLE coupons ADD COLUMN no bigint DEFAULT nextval(\'invoice_no\')', 'ALTER INDEX orders_by_status RENAME TO orders_status', 'DROP INDEX orders_status', 'ALTER TABLE orders DROP COLUMN remark',
       'CREATE TABLE days (day date NOT NULL) PARTITION BY RANGE (day)', "CREATE TABLE days_2026 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')", 'CREATE STATISTICS both_of_them ON customer_id, status FROM orders', 'DROP TABLE coupons', 'DROP TYPE mood',
    ]) await run(world, statement);
    expect(await world.admin("select count(*)::int as n from public.orders where priority = 3")).toEqual([{ n: 300 }]);
    expect(await world.admin("select format_type(atttypid, atttypmod) as t from pg_attribute where attrelid = 'public.orders'::regclass and attname = 'total'")).toEqual([{ t: 'numeric(12,2)' }]);
  }),
  kept('D005 D007 D008 D020', 'triggers, row security, inheritance, owners and view security of what exists', 'UNSUPPORTED_STATEMENT', [
    'ALTER TABLE public.orders DISABLE TRIGGER USER', 'ALTER TABLE orders DISABLE TRIGGER a', 'ALTER TABLE orders ENABLE ALWAYS TRIGGER a', 'ALTER TABLE orders ENABLE REPLICA TRIGGER a', 'ALTER TABLE public.customers DISABLE ROW LEVEL SECURITY', 'ALTER TABLE customers NO FORCE ROW LEVEL SECURITY', 'ALTER TABLE orders ENABLE ROW LEVEL SECURITY',
    'ALTER TABLE orders FORCE ROW LEVEL SECURITY', 'ALTER TABLE public.hidden_orders INHERIT public.orders', 'ALTER TABLE parted ATTACH PARTITION loose FOR VALUES FROM (10) TO (20)', 'ALTER TABLE parted DETACH PARTITION parted_1', 'ALTER TABLE orders OWNER TO countersign_migrator', 'ALTER VIEW fenced OWNER TO countersign_migrator',
    'ALTER VIEW fenced RESET (security_barrier)', 'CREATE OR REPLACE VIEW fenced AS SELECT id FROM orders', 'ALTER VIEW fenced SET (security_invoker = false)', 'ALTER TABLE orders ADD COLUMN z int, DISABLE TRIGGER a', 'ALTER TABLE parted DETACH PARTITION parted_1 CONCURRENTLY'], AUDITED),
  kept('D021 D022 D023 D024 D044', 'expressions that call what the application brings', 'UNSAFE_FUNCTION', [
    'ALTER TABLE public.orders ADD COLUMN k int DEFAULT public.bump()', 'ALTER TABLE orders ADD COLUMN k int DEFAULT "bump"()', 'ALTER TABLE orders ADD COLUMN k int DEFAULT 1 + bump /* */ ()', 'ALTER TABLE public.orders ALTER COLUMN status TYPE int USING public.recode(status)', 'CREATE INDEX i ON public.orders (public.lie(id))',
    'CREATE INDEX i ON orders ((lie(id) + 1))', 'CREATE INDEX i ON orders (id) WHERE lie_bool(id)', 'ALTER TABLE public.orders ADD CONSTRAINT c CHECK (public.lie_bool(id))', 'ALTER TABLE orders ADD CHECK (lie_bool(id)) NOT VALID', 'ALTER TABLE public.orders ALTER COLUMN status SET DEFAULT public.bump()::text',
    'ALTER TABLE orders ADD COLUMN k int GENERATED ALWAYS AS (lie(id)) STORED', 'CREATE TABLE z (a int DEFAULT bump())', 'CREATE TABLE z (a int CHECK (lie_bool(a)))', 'CREATE TABLE z (a int) PARTITION BY RANGE (lie(a))', 'CREATE VIEW v AS SELECT bump()', 'CREATE VIEW v AS SELECT id FROM orders WHERE id ### 1',
    'ALTER TABLE orders ADD CHECK (id ### 1)', 'ALTER TABLE orders ADD CHECK (id OPERATOR(public.###) 1)', 'ALTER TABLE orders ADD COLUMN c public.checked', "ALTER TABLE orders ADD COLUMN c checked DEFAULT 'x'", 'ALTER TABLE orders ALTER COLUMN status TYPE checked', 'CREATE STATISTICS s ON (lie(id)), id FROM orders',
    'CREATE VIEW v AS SELECT o.attr FROM orders o', "ALTER TABLE orders ALTER COLUMN total SET DEFAULT pg_sleep(1)::text::int", "ALTER TABLE orders ADD COLUMN f text DEFAULT pg_read_file('/etc/passwd')", "CREATE VIEW v AS SELECT query_to_xml('select token from secrets', true, true, '')", "ALTER TABLE orders ADD COLUMN f text DEFAULT set_config('role', 'none', false)",
    'CREATE VIEW v AS SELECT orders.id FROM orders JOIN customers ON lie_bool(orders.id)', 'ALTER TABLE orders ADD EXCLUDE USING btree (lie(id) WITH =)',
  ], PLANTED),
  kept('D021 D022', 'casts that run unwritten', 'UNSAFE_FUNCTION', ["ALTER TABLE orders ADD COLUMN n cst DEFAULT lower('A')", 'ALTER TABLE orders ALTER COLUMN status DROP DEFAULT, ALTER COLUMN status TYPE cst', "ALTER TABLE orders ADD COLUMN n cst DEFAULT 'a'::text", "CREATE TABLE z (n cst DEFAULT upper('a'))", 'ALTER TABLE orders ADD COLUMN n cst GENERATED ALWAYS AS (status) STORED'], CASTING),
];
