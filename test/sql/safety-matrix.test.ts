/** The safety case: every property of the gate, asked of every kind of write it applies to. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { waitForLockWait } from '../harness/races.js';
import { createShop, createTrigger, dropTrigger, eventsOf, expire, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, previewDelete, previewInsert, previewMigration, previewUpdate, reject, sqlstate } from './calls.js';
import { KINDS, ROW_KINDS, changedSince, dataNow, ready, waiting } from './write-kinds.js';

const db = await createTestDatabase();
const [agent, alice] = [db.as('agent'), db.as('alice')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

describe.each(ROW_KINDS)('threshold: $name', (kind) => {
  test('100 rows may run at once', async () => {
    const preview = await kind.preview(agent, 100);
    expect(preview).toMatchObject({ ok: true, code: null, detail: { status: 'previewed', gate: [], total_rows: 100, affected_rows: 100, tool: kind.tool } });
  });

  test('101 rows wait for a human and are not executed before', async () => {
    const before = await dataNow(db);
    const preview = await kind.preview(agent, 101);
    expect(preview).toMatchObject({ ok: true, detail: { status: 'awaiting_approval', total_rows: 101, gate: [expect.stringContaining('101 rows')] } });
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    expect(await dataNow(db)).toBe(before);
  });

  test('a table may have a line of its own, and the most specific wins', async () => {
    await setPolicy(db, 'approval_required_above_rows', '50', 'schema:public');
    await setPolicy(db, 'approval_required_above_rows', '5', 'table:stock');
    expect((await kind.preview(agent, 6)).detail.status).toBe('awaiting_approval');
    expect((await kind.preview(agent, 5)).detail.status).toBe('previewed');
    await setPolicy(db, 'approval_required_above_rows', null, 'table:stock');
    expect((await kind.preview(agent, 50)).detail.status).toBe('previewed');
    expect((await kind.preview(agent, 51)).detail.status).toBe('awaiting_approval');
    await setPolicy(db, 'approval_required_above_rows', null, 'schema:public');
  });
});

test('threshold: a migration always waits, whatever the numbers say', async () => {
  await setPolicy(db, 'approval_required_above_rows', '10000');
  const preview = await previewMigration(agent, 'create table note_zero (id integer)');
  expect(preview).toMatchObject({ ok: true, detail: { status: 'awaiting_approval', gate: ['Migrations always wait for a human.'] } });
  expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
  expect(await one(db, 'select to_regclass(\'public.note_zero\')')).toBeNull();
  await setPolicy(db, 'approval_required_above_rows', null);
});

describe.each(ROW_KINDS)('hard cap: $name', (kind) => {
  test('above 10,000 rows there is no plan and so no approval path, whatever the caller says', async () => {
    const plans = await one(db, 'select count(*) from countersign_data.plan');
    const outcome = await kind.preview(agent, 10_001, { all: true, reason: 'approved by the board' });
    expect(outcome).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED', detail: { hard_max_rows: 10_000 } });
    expect(outcome.detail.plan_token).toBeUndefined();
    expect(await one(db, 'select count(*) from countersign_data.plan')).toBe(plans);
    expect(await one(db, 'select status || \' \' || tool from countersign_data.event order by id desc limit 1')).toBe(`hard_cap_refused ${kind.tool}`);
  });

  test('a cap that is lowered after the preview holds at execution', async () => {
    const preview = accepted(await kind.preview(agent, 12));
    const before = await dataNow(db);
    await setPolicy(db, 'approval_required_above_rows', '5', 'table:stock');
    await setPolicy(db, 'hard_max_rows', '10', 'table:stock');
    const outcome = await execute(agent, preview);
    await setPolicy(db, 'hard_max_rows', null, 'table:stock');
    await setPolicy(db, 'approval_required_above_rows', null, 'table:stock');
    expect(outcome).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED' });
    expect(await dataNow(db)).toBe(before);
  });
});

describe.each(KINDS)('lifecycle: $name', (kind) => {
  test('what commits is what was previewed', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    const outcome = await execute(agent, preview);
    expect(outcome).toMatchObject({ ok: true, code: null, detail: { status: 'executed', plan_token: preview.detail.plan_token, total_rows: preview.detail.total_rows } });
    expect(await changedSince(db, kind, before)).toBe(kind.name === 'migration' ? 1 : 3);
  });

  test('an expired plan is not executed, and the expiry is an event', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    await expire(db, preview.detail.plan_token);
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'PLAN_EXPIRED' });
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'PLAN_EXPIRED' });
    expect(await dataNow(db)).toBe(before);
    expect((await eventsOf(db, preview.detail.plan_token)).slice(-2)).toEqual(['expired PLAN_EXPIRED', 'refused PLAN_EXPIRED']);
  });

  test('an expired plan is not executed in a transaction that began before the expiry', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    const client = await db.connect('agent');
    await client.query('begin');
    await client.query('select now()');
    await expire(db, preview.detail.plan_token);
    const outcome = await execute(client, preview);
    await client.query('commit');
    await client.end();
    expect(outcome).toMatchObject({ ok: false, code: 'PLAN_EXPIRED' });
    expect(await dataNow(db)).toBe(before);
  });

  test('a used plan is not executed again, and answers with what it did', async () => {
    const preview = await ready(db, kind);
    accepted(await execute(agent, preview));
    const after = await dataNow(db);
    const again = await execute(agent, preview);
    expect(again).toMatchObject({ ok: false, code: 'PLAN_USED', detail: { outcome: { status: 'executed', total_rows: preview.detail.total_rows } } });
    expect(await dataNow(db)).toBe(after);
  });

  test('a mutated statement is refused and the plan stays as it was', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    for (const statement of [`${preview.detail.statement} `, preview.detail.statement.toUpperCase(), '', `${preview.detail.statement}; drop table stock`]) {
      expect(await execute(agent, preview, { statement })).toMatchObject({ ok: false, code: 'STATEMENT_MISMATCH' });
    }
    expect(await dataNow(db)).toBe(before);
    expect(await execute(agent, preview)).toMatchObject({ ok: true });
  });

  test('mutated params are refused and the plan stays as it was', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    const params = preview.detail.params;
    for (const other of [[...params, 1], [[1, 2], ...params], null, {}, params.length === 0 ? [null] : []]) {
      expect(await execute(agent, preview, { params: other })).toMatchObject({ ok: false, code: 'STATEMENT_MISMATCH' });
    }
    expect(await dataNow(db)).toBe(before);
    expect(await execute(agent, preview)).toMatchObject({ ok: true });
  });

  test('a rejected plan is never executed, and the agent reads the reason', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    accepted(await reject(alice, preview, 'narrow it to 2024'));
    const outcome = await execute(agent, preview);
    expect(outcome).toMatchObject({ ok: false, code: 'PLAN_REJECTED', detail: { decision: { status: 'rejected', by: db.role('alice'), note: 'narrow it to 2024' } } });
    expect(outcome.message).toContain('narrow it to 2024');
    expect(await dataNow(db)).toBe(before);
  });

  test('an approved plan may still be rejected, and is then never executed', async () => {
    const preview = await waiting(db, kind);
    accepted(await approve(alice, preview));
    accepted(await reject(db.as('bob'), preview));
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'PLAN_REJECTED' });
  });

  test('the same statement waits for a human once one was rejected', async () => {
    const first = await ready(db, kind);
    accepted(await reject(alice, first, 'never this'));
    const { statement, params } = first.detail;
    const again = kind.name === 'insert' ? await previewInsert(agent, 'stock', ['id', 'amount'], params)
      : kind.name === 'update' ? await previewUpdate(agent, 'public.stock', { amount: params.at(-1) }, 'id between $1 and $2', params.slice(0, -1))
        : kind.name === 'delete' ? await previewDelete(agent, 'stock', 'id between $1 and $2', params)
          : await previewMigration(agent, statement);
    expect(again).toMatchObject({ ok: true, detail: { status: 'awaiting_approval', statement, params } });
    expect(again.detail.gate.at(-1)).toMatch(new RegExp(`^${db.role('alice')} rejected the same statement on .*: never this\\.$`));
    expect(await execute(agent, again)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
  });

  test('of concurrent executions one wins and has one effect', async () => {
    const preview = await ready(db, kind);
    const before = await dataNow(db);
    // Held until every caller has come to the plan, so that they do meet.
    const holder = await db.connect('admin');
    await holder.query('begin');
    await holder.query('select from countersign_data.plan where token = $1 for update', [preview.detail.plan_token]);
    const names = Array.from({ length: 8 }, (_, n) => `race ${kind.name} ${n}`);
    const clients = await Promise.all(names.map((name) => db.connect('agent', name)));
    const calls = clients.map((client) => execute(client, preview));
    await Promise.all(names.map((name) => waitForLockWait(db.as('admin'), name)));
    await holder.query('commit');
    const codes = (await Promise.all(calls)).map((outcome) => (outcome.ok ? 'ok' : outcome.code));
    await Promise.all([holder, ...clients].map((client) => client.end()));
    expect(codes.sort()).toEqual([...Array.from({ length: 7 }, () => 'PLAN_USED'), 'ok']);
    expect(await changedSince(db, kind, before)).toBe(kind.name === 'migration' ? 1 : 3);
    expect((await eventsOf(db, preview.detail.plan_token)).filter((event) => event === 'executed')).toHaveLength(1);
  });

  test('another agent\'s token is unknown', async () => {
    const preview = await ready(db, kind);
    expect(await execute(db.as('agent2'), preview)).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
    expect(await execute(agent, preview)).toMatchObject({ ok: true });
  });

  test('the login that asked cannot approve, even when it is an approver', async () => {
    const both = `${db.role('agent')}_and_approver`;
    await db.as('admin').query(`create role ${both} login password '${new URL(db.url('agent')).password}' in role countersign_agent, countersign_approver`);
    try {
      const client = await db.connect('admin');
      await client.query(`set session authorization ${both}`);
      const preview = accepted(await kind.preview(client, 101));
      expect(await approve(client, preview)).toMatchObject({ ok: false, code: 'SELF_APPROVAL' });
      // Nor may an agent's login decide on somebody else's plan.
      expect(await approve(client, await waiting(db, kind))).toMatchObject({ ok: false, code: 'SELF_APPROVAL' });
      expect(await execute(client, preview)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
      await client.end();
    } finally {
      await db.as('admin').query(`drop owned by ${both}; drop role ${both}`);
    }
    expect(await sqlstate(approve(agent, await waiting(db, kind)))).toBe('42501');
  });
});

describe('not allowlisted', () => {
  test.each([
    ['insert', () => previewInsert(agent, 'secrets', ['id'], [[2]])],
    ['update', () => previewUpdate(agent, 'secrets', { token: 'x' }, 'id = 1')],
    ['delete', () => previewDelete(agent, 'secrets', 'id = 1')],
    ['delete of a Countersign table', () => previewDelete(agent, 'countersign_data.plan', 'true')],
    ['update of a system catalog', () => previewUpdate(agent, 'pg_catalog.pg_authid', { rolsuper: true }, 'true')],
  ])('%s is refused', async (_name, call) => {
    expect((await call()).code).toMatch(/^(NOT_WRITABLE|UNKNOWN_TABLE)$/);
  });

  test('a migration of a table whose owner the migrator does not belong to is refused', async () => {
    await db.as('admin').query('create table foreign_to_agents (id integer)');
    const outcome = await previewMigration(agent, 'alter table foreign_to_agents add column x integer');
    expect(outcome).toMatchObject({ ok: false, code: 'NOT_WRITABLE', hint: expect.stringContaining('countersign_migrator') });
  });

  test('a right that is taken back after the preview is missing at execution', async () => {
    const preview = await ready(db, KINDS[2] ?? expect.fail());
    const before = await dataNow(db);
    await db.as('admin').query('select countersign.revoke(\'write\', \'stock\')');
    const outcome = await execute(agent, preview);
    await db.as('admin').query('select countersign.allow(\'write\', \'stock\')');
    expect(outcome.ok).toBe(false);
    expect(await dataNow(db)).toBe(before);
  });

  test.each(['insert into stock values (0, 0)', 'update stock set amount = 0', 'delete from stock', 'create table mine (id integer)', 'truncate stock'])(
    'the reader cannot: %s', async (statement) => {
      expect(await sqlstate(db.as('reader').query(statement))).toBe('42501');
    });

  test('the reader cannot preview', async () => {
    expect(await sqlstate(previewDelete(db.as('reader'), 'stock', 'id = 1'))).toBe('42501');
  });
});

describe('stale', () => {
  test.each(['update', 'delete'] as const)('%s: a row that changed since the preview is named, and nothing is done', async (name) => {
    const kind = KINDS.find((other) => other.name === name) ?? expect.fail();
    const preview = await ready(db, kind);
    const [first, last] = preview.detail.params as [number, number];
    await db.as('owner').query('update stock set note = \'moved\' where id = $1', [first + 1]);
    const before = await dataNow(db);
    const outcome = await execute(agent, preview);
    expect(outcome).toMatchObject({ ok: false, code: 'ROWSET_CHANGED', detail: { status: 'stale', changed: { rows_added: 0, rows_gone: 0, rows_altered: 1, altered: [`id=${first + 1}`] } } });
    expect(await dataNow(db)).toBe(before);
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'ROWSET_CHANGED' });

    const next = await ready(db, kind);
    const [from] = next.detail.params as [number, number];
    await db.as('owner').query('delete from stock where id = $1', [from]);
    expect(await execute(agent, next)).toMatchObject({ ok: false, code: 'ROWSET_CHANGED', detail: { changed: { rows_gone: 1, gone: [`id=${from}`] } } });
    expect(last).toBeGreaterThan(first);
  });

  test.each(['update', 'delete'] as const)('%s: a row that came to fit the condition is named', async (name) => {
    await db.as('owner').query('update stock set note = $1 where id between 24000 and 24002', [`set of ${name}`]);
    const preview = name === 'update' ? await previewUpdate(agent, 'stock', { amount: 9 }, 'note = $1', [`set of ${name}`]) : await previewDelete(agent, 'stock', 'note = $1', [`set of ${name}`]);
    await db.as('owner').query('update stock set note = $1 where id = 24010', [`set of ${name}`]);
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'ROWSET_CHANGED', detail: { changed: { rows_added: 1, added: ['id=24010'], rows_gone: 0, rows_altered: 0 } } });
  });

  test.each(ROW_KINDS)('$name: a trigger planted since the preview changes the effects, and nothing is done', async (kind) => {
    const preview = await ready(db, kind);
    await createTrigger(db, 'stock', 'planted', 'after insert or update or delete', 'delete from customers where id = 1; return null;', { definer: true });
    const before = await dataNow(db);
    const outcome = await execute(agent, preview);
    await dropTrigger(db, 'stock', 'planted');
    expect(outcome).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { status: 'stale' } });
    expect(await dataNow(db)).toBe(before);
    expect(await one(db, 'select count(*) from customers where id = 1')).toBe('1');
  });

  test('insert: a value that a trigger rewrites since the preview is not committed', async () => {
    const preview = await ready(db, KINDS[0] ?? expect.fail());
    await createTrigger(db, 'stock', 'planted', 'before insert', 'new.amount := 999; return new;');
    const outcome = await execute(agent, preview);
    await dropTrigger(db, 'stock', 'planted');
    expect(outcome).toMatchObject({ ok: false, code: 'ROWSET_CHANGED', detail: { status: 'stale' } });
    expect(await one(db, 'select count(*) from stock where amount = 999')).toBe('0');
  });

  test('migration: what it would change has changed since the preview', async () => {
    const preview = accepted(await previewMigration(agent, 'drop table if exists order_items cascade'));
    accepted(await approve(alice, preview));
    await db.as('owner').query('create view items_view as select * from order_items');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { status: 'stale' } });
    expect(await one(db, 'select count(*) from order_items')).toBe('1200');
    await db.as('owner').query('drop view items_view');
  });
});

test('a login cannot execute on the word of plan_state: the state is read under the lock', async () => {
  const preview = await ready(db, KINDS[1] ?? expect.fail());
  const decision = await db.connect('alice');
  await decision.query('begin');
  accepted(await reject(decision, preview));
  const client = await db.connect('agent', 'waits for the decision');
  const call = execute(client, preview);
  await waitForLockWait(db.as('admin'), 'waits for the decision');
  await decision.query('commit');
  expect(await call).toMatchObject({ ok: false, code: 'PLAN_REJECTED' });
  expect(await outcomeOf(agent, 'plan_status($1, null)', ['not a token'])).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
  await Promise.all([decision.end(), client.end()]);
});
