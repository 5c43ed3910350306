/**
 * What a login can do, found out by trying it on a connection of its own. EXPLAIN checks every right that running
 * the statement would check, and runs nothing: so functions that decide or write can be tried as well.
 */
import type pg from 'pg';
import type { TestDatabase } from '../harness/database.js';
import { sqlstate } from './calls.js';

export const OWN_SCHEMAS = ['countersign', 'countersign_data', 'countersign_exec', 'countersign_scratch'] as const;

interface Relation { name: string; kind: string; columns: string[] }

async function relationsOf(db: TestDatabase, schemas: readonly string[]): Promise<Relation[]> {
  const { rows } = await db.as('admin').query<Relation>(`
    select c.oid::regclass::text as name, c.relkind as kind,
           array(select quote_ident(a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any($1) and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') order by 1`, [schemas]);
  return rows;
}

/** Functions of the schemas, each with a call that passes nulls. */
async function functionsOf(db: TestDatabase, schemas: readonly string[]): Promise<Array<{ name: string; call: string }>> {
  const { rows } = await db.as('admin').query<{ name: string; call: string }>(`
    select n.nspname || '.' || p.proname as name, format('%I.%I(%s)', n.nspname, p.proname,
             (select string_agg('null::' || format_type(x.type, null), ', ' order by x.place) from unnest(p.proargtypes) with ordinality as x(type, place))) as call
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = any($1) order by 1`, [schemas]);
  return rows;
}

/** `verb object` for everything in the schemas that the session may do: whatever is not refused with 42501. */
export async function accessOf(db: TestDatabase, client: pg.Client, schemas: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  const attempt = async (what: string, ...statements: string[]): Promise<void> => {
    for (const statement of statements) {
      await client.query('begin');
      if ((await sqlstate(client.query(statement))) !== '42501') found.add(what);
      await client.query('rollback');
      if (found.has(what)) return;
    }
  };
  for (const { name, kind, columns } of await relationsOf(db, schemas)) {
    if (kind === 'S') {
      await attempt(`draw ${name}`, `select pg_catalog.nextval('${name}')`);
      continue;
    }
    await attempt(`select ${name}`, `explain select from ${name}`);
    if (kind !== 'r' && kind !== 'p') continue;
    await attempt(`insert ${name}`, `explain insert into ${name} default values`);
    // Of a table that may be updated in part, one column is enough to be found.
    await attempt(`update ${name}`, ...columns.map((column) => `explain update ${name} set ${column} = default`));
    await attempt(`delete ${name}`, `explain delete from ${name}`);
    await attempt(`lock ${name}`, `lock table ${name} in access exclusive mode nowait`);
  }
  for (const { name, call } of await functionsOf(db, schemas)) await attempt(`execute ${name}`, `explain select ${call}`);
  for (const schema of schemas) await attempt(`create in ${schema}`, `create view ${schema}.countersign_probe as select 1`);
  return [...found].sort();
}

/** The same for a role that cannot log in. */
export async function accessOfRole(db: TestDatabase, role: string, schemas: readonly string[]): Promise<string[]> {
  const client = await db.connect('admin');
  await client.query(`set session authorization ${role}`);
  const found = await accessOf(db, client, schemas);
  await client.end();
  return found;
}

export async function accessOfLogin(db: TestDatabase, login: Parameters<TestDatabase['connect']>[0], schemas: readonly string[]): Promise<string[]> {
  const client = await db.connect(login);
  const found = await accessOf(db, client, schemas);
  await client.end();
  return found;
}
