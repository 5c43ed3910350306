/** The store as a host uses it: the lifecycle, the trail beside the database's, waiting, reconciling. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PlanError, PlanStore, fingerprint, type AuditEntry, type PlanStoreOptions } from '../../src/index.js';
import { createTestDatabase } from '../harness/database.js';
import { waitForLockWait, eventually } from '../harness/races.js';
import { eventsOf, expire, one } from '../sql/application.js';

interface Mail { to: string; n: number }

const db = await createTestDatabase();
const entries: AuditEntry[] = [];
const opened: PlanStore<Mail>[] = [];
let store: PlanStore<Mail>;
let count = 0;
const mail = (): Mail => ({ to: 'a@example.org', n: ++count });

async function open(options: Partial<PlanStoreOptions<Mail>> = {}): Promise<PlanStore<Mail>> {
  const made = await PlanStore.open<Mail>({ databaseUrl: db.url('agent'), ...options });
  opened.push(made);
  return made;
}

beforeAll(async () => { store = await open({ approverUrl: db.url('alice'), audit: (entry) => entries.push(entry), callerId: 'mailer 1' }); });
afterAll(async () => { await Promise.all(opened.map((each) => each.close())); });

/** Begun and not confirmed, as a crash leaves it. */
async function stuck(by: PlanStore<Mail> = store): Promise<{ planToken: string; payload: Mail }> {
  const payload = mail();
  const { planToken } = await by.create(payload, { tool: 'send_mail' });
  expect(await by.beginExecute(planToken, payload)).toMatchObject({ ok: true });
  return { planToken, payload };
}

