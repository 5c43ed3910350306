/** What is measured is what really happens: triggers, cascades, partitions, deferred constraints, locks and time. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { allow, createShop, createTrigger, dropTrigger, one, setPolicy } from './application.js';
import { waitForLockWait } from '../harness/races.js';
import { accepted, approve, execute, previewDelete, previewInsert, previewUpdate, sqlstate } from './calls.js';

const db = await createTestDatabase();
const [admin, agent, alice, owner] = [db.as('admin'), db.as('agent'), db.as('alice'), db.as('owner')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

describe('triggers', () => {
  test('a table with an updated_at trigger can be updated, and a later preview of the same rows too', async () => {
    for (const segment of ['a', 'b', 'a']) {
      const preview = accepted(await previewUpdate(agent, 'customers', { segment }, 'id between $1 and $2', [50, 52]));
      expect(preview.detail).toMatchObject({ status: 'previewed', affected_rows: 3, total_rows: 3, triggers: [{ table: 'public.customers', trigger: 'touch', function: 'public.touch', may_reach_outside: false }] });
      expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 3 } });
    }
    expect(await one(db, 'select count(*) from customers where segment = \'a\' and updated_at > now() - interval \'1 minute\'')).toBe('3');
  });

  test('a trigger that touched the row between preview and execution changes the row, and that is seen', async () => {
    const preview = accepted(await previewUpdate(agent, 'customers', { segment: 'c' }, 'id = 53'));
    await owner.query('update customers set active = active where id = 53');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'ROWSET_CHANGED', detail: { changed: { altered: ['id=53'] } } });
  });

  test('a BEFORE trigger that drops rows: what is counted is what stays', async () => {
    await createTrigger(db, 'stock', 'keep', 'before delete', 'if old.id % 2 = 0 then return null; end if; return old;');
    const preview = accepted(await previewDelete(agent, 'stock', 'id between 101 and 110'));
    expect(preview.detail).toMatchObject({ affected_rows: 5, total_rows: 5 });
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 5 } });
    expect(await one(db, 'select count(*) from stock where id between 101 and 110')).toBe('5');
    await dropTrigger(db, 'stock', 'keep');
  });

  test('a trigger that writes a hundred rows for each is counted, by the sum, against the line', async () => {
    await owner.query('create table ledger (stock_id bigint, n integer)');
    await allow(db, 'ledger');
    await createTrigger(db, 'stock', 'book', 'after update', 'insert into public.ledger select new.id, g from generate_series(1, 100) g; return null;');
    const preview = accepted(await previewUpdate(agent, 'stock', { amount: 5 }, 'id = 200'));
    expect(preview.detail).toMatchObject({ status: 'awaiting_approval', affected_rows: 1, total_rows: 101 });
    expect(preview.detail.effects).toContainEqual({ table: 'public.ledger', inserted: 100, updated: 0, deleted: 0, writable: true });
    await dropTrigger(db, 'stock', 'book');
  });

  test('a trigger that writes outside the allowlist gates, as definer; as the writer it fails', async () => {
    await createTrigger(db, 'stock', 'leak', 'after insert', 'update public.secrets set token = \'x\'; return null;', { definer: true });
    const preview = accepted(await previewInsert(agent, 'stock', ['id', 'amount'], [[700_001, 1]]));
    expect(preview.detail).toMatchObject({ status: 'awaiting_approval', gate: ['It reaches public.secrets by a cascade or a trigger, outside the write allowlist.'] });
    accepted(await approve(alice, preview));
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { total_rows: 2 } });
    await admin.query('alter function public.leak() security invoker');
    expect(await previewInsert(agent, 'stock', ['id', 'amount'], [[700_002, 1]])).toMatchObject({ ok: false, detail: { sqlstate: '42501' } });
    await dropTrigger(db, 'stock', 'leak');
  });

  test('a trigger that fakes the rollback signal does not fake a preview', async () => {
    await createTrigger(db, 'stock', 'fake', 'before delete', 'raise exception using errcode = \'CSRB0\', message = \'1\';');
    expect(await previewDelete(agent, 'stock', 'id = 300')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED' });
    await dropTrigger(db, 'stock', 'fake');
  });

  test('a trigger that truncates cannot be measured and is refused', async () => {
    await createTrigger(db, 'stock', 'wipe', 'after delete', 'truncate public.ledger; return null;', { each: 'statement', definer: true });
    expect(await previewDelete(agent, 'stock', 'id = 300')).toMatchObject({ ok: false, code: 'UNSUPPORTED_STATEMENT', message: expect.stringContaining('ledger') });
    await dropTrigger(db, 'stock', 'wipe');
  });
});

describe('cascades', () => {
  test('SET NULL is counted as an update of the rows that refer', async () => {
    await owner.query('create table staff (id integer primary key, boss integer references staff on delete set null); insert into staff select g, case when g > 1 then 1 end from generate_series(1, 8) g');
    await allow(db, 'staff');
    const preview = accepted(await previewDelete(agent, 'staff', 'id = 1'));
    expect(preview.detail).toMatchObject({ affected_rows: 1, total_rows: 8, effects: [{ table: 'public.staff', inserted: 0, updated: 7, deleted: 1, writable: true }] });
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { total_rows: 8 } });
    expect(await one(db, 'select count(*) from staff where boss is null')).toBe('7');
  });

  test('a cascade into a table that agents may not write gates', async () => {
    await owner.query('create table visits (customer_id bigint references customers on delete cascade); insert into visits select 60 from generate_series(1, 4)');
    const preview = accepted(await previewDelete(agent, 'customers', 'id = 60'));
    expect(preview.detail).toMatchObject({ status: 'awaiting_approval', total_rows: 14, gate: ['It reaches public.visits by a cascade or a trigger, outside the write allowlist.'] });
    expect(preview.detail.effects).toContainEqual({ table: 'public.visits', inserted: 0, updated: 0, deleted: 4, writable: false });
    accepted(await approve(alice, preview));
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 1, total_rows: 14 } });
    expect(await one(db, 'select count(*) from visits')).toBe('0');
  });

  test('more rows under the cascade than were previewed: nothing is done', async () => {
    const preview = accepted(await previewDelete(agent, 'customers', 'id = 61'));
    await owner.query('insert into orders (customer_id) values (61)');
    const outcome = await execute(agent, preview);
    expect(outcome).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { status: 'stale' } });
    expect(await one(db, 'select count(*) from customers where id = 61')).toBe('1');
  });

  test('other rows under the cascade, as many as were previewed: nothing is done, and they are named', async () => {
    await owner.query('insert into customers values (9001, \'test tenant\'), (9002, \'a real customer\')');
    await owner.query('insert into orders (id, customer_id, status) values (9001, 9001, \'junk\'), (9002, 9002, \'dear\')');
    const preview = accepted(await previewDelete(agent, 'customers', 'id = 9001'));
    expect(preview.detail.reached).toEqual([{ table: 'public.orders', rows: 1, sample_rows: [expect.objectContaining({ id: '9001', status: 'junk' })] }]);
    await owner.query('update orders set customer_id = 18003 - customer_id where id > 9000');
    expect(await execute(agent, preview)).toMatchObject({
      ok: false, code: 'EFFECTS_CHANGED', detail: { status: 'stale', changed: { added: ['public.orders id=9002'], gone: ['public.orders id=9001'] } },
    });
    expect(await one(db, 'select count(*) from orders where id > 9000')).toBe('2');
    await owner.query('delete from customers where id > 9000');
  });

  test('rows deeper down and in a table that refers to itself are compared, too; what agents may not read by count, and it is said', async () => {
    await owner.query('insert into customers values (9003, \'x\'); insert into orders (id, customer_id) values (9003, 9003); insert into order_items (id, order_id, sku) values (9003, 9003, \'a\')');
    const deep = accepted(await previewDelete(agent, 'customers', 'id = 9003'));
    expect(deep.detail.reached.map((reached) => `${reached.table} ${reached.rows}`)).toEqual(['public.orders 1', 'public.order_items 1']);
    expect(deep.detail.compared_by_count_only).toEqual([]);
    await owner.query('update order_items set sku = \'b\' where id = 9003');
    expect(await execute(agent, deep)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { changed: { altered: ['public.order_items id=9003'] } } });

    await owner.query('create table tree (id integer primary key, up integer references tree on delete cascade, note text); insert into tree select g, nullif(g - 1, 0), \'n\' from generate_series(1, 5) g');
    await allow(db, 'tree');
    const tree = accepted(await previewDelete(agent, 'tree', 'id = 1'));
    expect(tree.detail.reached.map((reached) => reached.rows)).toEqual([1, 1, 1, 1]);
    await owner.query('update tree set note = \'m\' where id = 5');
    expect(await execute(agent, tree)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { changed: { altered: ['public.tree id=5'] } } });

    await owner.query('create table unseen (customer_id bigint references customers on delete cascade); insert into unseen values (9003)');
    expect(accepted(await previewDelete(agent, 'customers', 'id = 9003')).detail.compared_by_count_only).toEqual(['public.unseen']);
    await owner.query('drop table unseen; delete from customers where id > 9000');
  });

  test('rows that another session is swapping in at this moment are waited for, and seen', async () => {
    await owner.query(`insert into customers values (9010, 'x'), (9011, 'y'); insert into orders (id, customer_id) values (9010, 9010), (9011, 9011);
      insert into order_items (id, order_id, sku) values (9010, 9010, 'approved'), (9011, 9011, 'precious')`);
    for (const swap of ['update order_items set order_id = 18021 - order_id where id > 9000', 'update order_items set sku = \'other\' where order_id = 9010']) {
      const preview = accepted(await previewDelete(agent, 'customers', 'id = 9010'));
      const [swapping, executing] = [await db.connect('owner'), await db.connect('agent', 'executes a cascade')];
      await swapping.query('begin');
      await swapping.query(swap);
      const outcome = execute(executing, preview);
      await Promise.race([waitForLockWait(db.as('admin'), 'executes a cascade'), outcome.then((early) => { throw new Error(`did not wait: ${JSON.stringify(early)}`); })]);
      await swapping.query('commit');
      expect(await outcome, swap).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED' });
      expect(await one(db, 'select count(*) from order_items where id > 9000')).toBe('2');
      await Promise.all([swapping.end(), executing.end()]);
    }
    await owner.query('delete from customers where id > 9000');
  });

  test('rows deeper than anybody looks, and rows that a key of a partition or of an inheriting table reaches', async () => {
    await owner.query('create table chain (id integer primary key, up integer references chain on delete cascade); insert into chain select g, nullif(g - 1, 0) from generate_series(1, 40) g');
    await owner.query(`create table whole (id integer primary key) partition by range (id); create table part partition of whole for values from (0) to (100); insert into whole values (1);
      create table leaf (id integer primary key, part_id integer references part on delete cascade, note text); insert into leaf values (1, 1, 'a');
      create table base (id integer primary key); create table derived (primary key (id)) inherits (base); insert into derived values (7);
      create table hanger (id integer primary key, derived_id integer references derived on delete cascade, note text); insert into hanger values (1, 7, 'a')`);
    for (const table of ['chain', 'whole', 'leaf', 'base', 'derived', 'hanger']) await allow(db, table);
    expect(accepted(await previewDelete(agent, 'chain', 'id = 1')).detail.compared_by_count_only).toEqual(['public.chain']);
    for (const [table, id, child] of [['whole', 1, 'leaf'], ['base', 7, 'hanger']] as const) {
      const preview = accepted(await previewDelete(agent, table, 'id = $1', [id]));
      expect(preview.detail.reached.map((reached) => reached.table), table).toEqual([`public.${child}`]);
      await owner.query(`update ${child} set note = 'b'`);
      expect(await execute(agent, preview), table).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED' });
    }
    await owner.query('drop table chain, leaf, whole, hanger, derived, base');
  });

  test('more rows under the cascade than the cap: refused before any is touched', async () => {
    await setPolicy(db, 'hard_max_rows', '100', 'table:customers');
    expect(await previewDelete(agent, 'customers', 'id between 100 and 150')).toMatchObject({ ok: false, code: 'HARD_MAX_ROWS_EXCEEDED', detail: { rows_at_least: 101 } });
    await setPolicy(db, 'hard_max_rows', null, 'table:customers');
  });

  test('rows that a new key reaches are compared as well', async () => {
    await owner.query('insert into customers values (9004, \'x\'); insert into orders (id, customer_id) values (9004, 9004)');
    const rekey = accepted(await previewUpdate(agent, 'customers', { id: 9005 }, 'id = $1', [9004]));
    expect(rekey.detail.reached).toMatchObject([{ table: 'public.orders', rows: 1 }]);
    await owner.query('update orders set status = \'paid\' where id = 9004');
    expect(await execute(agent, rekey)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED' });
    expect(await execute(agent, accepted(await previewUpdate(agent, 'customers', { id: 9005 }, 'id = $1', [9004])))).toMatchObject({ ok: true, detail: { total_rows: 2 } });
    await owner.query('delete from customers where id > 9000');
  });
});

describe('partitioned tables', () => {
  beforeAll(async () => {
    await owner.query(`
      create table reading (id bigint, day date not null, value numeric, primary key (id, day)) partition by range (day);
      create table reading_2024 partition of reading for values from ('2024-01-01') to ('2025-01-01');
      create table reading_2025 partition of reading for values from ('2025-01-01') to ('2026-01-01') partition by list (id);
      create table reading_2025_rest partition of reading_2025 default;
      insert into reading select g, date '2024-12-01' + g, g from generate_series(0, 59) g`);
    await allow(db, 'reading');
  });

  test('are written through their root and counted by partition', async () => {
    const preview = accepted(await previewUpdate(agent, 'reading', { value: '1.50' }, 'id between 29 and 32'));
    expect(preview.detail).toMatchObject({ status: 'previewed', affected_rows: 4, total_rows: 4 });
    expect(preview.detail.effects.map((effect) => [effect.table, effect.updated, effect.writable])).toEqual([['public.reading_2024', 2, true], ['public.reading_2025_rest', 2, true]]);
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 4 } });
    const gone = accepted(await previewDelete(agent, 'reading', 'id between 29 and 32'));
    expect(await execute(agent, gone)).toMatchObject({ ok: true, detail: { affected_rows: 4 } });
    const added = accepted(await previewInsert(agent, 'reading', ['id', 'day', 'value'], [[900, '2024-05-05', '1'], [901, '2025-05-05', null]]));
    expect(await execute(agent, added)).toMatchObject({ ok: true, detail: { affected_rows: 2 } });
  });

  test('a row that moves to another partition is counted there and here', async () => {
    const preview = accepted(await previewUpdate(agent, 'reading', { day: '2025-06-01' }, 'id = $1', [3]));
    expect(preview.detail).toMatchObject({ affected_rows: 1, status: 'previewed', changes: [{ before: { day: '2024-12-04' }, after: { day: '2025-06-01' } }] });
    expect(preview.detail.effects.map((effect) => [effect.table, effect.inserted, effect.deleted, effect.writable]).sort())
      .toEqual([['public.reading_2024', 0, 1, true], ['public.reading_2025_rest', 1, 0, true]]);
    expect(await execute(agent, preview)).toMatchObject({ ok: true });
    expect(await one(db, 'select tableoid::regclass::text from reading where id = 3')).toBe('reading_2025_rest');
  });

  test('a partition itself is not writable: the parent is what the allowlist names', async () => {
    expect(await previewDelete(agent, 'reading_2024', 'id = 4')).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
    expect((await admin.query('select ok, code from countersign.allow(\'write\', \'reading_2024\')')).rows).toEqual([{ ok: false, code: 'INVALID_ARGUMENTS' }]);
  });
});

describe('tables without a key', () => {
  beforeAll(async () => {
    await owner.query('create table log (at integer, line text); insert into log select g % 5, \'line \' || g % 3 from generate_series(1, 30) g');
    await allow(db, 'log');
  });

  test('can be updated and deleted from, duplicates and all', async () => {
    const update = accepted(await previewUpdate(agent, 'log', { line: 'new' }, 'at = 1'));
    expect(update.detail).toMatchObject({ affected_rows: 6, changes: expect.arrayContaining([expect.objectContaining({ key: null })]) });
    expect(await execute(agent, update)).toMatchObject({ ok: true, detail: { affected_rows: 6 } });
    const gone = accepted(await previewDelete(agent, 'log', 'at = 1'));
    expect(await execute(agent, gone)).toMatchObject({ ok: true, detail: { affected_rows: 6 } });
  });

  test('one duplicate more is another row set', async () => {
    const preview = accepted(await previewDelete(agent, 'log', 'at = 2 and line = $1', ['line 1']));
    await owner.query('insert into log select * from log where at = 2 and line = \'line 1\' limit 1');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'ROWSET_CHANGED' });
  });
});

describe('constraints', () => {
  test('a deferred foreign key fails in the preview, not after the approval', async () => {
    await owner.query('create table parts (id integer primary key, part_of integer references parts deferrable initially deferred); insert into parts values (1, null), (2, 1)');
    await allow(db, 'parts');
    expect(await previewDelete(agent, 'parts', 'id = 1')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23503' } });
    expect(await previewInsert(agent, 'parts', ['id', 'part_of'], [[3, 99]])).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23503' } });
    expect(await execute(agent, accepted(await previewDelete(agent, 'parts', 'id in (1, 2)')))).toMatchObject({ ok: true, detail: { affected_rows: 2 } });
  });

  test('a deferred trigger acts in the preview, so that what it does is counted', async () => {
    await db.as('admin').query(`create function public.later() returns trigger language plpgsql security definer as $$ begin delete from public.orders where customer_id = 70; return null; end $$;
      create constraint trigger later after insert on public.stock deferrable initially deferred for each row execute function public.later()`);
    const preview = accepted(await previewInsert(agent, 'stock', ['id', 'amount'], [[710_001, 1]]));
    expect(preview.detail.effects).toContainEqual({ table: 'public.orders', inserted: 0, updated: 0, deleted: 3, writable: true });
    await dropTrigger(db, 'stock', 'later');
  });

  test('a refused value says which rule, never another row\'s data', async () => {
    await owner.query('alter table customers add constraint name_is_short check (length(name) < 40), add unique (name)');
    const duplicate = await previewInsert(agent, 'customers', ['id', 'name'], [[9000, 'customer 1']]);
    expect(duplicate).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', message: 'duplicate key value violates unique constraint "customers_name_key" (SQLSTATE 23505)' });
    expect(JSON.stringify(duplicate)).not.toContain('already exists');
    expect(await previewUpdate(agent, 'customers', { name: 'n'.repeat(41) }, 'id = 1')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23514' } });
    expect(await previewUpdate(agent, 'customers', { name: null }, 'id = 1')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '23502' } });
    const cast = await previewDelete(agent, 'customers', 'name::integer = 1');
    expect(cast).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '22P02' } });
    expect(JSON.stringify(cast)).not.toMatch(/customer \d/);
  });
});

describe('time and locks', () => {
  test('a preview that meets a lock gives up with LOCK_TIMEOUT before production could be hurt, and can be repeated', async () => {
    const other = await db.connect('owner');
    await other.query('begin');
    await other.query('update stock set amount = 8 where id = 400');
    expect(await previewDelete(agent, 'stock', 'id = 400')).toMatchObject({ ok: false, code: 'LOCK_TIMEOUT', hint: 'Try again in a moment.' });
    expect(await one(db, 'select status || \' \' || code from countersign_data.event order by id desc limit 1')).toBe('refused LOCK_TIMEOUT');
    await other.query('rollback');
    await other.end();
    expect(await previewDelete(agent, 'stock', 'id = 400')).toMatchObject({ ok: true });
  });

  test('an execution that meets a lock answers LOCK_TIMEOUT and stays executable', async () => {
    await setPolicy(db, 'lock_timeout', '150 milliseconds');
    const preview = accepted(await previewDelete(agent, 'stock', 'id = 401'));
    const other = await db.connect('owner');
    await other.query('begin');
    await other.query('update stock set amount = 8 where id = 401');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'LOCK_TIMEOUT' });
    await other.query('rollback');
    await other.end();
    expect(await execute(agent, preview)).toMatchObject({ ok: true });
    await setPolicy(db, 'lock_timeout', null);
  });

  test('a statement that runs too long answers STATEMENT_TIMEOUT with its event, within the session\'s limit', async () => {
    const client = await db.connect('agent');
    await client.query('set statement_timeout = 1500');
    const before = await one(db, 'select count(*) from stock');
    const slow = '(select count(*) from stock a, stock b, stock c where a.amount + b.amount + c.amount = $1) = 0';
    expect(await previewDelete(client, 'stock', slow, [-1])).toMatchObject({ ok: false, code: 'STATEMENT_TIMEOUT' });
    expect(await one(db, 'select status || \' \' || code from countersign_data.event order by id desc limit 1')).toBe('refused STATEMENT_TIMEOUT');
    expect(await one(db, 'select count(*) from stock')).toBe(before);
    await client.end();
  });

  test('the session\'s defaults carry the policy\'s limits', async () => {
    await setPolicy(db, 'statement_timeout', '7 seconds');
    const { rows } = await agent.query<{ name: string; value: string }>('select * from countersign.session_defaults()');
    const defaults = Object.fromEntries(rows.map((row) => [row.name, row.value]));
    expect(defaults).toMatchObject({ statement_timeout: '7000ms', lock_timeout: '2000ms', search_path: 'pg_catalog, public, pg_temp', timezone: 'UTC' });
    for (const { name, value } of rows) expect(await sqlstate(agent.query(`set ${name} to ${name === 'search_path' ? value : `'${value}'`}`))).toBe('ok');
    await setPolicy(db, 'statement_timeout', null);
  });
});

test('zero rows: a plan of nothing may run, and if rows have come meanwhile it does not', async () => {
  for (const preview of [await previewDelete(agent, 'stock', 'id = -1'), await previewUpdate(agent, 'stock', { amount: 1 }, 'id = -1')]) {
    expect(preview).toMatchObject({ ok: true, detail: { status: 'previewed', affected_rows: 0, total_rows: 0, effects: [], sample_rows: [], changes: [] } });
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 0 } });
  }
  const preview = accepted(await previewDelete(agent, 'stock', 'id = -1'));
  await owner.query('insert into stock values (-1, 0)');
  expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'ROWSET_CHANGED', detail: { changed: { rows_added: 1, added: ['id=-1'] } } });
});
