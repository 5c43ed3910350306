/** The real backend, installed: by whom, how often, at once, over an older state, and what strict tightens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded.js';
import { install } from '../../src/db/install.js';
import { createTestDatabase } from '../harness/database.js';
import { withDatabase, withLogin } from '../harness/fixture.js';
import { everything } from '../pins/catalog.js';
import { accepted, approve, execute, previewDelete, previewInsert, previewMigration, sqlstate } from '../sql/calls.js';

const closing: Array<() => Promise<void>> = [];
afterAll(async () => { for (const close of closing.reverse()) await close(); });

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  closing.push(() => client.end());
  return client;
}

test('an install takes back every grant that is not in the design, whoever holds it', async () => {
  const db = await createTestDatabase();
  const admin = db.as('admin');
  const before = await everything(db);
  await admin.query(`grant usage on schema countersign_data to ${db.role('agent')}; grant select, update (state) on countersign_data.plan to ${db.role('agent')};
    grant execute on function countersign.version() to public, ${db.role('reader')}; grant create on schema countersign_scratch to ${db.role('nobody')}`);
  expect(await everything(db)).not.toEqual(before);
  await install(db.url('admin'), { strict: true });
  expect(await everything(db)).toEqual(before);
});

describe('at once', () => {
  test('several installs into one database end in one backend', async () => {
    const db = await createTestDatabase({ backend: false });
    const results = await Promise.all(Array.from({ length: 3 }, () => install(db.url('admin'), { strict: true })));
    expect(results.flatMap((result) => result.migrations)).toEqual(['0001_foundation', '0002_host_plans', '0003_page', '0004_rows_reached']);
    const alone = await createTestDatabase({ backend: false });
    await install(alone.url('admin'), { strict: true });
    const strip = (lines: string[]): string[] => lines.filter((line) => !line.startsWith('database '));
    expect(strip(await everything(db))).toEqual(strip(await everything(alone)));
  });

  test('installs into neighbouring databases of one server do not hurt each other', async () => {
    const all = await Promise.all(Array.from({ length: 3 }, () => createTestDatabase({ backend: false })));
    await Promise.all(all.map((db) => install(db.url('admin'))));
    for (const db of all) expect((await db.as('admin').query('select countersign.version() as version')).rows).toEqual([{ version: 1 }]);
  });
});

describe('over what is there', () => {
  test('an install repairs what was opened, changed or dropped by hand, and keeps plans, policy and allowlist', async () => {
    const db = await createTestDatabase();
    const [admin, agent, alice] = [db.as('admin'), db.as('agent'), db.as('alice')];
    await db.as('owner').query('create table item (id integer primary key); insert into item select generate_series(1, 200)');
    await admin.query('select countersign.allow(\'read\', \'item\'), countersign.allow(\'write\', \'item\'), countersign.set_policy(\'approval_required_above_rows\', \'10\')');
    const [waiting, small] = [accepted(await previewDelete(agent, 'item', 'id <= 50')), accepted(await previewDelete(agent, 'item', 'id = 60'))];
    await install(db.url('admin'), { strict: true });
    const before = await everything(db);
    await admin.query(`
      grant execute on function countersign.approve(text, text, text, text, text) to public; grant usage on schema countersign_data to countersign_agent; grant all on countersign_data.event to countersign_agent;
      alter function countersign_data.decide(text, text, text, text, text, text) set search_path = public; alter function countersign_exec.run_dml(text, text[], text, text, jsonb, bigint, bytea, jsonb) owner to current_user;
      create or replace function countersign.version() returns integer language sql as 'select 99'; drop view countersign.pending; drop function countersign_data.check_cap(oid, jsonb);
      alter table countersign_data.plan owner to current_user; drop trigger _10_event_is_chained on countersign_data.event`);
    expect(await everything(db)).not.toEqual(before);
    expect(await install(db.url('admin'), { strict: true })).toMatchObject({ applied: true, migrations: [] });
    expect(await everything(db)).toEqual(before);
    expect(await execute(agent, small)).toMatchObject({ ok: true });
    expect(await execute(agent, waiting)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    accepted(await approve(alice, waiting));
    expect(await execute(agent, waiting)).toMatchObject({ ok: true, detail: { affected_rows: 50 } });
    expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
  });

  test('the configured search path of the application is pinned where agent SQL runs', async () => {
    const db = await createTestDatabase();
    const admin = db.as('admin');
    await admin.query('create schema shop; create table shop.item (id integer primary key)');
    await admin.query('select countersign.set_search_path(\'{shop,public}\')');
    await install(db.url('admin'), { strict: true });
    await admin.query('select countersign.allow(\'read\', \'item\'), countersign.allow(\'write\', \'item\')');
    expect(await previewDelete(db.as('agent'), 'item', 'id = 1')).toMatchObject({ ok: true, detail: { target: 'shop.item' } });
    const { rows } = await admin.query('select proname, proconfig from pg_proc where pronamespace = \'countersign_exec\'::regnamespace and not proconfig @> array[\'search_path=shop, public, pg_temp\']');
    expect(rows).toEqual([]);
    for (const wrong of ['{}', '{nowhere}', '{pg_catalog}', '{countersign_data}', '{null}']) expect(await sqlstate(admin.query('select countersign.set_search_path($1)', [wrong]))).toBe('3F000');
  });
});

describe('strict', () => {
  const open = ['create temporary table t (id integer)', 'select lo_creat(-1)', 'select pg_sleep(0)', 'select query_to_xml(\'select 1\', true, true, \'\')', 'select pg_advisory_lock(1)', 'select set_config(\'a.b\', \'c\', false)', 'select count(*) from pg_stat_activity'];

  test('takes from every login what stock Postgres gives to PUBLIC; without it that stays, and neither lets the agent near a table', async () => {
    const [strict, stock] = [await createTestDatabase(), await createTestDatabase({ backend: false })];
    await install(stock.url('admin'));
    for (const db of [strict, stock]) await db.as('owner').query('create table item (id integer)').catch(() => db.as('admin').query('create table item (id integer)'));
    for (const statement of open) {
      expect([statement, await sqlstate(strict.as('agent').query(statement)), await sqlstate(stock.as('agent').query(statement))]).toEqual([statement, '42501', 'ok']);
    }
    for (const statement of ['select * from item', 'select * from countersign_data.event', 'select countersign.approve(\'00000000\')', 'set role countersign_owner']) {
      for (const db of [strict, stock]) expect([statement, await sqlstate(db.as('agent').query(statement))]).toEqual([statement, '42501']);
    }
  });
});

describe('without a superuser', () => {
  let server: EmbeddedServer | undefined;

  test('a role with CREATEROLE that owns the database and the tables installs, and everything works', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'countersign-plain-'));
    const native = process.env['TEST_POSTGRES_NATIVE'];
    server = await startEmbedded({ dataDir, durable: false, ...(native ? { native } : {}) });
    closing.unshift(async () => { await server?.stop(); rmSync(dataDir, { recursive: true, force: true }); });
    const root = await connected(server.adminUrl());
    await root.query('create role plain login createrole password \'plain\'');
    await root.query('create database app owner plain');
    const url = withLogin(withDatabase(server.adminUrl(), 'app'), 'plain', 'plain');

    const plain = await connected(url);
    await plain.query('create schema shop; create table shop.item (id integer primary key, name text); insert into shop.item select g, \'item\' from generate_series(1, 200) g; create table shop.secret (id integer)');
    expect((await install(url, { strict: true })).migrations).toEqual(['0001_foundation', '0002_host_plans', '0003_page', '0004_rows_reached']);
    expect(await install(url, { strict: true, onlyWhenChanged: true })).toMatchObject({ applied: false });
    expect((await install(url)).applied).toBe(true);

    await plain.query('select countersign.set_search_path(\'{shop}\')');
    await install(url, { strict: true });
    for (const [login, group] of [['bot', 'agent'], ['eyes', 'reader'], ['ann', 'approver']]) {
      await plain.query(`create role ${login} login password 'plain'; grant countersign_${group} to ${login}`);
    }
    const allowed = await plain.query('select (countersign.allow(\'read\', \'item\')).ok as read, (countersign.allow(\'write\', \'item\')).ok as write, (countersign.set_policy(\'approval_required_above_rows\', \'20\')).ok as policy');
    expect(allowed.rows).toEqual([{ read: true, write: true, policy: true }]);

    const [bot, eyes, ann] = [await connected(withLogin(url, 'bot', 'plain')), await connected(withLogin(url, 'eyes', 'plain')), await connected(withLogin(url, 'ann', 'plain'))];
    expect(await execute(bot, accepted(await previewInsert(bot, 'item', ['id', 'name'], [[1000, 'new']])))).toMatchObject({ ok: true });
    const large = accepted(await previewDelete(bot, 'item', 'id between 1 and 21'));
    expect(await execute(bot, large)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    accepted(await approve(ann, large));
    expect(await execute(bot, large)).toMatchObject({ ok: true, detail: { affected_rows: 21 } });
    expect((await eyes.query('select count(*)::integer as rows from shop.item')).rows).toEqual([{ rows: 180 }]);
    for (const client of [bot, eyes, ann]) expect(await sqlstate(client.query('delete from shop.item'))).toBe('42501');
    expect(await sqlstate(eyes.query('select * from shop.secret'))).toBe('42501');

    expect(await previewMigration(bot, 'alter table shop.item add column price numeric')).toMatchObject({ ok: false, code: 'NOT_WRITABLE', hint: expect.stringContaining('countersign_migrator') });
    const checks = await bot.query<{ check_name: string; severity: string }>('select * from countersign.preflight($1)', ['eyes']);
    expect(checks.rows.filter((row) => row.severity === 'fatal')).toEqual([]);
    expect(checks.rows.length).toBeGreaterThan(10);
  });

  test('and as the superuser over it, nothing changes hands twice', async () => {
    if (server === undefined) expect.fail('the server of the test before');
    const url = withDatabase(server.adminUrl(), 'app');
    const admin = await connected(url);
    const owners = async (): Promise<unknown> => (await admin.query(`select p.oid::regprocedure::text as name, pg_get_userbyid(p.proowner) as owner, p.proacl::text as acl from pg_proc p where p.pronamespace::regnamespace::text like 'countersign%' order by 1`)).rows;
    await install(url);
    const before = await owners();
    await install(withLogin(url, 'plain', 'plain'));
    expect(await owners()).toEqual(before);
  });

  test('roles of these names that were there already are made what they must be', async () => {
    const root = await connected(server?.adminUrl() ?? '');
    await root.query('alter role countersign_engine login superuser; alter role countersign_auditor login createdb bypassrls');
    await root.query('create database other');
    await install(withDatabase(server?.adminUrl() ?? '', 'other'));
    const { rows } = await root.query(`select rolname from pg_roles where rolname ~ '^countersign_' and rolname <> 'countersign_admin'
      and (rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)`);
    expect(rows).toEqual([]);
  });
});
