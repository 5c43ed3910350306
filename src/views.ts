import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql, type CompiledQuery } from 'kysely';
import type { Query, Row } from './client.js';

/** `countersign.pending`, for approvers: what waits, oldest first. */
interface PendingView {
  plan: string;
  tool: string;
  rows: string;
  waiting: string;
  time_left: string;
  requested_by: string;
  statement: string;
  agent_says: string | null;
  why_it_waits: string;
  plan_token: string;
  requested_at: Date;
  expires_at: Date;
}

/** `countersign.executing`, for approvers: plans of hosts that began and were not settled. */
interface ExecutingView {
  plan: string;
  tool: string;
  requested_by: string;
  since: string;
  statement: string;
  plan_token: string;
}

/** `countersign.audit_log`, for auditors: one row an event. */
interface AuditLogView {
  id: string;
  ts: Date;
  tool: string | null;
  reason: string | null;
  statement: string | null;
  params_redacted: unknown;
  preview_rows: string | null;
  actual_rows: string | null;
  plan_token: string | null;
  approved_by: string | null;
  status: string;
  code: string | null;
  channel: string;
  session_user: string;
  caller_id: string | null;
  duration_ms: number | null;
  effects: unknown;
  note: string | null;
  hash: string;
  reported_by: string | null;
}

/** `countersign.policy`, for auditors and administrators: a row a key and scope that is set, or a key's default. */
interface PolicyView {
  key: string;
  scope: string;
  value: string;
  default_value: string;
  meaning: string;
}

interface Views {
  'countersign.pending': PendingView;
  'countersign.executing': ExecutingView;
  'countersign.audit_log': AuditLogView;
  'countersign.policy': PolicyView;
}

/** Builds SQL and runs none: the connection is the caller's. */
const build = new Kysely<Views>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** The views that people select from. A login without the right to a view is refused by Postgres (42501). */
export function createViews(query: Query) {
  const run = ({ sql: text, parameters }: CompiledQuery): Promise<Row[]> => query(text, parameters);
  return {
    pending: () => run(build.selectFrom('countersign.pending').selectAll().compile()),
    executing: () => run(build.selectFrom('countersign.executing').selectAll().compile()),
    policy: () => run(build.selectFrom('countersign.policy').selectAll().compile()),
    /** The newest `limit` events, the oldest of them first; or of one plan, by a prefix of its token. */
    auditLog: async (limit: number, plan?: string): Promise<Row[]> => {
      let newest = build.selectFrom('countersign.audit_log').selectAll().orderBy('id', 'desc').limit(limit);
      if (plan !== undefined) newest = newest.where(sql<boolean>`starts_with(plan_token::text, ${plan.toLowerCase()})`);
      return (await run(newest.compile())).reverse();
    },
  };
}
