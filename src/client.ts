import type { CallPool } from './db/pool.js';
import type { Code } from './errors.js';

/** The backend this code talks to. `countersign.version()` must answer exactly this number. */
export const BACKEND_VERSION = 1;

export type Row = Record<string, unknown>;

/** Runs one statement on a connection of one login, commits it, and gives back its rows. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Each statement on a session of the pool, committed by itself. */
export function queryThrough(pool: CallPool): Query {
  return (text, values = []) => pool.run(async (session) => (await session.query<Row>(text, [...values])).rows);
}

/** What every API function returns: a refusal is a value, because it has to leave its event and commit. */
export interface Outcome {
  ok: boolean;
  code: Code | null;
  message: string | null;
  hint: string | null;
  detail: Row | null;
}

export interface PreviewDelete {
  table: string;
  where: string | null;
  params: readonly unknown[];
  confirmFullTable: boolean;
  reason: string;
  callerId: string | null;
}

export interface PreviewUpdate extends PreviewDelete {
  set: Readonly<Record<string, unknown>>;
}

export interface PreviewInsert {
  table: string;
  columns: readonly string[];
  rows: readonly (readonly unknown[])[];
  reason: string;
  callerId: string | null;
}

export interface PreviewMigration {
  statement: string;
  reason: string;
  callerId: string | null;
}

export interface ExecutePlan {
  planToken: string;
  statement: string;
  params: readonly unknown[];
  callerId: string | null;
}

export interface DescribeSchema {
  schema: string | null;
  table: string | null;
  reason: string | null;
  callerId: string | null;
}

/** A read as the audit trail knows it: which tool, what text, why. */
export interface Read {
  tool: string;
  statement: string;
  params: readonly unknown[];
  reason: string | null;
  callerId: string | null;
}

export interface FinishedRead extends Read {
  rows: number;
  durationMs: number;
  /** Null when the read was answered, else the code it was refused with. */
  code: Code | null;
  message: string | null;
}

export interface RecordedRefusal {
  tool: string;
  code: Code;
  message: string;
  reason: string | null;
  statement: string | null;
  params: unknown;
  callerId: string | null;
}

/** What a host plans to do outside the database. `payload` is canonical JSON; the database writes it so itself in any case. */
export interface CreateHostPlan {
  tool: string;
  payload: string;
  reason: string | null;
  callerId: string | null;
  previewCount: number | null;
  dataDigest: string | null;
  extra: Readonly<Record<string, unknown>> | null;
  approvalRequired: boolean;
  alwaysRequireApproval: boolean;
  planTtlMs: number | null;
  approvalTtlMs: number | null;
}

export interface BeginExecute {
  planToken: string;
  payload: string;
  dataDigest: string | null;
  callerId: string | null;
}

export interface ConfirmExecution {
  planToken: string;
  note: string | null;
  /** The attempt that ends, as begin_execute answered it; null when it is not known. */
  attempt: number | null;
  callerId: string | null;
}

export interface ListHostPlans {
  status: 'awaiting_approval' | 'executing';
  /** Token of the last plan of the page before. */
  after: string | null;
  limit: number;
  olderThanMs: number;
}

export interface AdoptHostPlan {
  planToken: string;
  tool: string;
  payload: string | null;
  reason: string | null;
  callerId: string | null;
  extra: Readonly<Record<string, unknown>> | null;
}

export type Settlement = 'done' | 'not-done';

export interface Check {
  checkName: string;
  severity: 'ok' | 'warning' | 'fatal';
  message: string;
  hint: string;
}

const json = (value: unknown): string => JSON.stringify(value ?? null);

const asOutcome = (rows: Row[]): Outcome => rows[0] as unknown as Outcome;

