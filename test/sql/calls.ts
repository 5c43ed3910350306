/** The API as it is called in SQL: one function a verb, each answers the outcome row. Nothing is imported from src. */
import type pg from 'pg';

export type Session = Pick<pg.Pool, 'query'> | Pick<pg.Client, 'query'>;

export interface Effect { table: string; inserted: number; updated: number; deleted: number; writable: boolean }
export type Row = Record<string, unknown>;

/** Of an outcome's detail what the tests read; which fields are there depends on the call. */
export interface Detail {
  plan_token: string;
  status: string;
  tool: string;
  statement: string;
  params: unknown[];
  target: string | null;
  affected_rows: number;
  total_rows: number;
  effects: Effect[];
  gate: string[];
  sample_rows: Row[];
  changes: Array<{ key: string | null; before: Row | null; after: Row | null }>;
  reached: Array<{ table: string; rows: number; sample_rows: Row[] }>;
  compared_by_count_only: string[];
  undo: { kind: string; why: string };
  triggers: Array<{ table: string; trigger: string; function: string; may_reach_outside: boolean }>;
  expires_at: string;
  approval: { required: number; psql: string; cli: string } | null;
  approved_by: string | null;
  decision: { status: string; by: string; note: string | null } | null;
  outcome: { status: string; code?: string; message?: string; affected_rows?: number; total_rows?: number; effects?: Effect[] } | null;
  changed: { rows_added: number; rows_gone: number; rows_altered: number; added: string[]; gone: string[]; altered: string[] };
  migration: {
    tag: string;
    locks: Array<{ table: string; mode: string }>;
    rewrites: Array<{ table: string; rows_estimate: number; bytes: number }>;
    added: string[];
    removed: string[];
    rows_lost_estimate: Array<{ object: string; rows: number }>;
  };
  sqlstate: string;
}

export interface Outcome { ok: boolean; code: string | null; message: string; hint: string | null; detail: Detail }

export interface Said { reason?: string | null; callerId?: string | null; all?: boolean }

const json = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export async function outcomeOf(session: Session, call: string, values: unknown[]): Promise<Outcome> {
  const { rows } = await session.query<Outcome & pg.QueryResultRow>(`select * from countersign.${call}`, values);
  if (rows.length !== 1 || rows[0] === undefined) throw new Error(`${call} answered ${rows.length} rows`);
  return rows[0];
}

/** `params` may be JSON text, for numbers that JavaScript cannot hold. */
export function previewDelete(session: Session, table: string, where: string | null, params: unknown = [], said: Said = {}): Promise<Outcome> {
  return outcomeOf(session, 'preview_delete($1, $2, $3::jsonb, $4, $5, $6)',
    [table, where, json(params), said.all ?? false, said.reason ?? 'test', said.callerId ?? null]);
}

export function previewUpdate(session: Session, table: string, set: unknown, where: string | null, params: unknown = [], said: Said = {}): Promise<Outcome> {
  return outcomeOf(session, 'preview_update($1, $2::jsonb, $3, $4::jsonb, $5, $6, $7)',
    [table, json(set), where, json(params), said.all ?? false, said.reason ?? 'test', said.callerId ?? null]);
}

export function previewInsert(session: Session, table: string, columns: string[], rows: unknown, said: Said = {}): Promise<Outcome> {
  return outcomeOf(session, 'preview_insert($1, $2, $3::jsonb, $4, $5)', [table, columns, json(rows), said.reason ?? 'test', said.callerId ?? null]);
}

export function previewMigration(session: Session, statement: string, said: Said = {}): Promise<Outcome> {
  return outcomeOf(session, 'preview_migration($1, $2, $3)', [statement, said.reason ?? 'test', said.callerId ?? null]);
}

/** Executes what a preview answered; `other` replaces what is sent. */
export function execute(session: Session, preview: Outcome, other: { statement?: string; params?: unknown } = {}): Promise<Outcome> {
  const { plan_token: token, statement, params } = preview.detail;
  return outcomeOf(session, 'execute_plan($1, $2, $3::jsonb, null)', [token, other.statement ?? statement, json('params' in other ? other.params : params)]);
}

export function approve(session: Session, preview: Outcome, note: string | null = 'checked'): Promise<Outcome> {
  return outcomeOf(session, 'approve($1, $2)', [preview.detail.plan_token, note]);
}

export function reject(session: Session, preview: Outcome, reason: string | null = 'no'): Promise<Outcome> {
  return outcomeOf(session, 'reject($1, $2)', [preview.detail.plan_token, reason]);
}

export function planStatus(session: Session, preview: Outcome): Promise<Outcome> {
  return outcomeOf(session, 'plan_status($1, null)', [preview.detail.plan_token]);
}

/** `ok`, or the SQLSTATE with which Postgres refused. */
export async function sqlstate(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (typeof code !== 'string') throw error;
    return code;
  }
}

/** What a preview must be before a test goes on: shown whole when it is not. */
export function accepted(outcome: Outcome): Outcome {
  if (!outcome.ok) throw new Error(`refused: ${outcome.code}: ${outcome.message} (${outcome.hint})`);
  return outcome;
}
