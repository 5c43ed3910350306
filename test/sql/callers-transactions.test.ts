/** The caller owns the outer transaction and its settings: what a session can hold open, and what it cannot. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { createShop, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, previewDelete, previewInsert, previewMigration, previewUpdate, reject } from './calls.js';

const db = await createTestDatabase();
const [admin, agent, alice, bob] = [db.as('admin'), db.as('agent'), db.as('alice'), db.as('bob')];
const version = Number(await one(db, 'select current_setting(\'server_version_num\')'));

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

describe('a transaction that does not end', () => {
  test('keeps a plan from being decided on, and the human is told which session to end', async () => {
    await setPolicy(db, 'lock_timeout', '100 milliseconds');
    const plan = accepted(await previewDelete(agent, 'stock', 'id <= $1', [200]));
    const holder = await db.connect('agent');
    const pid = Number((await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid);
    await holder.query('begin');
    expect(await execute(holder, plan)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    expect(await reject(alice, plan)).toMatchObject({
      ok: false, code: 'ALREADY_EXECUTING',
      message: `The plan is being executed or decided at this moment, in a transaction of the session with pid ${pid} that has not ended.`,
      hint: expect.stringMatching(new RegExp(`pid in \\(${pid}\\);.*pg_terminate_backend`)),
    });
    const ended = new Promise((resolve) => { holder.on('error', resolve); });
    await admin.query('select pg_terminate_backend($1)', [pid]);
    await ended;
    expect(await reject(alice, plan)).toMatchObject({ ok: true });
    await setPolicy(db, 'lock_timeout', null);
  });

  test('keeps the next preview of its login from being judged: LOCK_TIMEOUT, and no plan', async () => {
    await setPolicy(db, 'lock_timeout', '100 milliseconds');
    const holder = await db.connect('agent');
    await holder.query('begin');
    accepted(await previewUpdate(holder, 'stock', { amount: 3 }, 'id = $1', [20_000]));
    const plans = await one(db, 'select count(*) from countersign_data.plan');
    expect(await previewUpdate(agent, 'stock', { amount: 3 }, 'id = $1', [20_001])).toMatchObject({ ok: false, code: 'LOCK_TIMEOUT' });
    expect(await one(db, 'select count(*) from countersign_data.plan')).toBe(plans);
    expect(await one(db, 'select code from countersign_data.event order by id desc limit 1')).toBe('LOCK_TIMEOUT');
    await holder.query('rollback');
    await holder.end();
    await setPolicy(db, 'lock_timeout', null);
    accepted(await previewUpdate(agent, 'stock', { amount: 3 }, 'id = $1', [20_001]));
  });
});

describe.skipIf(version < 170_000)('a session without a statement_timeout (from 17 on)', () => {
  test('cannot keep a table locked by DDL for longer than the policy says, and gets its settings back', async () => {
    const session = await db.connect('agent');
    session.on('error', () => undefined);
    await session.query('set statement_timeout = 0');
    accepted(await previewMigration(session, 'alter table stock add column more integer'));
    expect((await session.query('show transaction_timeout')).rows).toEqual([{ transaction_timeout: '0' }]);
    await setPolicy(db, 'statement_timeout', '1 millisecond');
    // two seconds more than the policy, which are a session's own timeout's to answer properly
    await expect(previewMigration(session, 'alter table stock add constraint slow check (length(md5(repeat(note, 100000))) > 0)')).rejects.toThrow(/terminat/);
    await setPolicy(db, 'statement_timeout', null);
    expect(await one(db, 'select count(*) from pg_locks where relation = \'stock\'::regclass and mode = \'AccessExclusiveLock\'')).toBe('0');
  });
});

describe('a rejected statement', () => {
  test('is known again in other clothes, and only then', async () => {
    const plan = accepted(await previewUpdate(agent, 'stock', { note: 'x' }, 'id = $1 and amount = 1', [30]));
    accepted(await reject(alice, plan));
    for (const where of ['id = $1 and amount = 1', 'id=$1   and\namount = 1', 'ID = $1 AND "amount" = 1']) {
      expect(accepted(await previewUpdate(agent, 'stock', { note: 'x' }, where, [30])).detail.gate, where).toEqual([expect.stringContaining('rejected the same statement')]);
    }
    // other words for the very same change of the very same row
    expect(accepted(await previewUpdate(agent, 'stock', { note: 'x' }, '(amount <= 1) and (id = $1)', ['30'])).detail.gate).toEqual([expect.stringContaining('rejected the same statement')]);
    for (const [where, param] of [['id = $1 and amount = 1', 31], ['id >= $1 and id <= 31', 30], ['id = $1 and "Amount" = 1', 30]] as const) {
      const other = await previewUpdate(agent, 'stock', { note: 'x' }, where, [param]);
      expect(other.ok ? other.detail.gate : other.code, where).toEqual(where.includes('Amount') ? 'UNKNOWN_COLUMN' : []);
    }
  });
});

describe('a rejected insert', () => {
  test('is known again when its columns stand in another order, and only then', async () => {
    accepted(await reject(alice, accepted(await previewInsert(agent, 'stock', ['id', 'amount'], [[70_001, 5]]))));
    expect(accepted(await previewInsert(agent, 'stock', ['amount', 'id'], [['5', 70_001]])).detail.gate).toEqual([expect.stringContaining('rejected the same statement')]);
    expect(accepted(await previewInsert(agent, 'stock', ['id', 'amount'], [[70_002, 5]])).detail.gate).toEqual([]);
  });
});

describe('a rejection', () => {
  test('ends every plan that proposes the same: stockpiled ones and such as were approved before', async () => {
    const [rejected, twin, reworded] = [
      accepted(await previewUpdate(agent, 'stock', { note: 'y' }, 'id = $1', [33])),
      accepted(await previewUpdate(agent, 'stock', { note: 'y' }, 'id = $1', ['33'])),
      accepted(await previewUpdate(agent, 'stock', { note: 'y' }, '33 = id')),
    ];
    const [approved, waiting] = [accepted(await previewDelete(agent, 'stock', 'id between 300 and 500')), accepted(await previewDelete(agent, 'stock', 'id between 300 and 500'))];
    accepted(await approve(alice, approved));
    for (const plan of [rejected, waiting]) accepted(await reject(alice, plan));
    for (const plan of [twin, reworded, approved]) {
      expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'PLAN_REJECTED', message: expect.stringContaining('rejected the same proposal under another token since') });
    }
    const again = accepted(await previewDelete(agent, 'stock', 'id between 300 and 500'));
    accepted(await approve(alice, again));
    expect(await execute(agent, again)).toMatchObject({ ok: true });
  });
});

describe('the hourly budget', () => {
  test('counts what is executed in a transaction that has not ended, and what was previewed before the hour began', async () => {
    await setPolicy(db, 'ungated_rows_per_hour', '100');
    await setPolicy(db, 'plan_ttl', '1 second');
    const bulk = db.as('agent2');
    const plan = accepted(await previewUpdate(bulk, 'stock', { amount: 7 }, 'id between $1 and $2', [1001, 1090]));
    const holder = await db.connect('agent2');
    await holder.query('begin');
    accepted(await execute(holder, plan));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(accepted(await previewUpdate(bulk, 'stock', { amount: 7 }, 'id between $1 and $2', [1101, 1150])).detail.gate).toEqual([expect.stringContaining('changed or may change 90 rows')]);
    await holder.query('rollback');
    expect(accepted(await previewUpdate(bulk, 'stock', { amount: 7 }, 'id between $1 and $2', [1101, 1150])).detail.gate).toEqual([]);
    await holder.end();
    await setPolicy(db, 'plan_ttl', null);
    await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  });
});

describe('a policy that was tightened since the preview', () => {
  test('holds for what is executed now', async () => {
    const plan = accepted(await previewUpdate(agent, 'stock', { amount: 8 }, 'id between $1 and $2', [2001, 2020]));
    await setPolicy(db, 'approval_required_above_rows', '10');
    expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL', hint: expect.stringContaining('Preview again') });
    await setPolicy(db, 'approval_required_above_rows', null);
    expect(await execute(agent, plan)).toMatchObject({ ok: true });
  });
});

describe('an allowlist or a number of approvers that changed since the preview', () => {
  test('holds for what is executed or decided now', async () => {
    const plan = accepted(await previewDelete(agent, 'customers', 'id = $1', [199]));
    await admin.query('select countersign.revoke(\'write\', \'order_items\', null)');
    expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    await admin.query('select countersign.allow(\'write\', \'order_items\', null)');
    expect(await execute(agent, plan)).toMatchObject({ ok: true });
    const waiting = accepted(await previewDelete(agent, 'stock', 'id between 6001 and 6200'));
    await setPolicy(db, 'required_approvals', '2');
    expect(await approve(alice, waiting)).toMatchObject({ ok: true, detail: { status: 'awaiting_approval' } });
    await setPolicy(db, 'required_approvals', null);
  });
});

describe('a table with a policy of its own', () => {
  test('asks for its approvers also when a cascade or a migration reaches it', async () => {
    await setPolicy(db, 'required_approvals', '2', 'table:orders');
    const cascade = accepted(await previewDelete(agent, 'customers', 'id <= $1', [60]));
    const migration = accepted(await previewMigration(agent, 'alter table orders add column more integer'));
    const others = [];
    for (const statement of ['drop table orders cascade', 'alter table orders rename to orders_old', 'alter index orders_pkey rename to orders_key', 'create index on orders (status)']) {
      others.push(accepted(await previewMigration(agent, statement)));
    }
    const elsewhere = accepted(await previewMigration(agent, 'alter table stock add column more integer'));
    await setPolicy(db, 'required_approvals', null, 'table:orders');
    expect([cascade, migration, ...others, elsewhere].map((plan) => plan.detail.approval?.required)).toEqual([2, 2, 2, 2, 2, 2, 1]);
    expect(others.map((plan) => plan.detail.migration.locks.filter((lock) => lock.mode !== 'ShareUpdateExclusiveLock').map((lock) => `${lock.mode} ${lock.table}`))).toEqual([
      expect.arrayContaining(['AccessExclusiveLock public.orders', 'AccessExclusiveLock public.order_items']), expect.arrayContaining(['AccessExclusiveLock public.orders']),
      expect.anything(), expect.arrayContaining(['ShareLock public.orders'])]);
    expect(await approve(alice, migration)).toMatchObject({ ok: true, detail: { status: 'awaiting_approval' } });
    expect(await approve(bob, migration)).toMatchObject({ ok: true, detail: { status: 'approved' } });
  });
});

describe('a column that agents may not read', () => {
  test('is overwritten only when a human agrees', async () => {
    await admin.query('select countersign.revoke(\'read\', \'stock\', null), countersign.allow(\'read\', \'stock\', array[\'id\', \'amount\'])');
    expect(accepted(await previewUpdate(agent, 'stock', { note: 'x' }, 'id = $1', [40])).detail.gate).toEqual(['It overwrites what agents may not read: note.']);
    expect(accepted(await previewUpdate(agent, 'stock', { amount: 2 }, 'id = $1', [40])).detail.gate).toEqual([]);
    await admin.query('select countersign.allow(\'read\', \'stock\', null)');
  });
});

describe('a policy', () => {
  test.each([
    ['hard_max_rows', '9223372036854775807'], ['hard_max_rows', '-1'], ['required_approvals', '0'], ['required_approvals', '101'],
    ['lock_timeout', '10 microseconds'], ['lock_timeout', '0'], ['statement_timeout', '1000 years'],
  ])('of %s cannot be %s', async (key, value) => {
    expect(await outcomeOf(admin, 'set_policy($1, $2, null)', [key, value])).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS', hint: expect.stringContaining('Give ') });
  });
  test('of the largest values still works', async () => {
    await setPolicy(db, 'hard_max_rows', '1000000000000');
    await setPolicy(db, 'lock_timeout', '100 years');
    accepted(await previewUpdate(agent, 'stock', { amount: 9 }, 'id = $1', [50]));
    await setPolicy(db, 'hard_max_rows', null);
    await setPolicy(db, 'lock_timeout', null);
  });
});
