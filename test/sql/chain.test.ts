/** The hash chain: whatever a superuser rewrites behind the triggers' backs, verify_chain shows. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { createShop, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, previewDelete, previewInsert, reject, type Outcome } from './calls.js';

const db = await createTestDatabase();
const [agent, alice, auditor] = [db.as('agent'), db.as('alice'), db.as('auditor')];
let plan: Outcome;
let undecided: Outcome;

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  plan = accepted(await previewDelete(agent, 'stock', 'id <= $1', [150]));
  await execute(agent, plan);
  accepted(await approve(alice, plan));
  accepted(await execute(agent, plan));
  accepted(await reject(alice, await previewInsert(agent, 'stock', ['id', 'amount'], [[200_001, 1]])));
  undecided = accepted(await previewDelete(agent, 'stock', 'id between 300 and 500'));
  await outcomeOf(agent, 'describe_schema(null, null, null, null)', []);
  await previewDelete(agent, 'nowhere', 'true');
});

interface Problem { chain: string; seq: number; problem: string }

const ALTERED = 'the row was altered: its hash does not fit';
const MISSING = 'an event before this one is missing';
const REPLACED = 'the previous event was replaced';
const MOVED = 'the plan\'s state is not its last event';

/** Rewrites history as a superuser with triggers and foreign keys switched off, looks, and puts everything back. */
async function problemsAfter(statement: string): Promise<Problem[]> {
  const superuser = await db.connect('admin');
  await superuser.query('begin');
  await superuser.query('set local session_replication_role = replica');
  await superuser.query(statement.replaceAll('TOKEN', plan.detail.plan_token).replaceAll('WAITING', undecided.detail.plan_token));
  const { rows } = await superuser.query<Problem>('select * from countersign.verify_chain() order by chain, seq, problem');
  await superuser.query('rollback');
  await superuser.end();
  return rows;
}

test('an honest history has no problem, as the auditor sees it', async () => {
  expect((await auditor.query('select * from countersign.verify_chain()')).rows).toEqual([]);
  expect(await one(db, 'select count(*) from countersign_data.event where chain = $1', [plan.detail.plan_token])).toBe('5');
});

describe('a superuser who disables the triggers', () => {
  test.each([
    ['changes a reason', 'update countersign_data.event set reason = \'other\' where chain = \'TOKEN\' and seq = 1', [[1, ALTERED]]],
    ['changes who approved', 'update countersign_data.event set approved_by = \'mallory\' where chain = \'TOKEN\' and seq = 3', [[3, ALTERED]]],
    ['changes the time by a microsecond', 'update countersign_data.event set ts = ts + interval \'1 microsecond\' where chain = \'TOKEN\' and seq = 5', [[5, ALTERED]]],
    ['changes the login', 'update countersign_data.event set login = \'alice\' where chain = \'TOKEN\' and seq = 2', [[2, ALTERED]]],
    ['takes an event out of the middle', 'delete from countersign_data.event where chain = \'TOKEN\' and seq = 2', [[3, MISSING], [3, REPLACED]]],
    ['takes the first event', 'delete from countersign_data.event where chain = \'TOKEN\' and seq = 1', [[2, MISSING]]],
    ['takes the last event', 'delete from countersign_data.event where chain = \'TOKEN\' and seq = 5', [[5, MOVED]]],
    ['takes all of a plan\'s events', 'delete from countersign_data.event where chain = \'TOKEN\'', [[5, MOVED]]],
    ['moves a plan without an event', 'update countersign_data.plan set state = \'approved\' where token = \'WAITING\'', [[1, MOVED]]],
    ['replaces an event by one with a fitting hash', `
      update countersign_data.event e set reason = 'other' where chain = 'TOKEN' and seq = 2;
      update countersign_data.event e set hash = countersign_data.event_digest(e) where chain = 'TOKEN' and seq = 2`, [[3, REPLACED]]],
    ['renumbers the tail', 'update countersign_data.event set seq = seq + 2, prev_seq = prev_seq + 2 where chain = \'TOKEN\' and seq in (4, 5)',
      [[5, MOVED], [6, MISSING], [6, ALTERED], [7, ALTERED]]],
  ] as ReadonlyArray<[string, string, Array<[number, string]>]>)('%s: it shows', async (_name, statement, expected) => {
    const problems = await problemsAfter(statement);
    expect(problems.map((row) => [row.seq, row.problem])).toEqual(expected);
  });

  test('changes an event that belongs to no plan: it shows', async () => {
    const problems = await problemsAfter('update countersign_data.event set code = \'NOT_READABLE\' where plan_token is null and code = \'UNKNOWN_TABLE\'');
    expect(problems.map((row) => row.problem)).toEqual([ALTERED]);
  });
});

test('a row that is inserted behind the trigger\'s back shows', async () => {
  const problems = await problemsAfter(`
    insert into countersign_data.event (chain, seq, prev_seq, prev_hash, plan_token, from_state, to_state, status, channel, hash, approved_by)
    select chain, 2, seq, hash, plan_token, 'awaiting_approval', 'approved', 'approved', 'psql', sha256('forged'), 'alice' from countersign_data.event where chain = 'WAITING'`);
  expect(problems.map((row) => [row.seq, row.problem])).toEqual([[1, MOVED], [2, ALTERED]]);
});

test('the hash does not depend on the settings of whoever asks', async () => {
  const client = await db.connect('auditor');
  await client.query('set timezone = \'Pacific/Auckland\'; set datestyle = \'German\'; set bytea_output = \'escape\'; set intervalstyle = \'sql_standard\'; set extra_float_digits = -10');
  expect((await client.query('select * from countersign.verify_chain()')).rows).toEqual([]);
  await client.end();
});

test('events are hashed the same under any settings of the session that makes them', async () => {
  const client = await db.connect('agent');
  await client.query('set timezone = \'Pacific/Auckland\'; set datestyle = \'German\'; set bytea_output = \'escape\'; set extra_float_digits = -10; set intervalstyle = \'sql_standard\'');
  accepted(await previewInsert(client, 'stock', ['id', 'amount'], [[300_000, 1]]));
  expect((await auditor.query('select * from countersign.verify_chain()')).rows).toEqual([]);
  await client.end();
});
