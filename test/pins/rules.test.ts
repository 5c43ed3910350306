/** House rules that the catalogs can tell, and that a new file would break without noticing. */
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { everything } from './catalog.js';
import { install } from '../../src/db/install.js';

const db = await createTestDatabase();
const root = fileURLToPath(new URL('../../', import.meta.url));
const SCHEMAS = 'array[\'countersign\', \'countersign_data\', \'countersign_exec\', \'countersign_scratch\']';

const offenders = async (sql: string): Promise<string[]> => (await db.as('admin').query<{ name: string }>(sql)).rows.map((row) => row.name);
const own = `p.pronamespace in (select n.oid from pg_namespace n where n.nspname = any(${SCHEMAS}))`;

describe('every function', () => {
  test('is closed to PUBLIC', async () => {
    expect(await offenders(`select p.oid::regprocedure::text as name from pg_proc p where ${own} and (p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0))`)).toEqual([]);
  });

  test('pins its search_path: pg_catalog and pg_temp, or the application\'s where agent SQL runs', async () => {
    const { rows } = await db.as('admin').query<{ name: string; path: string }>(`
      select n.nspname as name, coalesce((select c from unnest(p.proconfig) c where c like 'search_path=%'), 'none') as path from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${own} group by 1, 2 order by 1, 2`);
    expect(rows).toEqual([
      { name: 'countersign', path: 'search_path=pg_catalog, pg_temp' }, { name: 'countersign_data', path: 'search_path=pg_catalog, pg_temp' }, { name: 'countersign_exec', path: 'search_path=public, pg_temp' }]);
  });

  test('that people or programs call as somebody else pins what its text and its output mean', async () => {
    // Three plain SQL functions have neither a literal with a backslash nor output that a setting changes.
    expect(await offenders(`
      select p.proname as name from pg_proc p where p.pronamespace = 'countersign'::regnamespace and p.prosecdef
        and not p.proconfig @> array['standard_conforming_strings=on', 'TimeZone=UTC', 'DateStyle=ISO, YMD', 'bytea_output=hex'] order by 1`)).toEqual(['find_relation', 'plan_state', 'session_defaults']);
  });

  test('that runs agent SQL pins how it is read', async () => {
    expect(await offenders(`
      select p.proname as name from pg_proc p where p.pronamespace = 'countersign_exec'::regnamespace
        and not p.proconfig @> array['standard_conforming_strings=on', 'transform_null_equals=off', 'TimeZone=UTC', 'DateStyle=ISO, YMD']`)).toEqual([]);
    expect(await offenders(`select p.proname as name from pg_proc p where p.proname in ('run_dml', 'run_ddl') and p.pronamespace = 'countersign_exec'::regnamespace and not p.proconfig @> array['row_security=on']`)).toEqual([]);
  });

  test('as definer is owned by a role that is no superuser and cannot log in', async () => {
    expect(await offenders(`select p.oid::regprocedure::text as name from pg_proc p join pg_roles r on r.oid = p.proowner where ${own} and (r.rolsuper or r.rolcanlogin or r.rolbypassrls or r.rolname !~ '^countersign_')`)).toEqual([]);
  });

  test('and every view, table, type and schema says in a sentence what it is for', async () => {
    expect(await offenders(`
      select p.oid::regprocedure::text as name from pg_proc p where ${own} and coalesce(obj_description(p.oid, 'pg_proc'), '') !~ '[.?]$'
      union all select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'v') and c.relname <> 'migration' and coalesce(obj_description(c.oid, 'pg_class'), '') !~ '[.?]$'
      union all select t.oid::regtype::text from pg_type t join pg_namespace n on n.oid = t.typnamespace join pg_class c on c.oid = t.typrelid where n.nspname = any(${SCHEMAS}) and c.relkind = 'c' and obj_description(t.oid, 'pg_type') is null
      union all select n.nspname from pg_namespace n where n.nspname = any(${SCHEMAS}) and obj_description(n.oid, 'pg_namespace') is null`)).toEqual([]);
  });
});

