/** The state machine: every (state, verb) pair by its code, and every event that may not exist refused by the foreign keys. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { createShop, eventsOf, expire, one, setPolicy } from './application.js';
import { accepted, approve, execute, planStatus, previewDelete, previewInsert, reject, type Outcome } from './calls.js';

const db = await createTestDatabase();
const [agent, alice] = [db.as('agent'), db.as('alice')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

let id = 10_000;
const small = async (): Promise<Outcome> => accepted(await previewInsert(agent, 'stock', ['id', 'amount'], [[++id + 100_000, 1]]));
const large = async (): Promise<Outcome> => accepted(await previewDelete(agent, 'stock', 'id between $1 and $2', [id -= 101, id + 100]));

/** Moves a plan by a legal event that no call of this version makes, as the owner of the tables. */
async function moveByHand(preview: Outcome, from: string, to: string): Promise<void> {
  const owner = await db.connect('admin');
  await owner.query('set session authorization countersign_owner');
  const { rows } = await owner.query('insert into countersign_data.event (plan_token, from_state, to_state, status, channel) values ($1, $2, $3, $3, \'test\') returning seq, hash',
    [preview.detail.plan_token, from, to]);
  const event = rows[0] as { seq: number; hash: Buffer };
  await owner.query('update countersign_data.plan set state = $2, state_seq = $3, state_hash = $4 where token = $1', [preview.detail.plan_token, to, event.seq, event.hash]);
  await owner.end();
}

/** A plan in each state there is. */
const PLANS: Record<string, () => Promise<Outcome>> = {
  previewed: small,
  awaiting_approval: large,
  approved: async () => {
    const plan = await large();
    accepted(await approve(alice, plan));
    return plan;
  },
  // Of a statement plan nobody ever sees this state: it begins and ends within one transaction. Hosts will.
  executing: async () => {
    const plan = await small();
    await moveByHand(plan, 'previewed', 'executing');
    return plan;
  },
  executed: async () => {
    const plan = await small();
    accepted(await execute(agent, plan));
    return plan;
  },
  failed: async () => {
    const plan = await small();
    await db.as('owner').query('insert into stock values ($1, 0)', [(plan.detail.params as number[][])[0]?.[0]]);
    await execute(agent, plan);
    return plan;
  },
  rejected: async () => {
    const plan = await large();
    accepted(await reject(alice, plan));
    return plan;
  },
  expired: async () => {
    const plan = await large();
    await expire(db, plan.detail.plan_token);
    await execute(agent, plan);
    return plan;
  },
  stale: async () => {
    const plan = accepted(await previewDelete(agent, 'stock', 'id = $1', [++id]));
    await db.as('owner').query('update stock set amount = amount + 1 where id = $1', [id]);
    await execute(agent, plan);
    return plan;
  },
  undone: async () => {
    const plan = await small();
    accepted(await execute(agent, plan));
    await moveByHand(plan, 'executed', 'undone');
    return plan;
  },
};

const VERBS: Record<string, (plan: Outcome) => Promise<Outcome>> = {
  execute: (plan) => execute(agent, plan),
  approve: (plan) => approve(alice, plan),
  reject: (plan) => reject(alice, plan),
  plan_status: (plan) => planStatus(agent, plan),
};

