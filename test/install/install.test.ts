import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/db/embedded.js';
import { install } from '../../src/db/install.js';
import { createTestDatabase } from '../harness/database.js';
import { withDatabase, withLogin } from '../harness/fixture.js';

const folders: string[] = [];
afterAll(() => { for (const folder of folders) rmSync(folder, { recursive: true, force: true }); });

/** A small product of its own, to see the installer apart from what it installs. */
function product(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'countersign-product-'));
  folders.push(root);
  for (const [name, text] of Object.entries({ 'migrations/0001_first.sql': '-- Up Migration\ncreate schema countersign; create table countersign.log (id serial, line text);', ...files })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const note = (line: string): string => `insert into countersign.log (line) values ('${line}');`;

describe('the installer', () => {
  let url: string;
  let lines: () => Promise<string[]>;
  beforeEach(async () => {
    const db = await createTestDatabase({ backend: false });
    url = db.url('admin');
    lines = async () => (await db.as('admin').query<{ line: string }>('select line from countersign.log order by id')).rows.map((row) => row.line);
  });

  test('applies sql/ in listing order, migrations once, strict only when asked', async () => {
    const root = product({
      'sql/90_last.sql': note('90'), 'sql/10_a/b.sql': note('10/b'), 'sql/10_a/a.sql': note('10/a'), 'sql/20_b/a.sql': note('20/a'), 'sql/strict.sql': note('strict'), 'sql/README.md': 'no SQL',
    });
    expect((await install(url, { root })).migrations).toEqual(['0001_first']);
    expect(await lines()).toEqual(['10/a', '10/b', '20/a', '90']);
    expect((await install(url, { root, strict: true })).migrations).toEqual([]);
    expect((await lines()).slice(4)).toEqual(['10/a', '10/b', '20/a', '90', 'strict']);
  });

  test('skips unchanged sources when asked to, and notices a change', async () => {
    const root = product({ 'sql/10.sql': note('one') });
    await install(url, { root });
    expect((await install(url, { root, onlyWhenChanged: true })).applied).toBe(false);
    writeFileSync(join(root, 'sql', '10.sql'), note('two'));
    expect((await install(url, { root, onlyWhenChanged: true })).applied).toBe(true);
    expect(await lines()).toEqual(['one', 'two']);
  });

  test('leaves nothing of a failed step, and names file and line', async () => {
    const root = product({ 'sql/10.sql': note('kept?'), 'sql/20.sql': `${note('a')}\n\nselect 1/0 as wrong from nowhere;` });
    await expect(install(url, { root })).rejects.toMatchObject({ code: 'STATEMENT_FAILED', message: expect.stringContaining('sql/20.sql, line 3') as string });
    expect(await lines()).toEqual([]);
  });

  test('several at once take turns', async () => {
    const root = product({ 'sql/10.sql': note('x') });
    const results = await Promise.all(Array.from({ length: 4 }, () => install(url, { root })));
    expect(results.flatMap((result) => result.migrations)).toEqual(['0001_first']);
  });

  test('refuses a database of a newer version', async () => {
    const newer = product({ 'migrations/0002_second.sql': '-- Up Migration\nselect 1;' });
    await install(url, { root: newer });
    await expect(install(url, { root: product({}) })).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', message: expect.stringContaining('0002_second') as string });
  });

  test('is not changed by settings of the role or the database', async () => {
    const root = product({ 'sql/10.sql': 'do $$ begin if current_setting(\'standard_conforming_strings\') <> \'on\' or current_setting(\'search_path\') <> \'pg_catalog, pg_temp\' then raise exception \'changed\'; end if; end $$' });
    const db = await createTestDatabase({ backend: false });
    await db.as('admin').query(`alter database ${db.name} set search_path = evil; alter database ${db.name} set statement_timeout = 100; alter database ${db.name} set default_transaction_read_only = on`);
    await expect(install(db.url('admin'), { root })).resolves.toMatchObject({ applied: true });
  });
});

describe('the backend', () => {
  test('installs as a role with CREATEROLE that owns the database, and again, and is usable', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'countersign-plain-'));
    const native = process.env['TEST_POSTGRES_NATIVE'];
    const server = await startEmbedded({ dataDir, durable: false, ...(native ? { native } : {}) });
    try {
      const { default: pg } = await import('pg');
      const admin = new pg.Client({ connectionString: server.adminUrl() });
      await admin.connect();
      await admin.query('create role installer login createrole password \'plain\'');
      await admin.query('create database app owner installer');
      await admin.end();
      const url = withLogin(withDatabase(server.adminUrl(), 'app'), 'installer', 'plain');
      expect((await install(url)).applied).toBe(true);
      expect((await install(url, { strict: true })).migrations).toEqual([]);
      const installer = new pg.Client({ connectionString: url });
      await installer.connect();
      await installer.query('create role app_agent login password \'plain\'; grant countersign_agent to app_agent');
      await installer.end();
      const agent = new pg.Client({ connectionString: withLogin(url, 'app_agent', 'plain') });
      await agent.connect();
      expect((await agent.query('select countersign.version() as version')).rows).toEqual([{ version: 1 }]);
      await agent.end();
    } finally {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test('applied twice leaves no difference, and an upgrade finds nothing to do', async () => {
    const db = await createTestDatabase({ backend: false });
    await install(db.url('admin'), { strict: true });
    const describeAll = async (): Promise<unknown> => (await db.as('admin').query(`
      select p.oid::regprocedure::text as what, md5(pg_get_functiondef(p.oid)) as body, p.proacl::text as acl from pg_proc p where p.pronamespace::regnamespace::text like 'countersign%' and p.prokind = 'f'
      union all select c.oid::regclass::text, c.relkind::text, c.relacl::text from pg_class c where c.relnamespace::regnamespace::text like 'countersign%' order by 1`)).rows;
    const before = await describeAll();
    await install(db.url('admin'), { strict: true });
    expect(await describeAll()).toEqual(before);
    expect(await install(db.url('admin'), { strict: true, onlyWhenChanged: true })).toMatchObject({ applied: false });
  });
});
