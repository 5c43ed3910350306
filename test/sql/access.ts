/**
 * What a login can do, found out by trying it on a connection of its own. EXPLAIN checks every right that running
 * the statement would check, and runs nothing: so functions that decide or write can be tried as well.
 */
import type pg from 'pg';
import type { TestDatabase } from '../harness/database.js';
import { sqlstate } from './calls.js';

interface Relation { name: string; kind: string; column: string }

/** Tables, views and sequences of the given schemas. */
async function relationsOf(db: TestDatabase, schemas: readonly string[]): Promise<Relation[]> {
  const { rows } = await db.as('admin').query<Relation>(`
    select c.oid::regclass::text as name, c.relkind as kind, coalesce((select quote_ident(a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                                                        and a.attidentity = '' and a.attgenerated = '' order by a.attnum limit 1), '') as column
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any($1) and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') order by 1`, [schemas]);
  return rows;
}

/** Functions of the given schemas: how they are written, and a call of each with nulls. */
async function functionsOf(db: TestDatabase, schemas: readonly string[]): Promise<Array<{ name: string; call: string }>> {
  const { rows } = await db.as('admin').query<{ name: string; call: string }>(`
    select p.oid::regproc::text as name, format('%s(%s)', p.oid::regproc, (select string_agg('null::' || format_type(t, null), ', ' order by o) from unnest(p.proargtypes) with ordinality x(t, o))) as call
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = any($1) order by 1`, [schemas]);
  return rows;
}

/** `verb object` for everything in the schemas that this session may do. */
export async function accessOf(db: TestDatabase, client: pg.Client, schemas: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const attempt = async (what: string, statement: string): Promise<void> => {
    if ((await sqlstate(client.query(statement))) !== '42501') found.push(what);
  };
  for (const { name, kind, column } of await relationsOf(db, schemas)) {
    if (kind === 'S') {
      await attempt(`read ${name}`, `explain select * from ${name}`);
      await attempt(`draw ${name}`, `explain select pg_catalog.nextval('${name}')`);
      continue;
    }
    await attempt(`select ${name}`, `explain select ${column} from ${name}`);
    if (kind !== 'r' && kind !== 'p') continue;
    await attempt(`insert ${name}`, `explain insert into ${name} (${column}) values (null)`);
    await attempt(`update ${name}`, `explain update ${name} set ${column} = null`);
    await attempt(`delete ${name}`, `explain delete from ${name}`);
    await attempt(`lock ${name}`, `do ''`).catch(() => undefined);
  }
  for (const { name, call } of await functionsOf(db, schemas)) await attempt(`execute ${name}`, `explain select ${call}`);
  for (const schema of schemas) {
    const created = `create view ${schema}.countersign_probe as select 1`;
    await client.query('begin');
    if ((await sqlstate(client.query(created))) !== '42501') found.push(`create in ${schema}`);
    await client.query('rollback');
  }
  return [...new Set(found)].sort();
}
