/** The whole lifecycle against a model of it: random histories of several clients, one after the other and all at once. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PlanStore } from '../../src/index.js';
import { createTestDatabase } from '../harness/database.js';
import { eventsOf, expire, one } from '../sql/application.js';

interface Payload { n: number }
type Client = 'first' | 'second' | 'stranger';

const db = await createTestDatabase();
const stores = new Map<Client, PlanStore<Payload>>();
const store = (client: Client): PlanStore<Payload> => stores.get(client) ?? expect.fail();

beforeAll(async () => {
  // Two processes of one login, and another login; each may ask its own human to decide.
  for (const [client, login, human] of [['first', 'agent', 'alice'], ['second', 'agent', 'bob'], ['stranger', 'agent2', 'alice']] as const) {
    stores.set(client, await PlanStore.open<Payload>({ databaseUrl: db.url(login), approverUrl: db.url(human), max: 4 }));
  }
});
afterAll(() => Promise.all([...stores.values()].map((each) => each.close())));

let count = 0;

/** What the model knows of a plan. */
interface Known { token: string; payload: Payload; digest: string | null; gated: boolean; state: string; over: boolean; ownAttempt: Map<Client, number>; attempt: number; events: string[] }
interface Model { plans: Known[] }
interface World { open: Map<Client, PlanStore<Payload>> }

const refusedCode = async (answer: Promise<{ ok: true } | { ok: false; error: { code: string } }>): Promise<string> => {
  const result = await answer;
  return result.ok ? 'ok' : result.error.code;
};

/** The state that execution and decisions meet first. */
function byState(plan: Known): string | null {
  if (plan.state === 'rejected') return 'PLAN_REJECTED';
  if (plan.state === 'executed') return 'PLAN_USED';
  if (plan.state === 'executing') return 'ALREADY_EXECUTING';
  return plan.state === 'expired' || plan.over ? 'PLAN_EXPIRED' : null;
}

/** A refusal as the model remembers it: an expiry that was met moves the plan. */
function refused(plan: Known, code: string): string {
  if (code === 'PLAN_EXPIRED' && plan.state !== 'expired') {
    plan.state = 'expired';
    plan.events.push('expired PLAN_EXPIRED');
  } else {
    plan.events.push(`refused ${code}`);
  }
  return code;
}

function moved(plan: Known, state: string): string {
  plan.state = state;
  plan.events.push(state === 'failed' ? 'failed STATEMENT_FAILED' : state);
  return 'ok';
}

const pick = (model: Model, index: number): Known => model.plans[index % model.plans.length] ?? expect.fail();

abstract class OnPlan implements fc.AsyncCommand<Model, World> {
  constructor(readonly index: number, readonly client: Client) {}
  check(model: Readonly<Model>): boolean { return model.plans.length > 0; }
  abstract expected(plan: Known): string;
  abstract answer(plan: Known, by: PlanStore<Payload>): Promise<string>;
  async run(model: Model): Promise<void> {
    const plan = pick(model, this.index);
    const answered = await this.answer(plan, store(this.client));
    expect([this.toString(), answered]).toEqual([this.toString(), this.expected(plan)]);
    expect(await eventsOf(db, plan.token)).toEqual(plan.events);
    expect(await one(db, 'select state from countersign_data.plan where token = $1', [plan.token])).toBe(plan.state);
  }
  toString(): string { return `${this.constructor.name}(${this.index}, ${this.client})`; }
}

class Create implements fc.AsyncCommand<Model, World> {
  constructor(readonly client: Client, readonly gated: boolean, readonly digest: string | null) {}
  check(): boolean { return true; }
  async run(model: Model): Promise<void> {
    const payload = { n: ++count };
    const by = this.client === 'stranger' ? 'second' : this.client;
    const plan = await store(by).create(payload, { tool: 'model', approvalRequired: this.gated, ...(this.digest === null ? {} : { dataDigest: this.digest }) });
    expect(plan.status).toBe(this.gated ? 'awaiting_approval' : 'previewed');
    model.plans.push({ token: plan.planToken, payload, digest: this.digest, gated: this.gated, state: plan.status, over: false, ownAttempt: new Map(), attempt: 0, events: [plan.status] });
  }
  toString(): string { return `Create(${this.client}, ${this.gated}, ${this.digest})`; }
}

