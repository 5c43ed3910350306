/** What the page needs of a database, and what it shows. The rules are behind it, in SQL. */
import type { Outcome } from '../client.js';

/** `seen` names the state a human looked at; the database refuses a decision on something that has moved since. */
export interface Decision {
  verb: 'approve' | 'reject';
  token: string;
  /** The note of an approval, the reason of a rejection: the agent reads it. */
  note: string | null;
  /** Who says that they decided. Recorded beside the database identity, never instead of it. */
  decidedBy: string | null;
  seen: string | null;
}

export type ListName = 'waiting' | 'executing' | 'history';

export interface DecisionShown { status: string; by: string | null; reported_by?: string | null; at: string; note: string | null; channel: string }

/** A line of a list. Text is as it was written: the page makes it safe. */
export interface PlanLine {
  plan_token: string;
  kind: string;
  tool: string;
  target: string | null;
  status: string;
  affected_rows: number;
  total_rows: number;
  whole_table?: boolean | null;
  tag?: string | null;
  /** An effect lies outside the write allowlist. */
  outside?: boolean;
  columns?: string[] | null;
  statement: string;
  reason: string | null;
  requested_by: string;
  caller_id: string | null;
  requested_at: string;
  expires_at: string;
  required: number;
  approved: number;
  decision: DecisionShown | null;
}

export interface PlanList {
  list: ListName;
  /** The database's clock. */
  now: string;
  plans: PlanLine[];
  /** The token to ask the next page with; null on the last. */
  next: string | null;
  waiting: number;
  executing: number;
}

export interface Effect { table: string; inserted: number; updated: number; deleted: number; writable: boolean }

export interface Migration {
  tag: string | null;
  locks: { table: string; mode: string }[];
  rewrites: { table: string; rows_estimate: number | null; bytes: number | null }[];
  added: string[];
  removed: string[];
  /** Made by this migration: the application's own role cannot use it until it is given away. */
  owned_by_migrator?: string[];
  rows_lost_estimate: { object: string; rows: number | null }[];
}

export interface Change { key: string | null; before: Record<string, unknown> | null; after: Record<string, unknown> | null }

export interface TimelineEvent { at: string; status: string; code: string | null; tool: string | null; by: string; reported_by: string | null; channel: string; note: string | null; rows: number | null }

export interface EarlierPlan { plan_token: string; status: string; at: string; by: string | null; note: string | null; requested_by: string | null }

/** One plan with all that is known of it: `countersign.plan_detail`. */
export interface PlanDetail extends Omit<PlanLine, 'required' | 'approved' | 'outside' | 'tag'> {
  params: unknown;
  gate: string[];
  effects: Effect[];
  changes: Change[];
  /** Rows of other tables that foreign keys reach; compared one by one when the plan runs. */
  reached?: { table: string; rows: number; sample_rows: Record<string, unknown>[] }[];
  /** Tables of which only the number of rows is compared: agents may not read them, or a trigger writes them. */
  compared_by_count_only?: string[];
  triggers: { table: string; trigger: string; function: string; may_reach_outside: boolean }[];
  undo: { kind: string; why: string } | null;
  migration?: Migration;
  /** About how many rows the table has; null when nobody knows. */
  table_rows: number | null;
  approval: { required: number; psql: string; cli: string } | null;
  approvals: Omit<DecisionShown, 'status'>[];
  timeline: TimelineEvent[];
  earlier: EarlierPlan[];
  outcome: Record<string, unknown> | null;
  now: string;
  seen: string;
  /** Of a host's plan: what it is about, in the host's own shape. */
  payload?: unknown;
  /** True while the values of the payload are left out. */
  payload_is_shape?: boolean;
  /** Of a host's plan: how many things it would change, as the host counted, and what else the host says. */
  preview_count?: number | null;
  extra?: unknown;
}

/** Something may have changed; what did is read again. `plan` is the short name of NOTIFY (`planKey`), null for "anything". */
export interface StoreChange { plan: string | null; status: string | null }

/** The database as the page uses it, through the login of whoever decides. */
export interface ApprovalStore {
  /** The login that decides and its database, for the page to show. */
  identity(): Promise<{ login: string; database: string }>;
  list(list: ListName, after: string | null, limit: number): Promise<PlanList>;
  plan(token: string): Promise<PlanDetail | null>;
  /** approve or reject, through the function in SQL that decides whether this may be. */
  decide(decision: Decision): Promise<Outcome>;
  /** Calls back at each change and after each reconnect; returns the unsubscriber. */
  watch(listener: (change: StoreChange) => void): () => void;
}

/** Something that has such a store, as PlanStore does. */
export interface HasApprovals { readonly approvals: ApprovalStore }
