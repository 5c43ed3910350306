/** Plays the rows of a table. What must hold after every attack is checked here, once, and not said in the rows. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/client.js';
import { notKnownTo, type Args, type Answered, type Attack, type ByPath, type Measured, type Previewed, type Refused, type Stale } from './attack.js';
import { SECRET } from './shop.js';
import { createWorld, type World } from './world.js';

const READS = new Set(['query', 'explain_plan']);

/** Tools that want a reason get one; explain_plan and execute_plan take none. */
const withReason = (tool: string, args: Args): Args => (['explain_plan', 'execute_plan'].includes(tool) ? args : { reason: 'a test', ...args });

const shown = (args: Args): string => {
  const said = JSON.stringify(Object.keys(args).length === 1 ? Object.values(args)[0] : args);
  return said.length > 110 ? `${said.slice(0, 107)}…` : said;
};

/** A line for each effect, so that a difference reads well. */
function effectsOf(detail: Record<string, unknown>): Record<string, number[]> {
  const effects = detail['effects'] as { table: string; inserted: number; updated: number; deleted: number }[];
  return Object.fromEntries(effects.map((e) => [e.table, [e.inserted, e.updated, e.deleted]]));
}

export function expectMeasured(detail: Record<string, unknown>, measured: Measured): void {
  expect({ status: detail['status'], affected: detail['affected_rows'], total: detail['total_rows'] })
    .toEqual({ status: measured.status, affected: measured.affected, total: measured.total });
  if (measured.effects) expect(effectsOf(detail)).toEqual(measured.effects);
  if (measured.gate) expect((detail['gate'] as string[]).join('\n')).toMatch(measured.gate);
}

export function expectNoSecret(answer: unknown): void {
  expect(typeof answer === 'string' ? answer : JSON.stringify(answer)).not.toContain(SECRET);
}

/** Nothing of the application changes, whatever is answered. */
async function leavesNoTrace<T>(world: World, work: () => Promise<T>): Promise<T> {
  world.known ??= await world.fingerprint();
  const result = await work();
  const now = await world.fingerprint();
  const before = world.known;
  world.known = now;
  expect(now).toBe(before);
  return result;
}

const codes = (code: Refused['code']): ByPath => (typeof code === 'string' ? { tool: code, sql: code } : code);

async function playRefused(world: World, { tool, code, grantsDoNotHold }: Refused, input: Args): Promise<void> {
  const expected = codes(code);
  const answer = await world.tool(tool, withReason(tool, input));
  expect(answer.code, answer.text.slice(0, 500)).toBe(expected.tool);
  expect(answer.content).toMatchObject({ message: expect.stringMatching(/./) as string, hint: expect.stringMatching(/./) as string });
  expectNoSecret(answer.text);
  expect(await world.lastCode()).toBe(expected.tool);

  const outcome = await world.sql(tool, input);
  const sql = notKnownTo(world.db.major, input['statement']) ? 'STATEMENT_FAILED' : expected.sql;
  expect(outcome.code ?? 'readable', JSON.stringify(outcome).slice(0, 500)).toBe(sql);
  expectNoSecret(outcome);
  // Were the check wrong, the reader's login and its read-only transaction would still have to hold.
  if (READS.has(tool) && !grantsDoNotHold && typeof input['statement'] === 'string') expectNoSecret(await world.readUnchecked(input['statement']));
}

async function playAnswered(world: World, { rows }: Answered, input: Args): Promise<void> {
  const answer = await world.tool('query', withReason('query', input));
  expect(answer.code, answer.text.slice(0, 500)).toBeNull();
  expect(answer.content['rows']).toEqual(rows);
  expectNoSecret(answer.text);
}

async function playPreviewed(world: World, { tool, measured }: Previewed, input: Args): Promise<void> {
  const answer = await world.tool(tool, withReason(tool, input));
  expect(answer.code, answer.text.slice(0, 500)).toBeNull();
  expectMeasured(answer.content, measured);
  expectNoSecret(answer.text);
  const outcome = await world.sql(tool, input);
  expect(outcome.code, JSON.stringify(outcome).slice(0, 500)).toBeNull();
  expectMeasured(outcome.detail ?? {}, measured);
}

