/** The rows of the database as the library's types; here snake_case ends. */
import type { Outcome, Row } from '../client.js';
import { PlanError } from '../errors.js';

export type PlanStatus = 'previewed' | 'awaiting_approval' | 'approved' | 'executing' | 'executed' | 'failed' | 'rejected' | 'expired';

/** How a human can decide. */
export interface ApprovalHint { required: number; psql: string; cli: string }

export interface CreatedPlan {
  planToken: string;
  /** `previewed` may be begun at once, `awaiting_approval` waits for a human. */
  status: 'previewed' | 'awaiting_approval';
  expiresAt: Date;
  fingerprint: string;
  /** Why it waits, in sentences. */
  gate: string[];
  approval: ApprovalHint | null;
}

/** What a host is told when it may perform. */
export interface ExecutionMeta {
  planToken: string;
  /** Grows with each beginning of the plan; a confirmation carries it by itself. */
  attempt: number;
  tool: string;
  reason: string | null;
  callerId: string | null;
  previewCount: number | null;
  dataDigest: string | null;
  fingerprint: string;
  extra: Record<string, unknown> | null;
  requestedAt: Date;
  /** The database login of the human who approved last; null where nobody had to. */
  approvedBy: string | null;
  approvalNote: string | null;
}

/** A plan of this login that waits or is executing. */
export interface HostPlan<TPayload> {
  planToken: string;
  status: 'awaiting_approval' | 'executing';
  tool: string;
  payload: TPayload;
  reason: string | null;
  callerId: string | null;
  previewCount: number | null;
  dataDigest: string | null;
  fingerprint: string;
  extra: Record<string, unknown> | null;
  gate: string[];
  requestedAt: Date;
  expiresAt: Date;
  /** When it came into this state. */
  since: Date;
  attempt: number;
}

/** Where a decision stands. */
export interface Decision {
  /** `awaiting_approval` when the time was over before anybody decided. */
  status: PlanStatus;
  /** The database login of the human; null while there is no decision. */
  by: string | null;
  note: string | null;
  at: Date | null;
}

/** What plan_status tells of one's own plan. */
export interface PlanInfo {
  planToken: string;
  status: PlanStatus;
  tool: string;
  requestedAt: Date;
  expiresAt: Date;
  gate: string[];
  decision: { status: 'approved' | 'rejected'; by: string; note: string | null; at: Date } | null;
  /** Of the last attempt that ended. */
  outcome: { status: 'executed' | 'failed'; at: Date; note: string | null; count: number | null } | null;
}

const date = (value: unknown): Date => new Date(String(value));
const text = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));
const number = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));

export function createdPlan(row: Row): CreatedPlan {
  return {
    planToken: String(row['plan_token']), status: row['status'] as CreatedPlan['status'], expiresAt: date(row['expires_at']), fingerprint: String(row['fingerprint']),
    gate: row['gate'] as string[], approval: row['approval'] as ApprovalHint | null,
  };
}

export function executionMeta(row: Row): ExecutionMeta {
  const decision = row['decision'] as { by?: string; note?: string | null } | null;
  return {
    planToken: String(row['plan_token']), attempt: Number(row['attempt']), tool: String(row['tool']), reason: text(row['reason']), callerId: text(row['caller_id']),
    previewCount: number(row['preview_count']), dataDigest: text(row['data_digest']), fingerprint: String(row['fingerprint']),
    extra: row['extra'] as Record<string, unknown> | null, requestedAt: date(row['requested_at']), approvedBy: decision?.by ?? null, approvalNote: decision?.note ?? null,
  };
}

export function hostPlan<TPayload>(row: Row): HostPlan<TPayload> {
  return {
    planToken: String(row['plan_token']), status: row['status'] as HostPlan<TPayload>['status'], tool: String(row['tool']), payload: JSON.parse(String(row['payload'])) as TPayload,
    reason: text(row['reason']), callerId: text(row['caller_id']), previewCount: number(row['preview_count']), dataDigest: text(row['data_digest']),
    fingerprint: String(row['fingerprint']), extra: row['extra'] as Record<string, unknown> | null, gate: row['gate'] as string[],
    requestedAt: date(row['requested_at']), expiresAt: date(row['expires_at']), since: date(row['since']), attempt: Number(row['attempt']),
  };
}

export function planInfo(row: Row): PlanInfo {
  const decision = row['decision'] as Row | null;
  const outcome = row['outcome'] as Row | null;
  return {
    planToken: String(row['plan_token']), status: row['status'] as PlanStatus, tool: String(row['tool']), requestedAt: date(row['requested_at']), expiresAt: date(row['expires_at']),
    gate: row['gate'] as string[],
    decision: decision === null ? null : { status: decision['status'] as 'approved', by: String(decision['by']), note: text(decision['note']), at: date(decision['at']) },
    outcome: outcome === null ? null : { status: outcome['status'] as 'executed', at: date(outcome['at']), note: text(outcome['message']), count: number(outcome['affected_rows']) },
  };
}

/** The refusal of a call that answered. */
export function refusal(outcome: Outcome): PlanError {
  return new PlanError(outcome.code ?? 'INTERNAL_ERROR', outcome.message ?? 'The database refused.', outcome.hint ?? '', outcome.detail ?? {});
}
