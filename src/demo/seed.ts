import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ClientBase } from 'pg';

import { packageRoot } from '../db/install.js';
import { CountersignError } from '../errors.js';

export const DEFAULT_SEED = 42;

/** What seeding found and did. `checksum` covers every value of the four tables, on any platform and version. */
export interface SeedResult {
  seeded: boolean;
  reason: 'empty' | 'other seed' | 'tables changed' | 'rows changed' | 'as seeded';
  checksum: string;
}

/** One grant of the demo: what the agent may do with which table. */
interface ShopGrant {
  verb: 'read' | 'write';
  table: string;
}

const TABLES = ['customers', 'products', 'orders', 'order_items'];
const GRANTS: readonly ShopGrant[] = [
  ...TABLES.map((table): ShopGrant => ({ verb: 'read', table })),
  ...TABLES.filter((table) => table !== 'products').map((table): ShopGrant => ({ verb: 'write', table })),
];

/**
 * Brings the demo database `shop` into its seeded state: builds it when it is missing, was built from another seed, or
 * was changed since, and does nothing otherwise. Then lets the agent read all four tables and write all but products.
 *
 * @param client an administrator's connection to the database, with Countersign installed, not in a transaction
 * @throws CountersignError when a grant is refused
 */
export async function seedShop(client: ClientBase, seed: number = DEFAULT_SEED): Promise<SeedResult> {
  const result = await buildShop(client, seed);
  await allowAgent(client);
  return result;
}

/** Seeds a database that has no shop yet; one that has is left as its users made it. */
export async function seedIfEmpty(client: ClientBase, seed: number = DEFAULT_SEED): Promise<boolean> {
  const { reason } = await whyBuild(client, seed);
  if (reason !== 'empty') return false;
  await seedShop(client, seed);
  return true;
}

/** The part of {@link seedShop} that needs no Countersign in the database. */
export async function buildShop(client: ClientBase, seed: number): Promise<SeedResult> {
  const { reason, checksum } = await whyBuild(client, seed);
  if (reason === 'as seeded') return { seeded: false, reason, checksum };
  const text = await readFile(join(packageRoot(), 'src', 'demo', 'shop.sql'), 'utf8');
  await client.query('begin');
  try {
    await client.query(`select set_config('shop.seed', $1, true)`, [String(seed)]);
    await client.query(`set local lock_timeout = '10s'`);
    // Tables that a migration changed cannot be filled again; anything else keeps its tables, and their grants.
    if (reason === 'empty' || reason === 'tables changed') {
      await client.query(`drop table if exists ${TABLES.map((table) => `public.${table}`).join(', ')} cascade`);
    }
    await client.query(text);
    await writeMarker(client, seed);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
  return { seeded: true, reason, checksum: await shopChecksum(client) };
}

/** SHA-256 over every value of the four tables; independent of row order, locale and Postgres version. */
export async function shopChecksum(client: ClientBase): Promise<string> {
  const sums: string[] = [];
  for (const table of TABLES) {
    // Every value, as text under pinned settings; hashing row by row spares a sort and a 20 MB string.
    const { rows } = await client.query<{ n: string; sum: string }>(
      `select count(*)::text as n, coalesce(sum(hashtextextended(concat_ws('|', ${await valueList(client, table)}), 0)), 0)::text as sum
         from public.${table} as t`,
    );
    sums.push(`${table} ${rows[0]?.n} ${rows[0]?.sum}`);
  }
  return createHash('sha256').update(sums.join('\n')).digest('hex');
}

/** Column by column, since the text of a whole row depends on the session's time zone. */
async function valueList(client: ClientBase, table: string): Promise<string> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select quote_ident(attname) as name, format_type(atttypid, null) as type
       from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [`public.${table}`],
  );
  return rows
    .map(({ name, type }) =>
      type === 'timestamp with time zone' ? `extract(epoch from t.${name})::text` : `coalesce(t.${name}::text, '')`)
    .join(', ');
}

