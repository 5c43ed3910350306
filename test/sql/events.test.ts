/** The trail: an event for every path, never a value of a parameter, and no way to rewrite it. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { createShop, eventsOf, expire, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, planStatus, previewDelete, previewInsert, previewMigration, previewUpdate, reject, sqlstate } from './calls.js';
import { KINDS, ready, waiting } from './write-kinds.js';

const db = await createTestDatabase();
const [agent, alice] = [db.as('agent'), db.as('alice')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

/** The newest events, oldest first: tool, status, code. */
async function newest(count: number): Promise<string[]> {
  const { rows } = await db.as('auditor').query<{ event: string }>(
    'select concat_ws(\' \', tool, status, code) as event from (select * from countersign.audit_log order by id desc limit $1) newest order by id', [count]);
  return rows.map((row) => row.event);
}

describe.each(KINDS)('every path of a plan leaves its events: $name', (kind) => {
  const begun = kind.name === 'migration' ? ['awaiting_approval', 'approved'] : ['previewed'];

  test('executed', async () => {
    const preview = await ready(db, kind);
    accepted(await execute(agent, preview));
    await execute(agent, preview);
    expect(await eventsOf(db, preview.detail.plan_token)).toEqual([...begun, 'executing', 'executed', 'refused PLAN_USED']);
  });

  test('approved and executed, with who approved, what was previewed and what was done', async () => {
    const preview = await waiting(db, kind);
    await execute(agent, preview);
    accepted(await approve(alice, preview, 'checked with billing'));
    accepted(await execute(agent, preview));
    expect(await eventsOf(db, preview.detail.plan_token)).toEqual(['awaiting_approval', 'refused AWAITING_APPROVAL', 'approved', 'executing', 'executed']);
    const { rows } = await db.as('auditor').query('select * from countersign.audit_log where plan_token = $1 order by id', [preview.detail.plan_token]);
    const rowCount = kind.name === 'migration' ? '0' : '101';
    expect(rows[0]).toMatchObject({ tool: kind.tool, reason: 'test', statement: preview.detail.statement, preview_rows: rowCount, actual_rows: null, channel: 'mcp', session_user: db.role('agent') });
    expect(rows[2]).toMatchObject({ tool: 'approve', approved_by: db.role('alice'), session_user: db.role('alice'), channel: 'psql', note: 'checked with billing' });
    expect(rows[4]).toMatchObject({ tool: 'execute_plan', approved_by: db.role('alice'), session_user: db.role('agent'), preview_rows: rowCount, actual_rows: rowCount, duration_ms: expect.any(Number) });
    expect(rows.map((row: { hash: string }) => row.hash.length)).toEqual([64, 64, 64, 64, 64]);
  });

  test('rejected, expired, mismatched', async () => {
    const [rejected, expired, other] = [await waiting(db, kind), await waiting(db, kind), await ready(db, kind)];
    accepted(await reject(alice, rejected, 'no'));
    await execute(agent, rejected);
    await expire(db, expired.detail.plan_token);
    await approve(alice, expired);
    await execute(agent, other, { statement: 'select 1' });
    expect(await eventsOf(db, rejected.detail.plan_token)).toEqual(['awaiting_approval', 'rejected', 'refused PLAN_REJECTED']);
    expect(await eventsOf(db, expired.detail.plan_token)).toEqual(['awaiting_approval', 'expired PLAN_EXPIRED']);
    expect(await eventsOf(db, other.detail.plan_token)).toEqual([...begun, 'refused STATEMENT_MISMATCH']);
  });
});

test('stale and failed executions leave their events', async () => {
  const stale = accepted(await previewDelete(agent, 'customers', 'id = 150'));
  await db.as('owner').query('update customers set name = \'new\' where id = 150');
  await execute(agent, stale);
  expect(await eventsOf(db, stale.detail.plan_token)).toEqual(['previewed', 'stale ROWSET_CHANGED']);
  const failed = accepted(await previewInsert(agent, 'customers', ['id', 'name'], [[7777, 'x']]));
  await db.as('owner').query('insert into customers (id, name) values (7777, \'taken\')');
  expect(await execute(agent, failed)).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23505', status: 'failed' } });
  expect(await eventsOf(db, failed.detail.plan_token)).toEqual(['previewed', 'executing', 'failed STATEMENT_FAILED']);
});

test('a lowered hard cap is an event of the plan and lets it live', async () => {
  const preview = accepted(await previewDelete(agent, 'stock', 'id between 24900 and 24909'));
  await setPolicy(db, 'approval_required_above_rows', '5');
  await setPolicy(db, 'hard_max_rows', '5');
  await execute(agent, preview);
  await setPolicy(db, 'hard_max_rows', null);
  await setPolicy(db, 'approval_required_above_rows', null);
  accepted(await execute(agent, preview));
  expect(await eventsOf(db, preview.detail.plan_token)).toEqual(['previewed', 'hard_cap_refused HARD_MAX_ROWS_EXCEEDED', 'executing', 'executed']);
});

