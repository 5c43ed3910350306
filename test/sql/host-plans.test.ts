/** Plans of hosts: every (state, verb) pair by its code, the gate, the digest, expiry, who may do what, and two at once. */
import { describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { waitForLockWait } from '../harness/races.js';
import { eventsOf, expire, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, planStatus, reject, sqlstate, type Outcome } from './calls.js';
import { begin, confirmExecuted, confirmFailed, createHostPlan, settle, text } from './host-calls.js';

const db = await createTestDatabase();
const [agent, agent2, alice, bob] = [db.as('agent'), db.as('agent2'), db.as('alice'), db.as('bob')];

let count = 0;
/** A payload of its own for each plan, so that no tombstone of another test gates it. */
const mail = (): string => JSON.stringify({ n: ++count, to: 'a@example.org' });

interface Made { plan: Outcome; payload: string }

async function make(asked: Parameters<typeof createHostPlan>[2] = {}): Promise<Made> {
  const payload = mail();
  return { plan: accepted(await createHostPlan(agent, payload, asked)), payload };
}

const waiting = (): Promise<Made> => make({ approvalRequired: true });

async function then(made: Promise<Made>, ...steps: Array<(made: Made) => Promise<Outcome>>): Promise<Made> {
  const it = await made;
  for (const step of steps) accepted(await step(it));
  return it;
}

const yes = ({ plan }: Made): Promise<Outcome> => approve(alice, plan);
const no = ({ plan }: Made): Promise<Outcome> => reject(alice, plan, 'not today');
const start = ({ plan, payload }: Made): Promise<Outcome> => begin(agent, plan, payload);
const done = ({ plan }: Made): Promise<Outcome> => confirmExecuted(agent, plan);
const undone = ({ plan }: Made): Promise<Outcome> => confirmFailed(agent, plan, 'the mail server said no');
const state = (plan: Outcome): Promise<string> => one(db, 'select state from countersign_data.plan where token = $1', [plan.detail.plan_token]);

const PLANS: Record<string, () => Promise<Made>> = {
  previewed: () => make(),
  awaiting_approval: waiting,
  approved: () => then(waiting(), yes),
  executing: () => then(waiting(), yes, start),
  executed: () => then(waiting(), yes, start, done),
  failed: () => then(waiting(), yes, start, undone),
  rejected: () => then(waiting(), no),
  expired: async () => {
    const made = await waiting();
    await expire(db, made.plan.detail.plan_token);
    await start(made);
    return made;
  },
};

const VERBS: Record<string, (made: Made) => Promise<Outcome>> = {
  begin: start,
  confirm_executed: done,
  confirm_failed: undone,
  approve: yes,
  reject: no,
  settle_done: ({ plan }) => settle(alice, plan, 'done', 'it is in the sent folder'),
  settle_not_done: ({ plan }) => settle(alice, plan, 'not-done'),
  execute_plan: ({ plan, payload }) => execute(agent, plan, { statement: payload, params: [] }),
  plan_status: ({ plan }) => planStatus(agent, plan),
};

/** State, then for each verb in the order above: the code, or the state it leads to. */
const TABLE: Record<string, string> = {
  previewed: 'executing NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS rejected NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS previewed',
  awaiting_approval: 'AWAITING_APPROVAL NOT_EXECUTING NOT_EXECUTING approved rejected NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS awaiting_approval',
  approved: 'executing NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS rejected NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS approved',
  executing: 'ALREADY_EXECUTING executed failed ALREADY_EXECUTING ALREADY_EXECUTING executed failed ALREADY_EXECUTING executing',
  executed: 'PLAN_USED NOT_EXECUTING NOT_EXECUTING PLAN_USED PLAN_USED NOT_EXECUTING NOT_EXECUTING PLAN_USED executed',
  failed: 'executing NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS rejected NOT_EXECUTING NOT_EXECUTING INVALID_ARGUMENTS failed',
  rejected: 'PLAN_REJECTED NOT_EXECUTING NOT_EXECUTING PLAN_REJECTED PLAN_REJECTED NOT_EXECUTING NOT_EXECUTING PLAN_REJECTED rejected',
  expired: 'PLAN_EXPIRED NOT_EXECUTING NOT_EXECUTING PLAN_EXPIRED PLAN_EXPIRED NOT_EXECUTING NOT_EXECUTING PLAN_EXPIRED expired',
};
const PAIRS = Object.entries(TABLE).flatMap(([from, answers]) => answers.split(' ').map((answer, n) => [from, Object.keys(VERBS)[n] ?? '', answer] as const));

describe('every verb in every state', () => {
  test('the table is whole', () => {
    expect(PAIRS).toHaveLength(Object.keys(PLANS).length * Object.keys(VERBS).length);
  });

  test.each(PAIRS)('%s: %s answers %s', async (from, verb, answer) => {
    const made = await PLANS[from]?.() ?? expect.fail();
    const { plan_token: token } = made.plan.detail;
    expect(await state(made.plan)).toBe(from);
    const before = await eventsOf(db, token);
    const outcome = await VERBS[verb]?.(made) ?? expect.fail();
    const refused = /^[A-Z]/.test(answer);
    expect([outcome.ok, outcome.code]).toEqual([!refused, refused ? answer : null]);
    expect(outcome.message).toMatch(/\S/);
    if (refused) expect(outcome.hint).toMatch(/\S/);
    expect(await state(made.plan)).toBe(refused ? from : answer);
    const added = (await eventsOf(db, token)).slice(before.length);
    expect(added).toEqual(verb === 'plan_status' ? [] : refused ? [`refused ${answer}`] : [answer === 'failed' ? 'failed STATEMENT_FAILED' : answer]);
  });
});

describe('expiry', () => {
  test.each(['previewed', 'awaiting_approval', 'approved', 'failed'])('%s: whoever comes meets it first, and it moves the plan', async (from) => {
    for (const verb of ['begin', 'approve', 'reject', 'execute_plan']) {
      const made = await PLANS[from]?.() ?? expect.fail();
      await expire(db, made.plan.detail.plan_token);
      expect((await planStatus(agent, made.plan)).detail.status).toBe('expired');
      expect(await VERBS[verb]?.(made)).toMatchObject({ ok: false, code: 'PLAN_EXPIRED' });
      expect(await state(made.plan)).toBe('expired');
    }
  });

  test('what is executing is exempt: it can still be confirmed, and is still not to be rejected', async () => {
    for (const [verb, to] of [['confirm_executed', 'executed'], ['settle_done', 'executed'], ['confirm_failed', 'failed']] as const) {
      const made = await PLANS['executing']?.() ?? expect.fail();
      await expire(db, made.plan.detail.plan_token);
      expect(await no(made)).toMatchObject({ ok: false, code: 'ALREADY_EXECUTING' });
      expect(await start(made)).toMatchObject({ ok: false, code: 'ALREADY_EXECUTING' });
      expect(await VERBS[verb]?.(made)).toMatchObject({ ok: true });
      expect(await state(made.plan)).toBe(to);
    }
  });

  test('sweep moves one\'s own plans whose time is over, and nothing else', async () => {
    await agent.query('select countersign.sweep()');
    const over = await Promise.all(['previewed', 'awaiting_approval', 'approved', 'failed', 'executing', 'executed', 'rejected'].map(async (from) => PLANS[from]?.() ?? expect.fail()));
    const foreign = accepted(await createHostPlan(agent2, mail()));
    const live = await make();
    for (const { plan } of over) await expire(db, plan.detail.plan_token);
    await expire(db, foreign.detail.plan_token);
    expect((await agent.query('select countersign.sweep() as swept')).rows[0].swept).toBe(4);
    expect(await Promise.all(over.map(({ plan }) => state(plan)))).toEqual(['expired', 'expired', 'expired', 'expired', 'executing', 'executed', 'rejected']);
    expect(await state(foreign)).toBe('previewed');
    expect(await state(live.plan)).toBe('previewed');
    expect((await agent.query('select countersign.sweep() as swept')).rows[0].swept).toBe(0);
  });

  test('a host can only shorten what policy gives', async () => {
    const life = async (asked: Parameters<typeof createHostPlan>[2]): Promise<number> => {
      const { plan } = await make(asked);
      return one(db, 'select round(extract(epoch from expires_at - created_at))::integer from countersign_data.plan where token = $1', [plan.detail.plan_token]);
    };
    expect(await life({})).toBe(600);
    expect(await life({ planTtlMs: 5_000, approvalTtlMs: 1_000 })).toBe(5);
    expect(await life({ planTtlMs: 86_400_000 * 365 })).toBe(600);
    expect(await life({ approvalRequired: true })).toBe(86_400);
    expect(await life({ approvalRequired: true, approvalTtlMs: 60_000 })).toBe(60);
    expect(await life({ approvalRequired: true, approvalTtlMs: 86_400_000 * 365, planTtlMs: 1 })).toBe(86_400);
    for (const asked of [{ planTtlMs: 0 }, { planTtlMs: -1 }, { approvalTtlMs: 0 }]) expect(await createHostPlan(agent, mail(), asked)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  });

  test('an approval in the last minute leaves the host its own, shorter time', async () => {
    const made = await make({ approvalRequired: true, approvalTtlMs: 60_000, planTtlMs: 90_000 });
    accepted(await yes(made));
    const left: number = await one(db, 'select extract(epoch from expires_at - clock_timestamp())::integer from countersign_data.plan where token = $1', [made.plan.detail.plan_token]);
    expect(left).toBeGreaterThan(80);
    expect(left).toBeLessThanOrEqual(90);
  });
});

describe('the gate', () => {
  test('without a reason to wait it may be begun at once', async () => {
    const { plan } = await make({ previewCount: 100 });
    expect(plan.detail).toMatchObject({ status: 'previewed', gate: [], total_rows: 100, approval: null });
  });

  test('the host, policy and a tombstone each make it wait, and no argument undoes another', async () => {
    expect((await make({ approvalRequired: true })).plan.detail).toMatchObject({ status: 'awaiting_approval', gate: ['Its host asks for a human\'s approval.'] });
    expect((await make({ always: true })).plan.detail).toMatchObject({ status: 'awaiting_approval', gate: ['Its host says that what this does always waits for a human.'] });
    expect((await make({ previewCount: 101, approvalRequired: false, always: false })).plan.detail)
      .toMatchObject({ status: 'awaiting_approval', gate: ['It changes 101 things outside this database, as its host counts; more than 100 wait for a human.'] });
    const made = await make();
    accepted(await no(made));
    const again = accepted(await createHostPlan(agent2, made.payload, { approvalRequired: false }));
    expect(again.detail.status).toBe('awaiting_approval');
    expect(again.detail.gate[0]).toMatch(/rejected the same payload on .*: not today\.$/);
    // the same value written in another way is the same payload; another tool's is not
    expect(accepted(await createHostPlan(agent, ` ${made.payload.replace(',', ' , ')} `)).detail.status).toBe('awaiting_approval');
    expect(accepted(await createHostPlan(agent, made.payload, { tool: 'print_letter' })).detail.status).toBe('previewed');
  });

  test('above the hard cap there is no plan; a cap lowered since stops what was planned', async () => {
    const over = await createHostPlan(agent, mail(), { previewCount: 10_001 });
    expect(over).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED', detail: { total_rows: 10_001, hard_max_rows: 10_000 } });
    expect(over.detail.plan_token).toBeUndefined();
    const made = await make({ previewCount: 90 });
    const failed = await then(make({ previewCount: 90 }), start, undone);
    await setPolicy(db, 'approval_required_above_rows', '50');
    await setPolicy(db, 'hard_max_rows', '80');
    expect(await start(made)).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED' });
    expect(await start(failed)).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED' });
    await setPolicy(db, 'hard_max_rows', null);
    await setPolicy(db, 'approval_required_above_rows', null);
    expect(await start(made)).toMatchObject({ ok: true });
    expect(await eventsOf(db, made.plan.detail.plan_token)).toEqual(['previewed', 'hard_cap_refused HARD_MAX_ROWS_EXCEEDED', 'executing']);
  });

  test('many small plans are one large one: statements and host plans share the hourly budget of a login', async () => {
    const before: number = await one(db, `select coalesce(sum(total_rows), 0)::integer from countersign_data.plan where login = '${db.role('agent2')}' and gate = '{}'`);
    await setPolicy(db, 'ungated_rows_per_hour', String(before + 150));
    const first = accepted(await createHostPlan(agent2, mail(), { previewCount: 100 }));
    expect(first.detail.status).toBe('previewed');
    const second = accepted(await createHostPlan(agent2, mail(), { previewCount: 60 }));
    expect(second.detail).toMatchObject({ status: 'awaiting_approval', gate: [expect.stringMatching(/without a human within the hour/)] });
    expect(accepted(await createHostPlan(agent2, mail())).detail.status).toBe('previewed');
    await setPolicy(db, 'ungated_rows_per_hour', null);
  });

  test('as many approvers as policy asks for', async () => {
    await setPolicy(db, 'required_approvals', '2');
    const made = await waiting();
    accepted(await yes(made));
    expect(await start(made)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    accepted(await approve(bob, made.plan));
    await setPolicy(db, 'required_approvals', null);
    expect(await start(made)).toMatchObject({ ok: true, detail: { decision: { by: db.role('bob') } } });
  });
});

describe('beginning', () => {
  test('takes the payload and the digest it was planned with, in the order of the gate', async () => {
    const made = await make({ dataDigest: 'v1', approvalRequired: true });
    const other = JSON.stringify({ n: count, to: 'b@example.org' });
    expect(await begin(agent, made.plan, other, 'v2')).toMatchObject({ ok: false, code: 'PLAN_MISMATCH' });
    for (const nothing of [null, '', 'no JSON', '{}']) expect(await begin(agent, made.plan, nothing, 'v1')).toMatchObject({ ok: false, code: 'PLAN_MISMATCH' });
    expect(await begin(agent, made.plan, made.payload, 'v2')).toMatchObject({ ok: false, code: 'DATA_DIGEST_MISMATCH' });
    expect(await begin(agent, made.plan, made.payload)).toMatchObject({ ok: false, code: 'DATA_DIGEST_MISMATCH' });
    expect(await begin(agent, made.plan, made.payload, 'v1')).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    accepted(await yes(made));
    expect(await begin(agent, made.plan, made.payload, null)).toMatchObject({ ok: false, code: 'DATA_DIGEST_MISMATCH' });
    expect(await begin(agent, made.plan, ` ${made.payload}\n`, 'v1')).toMatchObject({ ok: true, detail: { status: 'executing', tool: 'send_mail', data_digest: 'v1' } });
    expect(await begin(agent, made.plan, other, 'v2')).toMatchObject({ ok: false, code: 'ALREADY_EXECUTING' });
  });

  test('of 16 that begin at the same moment one may', async () => {
    const made = await make();
    const holder = await db.connect('admin');
    await holder.query('begin');
    await holder.query('select from countersign_data.plan where token = $1 for update', [made.plan.detail.plan_token]);
    const clients = await Promise.all(Array.from({ length: 16 }, (_, n) => db.connect('agent', `beginner ${n}`)));
    const calls = clients.map((client) => begin(client, made.plan, made.payload));
    for (const n of clients.keys()) await waitForLockWait(db.as('admin'), `beginner ${n}`);
    await holder.query('commit');
    const outcomes = await Promise.all(calls);
    await Promise.all([holder, ...clients].map((client) => client.end()));
    expect(outcomes.map(({ code }) => code ?? 'ok').sort()).toEqual([...Array<string>(15).fill('ALREADY_EXECUTING'), 'ok']);
  });

  test('and rejecting at the same moment: one of both happens', async () => {
    for (let round = 0; round < 10; round++) {
      const made = await PLANS['approved']?.() ?? expect.fail();
      const [begun, refused] = await Promise.all([start(made), no(made)]);
      expect([begun.code, refused.code]).toEqual(begun.ok ? [null, 'ALREADY_EXECUTING'] : ['PLAN_REJECTED', null]);
    }
  });

  test('again after a failure, as often as it takes; an attempt that was given up ends nothing', async () => {
    const made = await make();
    const first = accepted(await start(made)) as Outcome & { detail: { attempt: number } };
    accepted(await confirmFailed(agent, made.plan, 'reconciled', first.detail.attempt));
    const second = accepted(await start(made)) as typeof first;
    expect(second.detail.attempt).toBeGreaterThan(first.detail.attempt);
    expect(await confirmFailed(agent, made.plan, 'late', first.detail.attempt)).toMatchObject({ ok: false, code: 'NOT_EXECUTING', detail: { status: 'executing' } });
    expect(await confirmExecuted(agent, made.plan, 'late', first.detail.attempt)).toMatchObject({ ok: false, code: 'NOT_EXECUTING' });
    accepted(await confirmExecuted(agent, made.plan, null, second.detail.attempt));
    expect(await confirmExecuted(agent, made.plan, null, second.detail.attempt)).toMatchObject({ ok: false, code: 'NOT_EXECUTING', detail: { status: 'executed', outcome: { status: 'executed' } } });
    expect(await eventsOf(db, made.plan.detail.plan_token)).toEqual([
      'previewed', 'executing', 'failed STATEMENT_FAILED', 'executing', 'refused NOT_EXECUTING', 'refused NOT_EXECUTING', 'executed', 'refused NOT_EXECUTING']);
  });
});

describe('who may', () => {
  test('another login, an agent\'s too, finds no such plan', async () => {
    const made = await PLANS['executing']?.() ?? expect.fail();
    for (const call of [() => begin(agent2, made.plan, made.payload), () => confirmExecuted(agent2, made.plan), () => confirmFailed(agent2, made.plan), () => planStatus(agent2, made.plan)]) {
      expect(await call()).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
    }
    expect(await state(made.plan)).toBe('executing');
    expect((await agent2.query('select * from countersign.host_plans(\'executing\')')).rows).toEqual([]);
  });

  test('approvers settle and hosts do not; nobody else does either', async () => {
    const made = await PLANS['executing']?.() ?? expect.fail();
    for (const login of ['agent', 'agent2', 'reader', 'auditor', 'owner', 'nobody'] as const) expect(await sqlstate(settle(db.as(login), made.plan, 'done'))).toBe('42501');
    for (const login of ['alice', 'reader', 'auditor', 'owner', 'nobody'] as const) {
      const session = db.as(login);
      for (const call of [() => createHostPlan(session, '{}'), () => begin(session, made.plan, made.payload), () => confirmExecuted(session, made.plan), () => confirmFailed(session, made.plan),
        () => session.query('select countersign.sweep()'), () => session.query('select countersign.host_plans(\'executing\')'), () => outcomeOf(session, 'adopt_host_plan($1, $2)', ['x', 'y'])]) {
        expect(await sqlstate(call())).toBe('42501');
      }
    }
    expect(await settle(alice, made.plan, 'perhaps')).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
    expect(await settle(alice, made.plan, null)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
    expect(await settle(alice, { ...made.plan, detail: { ...made.plan.detail, plan_token: made.plan.detail.plan_token.slice(0, 8) } }, 'done', 'saw it')).toMatchObject({ ok: true });
    expect((await planStatus(agent, made.plan)).detail.outcome).toMatchObject({ status: 'executed', message: `settled as done by ${db.role('alice')}: saw it` });
  });

  test('a login that became an approver settles and approves none of its own', async () => {
    const made = await PLANS['executing']?.() ?? expect.fail();
    await db.as('admin').query(`grant countersign_approver to ${db.role('agent')}`);
    const both = await db.connect('agent');
    expect(await settle(both, made.plan, 'done')).toMatchObject({ ok: false, code: 'SELF_APPROVAL' });
    await both.end();
    await db.as('admin').query(`revoke countersign_approver from ${db.role('agent')}`);
  });

  test('settling from within a trigger, view or function is refused', async () => {
    const made = await PLANS['executing']?.() ?? expect.fail();
    await db.as('admin').query(`create function public.planted() returns text language sql as $$ select ok::text from countersign.settle('${made.plan.detail.plan_token}', 'done') $$; grant execute on function public.planted() to public; grant usage on schema public to public`);
    expect(await sqlstate(alice.query('select public.planted()'))).toBe('42501');
    await db.as('admin').query('drop function public.planted()');
  });
});

describe('what people see', () => {
  test('pending, show and executing tell of a payload as they tell of a statement; the trail has its shape only', async () => {
    const payload = JSON.stringify({ body: `Dear ${'very '.repeat(30)}customer`, subject: 'secret-subject', to: 'a@example.org' });
    const plan = accepted(await createHostPlan(agent, payload, { previewCount: 3, approvalRequired: true, extra: { campaign: 'spring' }, reason: 'monthly letter' }));
    const token = plan.detail.plan_token;
    const { rows: [row] } = await alice.query('select * from countersign.pending where plan_token = $1', [token]);
    expect(row).toMatchObject({ tool: 'send_mail', rows: '3', agent_says: 'monthly letter', why_it_waits: 'Its host asks for a human\'s approval.' });
    expect(row.statement).toContain('secret-subject');
    const shown = (await alice.query<{ field: string; value: string }>('select * from countersign.show($1)', [token])).rows;
    const field = (name: string): string | undefined => shown.find((line) => line.field === name)?.value;
    expect([field('target'), field('count'), field('rows'), field('undo'), field('extra')]).toEqual(['outside the database: send_mail', '3, as its host counts', undefined, undefined, '{"campaign": "spring"}']);
    expect(field('payload')?.replaceAll('\n', ' ')).toContain('"subject":"secret-subject"');
    for (const { value } of shown) for (const line of value.split('\n')) expect(line.length).toBeLessThanOrEqual(62);
    accepted(await approve(alice, plan));
    accepted(await begin(agent, plan, payload));
    expect((await alice.query('select * from countersign.executing where plan_token = $1', [token])).rows).toMatchObject([{ tool: 'send_mail', statement: expect.stringContaining('secret-subject') }]);
    expect((await alice.query<{ field: string; value: string }>('select * from countersign.show($1)', [token])).rows.find((line) => line.field === 'decide')?.value).toContain('countersign.settle(');
    const detail = (await alice.query('select countersign.plan_detail($1) as d', [token.slice(0, 8)])).rows[0].d;
    expect(detail).toMatchObject({ kind: 'host', statement: payload, preview_count: 3, extra: { campaign: 'spring' }, status: 'executing' });
    const trail = JSON.stringify((await db.as('auditor').query('select * from countersign.audit_log where plan_token = $1', [token])).rows);
    expect(trail).not.toContain('secret-subject');
    expect(trail).toContain(`[{"type":"object","length":${payload.length}}]`);
    expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
  });

  test('a payload of 8 MiB is taken, shown in part and begun; one more byte is not', async () => {
    const payload = (size: number): string => JSON.stringify('x'.repeat(size - 2));
    const most = 8 * 1024 * 1024;
    const plan = accepted(await createHostPlan(agent, payload(most), { approvalRequired: true }));
    expect((await alice.query('select * from countersign.pending where plan_token = $1', [plan.detail.plan_token])).rowCount).toBe(1);
    const { rows } = await alice.query<{ field: string; value: string }>('select * from countersign.show($1)', [plan.detail.plan_token]);
    expect(rows.find((line) => line.field === 'payload')?.value.replaceAll('\n', '')).toMatch(/x … ?\(8388608 ?characters\)$/);
    accepted(await approve(alice, plan));
    accepted(await begin(agent, plan, payload(most)));
    accepted(await confirmExecuted(agent, plan));
    expect(await createHostPlan(agent, payload(most + 1))).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS', message: 'The payload is larger than 8 MiB.' });
  });

  test('lists are in order, paged, one\'s own, and of what lives', async () => {
    const login = db.as('agent2');
    const list = async (status: string, after: string | null = null, limit = 100, olderMs = 0): Promise<string[]> =>
      (await login.query('select plan->>\'plan_token\' as token from countersign.host_plans($1, $2, $3, $4) plan', [status, after, limit, olderMs])).rows.map((row) => row.token);
    const earlier = await list('awaiting_approval');
    const made: string[] = [];
    for (let n = 0; n < 5; n++) made.push(accepted(await createHostPlan(login, mail(), { approvalRequired: true })).detail.plan_token);
    expect((await list('awaiting_approval')).slice(earlier.length)).toEqual(made);
    expect(await list('awaiting_approval', made[1] ?? null, 2)).toEqual(made.slice(2, 4));
    await expire(db, made[0] ?? '');
    expect((await list('awaiting_approval')).slice(earlier.length)).toEqual(made.slice(1));
    expect(await list('executing')).toEqual([]);
    const payload = mail();
    const running = accepted(await createHostPlan(login, payload));
    accepted(await begin(login, running, payload));
    expect(await list('executing')).toEqual([running.detail.plan_token]);
    expect(await list('executing', null, 100, 60_000)).toEqual([]);
    expect(await sqlstate(list('executed'))).toBe('22023');
  });
});

describe('arguments', () => {
  test.each([
    ['no tool', { tool: '' }], ['a blank tool', { tool: '  ' }], ['a tool of two lines', { tool: 'a\nb' }], ['a long tool', { tool: 'x'.repeat(101) }],
    ['a negative count', { previewCount: -1 }], ['an empty digest', { dataDigest: '' }], ['extra that is no object', { extra: [1] }], ['a large extra', { extra: { x: 'ab'.repeat(40_000) } }],
  ])('%s is refused', async (_what, asked) => {
    expect(await createHostPlan(agent, mail(), asked)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  });

  test.each([null, '', '{', '{"a":1} x', '"\\u0000"', '"\\ud800"', '1e400', '9007199254740993', '0.1000000000000000055511151231257827', '['.repeat(129) + ']'.repeat(129), '['.repeat(100_000)])(
    'a payload that cannot be kept exactly is refused: %#', async (payload) => {
      expect(await createHostPlan(agent, payload)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
    });

  test('a payload is stored in one spelling', async () => {
    const plan = accepted(await createHostPlan(agent, ' {"b" : 1.50, "a":[ -0, 1E2, "\\u0041\\u001f" ],"b":2e-7} '));
    expect(await one(db, 'select statement from countersign_data.plan where token = $1', [plan.detail.plan_token])).toBe('{"a":[0,100,"A\\u001f"],"b":2e-7}');
    expect(text({ a: 1 })).toBe('{"a":1}');
  });

  test('in a frozen snapshot nothing is created, begun or ended', async () => {
    const made = await make();
    const client = await db.connect('agent');
    for (const call of ['create_host_plan(\'x\', \'{}\')', `begin_execute('${made.plan.detail.plan_token}', '{}')`, `confirm_executed('${made.plan.detail.plan_token}')`, 'sweep()']) {
      await client.query('begin isolation level repeatable read');
      expect(await sqlstate(client.query(`select countersign.${call}`))).toBe('25000');
      await client.query('rollback');
    }
    await client.end();
  });
});

describe('brought in from elsewhere', () => {
  const adopt = (token: string, payload: string | null = null): Promise<Outcome> => outcomeOf(agent, 'adopt_host_plan($1, $2, $3)', [token, 'send_mail', payload]);

  test('once, as executing; it can be ended and never be begun again', async () => {
    const token = '5bd9d58c-5b0e-4a5b-9b0e-1d3c7c1e0f10';
    expect(await adopt(token, '{"a":1}')).toMatchObject({ ok: true, detail: { adopted: true, status: 'executing' } });
    expect(await adopt(token, '{"a":2}')).toMatchObject({ ok: true, detail: { adopted: false } });
    const plan = { detail: { plan_token: token } } as Outcome;
    expect(await begin(agent, plan, '{"a":1}')).toMatchObject({ ok: false, code: 'ALREADY_EXECUTING' });
    accepted(await confirmFailed(agent, plan));
    expect(await begin(agent, plan, '{"a":1}')).toMatchObject({ ok: false, code: 'PLAN_EXPIRED' });
    expect(await adopt(token)).toMatchObject({ ok: true, detail: { adopted: false } });
    expect(await eventsOf(db, token)).toEqual(['previewed', 'executing', 'refused ALREADY_EXECUTING', 'failed STATEMENT_FAILED', 'expired PLAN_EXPIRED']);
    expect(await adopt('not-a-uuid')).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  });

  test('by eight at once, still once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => adopt('6bd9d58c-5b0e-4a5b-9b0e-1d3c7c1e0f10')));
    expect(outcomes.filter((outcome) => (outcome.detail as unknown as { adopted: boolean }).adopted)).toHaveLength(1);
  });
});

test('a token that looks like a session\'s chain cannot be brought in, and no event is lost by it', async () => {
  const session = await db.connect('agent');
  const { rows } = await session.query<{ chain: string }>("select lpad(to_hex(pg_backend_pid()), 32, '0')::uuid::text as chain");
  const chain = rows[0]?.chain ?? '';
  expect((await session.query('select * from countersign.adopt_host_plan($1, \'x\', \'null\')', [chain])).rows[0]).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  await expect(db.as('admin').query(`insert into countersign_data.event (plan_token, from_state, to_state, status, channel) values ($1, 'new', 'previewed', 'previewed', 'x')`, [chain])).rejects.toMatchObject({ code: '23514' });
  expect((await session.query('select * from countersign.plan_status(gen_random_uuid()::text, null)')).rows[0]).toMatchObject({ code: 'UNKNOWN_TOKEN' });
  await session.end();
});