/** Columns, constraints, indexes and triggers: what a migration may have changed without touching a row. */
async function shopStructure(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ line: string }>(
    `select line from (
       select format('column %s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull) as line
         from pg_attribute where attrelid = any ($1::regclass[]) and attnum > 0 and not attisdropped
       union all select format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid))
         from pg_constraint where conrelid = any ($1::regclass[])
       union all select pg_get_indexdef(indexrelid) from pg_index where indrelid = any ($1::regclass[])
       union all select pg_get_triggerdef(oid) from pg_trigger where tgrelid = any ($1::regclass[]) and not tgisinternal
     ) as shape order by line collate "C"`,
    [TABLES.map((table) => `public.${table}`)],
  );
  return createHash('sha256').update(rows.map((row) => row.line).join('\n')).digest('hex');
}

async function whyBuild(client: ClientBase, seed: number): Promise<Pick<SeedResult, 'reason' | 'checksum'>> {
  const { rows } = await client.query<{ complete: boolean; foreign: string | null; marker: string | null }>(
    `select bool_and(to_regclass('public.' || name) is not null) as complete,
            (select min(relname) from pg_class where oid = any (array_agg(to_regclass('public.' || name)))
               and pg_get_userbyid(relowner) <> 'shop_owner') as foreign,
            (select shobj_description(oid, 'pg_database') from pg_database where datname = current_database()) as marker
       from unnest($1::text[]) as name`,
    [TABLES],
  );
  const marker = /^Countersign demo shop, seed (-?\d+), contents ([0-9a-f]+), structure ([0-9a-f]+)$/.exec(
    rows[0]?.marker ?? '',
  );
  if (typeof rows[0]?.foreign === 'string') {
    throw new CountersignError(
      'INVALID_ARGUMENTS',
      `this database has a table public.${rows[0].foreign} that is not the demo's; nothing was touched`,
      'Seed the demo into a database of its own.',
    );
  }
  if (marker === null) return { reason: 'empty', checksum: '' };
  if (rows[0]?.complete !== true) return { reason: 'tables changed', checksum: '' };
  if (marker[3] !== (await shopStructure(client))) return { reason: 'tables changed', checksum: '' };
  if (marker[1] !== String(seed)) return { reason: 'other seed', checksum: '' };
  const checksum = await shopChecksum(client);
  return { reason: marker[2] === checksum ? 'as seeded' : 'rows changed', checksum };
}

async function writeMarker(client: ClientBase, seed: number): Promise<void> {
  const text = `Countersign demo shop, seed ${seed}, contents ${await shopChecksum(client)}, structure ${await shopStructure(client)}`;
  const { rows } = await client.query<{ statement: string }>(
    `select format('comment on database %I is %L', current_database(), $1::text) as statement`,
    [text],
  );
  if (rows[0] !== undefined) await client.query(rows[0].statement);
}

/** Grants only what is missing, since every change of the allowlist is an event in the trail. */
async function allowAgent(client: ClientBase): Promise<void> {
  for (const { verb, table } of GRANTS) {
    const { rows } = await client.query<{ held: boolean }>(
      `select case $1 when 'read' then has_table_privilege('countersign_reader', $2, 'select')
                      else has_table_privilege('countersign_writer', $2, 'delete') end as held`,
      [verb, `public.${table}`],
    );
    if (rows[0]?.held !== true) await allow(client, verb, `public.${table}`);
  }
  // Lets agents propose migrations of the shop's tables; each one still waits for a human.
  await client.query('grant shop_owner to countersign_migrator');
}

async function allow(client: ClientBase, verb: string, table: string): Promise<void> {
  const { rows } = await client.query<{ ok: boolean; message: string; hint: string }>(
    'select ok, message, hint from countersign.allow($1, $2)',
    [verb, table],
  );
  const outcome = rows[0];
  if (outcome?.ok !== true) {
    throw new CountersignError('INTERNAL_ERROR', `could not allow ${verb} on ${table}: ${outcome?.message}`, outcome?.hint ?? '');
  }
}
