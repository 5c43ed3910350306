/** Migrations: run for real and rolled back, judged by what the catalogs say they did, and done exactly once by a human's word. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { allow, createShop, eventsOf, one } from './application.js';
import { accepted, approve, execute, previewDelete, previewMigration, type Outcome } from './calls.js';

const db = await createTestDatabase();
const [admin, agent, alice, owner] = [db.as('admin'), db.as('agent'), db.as('alice'), db.as('owner')];

beforeAll(async () => {
  await createShop(db);
  await owner.query('create table stock_parent (id bigint not null, amount integer not null, note text)');
  await admin.query('create function public.touch2() returns integer language plpgsql stable as $$ begin return 1; end $$');
});

/** Catalog lines added and removed, shortened to what changed. */
const lines = (outcome: Outcome): { added: string[]; removed: string[] } => accepted(outcome).detail.migration;

const done = async (statement: string): Promise<Outcome> => {
  const preview = accepted(await previewMigration(agent, statement));
  accepted(await approve(alice, preview));
  return execute(agent, preview);
};

describe('a preview', () => {
  test('waits for a human, says what it does and leaves nothing', async () => {
    const preview = accepted(await previewMigration(agent, 'create table reviews (id bigint generated always as identity primary key, order_id bigint references orders, stars integer not null default 5 check (stars between 1 and 5))'));
    expect(preview.detail).toMatchObject({
      status: 'awaiting_approval', tool: 'run_migration', affected_rows: 0, total_rows: 0, params: [], target: null, effects: [], sample_rows: [],
      gate: ['Migrations always wait for a human.'], undo: { kind: 'none' }, approval: { required: 1 }, migration: { tag: 'CREATE TABLE', removed: [], rewrites: [], rows_lost_estimate: [] },
    });
    expect(preview.detail.migration.added).toEqual(expect.arrayContaining([
      'relation public.reviews : table', 'column public.reviews.id : bigint not null generated always as identity', 'column public.reviews.stars : integer not null default 5',
      'constraint public.reviews reviews_order_id_fkey : FOREIGN KEY (order_id) REFERENCES public.orders(id)', 'index public.reviews_pkey : CREATE UNIQUE INDEX reviews_pkey ON public.reviews USING btree (id)',
      expect.stringMatching(/^constraint public\.reviews reviews_stars_check : CHECK/), expect.stringMatching(/^owner public\.reviews : /),
    ]));
    expect(await one(db, 'select to_regclass(\'public.reviews\')')).toBeNull();
  });

  test.each([
    ['create index on orders (status)', [['public.orders', 'ShareLock']], []],
    ['alter table orders add column note text', [['public.orders', 'AccessExclusiveLock']], []],
    ['alter table orders alter column total type numeric(12,2)', [['public.orders', 'AccessExclusiveLock']], []],
    ['alter table stock alter column id type numeric', [['public.stock', 'AccessExclusiveLock']], ['public.stock']],
    ['alter table stock add column made timestamptz default clock_timestamp()', [['public.stock', 'AccessExclusiveLock']], ['public.stock']],
    ['alter table order_items drop constraint order_items_order_id_fkey', [['public.order_items', 'AccessExclusiveLock'], ['public.orders', 'AccessExclusiveLock']], []],
    ['comment on table stock is \'what is left\'', [['public.stock', 'ShareUpdateExclusiveLock']], []],
  ] as ReadonlyArray<[string, Array<[string, string]>, string[]]>)('tells the locks and the rewrites: %s', async (statement, locks, rewrites) => {
    const { migration } = accepted(await previewMigration(agent, statement)).detail;
    for (const [table, mode] of locks) expect(migration.locks).toContainEqual({ table, mode });
    expect(migration.rewrites.map((rewrite) => rewrite.table)).toEqual(rewrites);
    if (rewrites.length > 0) expect(migration.rewrites[0]).toMatchObject({ rows_estimate: expect.any(Number), bytes: expect.any(Number) });
  });

  test('tells the rows that are lost: of a table, of a column, and of what falls with it', async () => {
    expect(accepted(await previewMigration(agent, 'drop table stock')).detail.migration.rows_lost_estimate).toEqual([{ object: 'public.stock', rows: 25_000 }]);
    expect(accepted(await previewMigration(agent, 'alter table customers drop column segment')).detail.migration.rows_lost_estimate).toEqual([{ object: 'public.customers.segment', rows: 200 }]);
    expect(accepted(await previewMigration(agent, 'alter table customers alter column segment type varchar(50)')).detail.migration.rows_lost_estimate).toEqual([]);
    expect(lines(await previewMigration(agent, 'drop table customers cascade')).removed).toContain('constraint public.orders orders_customer_id_fkey : FOREIGN KEY (customer_id) REFERENCES public.customers(id) ON UPDATE CASCADE ON DELETE CASCADE');
  });

  test('tells nothing lost by a new name, and all that is lost of a table nobody analyzed', async () => {
    for (const statement of ['alter table stock rename to goods', 'alter table stock rename column note to remark']) {
      expect(accepted(await previewMigration(agent, statement)).detail.migration.rows_lost_estimate).toEqual([]);
    }
    const writer = await db.connect('owner');
    await writer.query('create table unknown_size (id integer); insert into unknown_size select generate_series(1, 321)');
    await writer.end();
    // Before 15 the counters come to a reader through a collector, up to a second later; until then the rows are unknown.
    await expect.poll(async () => accepted(await previewMigration(agent, 'drop table unknown_size')).detail.migration.rows_lost_estimate, { timeout: 10_000 })
      .toEqual([{ object: 'public.unknown_size', rows: 321 }]);
  });

  test('asks nothing of values that agents may not read by the bounds of a partition', async () => {
    const writer = await db.connect('owner');
    await writer.query(`create table vault (token text) partition by list (token); create table vault_rest partition of vault default; insert into vault values ('s3cr3t');
      create table shelf (token text) partition by range (token); create table vault_loose (token text); insert into vault_loose values ('s3cr3t')`);
    for (const statement of [
      "create table probe partition of vault for values in ('s3cr3t')", "create table probe partition of vault for values in ('nothing')",
      "create table probe partition of public.\"vault\" for values in ('s3cr3t')",
    ]) {
      expect(await previewMigration(agent, statement), statement).toMatchObject({ ok: false, code: 'NOT_READABLE' });
    }
    for (const statement of ["alter table shelf attach partition vault_loose for values from ('s3') to ('s4')", "alter table shelf attach partition vault_loose for values from ('s4') to ('s5')"]) {
      expect(await previewMigration(agent, statement), statement).toMatchObject({ ok: false, code: 'UNSUPPORTED_STATEMENT', message: 'Partitions are attached by an administrator.' });
    }
    await writer.query('drop table vault, shelf, vault_loose');
    await writer.end();
  });

  test('that the statement itself fails says why, with its code', async () => {
    expect(await previewMigration(agent, 'create table stock (id integer)')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '42P07' } });
    expect(await previewMigration(agent, 'drop table nowhere')).toMatchObject({ ok: false, code: 'UNKNOWN_TABLE' });
    expect(await previewMigration(agent, 'alter table stock drop column nowhere')).toMatchObject({ ok: false, code: 'UNKNOWN_COLUMN' });
    expect(await previewMigration(agent, 'drop table customers')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '2BP01' } });
    expect(await previewMigration(agent, 'alter table stock alter column note type integer using note::integer')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '22P02' } });
    expect(await previewMigration(agent, 'alter table stock add check (amount > 1000) ')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23514' } });
    expect(await previewMigration(agent, 'create tabel x (id integer)')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED' });
  });

  test('gives up on a lock that somebody else holds', async () => {
    const other = await db.connect('owner');
    await other.query('begin');
    await other.query('select from stock limit 1');
    expect(await previewMigration(agent, 'alter table stock add column x integer')).toMatchObject({ ok: false, code: 'LOCK_TIMEOUT' });
    await other.query('rollback');
    await other.end();
  });
});