test('refused previews, unknown tokens, reads, refused reads, policy: each has its event', async () => {
  const preview = await ready(db, KINDS[1] ?? expect.fail());
  await previewDelete(agent, 'customers', null);
  await previewUpdate(agent, 'nowhere', { a: 1 }, 'true');
  await previewInsert(agent, 'secrets', ['id'], [[1]]);
  await previewMigration(agent, 'select 1; select 2');
  await outcomeOf(agent, 'execute_plan($1, $2, $3::jsonb, null)', ['5bd9d58c-5b0e-4a5b-9b0e-000000000000', 'x', '[]']);
  await planStatus(agent, preview);
  await outcomeOf(agent, 'plan_status($1, null)', ['nonsense']);
  await outcomeOf(agent, 'describe_schema(null, null, $1, null)', ['look around']);
  await outcomeOf(agent, 'describe_schema(null, $1, null, null)', ['secrets']);
  await outcomeOf(agent, 'check_read($1, $2, null, null, null)', ['query', 'select * from secrets']);
  await agent.query('select countersign.record_read($1, $2, $3, $4, null, 3, 12, null, null)', ['query', 'select 1', '[]', 'why']);
  await agent.query('select countersign.record_refusal($1, $2, $3, $4, $5, null, null)', ['query', 'MULTI_STATEMENT', 'two', null, 'select 1; select 2']);
  await outcomeOf(alice, 'approve($1)', ['00000000']);
  await setPolicy(db, 'sample_rows', '5');
  await db.as('admin').query('select countersign.allow(\'read\', \'stock\')');
  expect(await newest(15)).toEqual([
    'delete_rows refused WHERE_REQUIRED', 'update_rows refused UNKNOWN_TABLE', 'insert_rows refused NOT_WRITABLE', 'run_migration refused MULTI_STATEMENT',
    'execute_plan refused UNKNOWN_TOKEN', 'plan_status read', 'plan_status refused UNKNOWN_TOKEN', 'describe_schema read', 'describe_schema refused NOT_READABLE',
    'query refused NOT_READABLE', 'query read', 'query refused MULTI_STATEMENT', 'approve refused UNKNOWN_TOKEN', 'policy policy', 'policy policy',
  ]);
});

test('parameters are recorded by shape, never by value', async () => {
  const preview = accepted(await previewUpdate(agent, 'customers', { name: 'Zebedee Quux' }, 'id = $1', [3]));
  accepted(await execute(agent, preview));
  expect(await one(db, 'select params_redacted from countersign_data.event where plan_token = $1 order by id limit 1', [preview.detail.plan_token]))
    .toEqual([{ type: 'number', length: 1 }, { type: 'string', length: 14 }]);
  expect(await one(db, 'select count(*) from countersign_data.event e where e::text like \'%Zebedee%\'')).toBe('0');
});

describe('events cannot be rewritten', () => {
  const attempts = (table: string): string[] => [
    `update ${table} set reason = 'rewritten'`, `delete from ${table}`, `truncate ${table} cascade`,
  ];

  test.each(['countersign_data.event', 'countersign_data.tombstone'].flatMap(attempts))('not by their owner, nor by a superuser who leaves the triggers on: %s', async (statement) => {
    const client = await db.connect('admin');
    for (const role of [null, 'countersign_owner', 'countersign_engine']) {
      if (role !== null) await client.query(`set session authorization ${role}`);
      expect(await sqlstate(client.query(statement))).toBe('42501');
      await client.query('reset session authorization');
    }
    await client.end();
  });

  test('there is something to rewrite in both tables, and it stays', async () => {
    expect(Number(await one(db, 'select count(*) from countersign_data.event'))).toBeGreaterThan(20);
    expect(Number(await one(db, 'select count(*) from countersign_data.tombstone'))).toBe(4);
    expect(await one(db, 'select count(*) from countersign.verify_chain()')).toBe('0');
  });

  test.each([
    'update countersign_data.plan set statement = \'delete from stock\'', 'update countersign_data.plan set total_rows = 0', 'update countersign_data.plan set login = \'postgres\'',
    'update countersign_data.plan set gate = \'{}\'', 'update countersign_data.plan set params = \'[1]\'', 'update countersign_data.plan set digest = null', 'update countersign_data.plan set shown = \'{}\'',
  ])('a plan is immutable but for its state, even for a superuser: %s', async (statement) => {
    expect(await sqlstate(db.as('admin').query(statement))).toBe('42501');
  });

  test('a plan cannot be given a state that no event made', async () => {
    await waiting(db, KINDS[2] ?? expect.fail());
    expect(await sqlstate(db.as('admin').query('update countersign_data.plan set state = \'approved\' where state = \'awaiting_approval\''))).toBe('23503');
    expect(await sqlstate(db.as('admin').query('update countersign_data.plan set state_seq = 1 where state = \'executed\''))).toBe('23503');
  });

  test('clock, identity, place and hash of an event are the trigger\'s, whatever an insert says', async () => {
    const admin = await db.connect('admin');
    const { rows } = await admin.query(`
      insert into countersign_data.event (chain, seq, prev_seq, from_state, to_state, status, channel, ts, login, hash)
      values (gen_random_uuid(), 77, 76, 'none', 'none', 'read', 'test', '1999-01-01', 'somebody', sha256('x'))
      returning ts > now() - interval '1 minute' as now, login, seq, octet_length(hash) as hash, hash <> sha256('x') as own`);
    expect(rows).toEqual([{ now: true, login: db.role('admin'), seq: 1, hash: 32, own: true }]);
    await admin.end();
  });
});