/** The functions the agent's login may call. Nothing else is reachable from that login. */
export function createClient(query: Query) {
  const outcome = async (text: string, values: readonly unknown[]) => asOutcome(await query(text, values));
  return {
    previewDelete: (p: PreviewDelete) =>
      outcome('select * from countersign.preview_delete($1, $2, $3::jsonb, $4, $5, $6)', [
        p.table, p.where, json(p.params), p.confirmFullTable, p.reason, p.callerId,
      ]),
    previewUpdate: (p: PreviewUpdate) =>
      outcome('select * from countersign.preview_update($1, $2::jsonb, $3, $4::jsonb, $5, $6, $7)', [
        p.table, json(p.set), p.where, json(p.params), p.confirmFullTable, p.reason, p.callerId,
      ]),
    previewInsert: (p: PreviewInsert) =>
      outcome('select * from countersign.preview_insert($1, $2::text[], $3::jsonb, $4, $5)', [
        p.table, p.columns, json(p.rows), p.reason, p.callerId,
      ]),
    previewMigration: (p: PreviewMigration) =>
      outcome('select * from countersign.preview_migration($1, $2, $3)', [p.statement, p.reason, p.callerId]),
    executePlan: (p: ExecutePlan) =>
      outcome('select * from countersign.execute_plan($1, $2, $3::jsonb, $4)', [
        p.planToken, p.statement, json(p.params), p.callerId,
      ]),
    /** The state of one's own plan, without an event; null for a token that is not one. */
    planState: async (planToken: string): Promise<string | null> => {
      const [row] = await query('select countersign.plan_state($1) as state', [planToken]);
      return (row?.['state'] as string | null | undefined) ?? null;
    },
    planStatus: (planToken: string, callerId: string | null) =>
      outcome('select * from countersign.plan_status($1, $2)', [planToken, callerId]),
    describeSchema: (p: DescribeSchema) =>
      outcome('select * from countersign.describe_schema($1, $2, $3, $4)', [p.schema, p.table, p.reason, p.callerId]),
    checkRead: (p: Read) =>
      outcome('select * from countersign.check_read($1, $2, $3::jsonb, $4, $5)', [
        p.tool, p.statement, json(p.params), p.reason, p.callerId,
      ]),
    recordRead: async (p: FinishedRead): Promise<void> => {
      await query('select countersign.record_read($1, $2, $3::jsonb, $4, $5, $6::bigint, $7::integer, $8, $9)', [
        p.tool, p.statement, json(p.params), p.reason, p.callerId, p.rows, p.durationMs, p.code, p.message,
      ]);
    },
    recordRefusal: async (p: RecordedRefusal): Promise<void> => {
      await query('select countersign.record_refusal($1, $2, $3, $4, $5, $6::jsonb, $7)', [
        p.tool, p.code, p.message, p.reason, p.statement, json(p.params), p.callerId,
      ]);
    },
    announce: async (planToken: string): Promise<void> => {
      await query('select countersign.announce($1)', [planToken]);
    },
    sessionDefaults: async (): Promise<{ name: string; value: string }[]> =>
      (await query('select name, value from countersign.session_defaults()')) as unknown as { name: string; value: string }[],
    /** The self-check: only what must stop a server, or (`all`) also what is worth mending. Without a reader's login that part is left out. */
    preflight: async (readerRole: string | null, all: boolean): Promise<Check[]> =>
      (await query(
        'select check_name as "checkName", severity, message, hint from countersign.preflight($1, $2)',
        [readerRole, all],
      )) as unknown as Check[],
    version: async (): Promise<number> => Number((await query('select countersign.version() as version'))[0]?.['version']),
  };
}

export type Client = ReturnType<typeof createClient>;

/** What the surface of a decision adds to it. Neither is identity: that is the database login. */
export interface Said {
  /** Who the surface says decided. */
  decidedBy?: string | null;
  /** `seen` of the plan's detail as the human saw it; a plan that has moved since is refused (PLAN_MISMATCH). */
  seen?: string | null;
}

/** Wakes those who watch plans, several in one transaction; for sessions that announce later. */
export async function announceAll(query: Query, planTokens: readonly string[]): Promise<void> {
  await query('select countersign.announce(token) from unnest($1::text[]) as token', [planTokens]);
}