describe('refused by code', () => {
  test.each([
    ['', 'MULTI_STATEMENT'],
    [';', 'MULTI_STATEMENT'],
    ['-- nothing', 'MULTI_STATEMENT'],
    ['create table a (id integer); drop table stock', 'MULTI_STATEMENT'],
    ['select 1', 'UNSUPPORTED_STATEMENT'],
    ['insert into stock values (1, 1)', 'UNSUPPORTED_STATEMENT'],
    ['delete from stock', 'UNSUPPORTED_STATEMENT'],
    ['truncate stock', 'UNSUPPORTED_STATEMENT'],
    ['create table copy as select * from public.secrets', 'UNSUPPORTED_STATEMENT'],
    ['select * into copy from public.secrets', 'UNSUPPORTED_STATEMENT'],
    ['grant select on secrets to public', 'UNSUPPORTED_STATEMENT'],
    ['revoke select on stock from public', 'UNSUPPORTED_STATEMENT'],
    ['alter default privileges grant select on tables to public', 'UNSUPPORTED_STATEMENT'],
    ['create role x', 'UNSUPPORTED_STATEMENT'],
    ['set role postgres', 'UNSUPPORTED_STATEMENT'],
    ['reset all', 'UNSUPPORTED_STATEMENT'],
    ['create function f() returns integer language sql as \'select 1\'', 'UNSUPPORTED_STATEMENT'],
    ['drop function touch()', 'UNSUPPORTED_STATEMENT'],
    ['create trigger t before insert on stock for each row execute function touch()', 'UNSUPPORTED_STATEMENT'],
    ['create rule r as on insert to stock do nothing', 'UNSUPPORTED_STATEMENT'],
    ['create policy p on stock', 'UNSUPPORTED_STATEMENT'],
    ['create schema s', 'UNSUPPORTED_STATEMENT'],
    ['create extension dblink', 'UNSUPPORTED_STATEMENT'],
    ['create materialized view m as select 1', 'UNSUPPORTED_STATEMENT'],
    ['create foreign table f (id integer) server s', 'UNSUPPORTED_STATEMENT'],
    ['do $$ begin end $$', 'UNSUPPORTED_STATEMENT'],
    ['copy stock to \'/tmp/x\'', 'UNSUPPORTED_STATEMENT'],
    ['lock table stock', 'UNSUPPORTED_STATEMENT'],
    ['vacuum stock', 'UNSUPPORTED_STATEMENT'],
    ['begin', 'UNSUPPORTED_STATEMENT'],
    ['prepare p as select 1', 'UNSUPPORTED_STATEMENT'],
    ['drop owned by current_user', 'UNSUPPORTED_STATEMENT'],
    ['reassign owned by current_user to postgres', 'UNSUPPORTED_STATEMENT'],
    ['create index concurrently on stock (amount)', 'UNSUPPORTED_STATEMENT'],
    ['drop index concurrently stock_pkey', 'UNSUPPORTED_STATEMENT'],
    ['alter table orders disable trigger all', 'NOT_WRITABLE'],
    ['alter table customers disable trigger touch', 'UNSUPPORTED_STATEMENT'],
    ['alter table stock enable row level security', 'UNSUPPORTED_STATEMENT'],
    ['alter table stock owner to countersign_migrator', 'UNSUPPORTED_STATEMENT'],
    ['alter table stock inherit stock_parent', 'UNSUPPORTED_STATEMENT'],
    ['alter table stock set schema countersign_scratch', 'NOT_WRITABLE'],
    ['create table t (id integer default public.touch2())', 'UNSAFE_FUNCTION'],
    ['alter table stock alter column note set default public.touch2()::text', 'UNSAFE_FUNCTION'],
    ['create index on stock (public.touch2())', 'UNSAFE_FUNCTION'],
    ['create view v as select * from secrets', 'NOT_READABLE'],
    ['create view v as select public.touch2()', 'UNSAFE_FUNCTION'],
    ['create table "sn\u043ebs" (id integer)', 'UNSUPPORTED_STATEMENT'],
    ['create table t (id integer) /* \u202e */', 'INVALID_ARGUMENTS'],
    ['drop table countersign_data.event', 'NOT_WRITABLE'],
    ['alter table pg_catalog.pg_class add column x integer', 'NOT_WRITABLE'],
    ['create table countersign.t (id integer)', 'NOT_WRITABLE'],
  ])('%s', async (statement, code) => {
    const before = await one(db, 'select count(*) from pg_class');
    const outcome = await previewMigration(agent, statement);
    expect([outcome.code, outcome.message]).toEqual([code, expect.any(String)]);
    expect(outcome.hint).toMatch(/\S/);
    expect(await one(db, 'select count(*) from pg_class')).toBe(before);
    expect(await one(db, 'select status || \' \' || tool || \' \' || code from countersign_data.event order by id desc limit 1')).toBe(`refused run_migration ${code}`);
  });

  test('more than 64 KiB', async () => {
    expect(await previewMigration(agent, `create table t (id integer) -- ${'x'.repeat(70_000)}`)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  });
});

describe('an approved migration', () => {
  test('is executed exactly once, with its events', async () => {
    const preview = accepted(await previewMigration(agent, 'create table once (id integer)'));
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    accepted(await approve(alice, preview));
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { status: 'executed', affected_rows: 0, approved_by: db.role('alice') } });
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'PLAN_USED' });
    expect(await one(db, 'select to_regclass(\'public.once\') is not null')).toBe(true);
    expect(await eventsOf(db, preview.detail.plan_token)).toEqual(['awaiting_approval', 'refused AWAITING_APPROVAL', 'approved', 'executing', 'executed', 'refused PLAN_USED']);
  });

  test('of which the catalogs have changed since, in the same place, does nothing: EFFECTS_CHANGED', async () => {
    const preview = accepted(await previewMigration(agent, 'alter table orders drop column status'));
    accepted(await approve(alice, preview));
    await owner.query('create index status_of_orders on orders (status)');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { status: 'stale' } });
    expect(await one(db, 'select count(*) from pg_attribute where attrelid = \'orders\'::regclass and attname = \'status\'')).toBe('1');
    await owner.query('drop index status_of_orders');
  });

  test('is not disturbed by changes elsewhere', async () => {
    const preview = accepted(await previewMigration(agent, 'alter table orders add column memo text'));
    accepted(await approve(alice, preview));
    await owner.query('create table elsewhere (id integer); insert into orders (customer_id) values (1); analyze orders');
    expect(await execute(agent, preview)).toMatchObject({ ok: true });
  });

  test('that would lose far more rows than were shown does nothing: EFFECTS_CHANGED', async () => {
    const writer = await db.connect('owner');
    await writer.query('create table fresh (id integer); create table busy (id integer); insert into busy select generate_series(1, 3000); analyze fresh, busy');
    const [fresh, busy] = [accepted(await previewMigration(agent, 'drop table fresh')), accepted(await previewMigration(agent, 'drop table busy'))];
    for (const plan of [fresh, busy]) accepted(await approve(alice, plan));
    await writer.query('insert into fresh select generate_series(1, 2000); insert into busy select generate_series(1, 500); analyze fresh, busy');
    expect(await execute(agent, fresh)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', message: 'public.fresh holds about 2000 rows now, and held 0 when this was previewed. Nothing was changed.' });
    expect(await execute(agent, busy)).toMatchObject({ ok: true });
    await writer.query('drop table fresh');
    await writer.end();
  });

  test('that fails now says why and is over', async () => {
    const preview = accepted(await previewMigration(agent, 'alter table stock add constraint notes_are_short check (length(note) < 50)'));
    accepted(await approve(alice, preview));
    await owner.query('insert into stock values (-5, 1, repeat(\'x\', 60))');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23514', status: 'failed' } });
    expect(await eventsOf(db, preview.detail.plan_token)).toEqual(['awaiting_approval', 'approved', 'executing', 'failed STATEMENT_FAILED']);
    await owner.query('delete from stock where id = -5');
  });

  test('makes a table that belongs to the migrator, says so, and is not open to agents by itself', async () => {
    const preview = accepted(await previewMigration(agent, 'create table fresh (id integer primary key)'));
    expect(preview.detail.migration.added).toContain('owner public.fresh : countersign_migrator');
    accepted(await approve(alice, preview));
    accepted(await execute(agent, preview));
    expect(await previewDelete(agent, 'fresh', 'id = 1')).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
    await allow(db, 'fresh');
    expect(await previewDelete(agent, 'fresh', 'id = 1')).toMatchObject({ ok: true });
    expect(await done('alter table fresh add column x integer default 3')).toMatchObject({ ok: true });
    expect(await done('drop table fresh')).toMatchObject({ ok: true });
  });

  test.each([
    'create view shown as select id, name from customers', 'alter view shown rename to listed', 'drop view listed', 'create sequence counter', 'alter sequence counter restart with 5', 'drop sequence counter',
    'create type color as enum (\'red\')', 'alter type color add value \'blue\'', 'drop type color', 'create index stock_amount on stock (amount)', 'alter index stock_amount rename to stock_by_amount', 'drop index stock_by_amount',
    'create statistics s on id, amount from stock', 'drop statistics s', 'comment on column stock.amount is \'pieces\'', 'alter table stock rename column note to remark', 'alter table stock rename column remark to note',
    'alter table stock alter column note set not null', 'alter table stock alter column note drop not null', 'create table part (id integer, day date) partition by range (day)',
  ])('may be: %s', async (statement) => {
    expect(await done(statement)).toMatchObject({ ok: true, detail: { status: 'executed' } });
  });
});

describe('without membership in the owner of the tables', () => {
  test('the answer names the remedy, at the preview and at the execution', async () => {
    await admin.query('create table of_another (id integer)');
    const outcome = await previewMigration(agent, 'alter table of_another add column x integer');
    expect(outcome).toMatchObject({ ok: false, code: 'NOT_WRITABLE', message: 'must be owner of table of_another' });
    expect(outcome.hint).toContain('grant <owner> to countersign_migrator');
    const preview = accepted(await previewMigration(agent, 'alter table stock add column later integer'));
    accepted(await approve(alice, preview));
    await admin.query('alter table stock owner to current_user');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
    await admin.query(`alter table stock owner to ${db.role('owner')}`);
  });
});
