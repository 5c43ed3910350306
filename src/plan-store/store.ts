/**
 * The library: a host gates its side effects outside Postgres with durable plans. Every rule is in the database's functions;
 * this file sends calls, names results, and asks the host what it alone can know.
 */
import type { Approver, ConfirmExecution, Outcome, Settlement } from '../client.js';
import type { ApprovalStore } from '../approvals/store.js';
import type { PlanListener } from '../db/notify.js';
import { PlanError } from '../errors.js';
import type { createViews } from '../views.js';
import { createAudit, type AuditEntry, type AuditSink } from './audit.js';
import { openConnection, type ConnectionOptions, type StoreConnection } from './connection.js';
import { asPlanError } from './failure.js';
import { canonicalJson } from './fingerprint.js';
import { readJournal, tokenOf, type JournalLine, type JournalReport } from './journal.js';
import { createdPlan, executionMeta, hostPlan, planInfo, refusal, type CreatedPlan, type Decision, type ExecutionMeta, type HostPlan, type PlanInfo, type PlanStatus } from './plans.js';
import { ask, type Reconcile, type ReconcileReport } from './reconcile.js';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PlanStoreOptions<TPayload> extends ConnectionOptions {
  /** Life of a plan that may run at once, and of one after its approval, in ms; policy bounds it. */
  planTtlMs?: number;
  /** Life of a plan that waits for a human, in ms; policy bounds it. */
  approvalTtlMs?: number;
  /** Named in the trail where a call names none. */
  callerId?: string;
  audit?: AuditSink;
  /** Needed by reconcileStuck. */
  reconcile?: Reconcile<TPayload>;
  /** Milliseconds a reconcile may take before it counts as unknown. Default 30 s. */
  reconcileTimeoutMs?: number;
}

export interface CreateOptions {
  /** What the host would do, for example `send_mail`. */
  tool: string;
  reason?: string;
  callerId?: string;
  /** How many things it would change, as the host counted; the database's thresholds apply to it. */
  previewCount?: number;
  /** A digest of the data the plan rests on; beginExecute must be given the same. */
  dataDigest?: string;
  /** More for the human to see; values are not in the audit trail. */
  extra?: Record<string, unknown>;
  /** True makes this plan wait for a human; false loosens nothing. */
  approvalRequired?: boolean;
  /** The same, because the tool always waits. */
  alwaysRequireApproval?: boolean;
}

export type Begun = { ok: true; meta: ExecutionMeta } | { ok: false; error: PlanError };
export type Ended = { ok: true; status: PlanStatus } | { ok: false; error: PlanError };
export type Decided = { ok: true; status: PlanStatus; message: string } | { ok: false; error: PlanError };

export interface Page { /** Default 100. */ limit?: number; /** Token of the last plan of the page before. */ after?: string }
export interface WaitForDecision { signal?: AbortSignal; /** Default: no end. */ timeoutMs?: number }
export interface ReconcileStuck { /** Only what has been executing for so long; 0 takes all, also what another process is performing right now. */ olderThanMs: number }

const CONFIRM_ATTEMPTS = 4;
const SWEEP_AT_ONCE = 1_000;

/** A reason worth keeping, as text. */
const noteOf = (reason: unknown): string | null => (reason === undefined || reason === null ? null : reason instanceof Error ? reason.message : String(reason));