class Begin extends OnPlan {
  constructor(index: number, client: Client, readonly samePayload: boolean, readonly digest: string | null) { super(index, client); }
  answer(plan: Known, by: PlanStore<Payload>): Promise<string> {
    return refusedCode(by.beginExecute(plan.token, this.samePayload ? plan.payload : { n: -1 }, this.digest ?? undefined));
  }
  expected(plan: Known): string {
    if (this.client === 'stranger') return 'UNKNOWN_TOKEN';
    const code = byState(plan) ?? (!this.samePayload ? 'PLAN_MISMATCH' : plan.digest !== null && plan.digest !== this.digest ? 'DATA_DIGEST_MISMATCH' : plan.state === 'awaiting_approval' ? 'AWAITING_APPROVAL' : null);
    if (code !== null) return refused(plan, code);
    plan.ownAttempt.set(this.client, ++plan.attempt);
    return moved(plan, 'executing');
  }
}

class Confirm extends OnPlan {
  constructor(index: number, client: Client, readonly done: boolean) { super(index, client); }
  answer(plan: Known, by: PlanStore<Payload>): Promise<string> {
    return refusedCode(this.done ? by.confirmExecuted(plan.token) : by.confirmFailed(plan.token, 'no'));
  }
  expected(plan: Known): string {
    if (this.client === 'stranger') return 'UNKNOWN_TOKEN';
    // A process ends the attempt it began; one that began none ends whichever there is (it may have been restarted).
    const own = plan.ownAttempt.get(this.client);
    plan.ownAttempt.delete(this.client);
    if (plan.state !== 'executing' || (own !== undefined && own !== plan.attempt)) return refused(plan, 'NOT_EXECUTING');
    return moved(plan, this.done ? 'executed' : 'failed');
  }
}

class Approve extends OnPlan {
  answer(plan: Known, by: PlanStore<Payload>): Promise<string> { return refusedCode(by.approve(plan.token)); }
  expected(plan: Known): string {
    const code = byState(plan) ?? (plan.state === 'awaiting_approval' ? null : 'INVALID_ARGUMENTS');
    return code === null ? moved(plan, 'approved') : refused(plan, code);
  }
}

class Reject extends OnPlan {
  answer(plan: Known, by: PlanStore<Payload>): Promise<string> { return refusedCode(by.reject(plan.token, 'no')); }
  expected(plan: Known): string {
    const code = byState(plan);
    return code === null ? moved(plan, 'rejected') : refused(plan, code);
  }
}

class Settle extends OnPlan {
  constructor(index: number, client: Client, readonly done: boolean) { super(index, client); }
  answer(plan: Known, by: PlanStore<Payload>): Promise<string> { return refusedCode(by.settle(plan.token, this.done ? 'done' : 'not-done')); }
  expected(plan: Known): string {
    return plan.state === 'executing' ? moved(plan, this.done ? 'executed' : 'failed') : refused(plan, 'NOT_EXECUTING');
  }
}

/** The plan's time runs out, whatever it is doing. */
class TimeRunsOut extends OnPlan {
  async answer(plan: Known): Promise<string> {
    await expire(db, plan.token);
    return 'ok';
  }
  expected(plan: Known): string {
    plan.over = true;
    return 'ok';
  }
}

class Sweep implements fc.AsyncCommand<Model, World> {
  constructor(readonly client: Client) {}
  check(): boolean { return true; }
  async run(model: Model): Promise<void> {
    const over = this.client === 'stranger' ? [] : model.plans.filter((plan) => plan.over && ['previewed', 'awaiting_approval', 'approved', 'failed'].includes(plan.state));
    expect(await store(this.client).sweep()).toBe(over.length);
    for (const plan of over) refused(plan, 'PLAN_EXPIRED');
    for (const plan of model.plans) expect(await eventsOf(db, plan.token)).toEqual(plan.events);
  }
  toString(): string { return `Sweep(${this.client})`; }
}

