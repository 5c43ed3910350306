/** The host's verbs as they are called in SQL. Nothing is imported from src. */
import { outcomeOf, type Outcome, type Session } from './calls.js';

export interface Asked {
  tool?: string;
  reason?: string | null;
  callerId?: string | null;
  previewCount?: number | string | null;
  dataDigest?: string | null;
  extra?: unknown;
  approvalRequired?: boolean;
  always?: boolean;
  planTtlMs?: number | null;
  approvalTtlMs?: number | null;
}

/** `payload` is JSON text as it is sent, or a value that is written as JSON. */
export const text = (payload: unknown): string | null => (typeof payload === 'string' || payload === null ? payload : JSON.stringify(payload));

export function createHostPlan(session: Session, payload: unknown, asked: Asked = {}): Promise<Outcome> {
  return outcomeOf(session, 'create_host_plan($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11)', [
    asked.tool ?? 'send_mail', text(payload), asked.reason ?? 'test', asked.callerId ?? null, asked.previewCount ?? null, asked.dataDigest ?? null,
    asked.extra === undefined ? null : JSON.stringify(asked.extra), asked.approvalRequired ?? false, asked.always ?? false, asked.planTtlMs ?? null, asked.approvalTtlMs ?? null]);
}

export function begin(session: Session, plan: Outcome, payload: unknown, digest: string | null = null): Promise<Outcome> {
  return outcomeOf(session, 'begin_execute($1, $2, $3)', [plan.detail.plan_token, text(payload), digest]);
}

export function confirmExecuted(session: Session, plan: Outcome, note: string | null = null, attempt: number | null = null): Promise<Outcome> {
  return outcomeOf(session, 'confirm_executed($1, $2, $3)', [plan.detail.plan_token, note, attempt]);
}

export function confirmFailed(session: Session, plan: Outcome, note: string | null = null, attempt: number | null = null): Promise<Outcome> {
  return outcomeOf(session, 'confirm_failed($1, $2, $3)', [plan.detail.plan_token, note, attempt]);
}

export function settle(session: Session, plan: Outcome, how: string | null, note: string | null = null): Promise<Outcome> {
  return outcomeOf(session, 'settle($1, $2, $3)', [plan.detail.plan_token, how, note]);
}