function wholeNumber(name: string, value: number | undefined): number | null {
  if (value === undefined) return null;
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name} must be a whole number`);
  return value;
}

/** Durable plans for what a host does outside Postgres. Several processes may open the same; see docs/plan-store.md. */
export class PlanStore<TPayload = unknown> {
  readonly #connection: StoreConnection;
  readonly #options: PlanStoreOptions<TPayload>;
  readonly #audit: (entry: Omit<AuditEntry, 'ts'>) => void;
  /** Which attempt of a plan this process began, so that it never ends another one's. */
  readonly #attempts = new Map<string, number>();
  /** What fromJournal found; null after open. */
  journal: JournalReport | null = null;

  private constructor(connection: StoreConnection, options: PlanStoreOptions<TPayload>) {
    this.#connection = connection;
    this.#options = options;
    this.#audit = createAudit(options.audit);
  }

  /**
   * Opens a store and makes sure that its database is there and usable.
   * @throws PlanError DATABASE_UNAVAILABLE (no connection, or not installed), TypeError for options that contradict each other.
   */
  static async open<TPayload = unknown>(options: PlanStoreOptions<TPayload>): Promise<PlanStore<TPayload>> {
    for (const name of ['planTtlMs', 'approvalTtlMs', 'reconcileTimeoutMs', 'max'] as const) {
      const value = options[name];
      if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) throw new TypeError(`${name} must be a whole number above 0`);
    }
    const connection = await openConnection(options).catch((error: unknown) => { throw asPlanError(error); });
    try {
      await connection.host.hostPlans({ status: 'executing', after: null, limit: 1, olderThanMs: 0 });
    } catch (error) {
      await connection.close();
      throw asPlanError(error);
    }
    return new PlanStore(connection, options);
  }

  /**
   * Opens a store and brings in what the in-memory predecessor's journal left executing, each token once, and reconciles it.
   * What comes from a journal can be confirmed, reconciled or settled, and never begun again. A second run does nothing.
   * Without `reconcile` they stay executing until a human settles them.
   * @throws as open, and PlanError INVALID_ARGUMENTS for a journal that cannot be read.
   */
  static async fromJournal<TPayload = unknown>(path: string, options: PlanStoreOptions<TPayload>): Promise<PlanStore<TPayload>> {
    const { lines, executing } = await readJournal(path);
    const store = await PlanStore.open<TPayload>(options);
    try {
      store.journal = { lines, executing: executing.map((line) => line.planToken), adopted: [] };
      const adopted = new Set<string>();
      for (const line of executing) if (await store.#adopt(line)) adopted.add(tokenOf(line.planToken));
      if (options.reconcile !== undefined && adopted.size > 0) await store.#reconcileAll(0, (plan) => adopted.has(plan.planToken));
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /**
   * Stores what the host would do. `previewed` may be begun at once; `awaiting_approval` after a human approved.
   * @throws TypeError for a payload that JSON would not keep; PlanError for a refusal (HARD_MAX_ROWS_EXCEEDED, INVALID_ARGUMENTS, DATABASE_UNAVAILABLE).
   */
  async create(payload: TPayload, options: CreateOptions): Promise<CreatedPlan> {
    const { tool, reason = null, callerId = this.#options.callerId ?? null } = options;
    const plan = {
      tool, reason, callerId, payload: canonicalJson(payload), previewCount: wholeNumber('previewCount', options.previewCount), dataDigest: options.dataDigest ?? null,
      extra: options.extra === undefined ? null : JSON.parse(canonicalJson(options.extra)) as Record<string, unknown>,
      approvalRequired: options.approvalRequired ?? false, alwaysRequireApproval: options.alwaysRequireApproval ?? false,
      planTtlMs: this.#options.planTtlMs ?? null, approvalTtlMs: this.#options.approvalTtlMs ?? null,
    };
    const result = await this.#call('create', null, () => this.#connection.host.createHostPlan(plan), { tool, callerId });
    if (!result.ok) throw result.error;
    return createdPlan(result.detail);
  }

  /**
   * Asks whether the plan may be performed now, by this caller, with exactly this payload; true once. Perform, then confirm.
   * Never throws for a refusal, nor for a database that is away: without `ok` nothing may be performed.
   */
  async beginExecute(planToken: string, payload: TPayload, currentDataDigest?: string): Promise<Begun> {
    const callerId = this.#options.callerId ?? null;
    const call = { planToken, payload: canonicalJson(payload), dataDigest: currentDataDigest ?? null, callerId };
    const result = await this.#call('begin', planToken, () => this.#connection.host.beginExecute(call));
    if (!result.ok) return result;
    const meta = executionMeta(result.detail);
    this.#attempts.set(planToken, meta.attempt);
    return { ok: true, meta };
  }

  /** It is done; the plan is used up. Tries again by itself when the connection is lost. */
  confirmExecuted(planToken: string, details: { note?: string; actualCount?: number } = {}): Promise<Ended> {
    const actualCount = wholeNumber('actualCount', details.actualCount);
    return this.#confirm('confirm_executed', 'executed', planToken, noteOf(details.note), (call) => this.#connection.host.confirmExecuted({ ...call, actualCount }));
  }

  /** It was not done, and is released: it may be begun again until it expires. Say so only when it is certain. */
  confirmFailed(planToken: string, reason?: unknown): Promise<Ended> {
    return this.#confirm('confirm_failed', 'failed', planToken, noteOf(reason), (call) => this.#connection.host.confirmFailed(call));
  }

  /** @deprecated A crash after it leaves no trace of whether the effect happened. Use beginExecute and confirmExecuted. */
  async consume(planToken: string, payload: TPayload, currentDataDigest?: string): Promise<Begun> {
    const begun = await this.beginExecute(planToken, payload, currentDataDigest);
    if (!begun.ok) return begun;
    const ended = await this.confirmExecuted(planToken, { note: 'consumed' });
    return ended.ok ? begun : ended;
  }

  /**
   * Waits until a plan no longer waits for a human: woken by NOTIFY, asking again every few seconds, and as long as the
   * database is away. With `timeoutMs` it may resolve to `awaiting_approval`.
   * @throws PlanError UNKNOWN_TOKEN; the signal's reason.
   */
  async waitForDecision(planToken: string, { signal, timeoutMs = Number.POSITIVE_INFINITY }: WaitForDecision = {}): Promise<Decision> {
    const deadline = performance.now() + timeoutMs;
    signal?.throwIfAborted();
    let status = await this.#stateNow(planToken);
    if (status !== null && status !== 'awaiting_approval') return this.#decision(planToken, status);
    const listener = this.#connection.listener();
    for (;;) {
      signal?.throwIfAborted();
      // Marked before the state is read: what comes in between is not missed.
      const mark = listener.mark();
      status = await this.#stateNow(planToken);
      if (status !== null && status !== 'awaiting_approval') return this.#decision(planToken, status);
      const left = deadline - performance.now();
      if (left <= 0) return { status: 'awaiting_approval', by: null, note: null, at: null };
      await listener.waitFor(planToken, { timeoutMs: left, since: mark, ...(signal === undefined ? {} : { signal }) });
    }
  }

  /** State, decision and outcome of one's own plan. @throws PlanError UNKNOWN_TOKEN, DATABASE_UNAVAILABLE. */
  async status(planToken: string): Promise<PlanInfo> {
    const outcome = await this.#connection.host.planStatus(planToken, this.#options.callerId ?? null).catch((error: unknown) => { throw asPlanError(error); });
    if (!outcome.ok) throw refusal(outcome);
    return planInfo(outcome.detail ?? {});
  }

  /** What waits for a human, of this login, oldest first. */
  listPending(page: Page = {}): Promise<HostPlan<TPayload>[]> {
    return this.#list('awaiting_approval', page);
  }

  /** What was begun and not ended, of this login, oldest first. */
  listExecuting(page: Page = {}): Promise<HostPlan<TPayload>[]> {
    return this.#list('executing', page);
  }

  /** Moves this login's plans whose time is over to `expired`; resolves to how many. Whoever meets such a plan is refused in any case. */
  async sweep(): Promise<number> {
    let swept = 0;
    try {
      for (let moved = SWEEP_AT_ONCE; moved === SWEEP_AT_ONCE; swept += moved) moved = await this.#connection.host.sweep(SWEEP_AT_ONCE);
    } catch (error) {
      throw asPlanError(error);
    }
    this.#audit({ verb: 'sweep', planToken: null, ok: true, status: null, code: null, message: `${swept} expired`, tool: null, callerId: this.#options.callerId ?? null });
    return swept;
  }

  /**
   * Asks `reconcile` about each plan that has been executing for so long: done is recorded, not-done is released, unknown stays.
   * Several processes may do so at once; what another one ended or began again meanwhile is left alone.
   * @throws PlanError NO_RECONCILE, DATABASE_UNAVAILABLE.
   */
  async reconcileStuck({ olderThanMs }: ReconcileStuck): Promise<ReconcileReport> {
    if (this.#options.reconcile === undefined) throw noReconcile();
    if (!Number.isSafeInteger(olderThanMs) || olderThanMs < 0) throw new TypeError('olderThanMs must be a whole number of milliseconds, 0 or more');
    return this.#reconcileAll(olderThanMs, () => true);
  }

  /** Lets a waiting plan run, by the approver's login; APPROVAL_UNAVAILABLE without one. */
  approve(planToken: string, note?: string): Promise<Decided> {
    return this.#decide('approve', planToken, (approver) => approver.approve(planToken, note ?? null, 'host'));
  }

  /** Forbids a plan for ever, by the approver's login; APPROVAL_UNAVAILABLE without one. */
  reject(planToken: string, reason?: string): Promise<Decided> {
    return this.#decide('reject', planToken, (approver) => approver.reject(planToken, reason ?? null, 'host'));
  }

  /** Says how a plan that hangs in executing ended, by the approver's login; APPROVAL_UNAVAILABLE without one. */
  settle(planToken: string, how: Settlement, note?: string): Promise<Decided> {
    return this.#decide('settle', planToken, (approver) => approver.settle(planToken, how, note ?? null, 'host'));
  }

  /** What an approval page needs; null without an approver's login. */
  get approver(): Approver | null { return this.#connection.approver; }
  get views(): ReturnType<typeof createViews> | null { return this.#connection.views; }
  /** For startApprovalServer. @throws PlanError APPROVAL_UNAVAILABLE without an approver's login. */
  get approvals(): ApprovalStore {
    const store = this.#connection.approvals();
    if (store === null) throw new PlanError('APPROVAL_UNAVAILABLE', 'This store was opened without an approver\'s login, so nobody could decide on its page.', 'Open it with approverUrl, or start the page with: countersign approvals');
    return store;
  }
  get listener(): PlanListener { return this.#connection.listener(); }

  /** Ends every connection, and leaves the embedded server. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #call(verb: AuditEntry['verb'], planToken: string | null, call: () => Promise<Outcome>, named: { tool?: string; callerId?: string | null } = {}): Promise<{ ok: true; detail: Record<string, unknown>; message: string } | { ok: false; error: PlanError }> {
    let outcome: Outcome;
    try {
      outcome = await call();
    } catch (error) {
      const known = asPlanError(error);
      if (!(known instanceof PlanError)) throw known;
      outcome = { ok: false, code: known.code, message: known.message, hint: known.hint, detail: known.detail };
    }
    const detail = outcome.detail ?? {};
    this.#audit({
      verb, planToken: planToken ?? (detail['plan_token'] as string | undefined) ?? null, ok: outcome.ok, status: (detail['status'] as string | undefined) ?? null,
      code: outcome.code, message: outcome.message, tool: named.tool ?? (detail['tool'] as string | undefined) ?? null, callerId: named.callerId ?? this.#options.callerId ?? null,
    });
    return outcome.ok ? { ok: true, detail, message: outcome.message ?? '' } : { ok: false, error: refusal(outcome) };
  }

  async #confirm(verb: 'confirm_executed' | 'confirm_failed', status: PlanStatus, planToken: string, note: string | null, send: (call: ConfirmExecution) => Promise<Outcome>, attempt = this.#attempts.get(planToken) ?? null): Promise<Ended> {
    for (let tried = 1; ; tried++) {
      const result = await this.#call(verb, planToken, () => send({ planToken, note, attempt, callerId: this.#options.callerId ?? null }));
      if (!result.ok && result.error.code === 'DATABASE_UNAVAILABLE' && tried < CONFIRM_ATTEMPTS) {
        await sleep(100 * 4 ** tried, undefined, { ref: true });
        continue;
      }
      if (result.ok || result.error.code === 'NOT_EXECUTING') this.#attempts.delete(planToken);
      if (result.ok) return { ok: true, status };
      // The answer of an earlier try was lost, and it had been recorded.
      return tried > 1 && result.error.code === 'NOT_EXECUTING' && result.error.detail['status'] === status ? { ok: true, status } : result;
    }
  }

  async #decide(verb: 'approve' | 'reject' | 'settle', planToken: string, call: (approver: Approver) => Promise<Outcome>): Promise<Decided> {
    const { approver } = this.#connection;
    if (approver === null) {
      return { ok: false, error: new PlanError('APPROVAL_UNAVAILABLE', 'This store has no approver\'s login.', 'Open it with approverUrl, or let a human decide by psql, page or "countersign approve".') };
    }
    const result = await this.#call(verb, planToken, () => call(approver));
    return result.ok ? { ok: true, status: result.detail['status'] as PlanStatus, message: result.message } : result;
  }

  /** Null while the database is away; a plan that waits will still be there when it is back. */
  async #stateNow(planToken: string): Promise<PlanStatus | null> {
    try {
      const state = await this.#connection.host.planState(planToken);
      if (state === null) throw new PlanError('UNKNOWN_TOKEN', 'There is no such plan in this database for this login.', 'Use the planToken exactly as create answered it.');
      return state as PlanStatus;
    } catch (error) {
      const known = asPlanError(error);
      if (known instanceof PlanError && known.code === 'DATABASE_UNAVAILABLE' && known.detail['sqlstate'] === undefined) return null;
      throw known;
    }
  }

  async #decision(planToken: string, status: PlanStatus): Promise<Decision> {
    const decision = await this.status(planToken).then((info) => info.decision, () => null);
    return { status, by: decision?.by ?? null, note: decision?.note ?? null, at: decision?.at ?? null };
  }

  async #list(status: 'awaiting_approval' | 'executing', { limit = 100, after }: Page, olderThanMs = 0): Promise<HostPlan<TPayload>[]> {
    const rows = await this.#connection.host.hostPlans({ status, after: after ?? null, limit, olderThanMs }).catch((error: unknown) => { throw asPlanError(error); });
    return rows.map((row) => hostPlan<TPayload>(row));
  }

  async #reconcileAll(olderThanMs: number, meant: (plan: HostPlan<TPayload>) => boolean): Promise<ReconcileReport> {
    const report: ReconcileReport = { done: [], notDone: [], unknown: [], skipped: [] };
    for (let after: string | undefined; ;) {
      const plans = await this.#list('executing', { limit: 20, ...(after === undefined ? {} : { after }) }, olderThanMs);
      for (const plan of plans.filter(meant)) await this.#reconcile(plan, report);
      after = plans.at(-1)?.planToken;
      if (after === undefined) return report;
    }
  }

  async #reconcile(plan: HostPlan<TPayload>, report: ReconcileReport): Promise<void> {
    const { reconcile, reconcileTimeoutMs = 30_000 } = this.#options;
    if (reconcile === undefined) return;
    const journalToken = plan.extra?.['journalToken'];
    const { verdict, why } = await ask(reconcile, typeof journalToken === 'string' ? { ...plan, planToken: journalToken } : plan, reconcileTimeoutMs);
    if (verdict === 'unknown') {
      this.#audit({ verb: 'reconcile', planToken: plan.planToken, ok: false, status: 'executing', code: null, message: why, tool: plan.tool, callerId: plan.callerId });
      report.unknown.push({ planToken: plan.planToken, why });
      return;
    }
    const { host } = this.#connection;
    const ended = verdict === 'done'
      ? await this.#confirm('confirm_executed', 'executed', plan.planToken, 'reconciled: done', (call) => host.confirmExecuted({ ...call, actualCount: null }), plan.attempt)
      : await this.#confirm('confirm_failed', 'failed', plan.planToken, 'reconciled: not done', (call) => host.confirmFailed(call), plan.attempt);
    if (!ended.ok && ended.error.code !== 'NOT_EXECUTING') throw ended.error;
    (ended.ok ? (verdict === 'done' ? report.done : report.notDone) : report.skipped).push(plan.planToken);
  }

  /** True when it was not here yet. */
  async #adopt(line: JournalLine): Promise<boolean> {
    const { planToken: journalToken, status: _status, tool, payload, reason, callerId, ...rest } = line;
    const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    const plan = {
      planToken: tokenOf(journalToken), tool: text(tool) ?? 'journal', payload: payload === undefined ? null : canonicalJson(payload), reason: text(reason), callerId: text(callerId),
      extra: { ...rest, journalToken },
    };
    const result = await this.#call('adopt', plan.planToken, () => this.#connection.host.adoptHostPlan(plan), { tool: plan.tool, callerId: plan.callerId });
    if (!result.ok) throw result.error;
    if (result.detail['adopted'] !== true) return false;
    this.journal?.adopted.push(journalToken);
    return true;
  }
}

function noReconcile(): PlanError {
  return new PlanError('NO_RECONCILE', 'This store was opened without reconcile, so nobody can say what became of what is executing.',
    'Open it with reconcile, or let an approver settle: countersign executing, countersign settle TOKEN done|not-done.');
}