/** state, verb, code (null: done), state afterwards. */
const PAIRS: ReadonlyArray<[state: string, verb: string, code: string | null, then: string]> = [
  ['previewed', 'execute', null, 'executed'],
  ['previewed', 'approve', 'INVALID_ARGUMENTS', 'previewed'],
  ['previewed', 'reject', null, 'rejected'],
  ['previewed', 'plan_status', null, 'previewed'],
  ['awaiting_approval', 'execute', 'AWAITING_APPROVAL', 'awaiting_approval'],
  ['awaiting_approval', 'approve', null, 'approved'],
  ['awaiting_approval', 'reject', null, 'rejected'],
  ['awaiting_approval', 'plan_status', null, 'awaiting_approval'],
  ['approved', 'execute', null, 'executed'],
  ['approved', 'approve', 'INVALID_ARGUMENTS', 'approved'],
  ['approved', 'reject', null, 'rejected'],
  ['approved', 'plan_status', null, 'approved'],
  ['executing', 'execute', 'ALREADY_EXECUTING', 'executing'],
  ['executing', 'approve', 'ALREADY_EXECUTING', 'executing'],
  ['executing', 'reject', 'ALREADY_EXECUTING', 'executing'],
  ['executing', 'plan_status', null, 'executing'],
  ['executed', 'execute', 'PLAN_USED', 'executed'],
  ['executed', 'approve', 'PLAN_USED', 'executed'],
  ['executed', 'reject', 'PLAN_USED', 'executed'],
  ['executed', 'plan_status', null, 'executed'],
  ['failed', 'execute', 'STATEMENT_FAILED', 'failed'],
  ['failed', 'approve', 'STATEMENT_FAILED', 'failed'],
  ['failed', 'reject', 'STATEMENT_FAILED', 'failed'],
  ['failed', 'plan_status', null, 'failed'],
  ['rejected', 'execute', 'PLAN_REJECTED', 'rejected'],
  ['rejected', 'approve', 'PLAN_REJECTED', 'rejected'],
  ['rejected', 'reject', 'PLAN_REJECTED', 'rejected'],
  ['rejected', 'plan_status', null, 'rejected'],
  ['expired', 'execute', 'PLAN_EXPIRED', 'expired'],
  ['expired', 'approve', 'PLAN_EXPIRED', 'expired'],
  ['expired', 'reject', 'PLAN_EXPIRED', 'expired'],
  ['expired', 'plan_status', null, 'expired'],
  ['stale', 'execute', 'ROWSET_CHANGED', 'stale'],
  ['stale', 'approve', 'ROWSET_CHANGED', 'stale'],
  ['stale', 'reject', 'ROWSET_CHANGED', 'stale'],
  ['stale', 'plan_status', null, 'stale'],
  ['undone', 'execute', 'PLAN_USED', 'undone'],
  ['undone', 'approve', 'PLAN_USED', 'undone'],
  ['undone', 'reject', 'PLAN_USED', 'undone'],
  ['undone', 'plan_status', null, 'undone'],
];

describe('every verb in every state', () => {
  test('the table is whole', () => {
    expect(PAIRS.map(([state, verb]) => `${state} ${verb}`).sort()).toEqual(Object.keys(PLANS).flatMap((state) => Object.keys(VERBS).map((verb) => `${state} ${verb}`)).sort());
  });

  test.each(PAIRS)('%s: %s answers %s and leaves it %s', async (state, verb, code, then) => {
    const plan = await PLANS[state]?.() ?? expect.fail();
    const { plan_token: token } = plan.detail;
    expect(await one(db, 'select state from countersign_data.plan where token = $1', [token])).toBe(state);
    const before = await eventsOf(db, token);
    const outcome = await VERBS[verb]?.(plan) ?? expect.fail();
    expect(outcome.code).toBe(code);
    expect(outcome.ok).toBe(code === null);
    expect(outcome.message).not.toBe('');
    if (code !== null) expect(outcome.hint).toMatch(/\S/);
    if (verb === 'plan_status') expect(outcome.detail.status).toBe(state);
    expect(await one(db, 'select state from countersign_data.plan where token = $1', [token])).toBe(then);
    // A refusal is an event, a question about the state is none of the plan's.
    const added = (await eventsOf(db, token)).slice(before.length);
    expect(added).toEqual(verb === 'plan_status' ? [] : code !== null ? [`refused ${code}`] : then === 'executed' ? ['executing', 'executed'] : [then]);
  });

  test.each(['previewed', 'awaiting_approval', 'approved'])('%s: every verb meets the expiry first', async (state) => {
    for (const verb of ['execute', 'approve', 'reject']) {
      const plan = await PLANS[state]?.() ?? expect.fail();
      await expire(db, plan.detail.plan_token);
      expect(await planStatus(agent, plan)).toMatchObject({ ok: true, detail: { status: 'expired' } });
      expect(await VERBS[verb]?.(plan)).toMatchObject({ ok: false, code: 'PLAN_EXPIRED' });
      expect(await one(db, 'select state from countersign_data.plan where token = $1', [plan.detail.plan_token])).toBe('expired');
    }
  });

  test.each([
    ['rejected', 'PLAN_REJECTED'], ['executed', 'PLAN_USED'], ['executing', 'ALREADY_EXECUTING'], ['expired', 'PLAN_EXPIRED'],
  ])('%s: its code comes before STATEMENT_MISMATCH and before the clock', async (state, code) => {
    const plan = await PLANS[state]?.() ?? expect.fail();
    await expire(db, plan.detail.plan_token);
    expect(await execute(agent, plan, { statement: 'something else' })).toMatchObject({ ok: false, code });
  });

  test('awaiting_approval: STATEMENT_MISMATCH comes before AWAITING_APPROVAL', async () => {
    expect(await execute(agent, await large(), { statement: 'something else' })).toMatchObject({ ok: false, code: 'STATEMENT_MISMATCH' });
  });
});

