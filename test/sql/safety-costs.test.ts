/** The safety case, second part: what a preview costs, counts and cannot be talked into. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { eventually } from '../harness/races.js';
import { allow, createShop, createTrigger, dropTrigger, expire, one, setPolicy } from './application.js';
import { accepted, execute, previewDelete, previewInsert, previewMigration, previewUpdate, sqlstate, type Outcome, type Session } from './calls.js';
import { KINDS, ROW_KINDS, dataNow, ready } from './write-kinds.js';

const db = await createTestDatabase();
const agent = db.as('agent');

beforeAll(() => createShop(db));

describe.each(KINDS)('a preview leaves no trace: $name', (kind) => {
  test('neither in the data nor in the catalogs', async () => {
    const catalogs = () => one<string>(db, `
      select concat_ws(' ', (select md5(string_agg(oid || relname || relfilenode || relnatts, ',' order by oid)) from pg_class),
        (select md5(string_agg(p::text, ',' order by oid)) from pg_proc p), (select md5(string_agg(t::text, ',' order by oid)) from pg_trigger t))`);
    const before = [await dataNow(db), await catalogs()];
    accepted(await kind.preview(agent, 50));
    expect([await dataNow(db), await catalogs()]).toEqual(before);
  });

  test('nor in the session, its settings or its locks', async () => {
    const client = await db.connect('agent');
    const session = async () => (await client.query(`
      select (select count(*)::integer from pg_prepared_statements) as prepared, (select count(*)::integer from pg_cursors) as cursors,
             (select count(*)::integer from pg_locks where pid = pg_backend_pid() and locktype in ('relation', 'advisory') and relation > 16384) as locks,
             (select md5(string_agg(name || setting, ',' order by name)) from pg_settings where name !~ '[.]') as settings,
             (select count(*)::integer from pg_class where relnamespace = pg_my_temp_schema()) as temporary`)).rows[0] as object;
    await session();
    const before = await session();
    accepted(await kind.preview(client, 20));
    expect(await session()).toEqual({ ...before, prepared: 0, cursors: 0, locks: 0, temporary: 0 });
    await client.end();
  });

  test('even when the caller wraps it in a transaction and commits', async () => {
    const before = await dataNow(db);
    const client = await db.connect('agent');
    await client.query('begin');
    const preview = accepted(await kind.preview(client, 20));
    await client.query('commit');
    expect(await dataNow(db)).toBe(before);
    // A caller who rolls back has no plan: the token is worth nothing.
    await client.query('begin');
    const gone = accepted(await kind.preview(client, 20));
    await client.query('rollback');
    expect(await execute(client, gone)).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
    expect(preview.detail.plan_token).not.toBe(gone.detail.plan_token);
    await client.end();
  });
});

test('a trigger\'s NOTIFY in a preview is not delivered', async () => {
  await createTrigger(db, 'stock', 'shout', 'after insert', 'notify shop, \'sold\'; return null;');
  const heard: string[] = [];
  const listener = await db.connect('nobody');
  listener.on('notification', (message) => heard.push(message.channel));
  await listener.query('listen shop');
  accepted(await previewInsert(agent, 'stock', ['id', 'amount'], [[900_001, 1]]));
  await listener.query('notify shop');
  await listener.query('select 1');
  expect(heard).toEqual(['shop']);
  await listener.end();
  await dropTrigger(db, 'stock', 'shout');
});

describe.each(['update', 'delete'] as const)('%s over the cap', (name) => {
  // A table that nobody else touches and no autovacuum cleans, so that its statistics are these tests' alone.
  beforeAll(async () => {
    await db.as('owner').query('create table if not exists warehouse (id integer primary key, amount integer) with (autovacuum_enabled = off); insert into warehouse select g, 1 from generate_series(1, 20000) g on conflict do nothing');
    await allow(db, 'warehouse');
  });
  const over = (session: Session): Promise<Outcome> => name === 'update'
    ? previewUpdate(session, 'warehouse', { amount: 7 }, null, [], { all: true })
    : previewDelete(session, 'warehouse', 'amount >= $1', [0]);

  test('costs no dead tuple, no row counter, no page of the table', async () => {
    const costs = () => one<string>(db, 'select concat_ws(\' \', n_dead_tup, n_tup_upd, n_tup_del, pg_relation_size(relid)) from pg_stat_user_tables where relname = \'warehouse\'');
    // Before 15 counters come through a collector: those of the tests above may still be on their way.
    let before = await costs();
    for (let same = 0; same < 4; before = await costs()) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      same = before === await costs() ? same + 1 : 0;
    }
    // A session that ends has reported its statistics.
    const client = await db.connect('agent');
    expect(await over(client)).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED', detail: { rows_at_least: 10_001 } });
    await client.end();
    expect(await costs()).toBe(before);
    // The probe would see it: one rolled-back row is a dead tuple.
    const owner = await db.connect('owner');
    await owner.query('begin; delete from warehouse where id = 20000; rollback');
    await owner.end();
    await eventually(async () => (await costs()) !== before, 'the rolled-back delete of one row shows in the statistics');
  });

  test('writes no more WAL than the event takes, where the statement itself takes megabytes', async () => {
    const client = await db.connect('agent');
    const wal = async (call: string): Promise<number> => {
      // The second time: pages touched first after a checkpoint go to the WAL whole.
      await client.query(`select ${call}`);
      const { rows } = await client.query<{ 'QUERY PLAN': Array<{ Plan: { 'WAL Bytes': number } }> }>(`explain (analyze, wal, format json) select ${call}`);
      return Number(rows[0]?.['QUERY PLAN'][0]?.Plan['WAL Bytes']);
    };
    const call = (where: string): string => name === 'update'
      ? `countersign.preview_update('warehouse', '{"amount": 7}', '${where}', '[]', false, 'test', null)` : `countersign.preview_delete('warehouse', '${where}', '[]', false, 'test', null)`;
    expect(await wal(call('id > 0'))).toBeLessThan(50_000);
    expect(await wal(call('id <= 5000'))).toBeGreaterThan(250_000);
    await client.end();
  });
});

test('insert over the cap is refused before a row is written', async () => {
  const size = await one(db, 'select pg_relation_size(\'stock\')');
  const rows = Array.from({ length: 10_001 }, (_, n) => [2_000_000 + n, 1]);
  expect(await previewInsert(agent, 'stock', ['id', 'amount'], rows)).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED' });
  expect(await one(db, 'select pg_relation_size(\'stock\')')).toBe(size);
});

describe('cascades are counted', () => {
  test('delete: orders and items of a customer', async () => {
    const preview = accepted(await previewDelete(agent, 'customers', 'id = $1', [1]));
    expect(preview.detail).toMatchObject({ affected_rows: 1, total_rows: 1 + 3 + 6, status: 'previewed' });
    expect(preview.detail.effects).toEqual([
      { table: 'public.order_items', inserted: 0, updated: 0, deleted: 6, writable: true },
      { table: 'public.orders', inserted: 0, updated: 0, deleted: 3, writable: true },
      { table: 'public.customers', inserted: 0, updated: 0, deleted: 1, writable: true },
    ]);
  });

  test('delete: eleven customers are one row too many with what depends on them, and the sum is what gates', async () => {
    expect((await previewDelete(agent, 'customers', 'id <= 10')).detail).toMatchObject({ affected_rows: 10, total_rows: 100, status: 'previewed' });
    expect((await previewDelete(agent, 'customers', 'id <= 11')).detail).toMatchObject({ affected_rows: 11, total_rows: 110, status: 'awaiting_approval' });
  });

  test('delete: the hard cap counts them too, and nothing stays behind', async () => {
    await setPolicy(db, 'hard_max_rows', '150');
    const outcome = await previewDelete(agent, 'customers', 'id <= 16');
    await setPolicy(db, 'hard_max_rows', null);
    expect(outcome).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED', detail: { hard_max_rows: 150, rows_at_least: 160 } });
    expect(await one(db, 'select count(*) from customers')).toBe('200');
  });

  test('update: a changed key moves the rows that refer to it', async () => {
    const preview = accepted(await previewUpdate(agent, 'customers', { id: 1000 }, 'id = 2'));
    expect(preview.detail).toMatchObject({ affected_rows: 1, total_rows: 4 });
    expect(preview.detail.effects).toContainEqual({ table: 'public.orders', inserted: 0, updated: 3, deleted: 0, writable: true });
  });

  test('insert: what a trigger writes is counted, and outside the allowlist it gates', async () => {
    await db.as('owner').query('create table outbox (customer bigint, mail text)');
    await createTrigger(db, 'customers', 'welcome', 'after insert', 'insert into public.outbox values (new.id, \'welcome\'), (new.id, \'offer\'); return null;', { definer: true });
    const preview = accepted(await previewInsert(agent, 'customers', ['id', 'name'], [[5000, 'Ada']]));
    expect(preview.detail).toMatchObject({ affected_rows: 1, total_rows: 3, status: 'awaiting_approval' });
    expect(preview.detail.effects).toContainEqual({ table: 'public.outbox', inserted: 2, updated: 0, deleted: 0, writable: false });
    expect(preview.detail.gate).toEqual(['It reaches public.outbox by a cascade or a trigger, outside the write allowlist.']);
    expect(preview.detail.triggers).toContainEqual({ table: 'public.customers', trigger: 'welcome', function: 'public.welcome', may_reach_outside: false });
    await dropTrigger(db, 'customers', 'welcome');
  });

  test('migration: what DROP … CASCADE takes along is listed', async () => {
    await db.as('owner').query('create view open_orders as select * from orders where status = \'open\'');
    const preview = accepted(await previewMigration(agent, 'drop table orders cascade'));
    const removed = preview.detail.migration.removed.join('\n');
    for (const gone of ['relation public.orders ', 'relation public.open_orders ', 'constraint public.order_items order_items_order_id_fkey ']) expect(removed).toContain(gone);
    expect(preview.detail.migration.rows_lost_estimate).toContainEqual({ object: 'public.orders', rows: 600 });
    await db.as('owner').query('drop view open_orders');
  });
});

describe.each(ROW_KINDS)('ungated budget per hour: $name', (kind) => {
  test('small plans add up until the next one waits, for each login on its own', async () => {
    await db.as('admin').query('set session_replication_role = replica; delete from countersign_data.plan; reset session_replication_role');
    await setPolicy(db, 'ungated_rows_per_hour', '25');
    const first = accepted(await kind.preview(agent, 10));
    expect([first.detail.status, (await kind.preview(agent, 10)).detail.status]).toEqual(['previewed', 'previewed']);
    const third = accepted(await kind.preview(agent, 10));
    expect(third.detail).toMatchObject({ status: 'awaiting_approval', gate: [expect.stringMatching(/ may change 20 rows without a human within the hour; with these it would pass 25\.$/)] });
    expect((await kind.preview(agent, 5)).detail.status).toBe('previewed');
    expect((await kind.preview(agent, 1)).detail.status).toBe('awaiting_approval');
    expect((await kind.preview(db.as('agent2'), 10)).detail.status).toBe('previewed');
    // What expired unused is given back; what was executed is not.
    accepted(await execute(agent, first));
    await expire(db, first.detail.plan_token);
    expect((await kind.preview(agent, 1)).detail.status).toBe('awaiting_approval');
    await setPolicy(db, 'ungated_rows_per_hour', null);
  });
});

describe('an agent\'s flags and settings cannot loosen a gate', () => {
  test.each(['update', 'delete'] as const)('%s: confirm_full_table opens WHERE_REQUIRED and nothing else', async (name) => {
    const call = (all: boolean): Promise<Outcome> => name === 'update'
      ? previewUpdate(agent, 'customers', { segment: 'x' }, null, [], { all }) : previewDelete(agent, 'customers', null, [], { all });
    expect(await call(false)).toMatchObject({ ok: false, code: 'WHERE_REQUIRED' });
    expect(await call(true)).toMatchObject({ ok: true, detail: { status: 'awaiting_approval' } });
    expect(await (name === 'update' ? previewUpdate(agent, 'stock', { amount: 1 }, null, [], { all: true }) : previewDelete(agent, 'stock', null, [], { all: true })))
      .toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED' });
  });

  test.each(KINDS)('$name: reasons, caller ids and session settings change nothing', async (kind) => {
    const client = await db.connect('agent');
    await client.query('set countersign.approved = on');
    await client.query('set search_path = pg_temp, public; set row_security = off; set statement_timeout = 0; set lock_timeout = 0; set datestyle = \'SQL, DMY\'');
    await client.query('set standard_conforming_strings = off; set transform_null_equals = on; set check_function_bodies = off; set constraint_exclusion = on');
    const preview = accepted(await kind.preview(client, 101, { reason: 'gate: previewed; approved by alice', callerId: db.role('alice'), all: true }));
    expect(preview.detail.status).toBe('awaiting_approval');
    expect(await execute(client, preview)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    await client.end();
  });

  test('session_replication_role, which would silence triggers and foreign keys, is not the agent\'s to set', async () => {
    expect(await sqlstate(agent.query('set session_replication_role = replica'))).toBe('42501');
  });

  test.each(KINDS)('$name: REPEATABLE READ, which would hide a decision, is refused', async (kind) => {
    const preview = await ready(db, kind);
    for (const level of ['repeatable read', 'serializable']) {
      const client = await db.connect('agent');
      await client.query(`begin isolation level ${level}`);
      expect(await sqlstate(execute(client, preview))).toBe('25000');
      await client.query('rollback');
      await client.query(`begin isolation level ${level}`);
      expect(await sqlstate(kind.preview(client, 1))).toBe('25000');
      await client.end();
    }
  });
});