describe('every table', () => {
  test('and view, sequence and schema belongs to countersign_owner, but for the installer\'s own list of migrations', async () => {
    expect(await offenders(`
      select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'v', 'S', 'c') and c.relowner <> 'countersign_owner'::regrole
      union all select n.nspname from pg_namespace n where n.nspname = any(${SCHEMAS}) and n.nspowner <> 'countersign_owner'::regrole`)).toEqual([]);
  });

  test('is in countersign_data, and the scratch schema is empty', async () => {
    expect(await offenders(`select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'p', 'm', 'f') and n.nspname <> 'countersign_data'`)).toEqual([]);
    expect(await offenders('select p.proname as name from pg_proc p where p.pronamespace = \'countersign_scratch\'::regnamespace')).toEqual([]);
  });

  test('has no default or constraint that calls anything outside pg_catalog', async () => {
    expect(await offenders(`
      select pg_describe_object(d.classid, d.objid, d.objsubid) as name from pg_depend d join pg_proc p on p.oid = d.refobjid
      where d.refclassid = 'pg_proc'::regclass and d.classid in ('pg_attrdef'::regclass, 'pg_constraint'::regclass) and ${own}`)).toEqual([]);
  });

  test('names its constraints as sentences about itself', async () => {
    expect(await offenders(`
      select k.conname as name from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any(${SCHEMAS}) and k.contype in ('p', 'u', 'c', 'f') and c.relname <> 'migration' and k.conname !~ ('^' || c.relname || '_')`)).toEqual([]);
  });
});

describe('the folder', () => {
  const files = readdirSync(join(root, 'sql'), { recursive: true, encoding: 'utf8' }).filter((name) => /^\d\d_[^/]*\/.*\.sql$/.test(name)).sort();
  const created = (file: string): string[] => [...readFileSync(join(root, 'sql', file), 'utf8').matchAll(/^create (?:or replace )?(?:function|view|procedure) ([a-z_.]+)/gm)].map((match) => match[1] ?? '');

  test('has one object in each file, and the file bears its name', () => {
    expect(files.length).toBeGreaterThan(90);
    expect(files.filter((file) => created(file).length !== 1 || created(file)[0]?.split('.')[1] !== basename(file, '.sql'))).toEqual([]);
  });

  test('holds every function and view there is, once: no orphan, no overload', async () => {
    const inFiles = files.flatMap(created).sort();
    const inCatalog = await offenders(`
      select n.nspname || '.' || p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = any(${SCHEMAS})
      union all select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = any(${SCHEMAS}) and c.relkind = 'v'`);
    expect(inCatalog.sort()).toEqual(inFiles);
  });

  test('holds no helper that nothing uses', async () => {
    expect(await offenders(`
      select p.proname as name from pg_proc p where p.pronamespace = 'countersign_data'::regnamespace
        and not exists (select from pg_proc u where u.pronamespace in (select n.oid from pg_namespace n where n.nspname = any(${SCHEMAS})) and u.oid <> p.oid and u.prosrc ~ ('\\m' || p.proname || '\\M'))
        and not exists (select from pg_trigger t where t.tgfoid = p.oid)
        and not exists (select from pg_views v where v.schemaname = 'countersign' and v.definition ~ ('\\m' || p.proname || '\\M'))`)).toEqual([]);
  });

  test('comments on each object in the file that makes it', () => {
    expect(files.filter((file) => !/^comment on (function|view) /m.test(readFileSync(join(root, 'sql', file), 'utf8')))).toEqual([]);
  });

  test('keeps functions to a size that one reads in one go', () => {
    const long = files.filter((file) => readFileSync(join(root, 'sql', file), 'utf8').split('\n').length > 180);
    expect(long).toEqual([]);
  });
});

test('applying sql/ again leaves no difference, and every body compiles with everything in place', async () => {
  // Installed here and now, so that the sources are the same both times.
  await install(db.url('admin'), { strict: true });
  const before = await everything(db);
  await install(db.url('admin'), { strict: true });
  expect(await everything(db)).toEqual(before);
  const client = await db.connect('admin');
  await client.query('begin');
  await client.query('set local check_function_bodies = on; set local search_path = pg_catalog, pg_temp');
  for (const name of readdirSync(join(root, 'sql'), { recursive: true, encoding: 'utf8' }).filter((file) => /^[1-6]\d_.*\.sql$/.test(file)).sort()) {
    await client.query(readFileSync(join(root, 'sql', name), 'utf8'));
  }
  await client.query('rollback');
  await client.end();
});
