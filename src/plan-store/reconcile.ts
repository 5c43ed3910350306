/** What became of executions that nobody confirmed: the host is asked, and only a plain answer counts. */
import type { HostPlan } from './plans.js';

/** What the host found out. Anything else, an exception and a late answer included, counts as unknown. */
export type Verdict = 'done' | 'not-done' | 'unknown';

/** Asks the outside world whether a plan's effect happened, for example in a ledger keyed on the plan token. */
export type Reconcile<TPayload> = (plan: HostPlan<TPayload>, context: { signal: AbortSignal }) => Verdict | Promise<Verdict>;

export interface ReconcileReport {
  /** Tokens recorded as executed. */
  done: string[];
  /** Tokens released; they may be begun again until they expire. */
  notDone: string[];
  /** Still executing: ask again later, or let a human settle them. */
  unknown: Array<{ planToken: string; why: string }>;
  /** Ended or begun again by somebody else in the meantime. */
  skipped: string[];
}

/** The verdict, within a time. Never rejects. */
export async function ask<TPayload>(reconcile: Reconcile<TPayload>, plan: HostPlan<TPayload>, timeoutMs: number): Promise<{ verdict: Verdict; why: string }> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<{ verdict: Verdict; why: string }>((resolve) => {
    timer = setTimeout(() => {
      resolve({ verdict: 'unknown', why: `reconcile did not answer within ${timeoutMs} ms` });
      controller.abort(new Error('reconcile took too long'));
    }, timeoutMs);
  });
  const asked = (async () => reconcile(plan, { signal: controller.signal }))().then(
    (verdict) => (verdict === 'done' || verdict === 'not-done' ? { verdict, why: '' }
      : { verdict: 'unknown' as const, why: (verdict as unknown) === 'unknown' ? 'reconcile does not know' : 'reconcile answered neither done, not-done nor unknown' }),
    (error: unknown) => ({ verdict: 'unknown' as const, why: `reconcile threw: ${error instanceof Error ? error.message : String(error)}` }));
  return Promise.race([asked, late]).finally(() => clearTimeout(timer));
}