/** The functions a host's login calls to gate what it does outside the database. */
export function createHost(query: Query) {
  const outcome = async (text: string, values: readonly unknown[]) => asOutcome(await query(text, values));
  const { planState, planStatus, version } = createClient(query);
  return {
    planState,
    planStatus,
    version,
    createHostPlan: (p: CreateHostPlan) =>
      outcome('select * from countersign.create_host_plan($1, $2, $3, $4, $5::bigint, $6, $7::jsonb, $8, $9, $10::bigint, $11::bigint)', [
        p.tool, p.payload, p.reason, p.callerId, p.previewCount, p.dataDigest, p.extra === null ? null : json(p.extra),
        p.approvalRequired, p.alwaysRequireApproval, p.planTtlMs, p.approvalTtlMs,
      ]),
    beginExecute: (p: BeginExecute) =>
      outcome('select * from countersign.begin_execute($1, $2, $3, $4)', [p.planToken, p.payload, p.dataDigest, p.callerId]),
    confirmExecuted: (p: ConfirmExecution & { actualCount: number | null }) =>
      outcome('select * from countersign.confirm_executed($1, $2, $3::integer, $4, $5::bigint)', [
        p.planToken, p.note, p.attempt, p.callerId, p.actualCount,
      ]),
    confirmFailed: (p: ConfirmExecution) =>
      outcome('select * from countersign.confirm_failed($1, $2, $3::integer, $4)', [p.planToken, p.note, p.attempt, p.callerId]),
    hostPlans: async (p: ListHostPlans): Promise<Row[]> =>
      (await query('select plan from countersign.host_plans($1, $2, $3::integer, $4::bigint) as plan', [
        p.status, p.after, p.limit, p.olderThanMs,
      ])).map((row) => row['plan'] as Row),
    sweep: async (limit: number): Promise<number> =>
      Number((await query('select countersign.sweep($1::integer) as swept', [limit]))[0]?.['swept']),
    adoptHostPlan: (p: AdoptHostPlan) =>
      outcome('select * from countersign.adopt_host_plan($1, $2, $3, $4, $5, $6::jsonb)', [
        p.planToken, p.tool, p.payload, p.reason, p.callerId, p.extra === null ? null : json(p.extra),
      ]),
  };
}

export type Host = ReturnType<typeof createHost>;

/** What a human's own login may do: look at what waits, and decide. */
export function createApprover(query: Query) {
  return {
    show: async (planToken: string): Promise<{ field: string; value: string }[]> =>
      (await query('select field, value from countersign.show($1)', [planToken])) as unknown as { field: string; value: string }[],
    planDetail: async (planToken: string): Promise<Row | null> =>
      ((await query('select countersign.plan_detail($1) as detail', [planToken]))[0]?.['detail'] ?? null) as Row | null,
    /** A page of a list as JSON; null for a list that is not one. `after` is the token the page before ended with. */
    planList: async (list: string, after: string | null, limit: number): Promise<Row | null> =>
      ((await query('select countersign.plan_list($1, $2, $3) as list', [list, after, limit]))[0]?.['list'] ?? null) as Row | null,
    approve: async (planToken: string, note: string | null, channel: string, said: Said = {}) =>
      asOutcome(await query('select * from countersign.approve($1, $2, $3, $4, $5)', [planToken, note, channel, said.decidedBy ?? null, said.seen ?? null])),
    reject: async (planToken: string, reason: string | null, channel: string, said: Said = {}) =>
      asOutcome(await query('select * from countersign.reject($1, $2, $3, $4, $5)', [planToken, reason, channel, said.decidedBy ?? null, said.seen ?? null])),
    settle: async (planToken: string, how: Settlement, note: string | null, channel: string) =>
      asOutcome(await query('select * from countersign.settle($1, $2, $3, $4)', [planToken, how, note, channel])),
  };
}

export type Approver = ReturnType<typeof createApprover>;

/** What an auditor's login may read. */
export function createAuditor(query: Query) {
  return {
    /** The places where the hash chain does not hold; empty when it is intact. */
    verifyChain: async (): Promise<{ chain: string; seq: number; problem: string }[]> =>
      (await query('select chain, seq, problem from countersign.verify_chain()')) as unknown as {
        chain: string;
        seq: number;
        problem: string;
      }[],
  };
}

export type Auditor = ReturnType<typeof createAuditor>;

export type AllowVerb = 'read' | 'write' | 'function';

/** What an administrator does on the admin connection. */
export function createAdmin(query: Query) {
  return {
    allow: async (verb: AllowVerb, name: string, columns: readonly string[] | null) =>
      asOutcome(await query('select * from countersign.allow($1, $2, $3::text[])', [verb, name, columns])),
    revoke: async (verb: AllowVerb, name: string, columns: readonly string[] | null) =>
      asOutcome(await query('select * from countersign.revoke($1, $2, $3::text[])', [verb, name, columns])),
    /** `scope` is null for the whole database, else `schema:NAME` or `table:NAME`. */
    setPolicy: async (key: string, value: string, scope: string | null) =>
      asOutcome(await query('select * from countersign.set_policy($1, $2, $3)', [key, value, scope])),
    setSearchPath: async (schemas: readonly string[]): Promise<void> => {
      await query('select countersign.set_search_path($1::text[])', [schemas]);
    },
  };
}

export type Admin = ReturnType<typeof createAdmin>;