describe('the lifecycle', () => {
  test('create, approve, begin, confirm: what each answers', async () => {
    const payload = mail();
    const created = await store.create(payload, { tool: 'send_mail', reason: 'spring letter', previewCount: 3, dataDigest: 'v1', extra: { campaign: 'spring' }, approvalRequired: true });
    expect(created).toEqual({
      planToken: expect.stringMatching(/^[0-9a-f-]{36}$/), status: 'awaiting_approval', expiresAt: expect.any(Date), fingerprint: fingerprint(payload), gate: ['Its host asks for a human\'s approval.'],
      approval: { required: 1, psql: expect.stringContaining('countersign.approve('), cli: `countersign approve ${created.planToken.slice(0, 8)}` },
    });
    expect(created.expiresAt.getTime()).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    const early = await store.beginExecute(created.planToken, payload, 'v1');
    expect(early).toMatchObject({ ok: false, error: { name: 'PlanError', code: 'AWAITING_APPROVAL', message: expect.any(String), hint: expect.stringContaining('countersign approve') } });
    expect(early.ok ? null : early.error).toBeInstanceOf(PlanError);
    expect(await store.approve(created.planToken, 'go')).toEqual({ ok: true, status: 'approved', message: expect.any(String) });
    const begun = await store.beginExecute(created.planToken, { n: payload.n, to: payload.to }, 'v1');
    expect(begun).toEqual({ ok: true, meta: {
      planToken: created.planToken, attempt: 4, tool: 'send_mail', reason: 'spring letter', callerId: 'mailer 1', previewCount: 3, dataDigest: 'v1', fingerprint: created.fingerprint,
      extra: { campaign: 'spring' }, requestedAt: expect.any(Date), approvedBy: db.role('alice'), approvalNote: 'go' } });
    expect(await store.beginExecute(created.planToken, payload, 'v1')).toMatchObject({ ok: false, error: { code: 'ALREADY_EXECUTING' } });
    expect(await store.confirmExecuted(created.planToken, { note: 'message 17', actualCount: 3 })).toEqual({ ok: true, status: 'executed' });
    expect(await store.confirmExecuted(created.planToken)).toMatchObject({ ok: false, error: { code: 'NOT_EXECUTING', detail: { status: 'executed' } } });
    expect(await store.beginExecute(created.planToken, payload, 'v1')).toMatchObject({ ok: false, error: { code: 'PLAN_USED' } });
    expect(await store.status(created.planToken)).toMatchObject({ status: 'executed', decision: { by: db.role('alice'), note: 'go' }, outcome: { status: 'executed', note: 'message 17', count: 3 } });
    expect(await eventsOf(db, created.planToken)).toEqual(['awaiting_approval', 'refused AWAITING_APPROVAL', 'approved', 'executing', 'refused ALREADY_EXECUTING', 'executed', 'refused NOT_EXECUTING', 'refused PLAN_USED']);
  });

  test('a failure releases the plan, and another process may begin it', async () => {
    const other = await open();
    const { planToken, payload } = await stuck();
    expect(await store.confirmFailed(planToken, new Error('the mail server is away'))).toEqual({ ok: true, status: 'failed' });
    expect((await store.status(planToken)).outcome).toMatchObject({ status: 'failed', note: 'the mail server is away' });
    expect(await other.beginExecute(planToken, payload)).toMatchObject({ ok: true });
    // The first process has only its own attempt, which is over.
    expect(await other.confirmExecuted(planToken)).toEqual({ ok: true, status: 'executed' });
  });

  test('rejected stays rejected, for the payload too', async () => {
    const payload = mail();
    const { planToken } = await store.create(payload, { tool: 'send_mail' });
    expect(await store.reject(planToken, 'not on Sundays')).toMatchObject({ ok: true, status: 'rejected' });
    expect(await store.beginExecute(planToken, payload)).toMatchObject({ ok: false, error: { code: 'PLAN_REJECTED', detail: { decision: { note: 'not on Sundays' } } } });
    expect(await store.create(payload, { tool: 'send_mail', approvalRequired: false })).toMatchObject({ status: 'awaiting_approval' });
  });

  test('refusals of create are thrown, with the code', async () => {
    await expect(store.create(mail(), { tool: 'send_mail', previewCount: 10_001 })).rejects.toMatchObject({ name: 'PlanError', code: 'HARD_MAX_ROWS_EXCEEDED', hint: expect.any(String) });
    await expect(store.create(mail(), { tool: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    await expect(store.create(mail(), { tool: 'x', reason: 'a\0b' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    await expect(store.create({ to: new Map() } as unknown as Mail, { tool: 'send_mail' })).rejects.toThrow(TypeError);
    await expect(store.create(mail(), { tool: 'x', previewCount: 1.5 })).rejects.toThrow(TypeError);
    await expect(store.create(mail(), { tool: 'x', extra: { at: new Set() } })).rejects.toThrow(TypeError);
  });

  test('a store\'s lives shorten those of policy', async () => {
    const brief = await open({ planTtlMs: 5_000, approvalTtlMs: 60_000 });
    expect((await brief.create(mail(), { tool: 'x' })).expiresAt.getTime() - Date.now()).toBeLessThan(6_000);
    expect((await brief.create(mail(), { tool: 'x', alwaysRequireApproval: true })).expiresAt.getTime() - Date.now()).toBeLessThan(61_000);
    const long = await open({ planTtlMs: 1e12, approvalTtlMs: 1e12 });
    expect((await long.create(mail(), { tool: 'x' })).expiresAt.getTime() - Date.now()).toBeLessThan(601_000);
  });

  test('consume begins and confirms', async () => {
    const payload = mail();
    const { planToken } = await store.create(payload, { tool: 'send_mail' });
    expect(await store.consume(planToken, payload)).toMatchObject({ ok: true, meta: { planToken } });
    expect(await store.consume(planToken, payload)).toMatchObject({ ok: false, error: { code: 'PLAN_USED' } });
  });

  test('without an approver\'s login nothing is decided', async () => {
    const plain = await open();
    const { planToken } = await plain.create(mail(), { tool: 'x', approvalRequired: true });
    for (const call of [plain.approve(planToken), plain.reject(planToken), plain.settle(planToken, 'done')]) expect(await call).toMatchObject({ ok: false, error: { code: 'APPROVAL_UNAVAILABLE', hint: expect.any(String) } });
    expect([plain.approver, plain.views]).toEqual([null, null]);
    expect((await store.views?.pending())?.some((row) => row['plan_token'] === planToken)).toBe(true);
    // The agent's login as approver is refused by grants, not by the library.
    const cheat = await open({ approverUrl: db.url('agent') });
    expect(await cheat.approve(planToken)).toMatchObject({ ok: false, error: { code: 'DATABASE_UNAVAILABLE', detail: { sqlstate: '42501' } } });
  });

  test('lists, pages and sweep', async () => {
    const own = await open({ databaseUrl: db.url('agent2') });
    const tokens: string[] = [];
    for (let n = 0; n < 5; n++) tokens.push((await own.create(mail(), { tool: 'x', approvalRequired: true })).planToken);
    expect((await own.listPending()).map((plan) => plan.planToken)).toEqual(tokens);
    const page = await own.listPending({ limit: 2, after: tokens[1] ?? '' });
    expect(page).toMatchObject([{ planToken: tokens[2], status: 'awaiting_approval', tool: 'x', payload: { to: 'a@example.org' }, gate: [expect.any(String)], requestedAt: expect.any(Date) }, { planToken: tokens[3] }]);
    await expire(db, tokens[0] ?? '');
    expect(await own.sweep()).toBe(1);
    expect(await own.sweep()).toBe(0);
    expect(await own.listExecuting()).toEqual([]);
    const { planToken } = await stuck(own);
    expect(await own.listExecuting()).toMatchObject([{ planToken, status: 'executing', attempt: 2 }]);
  });
});

describe('the host\'s own trail', () => {
  test('is told of every call, and never of a payload', async () => {
    entries.length = 0;
    const { planToken, payload } = await stuck();
    await store.beginExecute(planToken, payload);
    await store.confirmExecuted(planToken);
    expect(entries.map(({ verb, ok, code }) => [verb, ok, code])).toEqual([['create', true, null], ['begin', true, null], ['begin', false, 'ALREADY_EXECUTING'], ['confirm_executed', true, null]]);
    expect(entries.every((entry) => entry.planToken === planToken && entry.ts instanceof Date && Object.isFrozen(entry))).toBe(true);
    expect(JSON.stringify(entries)).not.toContain('example.org');
  });

  test.each([
    ['throws', () => { throw new Error('disk full'); }],
    ['rejects later', async () => { throw new Error('disk full'); }],
    ['never returns a settled promise', () => new Promise(() => undefined)],
    ['writes into the entry', (entry: AuditEntry) => { (entry as { ok: boolean }).ok = false; }],
  ])('changes nothing when it %s', async (_what, audit) => {
    const noisy = await open({ audit: audit as (entry: AuditEntry) => void });
    const { planToken } = await stuck(noisy);
    expect(await noisy.confirmExecuted(planToken)).toEqual({ ok: true, status: 'executed' });
    expect(await eventsOf(db, planToken)).toEqual(['previewed', 'executing', 'executed']);
  });
});

describe('waiting for a decision', () => {
  const waiting = async (): Promise<string> => (await store.create(mail(), { tool: 'x', approvalRequired: true })).planToken;

  test('is woken by NOTIFY', async () => {
    const planToken = await waiting();
    const decision = store.waitForDecision(planToken, { timeoutMs: 20_000 });
    await sleep(500);
    const started = performance.now();
    await store.approve(planToken, 'fine');
    expect(await decision).toEqual({ status: 'approved', by: db.role('alice'), note: 'fine', at: expect.any(Date) });
    // Asking again would have come up to three seconds later.
    expect(performance.now() - started).toBeLessThan(1_500);
  });

  test('ends at once for what is decided, is nobody\'s, or waits for nobody', async () => {
    const planToken = await waiting();
    await store.reject(planToken, 'no');
    expect(await store.waitForDecision(planToken)).toMatchObject({ status: 'rejected', note: 'no' });
    expect(await store.waitForDecision((await store.create(mail(), { tool: 'x' })).planToken)).toEqual({ status: 'previewed', by: null, note: null, at: null });
    await expect(store.waitForDecision('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({ code: 'UNKNOWN_TOKEN' });
  });

  test('ends with the time, or with the signal', async () => {
    const planToken = await waiting();
    expect(await store.waitForDecision(planToken, { timeoutMs: 50 })).toMatchObject({ status: 'awaiting_approval', by: null });
    expect(await store.waitForDecision(planToken, { timeoutMs: 0 })).toMatchObject({ status: 'awaiting_approval' });
    const controller = new AbortController();
    const decision = store.waitForDecision(planToken, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('shutting down')), 50);
    await expect(decision).rejects.toThrow('shutting down');
    await expect(store.waitForDecision(planToken, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
  });

  test('tells of an expiry too', async () => {
    const brief = await open({ approvalTtlMs: 300 });
    const { planToken } = await brief.create(mail(), { tool: 'x', approvalRequired: true });
    expect(await brief.waitForDecision(planToken, { timeoutMs: 10_000 })).toMatchObject({ status: 'expired' });
  });

  test('with a pool of the host\'s own, asks again every second', async () => {
    const pool = new pg.Pool({ connectionString: db.url('agent'), max: 2 });
    const own = await PlanStore.open<Mail>({ pool });
    const { planToken } = await own.create(mail(), { tool: 'x', approvalRequired: true });
    const decision = own.waitForDecision(planToken, { timeoutMs: 10_000 });
    await store.approve(planToken);
    expect(await decision).toMatchObject({ status: 'approved' });
    await own.close();
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});

describe('reconciling', () => {
  test('records done, releases not-done, and leaves alone what is not known', async () => {
    const verdicts = new Map<string, unknown>();
    const slow = vi.fn();
    const own = await open({
      databaseUrl: db.url('agent2'), reconcileTimeoutMs: 200,
      reconcile: async (plan, { signal }) => {
        const verdict = verdicts.get(plan.planToken);
        if (verdict instanceof Error) throw verdict;
        if (verdict === 'slow') {
          signal.addEventListener('abort', slow);
          await sleep(2_000, undefined, { ref: false });
          return 'done';
        }
        return verdict as 'done';
      },
    });
    for (const { planToken } of await own.listExecuting()) await own.confirmExecuted(planToken);
    const plans: Array<{ planToken: string; payload: Mail }> = [];
    for (const verdict of ['done', 'not-done', 'unknown', new Error('ledger away'), 'slow', 'yes', undefined]) {
      const plan = await stuck(own);
      verdicts.set(plan.planToken, verdict);
      plans.push(plan);
    }
    const [done, notDone, ...unknown] = plans.map((plan) => plan.planToken);
    expect(await own.reconcileStuck({ olderThanMs: 60_000 })).toEqual({ done: [], notDone: [], unknown: [], skipped: [] });
    const report = await own.reconcileStuck({ olderThanMs: 0 });
    expect(report).toEqual({ done: [done], notDone: [notDone], skipped: [], unknown: unknown.map((planToken) => ({ planToken, why: expect.stringMatching(/reconcile/) })) });
    expect(report.unknown.map((each) => each.why)).toEqual(['reconcile does not know', 'reconcile threw: ledger away', 'reconcile did not answer within 200 ms',
      'reconcile answered neither done, not-done nor unknown', 'reconcile answered neither done, not-done nor unknown']);
    expect(slow).toHaveBeenCalledOnce();
    expect((await own.listExecuting()).map((plan) => plan.planToken)).toEqual(unknown);
    expect(await eventsOf(db, done ?? '')).toEqual(['previewed', 'executing', 'executed']);
    expect((await own.status(done ?? '')).outcome?.note).toBe('reconciled: done');
    expect(await own.beginExecute(notDone ?? '', plans[1]?.payload ?? mail())).toMatchObject({ ok: true });
    // The late answer of the slow one changed nothing.
    await sleep(2_000);
    expect((await own.listExecuting()).map((plan) => plan.planToken)).toContain(plans[4]?.planToken);
    for (const { planToken } of await own.listExecuting()) await own.confirmExecuted(planToken);
  }, 20_000);

  test('by two processes at once: each plan once', async () => {
    const asked: string[] = [];
    const options = { databaseUrl: db.url('agent2'), reconcile: async (plan: { planToken: string }) => { asked.push(plan.planToken); await sleep(20); return 'done' as const; } };
    const [a, b] = [await open(options), await open(options)];
    const tokens: string[] = [];
    for (let n = 0; n < 5; n++) tokens.push((await stuck(a)).planToken);
    const reports = await Promise.all([a.reconcileStuck({ olderThanMs: 0 }), b.reconcileStuck({ olderThanMs: 0 })]);
    expect(reports.flatMap((report) => report.done).sort()).toEqual([...tokens].sort());
    for (const token of tokens) expect((await eventsOf(db, token)).filter((event) => event === 'executed')).toHaveLength(1);
  });

  test('never ends what was begun again since it was asked', async () => {
    let release: (verdict: 'not-done') => void = () => undefined;
    const own = await open({ databaseUrl: db.url('agent2'), reconcile: () => new Promise((resolve) => { release = resolve; }) });
    const other = await open({ databaseUrl: db.url('agent2') });
    const { planToken, payload } = await stuck(own);
    const report = own.reconcileStuck({ olderThanMs: 0 });
    await eventually(async () => release.length === 1, 'reconcile is asked');
    await other.confirmFailed(planToken);
    expect(await other.beginExecute(planToken, payload)).toMatchObject({ ok: true });
    release('not-done');
    expect(await report).toEqual({ done: [], notDone: [], unknown: [], skipped: [planToken] });
    expect(await other.confirmExecuted(planToken)).toEqual({ ok: true, status: 'executed' });
  });

  test('without reconcile is refused', async () => {
    await expect(store.reconcileStuck({ olderThanMs: 0 })).rejects.toMatchObject({ code: 'NO_RECONCILE', hint: expect.stringContaining('settle') });
  });
});

describe('opening', () => {
  test('needs to be told where', async () => {
    await expect(PlanStore.open({})).rejects.toThrow(TypeError);
    await expect(PlanStore.open({ embedded: true, databaseUrl: 'postgres://x' })).rejects.toThrow(TypeError);
    await expect(PlanStore.open({ databaseUrl: db.url('agent'), planTtlMs: 0 })).rejects.toThrow(TypeError);
  });

  test('says what to do where Countersign is not installed, or the login is no agent\'s, or nothing answers', async () => {
    const bare = await createTestDatabase({ backend: false });
    await expect(PlanStore.open({ databaseUrl: bare.url('admin') })).rejects.toMatchObject({ name: 'PlanError', code: 'DATABASE_UNAVAILABLE', hint: expect.stringContaining('countersign install') });
    await expect(PlanStore.open({ databaseUrl: db.url('alice') })).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', hint: expect.stringContaining('countersign_agent') });
    await expect(PlanStore.open({ databaseUrl: 'postgres://a:b@127.0.0.1:1/x' })).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  });
});

test('lost connections: what was not answered is not performed, what was performed gets confirmed', async () => {
  const { planToken } = await stuck();
  const holder = await db.connect('admin');
  await holder.query('begin');
  await holder.query('select from countersign_data.plan where token = $1 for update', [planToken]);
  const confirmed = store.confirmExecuted(planToken);
  await waitForLockWait(db.as('admin'), 'countersign host');
  await db.as('admin').query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'countersign host\' and wait_event_type = \'Lock\' and datname = current_database()');
  await holder.query('commit');
  expect(await confirmed).toEqual({ ok: true, status: 'executed' });
  expect(await one(db, 'select state from countersign_data.plan where token = $1', [planToken])).toBe('executed');
  await holder.end();
});
