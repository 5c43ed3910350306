import type { ClientBase, FieldDef, QueryArrayConfig, QueryArrayResult } from 'pg';
import { CountersignError } from '../errors.js';
import { fromDatabase } from './database-error.js';
import { limitStream, type StreamLimit } from './stream-limit.js';
import { builtInType, toJsonValue, toParameter, uniqueNames, type ColumnType } from './values.js';

type Json = Record<string, unknown>;

export interface ReadRequest {
  /** One SELECT, already checked; the connection's own rights and the read-only transaction are what holds. */
  statement: string;
  params: readonly unknown[];
  /** Rows to answer with; one more is fetched to know whether there are more. */
  limit: number;
  /** Bytes of JSON to answer with. */
  budget: number;
}

export interface ReadResult {
  columns: { name: string; type: string }[];
  rows: Json[];
  row_count: number;
  truncated: boolean;
}

/** A batch may arrive this many times larger than the answer may be before the connection is cut. */
const SLACK = 8;
const MAX_BATCH = 1000;

/**
 * One message, so one round trip. The SELECT takes the snapshot: after it no statement can turn the transaction into
 * one that writes. The settings are how values are printed, for `toJsonValue`.
 */
const BEGIN = `begin read only;
set local datestyle = 'ISO, YMD'; set local timezone = 'UTC'; set local intervalstyle = 'iso_8601';
set local bytea_output = 'hex'; set local extra_float_digits = 1;
select extract(epoch from current_setting('statement_timeout')::interval) * 1000 as ms`;

const TYPES_BY_OID = `
select t.oid, pg_catalog.format_type(t.oid, null) as name,
  coalesce(nullif(e.typbasetype, 0), e.oid) as element, e.typdelim as delimiter
from pg_catalog.pg_type t
left join pg_catalog.pg_type e on t.typcategory = 'A' and e.oid = t.typelem
where t.oid = any ($1::pg_catalog.oid[])`;

type RawRow = (string | null)[];

/** Text as Postgres sends it: every conversion of node-pg would lose something. */
const RAW = { getTypeParser: () => (text: string) => text };

/** The extended protocol takes one statement only, whatever the text holds. node-pg uses it when told so. */
function extended(text: string, values: (string | null)[] = []): QueryArrayConfig {
  return { text, values, rowMode: 'array', types: RAW, queryMode: 'extended' } as QueryArrayConfig;
}

function tooLarge(budget: number): CountersignError {
  return new CountersignError(
    'STATEMENT_FAILED',
    `A row of the result does not fit into the ${Math.round(budget / 1024)} KiB that one answer may hold.`,
    'Select fewer columns, or a part of the long value, for example left(column, 1000).',
    { sqlstate: '54000' },
  );
}

interface Session {
  limit: StreamLimit;
  /** Milliseconds for the whole read, as the session's statement_timeout says for one statement. */
  timeoutMs: number;
}

/**
 * Runs `work` in a read-only transaction that is always rolled back, under a limit of what may arrive at once.
 * @throws CountersignError for what Postgres refuses
 */
async function readOnly<T>(connection: ClientBase, budget: number, work: (session: Session) => Promise<T>): Promise<T> {
  const limit = limitStream(connection);
  try {
    const begun = (await connection.query(BEGIN)) as unknown as { rows: { ms?: string }[] }[];
    return await work({ limit, timeoutMs: Number(begun.at(-1)?.rows[0]?.ms) || Number.POSITIVE_INFINITY });
  } catch (error) {
    throw limit.cut() ? tooLarge(budget) : fromDatabase(error);
  } finally {
    limit.release();
    if (!limit.cut()) await connection.query('rollback').catch(() => {});
  }
}

async function typesOf(connection: ClientBase, fields: readonly FieldDef[]): Promise<Map<number, ColumnType>> {
  const types = new Map<number, ColumnType>();
  for (const { dataTypeID } of fields) {
    const known = builtInType(dataTypeID);
    if (known) types.set(dataTypeID, known);
  }
  const unknown = [...new Set(fields.map((field) => field.dataTypeID))].filter((oid) => !types.has(oid));
  if (unknown.length === 0) return types;
  const found = await connection.query(TYPES_BY_OID, [unknown]);
  for (const row of found.rows as { oid: number; name: string; element: number | null; delimiter: string }[]) {
    const element = row.element === null ? {} : { element: { oid: row.element, delimiter: row.delimiter } };
    types.set(row.oid, { name: row.name, ...element });
  }
  return types;
}