/** A plan that may run: previewed, and approved by a human where it waits. */
export async function readyPlan(world: World, tool: string, input: Args): Promise<{ plan_token: string; statement: string; params: unknown[]; detail: Record<string, unknown> }> {
  const preview: Outcome = await world.sql(tool, input);
  expect(preview.code, JSON.stringify(preview).slice(0, 500)).toBeNull();
  const detail = preview.detail ?? {};
  const [plan_token, statement, params] = [String(detail['plan_token']), String(detail['statement']), detail['params'] as unknown[]];
  if (detail['status'] === 'awaiting_approval') expect(await world.alice.approve(plan_token, null, 'psql')).toMatchObject({ ok: true });
  return { plan_token, statement, params, detail };
}

async function playStale(world: World, row: Stale): Promise<void> {
  const plan = await readyPlan(world, row.tool, row.input);
  if (row.measured) expectMeasured(plan.detail, row.measured);
  if (row.between) await world.admin(row.between);
  const { plan_token, statement, params } = plan;
  world.known = null;
  await leavesNoTrace(world, async () => {
    const outcome = await world.sql('execute_plan', { plan_token, statement, params });
    expect(outcome.code, JSON.stringify(outcome).slice(0, 500)).toBe(row.code);
    // It is over, or it can be tried again: in no case does a second try do what the first one did not.
    expect([row.code, 'STATEMENT_FAILED']).toContain((await world.tool('execute_plan', { plan_token, statement, params })).code);
  });
}

function registerInputs(row: Attack, world: () => World): void {
  switch (row.kind) {
    case 'refused': return row.inputs.forEach((input) => test(shown(input), () => playRefused(world(), row, input)));
    case 'answered': return row.inputs.forEach((input) => test(shown(input), () => playAnswered(world(), row, input)));
    case 'previewed': return row.inputs.forEach((input) => test(shown(input), () => playPreviewed(world(), row, input)));
    case 'stale': return void test(label(row), () => playStale(world(), row));
    case 'story': return void test(label(row), async ({ skip }) => {
      skip(world().db.major < (row.since?.major ?? 0), row.since?.why);
      await row.play(world());
    });
  }
}

const label = ({ ids, title }: Attack): string => `${ids.join(' ')}${ids.length > 0 ? ' ' : ''}${title}`;

function withWorld(setup: () => Promise<World>, register: (world: () => World) => void): void {
  let made: World | undefined;
  beforeAll(async () => { made = await setup(); });
  afterAll(async () => { await made?.close(); });
  register(() => made as World);
}

/** What changes nothing: one database, in which the setups come together. */
function playQuiet(name: string, rows: readonly Attack[]): void {
  describe(name, () => withWorld(() => createWorld(), (world) => {
    for (const row of rows) {
      describe(label(row), () => {
        beforeAll(async () => {
          await world().prepare(row.setup);
          world().known ??= await world().fingerprint();
        });
        registerInputs(row, world);
        test('and no row of the application has changed', () => leavesNoTrace(world(), async () => undefined));
      });
    }
  }));
}

/** What changes rows or tables: one database, put back before each. */
function playInTurn(name: string, rows: readonly Attack[]): void {
  describe(name, () => withWorld(() => createWorld(), (world) => {
    rows.forEach((row, index) => {
      describe(name, () => {
        beforeAll(async () => {
          if (index > 0) await world().reset();
          await world().prepare(row.setup);
        });
        registerInputs(row, world);
      });
    });
  }));
}

export function playAttacks(name: string, rows: readonly Attack[]): void {
  const inTurn = (row: Attack): boolean => row.kind === 'stale' || (row.kind === 'story' && row.shares === true);
  const alone = (row: Attack): boolean => row.kind === 'story' && row.shares !== true;
  if (rows.some((row) => !inTurn(row) && !alone(row))) playQuiet(name, rows.filter((row) => !inTurn(row) && !alone(row)));
  if (rows.some(inTurn)) playInTurn(name, rows.filter(inTurn));
  for (const row of rows.filter(alone)) {
    describe(name, () => withWorld(() => createWorld(row.setup), (world) => registerInputs(row, world)));
  }
}