const client = fc.oneof({ weight: 4, arbitrary: fc.constantFrom<Client>('first', 'second') }, { weight: 1, arbitrary: fc.constant<Client>('stranger') });
const index = fc.nat({ max: 7 });
const digest = fc.constantFrom(null, 'v1', 'v2');
const likely = fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) });

const commands = [
  fc.tuple(client, fc.boolean(), fc.constantFrom(null, null, 'v1')).map(([by, gated, set]) => new Create(by, gated, set)),
  fc.tuple(index, client, likely, digest).map((each) => new Begin(...each)),
  fc.tuple(index, client, likely, digest).map((each) => new Begin(...each)),
  fc.tuple(index, client, fc.boolean()).map((each) => new Confirm(...each)),
  fc.tuple(index, client, fc.boolean()).map((each) => new Confirm(...each)),
  fc.tuple(index, client).map((each) => new Approve(...each)),
  fc.tuple(index, client).map((each) => new Approve(...each)),
  fc.tuple(index, client).map((each) => new Reject(...each)),
  fc.tuple(index, client, fc.boolean()).map((each) => new Settle(...each)),
  fc.tuple(index, client).map((each) => new TimeRunsOut(...each)),
  client.map((by) => new Sweep(by)),
];

test('every history of calls is answered as the model says, and leaves the events it says', async () => {
  await fc.assert(fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (history) => {
    // What an earlier history left over is none of this one's.
    await one(db, 'select count(*) from countersign_data.plan');
    await store('first').sweep();
    await fc.asyncModelRun(() => ({ model: { plans: [] }, real: { open: stores } }), history);
  }), { numRuns: 40, endOnFailure: true });
  expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
}, 120_000);

test('all at once, each answer is one event, and no plan is performed twice or after a no', async () => {
  const verb = fc.constantFrom('begin', 'begin', 'done', 'failed', 'approve', 'reject', 'settle');
  await fc.assert(fc.asyncProperty(fc.boolean(), fc.array(fc.tuple(fc.constantFrom<Client>('first', 'second'), verb), { minLength: 6, maxLength: 16, size: 'max' }), async (gated, calls) => {
    const payload = { n: ++count };
    const { planToken } = await store('first').create(payload, { tool: 'model', approvalRequired: gated });
    const answers = await Promise.all(calls.map(async ([by, what]) => {
      const at = store(by);
      const answer = what === 'begin' ? at.beginExecute(planToken, payload) : what === 'done' ? at.confirmExecuted(planToken) : what === 'failed' ? at.confirmFailed(planToken)
        : what === 'approve' ? at.approve(planToken) : what === 'reject' ? at.reject(planToken) : at.settle(planToken, 'not-done');
      return [what, (await answer).ok] as const;
    }));
    const events = await eventsOf(db, planToken);
    const happened = (name: string): number => events.filter((event) => event.split(' ')[0] === name).length;
    const answered = (...names: string[]): number => answers.filter(([what, ok]) => ok && names.includes(what)).length;
    expect([answered('begin'), answered('done'), answered('failed', 'settle'), answered('approve'), answered('reject')])
      .toEqual([happened('executing'), happened('executed'), happened('failed'), happened('approved'), happened('rejected')]);
    expect(happened('refused')).toBe(answers.filter(([, ok]) => !ok).length);
    expect(happened('executed')).toBeLessThanOrEqual(1);
    for (const end of ['executed', 'rejected']) if (events.includes(end)) expect(events.slice(events.indexOf(end) + 1).every((event) => event.startsWith('refused'))).toBe(true);
    if (gated && events.includes('executing')) expect(events.indexOf('approved')).toBeLessThan(events.indexOf('executing'));
  }), { numRuns: 60, endOnFailure: true });
  expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
}, 60_000);