/** Rows still wanted, few at first: their size is known only once they are here. */
function nextBatch(fetched: number, bytes: number, request: ReadRequest): number {
  const wanted = request.limit + 1 - fetched;
  if (fetched === 0) return 1;
  const average = Math.max(1, bytes / fetched);
  return Math.max(1, Math.min(wanted, MAX_BATCH, fetched * 32, Math.floor((request.budget - bytes) / average)));
}

interface Fetched {
  fields: readonly FieldDef[];
  rows: RawRow[];
  /** False when the cursor was read to its end. */
  more: boolean;
}

/** Reads the cursor until its end, the row limit, the byte budget or the time is reached. */
async function fetchAll(connection: ClientBase, request: ReadRequest, { limit, timeoutMs }: Session): Promise<Fetched> {
  const started = performance.now();
  const rows: RawRow[] = [];
  let fields: readonly FieldDef[] = [];
  let bytes = 0;
  for (;;) {
    const count = nextBatch(rows.length, bytes, request);
    limit.allow(request.budget * (rows.length === 0 ? 1 : SLACK) + 64 * 1024);
    let batch: QueryArrayResult<RawRow>;
    try {
      batch = await connection.query<RawRow>(extended(`fetch forward ${count} from countersign_read`));
    } catch (error) {
      // What came before the row that was too large is whole, and worth an answer.
      if (limit.cut() && rows.length > 0) return { fields, rows, more: true };
      throw error;
    }
    fields = batch.fields;
    bytes += limit.received();
    rows.push(...batch.rows);
    if (batch.rows.length < count) return { fields, rows, more: false };
    if (rows.length > request.limit || bytes >= request.budget) return { fields, rows, more: true };
    if (performance.now() - started > timeoutMs) return { fields, rows, more: true };
  }
}

/** One row at a time: what does not fit into the answer is never converted. */
function* toRows(names: readonly string[], types: readonly (readonly [number, ColumnType])[], rows: readonly RawRow[]): Generator<Json> {
  for (const raw of rows) {
    // fromEntries defines properties, so that a column named __proto__ is a column.
    yield Object.fromEntries(
      names.map((name, index) => {
        const [oid, type] = types[index] as readonly [number, ColumnType];
        return [name, toJsonValue(raw[index] ?? null, oid, type)];
      }),
    );
  }
}

/** As many rows as the answer may hold. */
function withinAnswer(rows: Iterable<Json>, request: ReadRequest): Json[] {
  const kept: Json[] = [];
  let size = 0;
  for (const row of rows) {
    size += Buffer.byteLength(JSON.stringify(row)) + 1;
    if (kept.length === request.limit) break;
    if (size > request.budget) {
      if (kept.length === 0) throw tooLarge(request.budget);
      break;
    }
    kept.push(row);
  }
  return kept;
}

/**
 * Runs one SELECT through a cursor and gives back as much of it as fits.
 * @throws CountersignError for what Postgres refuses, and for a first row that does not fit
 */
export function readRows(connection: ClientBase, request: ReadRequest): Promise<ReadResult> {
  return readOnly(connection, request.budget, async (session) => {
    session.limit.allow(request.budget);
    await connection.query(
      extended(`declare countersign_read no scroll cursor for ${request.statement}`, request.params.map(toParameter)),
    );
    const fetched = await fetchAll(connection, request, session);
    const known = session.limit.cut() ? new Map<number, ColumnType>() : await typesOf(connection, fetched.fields);
    const types = fetched.fields.map(({ dataTypeID: oid }) => {
      return [oid, known.get(oid) ?? builtInType(oid) ?? { name: `type ${oid}` }] as const;
    });
    const names = uniqueNames(fetched.fields.map((field) => field.name));
    const rows = withinAnswer(toRows(names, types, fetched.rows), request);
    return {
      columns: names.map((name, index) => ({ name, type: types[index]?.[1].name ?? '' })),
      rows,
      row_count: rows.length,
      truncated: fetched.more || rows.length < fetched.rows.length,
    };
  });
}

/** The planner's answer as EXPLAIN (FORMAT JSON) gives it. The statement is planned, never run. */
export function explainRows(connection: ClientBase, request: ReadRequest): Promise<Json> {
  return readOnly(connection, request.budget, async ({ limit }) => {
    limit.allow(request.budget);
    const text = `explain (format json, verbose false, analyze false) ${request.statement}`;
    const answer = await connection.query<RawRow>(extended(text, request.params.map(toParameter)));
    const parsed = JSON.parse(answer.rows.map((row) => row[0] ?? '').join('\n')) as Json[];
    return parsed[0] ?? {};
  });
}
