/** The four kinds of write as one table, so that a property is asked of each of them in the same words. */
import type { TestDatabase } from '../harness/database.js';
import { one } from './application.js';
import { accepted, approve, previewDelete, previewInsert, previewMigration, previewUpdate, type Outcome, type Said, type Session } from './calls.js';

export interface WriteKind {
  name: 'insert' | 'update' | 'delete' | 'migration';
  tool: string;
  /** Previews a change of that many rows which no other call touches. A migration changes the schema, and no rows. */
  preview(session: Session, rows: number, said?: Said): Promise<Outcome>;
}

/** Rows nobody has been given yet: ids of `stock` below 25,000 exist, those above 1,000,000 do not. */
let existing = 0;
let fresh = 1_000_000;
let names = 0;

function existingIds(count: number): [number, number] {
  existing += count;
  if (existing > 25_000) throw new Error('no rows of stock are left');
  return [existing - count + 1, existing];
}

export const KINDS: readonly WriteKind[] = [
  {
    name: 'insert', tool: 'insert_rows',
    preview: (session, rows, said) => previewInsert(session, 'stock', ['id', 'amount'], Array.from({ length: rows }, () => [++fresh, 2]), said),
  },
  {
    name: 'update', tool: 'update_rows',
    preview: (session, rows, said) => previewUpdate(session, 'stock', { amount: 3 }, 'id between $1 and $2', existingIds(rows), said),
  },
  {
    name: 'delete', tool: 'delete_rows',
    preview: (session, rows, said) => previewDelete(session, 'stock', 'id between $1 and $2', existingIds(rows), said),
  },
  {
    name: 'migration', tool: 'run_migration',
    preview: (session, _rows, said) => previewMigration(session, `create table note_${++names} (id integer primary key)`, said),
  },
];

export const ROW_KINDS = KINDS.filter((kind) => kind.name !== 'migration');

/** A plan of that kind that may run now: small, or approved where the kind always waits. */
export async function ready(db: TestDatabase, kind: WriteKind, said?: Said): Promise<Outcome> {
  const preview = accepted(await kind.preview(db.as('agent'), 3, said));
  if (kind.name === 'migration') accepted(await approve(db.as('alice'), preview));
  return preview;
}

/** A plan of that kind that waits for a human. */
export async function waiting(db: TestDatabase, kind: WriteKind, said?: Said): Promise<Outcome> {
  return accepted(await kind.preview(db.as('agent'), 101, said));
}

/** Equal before and after means that nothing any of the kinds changes has changed. */
export function dataNow(db: TestDatabase): Promise<string> {
  return one<string>(db, `
    select concat_ws(' ', count(*), sum(amount), (select count(*) from pg_class where relname ~ '^note_[0-9]+$'),
                     md5(string_agg(s::text || s.xmin::text, ',' order by id))) from stock s`);
}

/** Rows (for a migration: tables) that a plan of three rows has changed since. */
export async function changedSince(db: TestDatabase, kind: WriteKind, before: string): Promise<number> {
  const [was, is] = [before, await dataNow(db)].map((line) => line.split(' ').map(Number));
  const [rows, amount, tables] = [0, 1, 2].map((at) => (is?.[at] ?? 0) - (was?.[at] ?? 0)) as [number, number, number];
  return kind.name === 'insert' ? rows : kind.name === 'delete' ? -rows : kind.name === 'update' ? amount / 2 : tables;
}