/** Everything that may ever be written about a plan, and about none: (from, to, status). */
const MOVES = `
  new previewed previewed · new awaiting_approval awaiting_approval
  awaiting_approval awaiting_approval approved · awaiting_approval approved approved
  previewed executing executing · approved executing executing
  executing executed executed · executing failed failed · executed undone undone
  previewed rejected rejected · awaiting_approval rejected rejected · approved rejected rejected
  previewed expired expired · awaiting_approval expired expired · approved expired expired
  previewed stale stale · awaiting_approval stale stale · approved stale stale
  previewed previewed refused · awaiting_approval awaiting_approval refused · approved approved refused · executing executing refused
  executed executed refused · failed failed refused · rejected rejected refused · expired expired refused · stale stale refused · undone undone refused
  previewed previewed hard_cap_refused · approved approved hard_cap_refused
  none none read · none none refused · none none hard_cap_refused · none none policy`.split(/[·\n]/).map((move) => move.trim()).filter((move) => move !== '').sort();

const STATES = ['new', ...Object.keys(PLANS), 'none'];
const STATUSES = ['previewed', 'awaiting_approval', 'approved', 'executing', 'executed', 'rejected', 'failed', 'refused', 'hard_cap_refused', 'expired', 'stale', 'undone', 'read', 'policy', 'invented'];

describe('the trail itself', () => {
  test('takes exactly the legal moves, from the owner too: every (from, to, status) was tried', async () => {
    const tokens: Record<string, string | null> = { new: null, none: null };
    for (const [state, make] of Object.entries(PLANS)) tokens[state] = (await make()).detail.plan_token;
    const client = await db.connect('admin');
    await client.query(`create function pg_temp.attempt(p_token uuid, p_from text, p_to text, p_status text) returns text language plpgsql as $$
      begin
        insert into countersign_data.event (plan_token, from_state, to_state, status, code, channel)
        values (p_token, p_from, p_to, p_status, case when p_status in ('refused', 'hard_cap_refused', 'failed', 'stale', 'expired') then 'CODE' end, 'test');
        raise exception using errcode = 'P0001';
      exception when raise_exception then return 'taken'; when foreign_key_violation or check_violation then return sqlstate;
      end $$`);
    await client.query('set session authorization countersign_owner');
    const { rows } = await client.query<{ move: string; answer: string }>(`
      select f || ' ' || t || ' ' || s as move, pg_temp.attempt(case f when 'new' then gen_random_uuid() else ($1::jsonb->>f)::uuid end, f, t, s) as answer
      from unnest($2::text[]) f, unnest($2::text[]) t, unnest($3::text[]) s`, [JSON.stringify(tokens), STATES, STATUSES]);
    await client.end();
    expect(rows).toHaveLength(12 * 12 * 15);
    expect(rows.filter((row) => row.answer === 'taken').map((row) => row.move).sort()).toEqual(MOVES);
    expect([...new Set(rows.map((row) => row.answer))].sort()).toEqual(['23503', '23514', 'taken']);
  });

  test('a legal move from a state that the plan is not in is refused', async () => {
    const plan = await large();
    for (const [from, to] of [['approved', 'executing'], ['previewed', 'executing'], ['executing', 'executed'], ['new', 'previewed']] as const) {
      await expect(moveByHand(plan, from, to)).rejects.toMatchObject({ code: expect.stringMatching(/^(23503|23514)$/), constraint: expect.stringMatching(/^event_(follows_the_previous_one|begins_plan_with_new)$/) });
    }
  });

  test('a failed statement plan is over: no event starts it again', async () => {
    const plan = await PLANS['failed']?.() ?? expect.fail();
    for (const to of ['executing', 'rejected', 'expired']) await expect(moveByHand(plan, 'failed', to)).rejects.toMatchObject({ code: '23514', message: 'a failed statement plan is over' });
  });
});
