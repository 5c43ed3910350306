/** Columns and conditions: what agents may not read is never shown, counted on or written, and conditions are judged by what they resolve to. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { allow, createShop, createTrigger, dropTrigger, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, planStatus, previewDelete, previewInsert, previewUpdate, sqlstate } from './calls.js';

const db = await createTestDatabase();
const [admin, agent, alice, owner] = [db.as('admin'), db.as('agent'), db.as('alice'), db.as('owner')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  await owner.query('create table payroll (id integer primary key, name text, salary integer default 1000, note text); insert into payroll select g, \'person \' || g, 987654300 + g from generate_series(1, 20) g');
  await allow(db, 'payroll', ['id', 'name', 'note']);
});

describe('a hidden column', () => {
  test('is shown nowhere: not in a preview, a plan, a status, an event, or to the human', async () => {
    await admin.query('grant delete on payroll to countersign_writer');
    const insert = accepted(await previewInsert(agent, 'payroll', ['id', 'name'], [[100, 'new']]));
    const update = accepted(await previewUpdate(agent, 'payroll', { note: 'raise' }, 'id = 1'));
    const gone = accepted(await previewDelete(agent, 'payroll', 'id <= 20'));
    expect(gone.detail.affected_rows).toBe(20);
    const seen = [insert, update, gone, await planStatus(agent, gone), (await alice.query('select countersign.plan_detail($1) as p, array(select value from countersign.show($1)) as s', [gone.detail.plan_token])).rows,
      (await db.as('auditor').query('select * from countersign.audit_log')).rows, (await outcomeOf(agent, 'describe_schema(null, $1, null, null)', ['payroll']))];
    expect(JSON.stringify(seen).match(/.{60}(salary|9876543\d\d).{60}/g)).toBeNull();
    expect(Object.keys(gone.detail.sample_rows[0] ?? {}).sort()).toEqual(['id', 'name', 'note']);
    expect(await execute(agent, update)).toMatchObject({ ok: true });
    expect(await execute(agent, insert)).toMatchObject({ ok: true });
    expect(await one(db, 'select salary from payroll where id = 100')).toBe(1000);
  });

  test.each(['salary > 50000', 'id = 1 and salary = 987654301', 'payroll = payroll', 'payroll::text like \'%987654301%\'', 'row(payroll.*)::text <> \'\'', '(payroll).salary = 1', 'exists (select from payroll p where p.salary > 1)', 'to_jsonb(payroll) ->> \'salary\' = \'1\''])(
    'cannot be asked about: %s', async (where) => {
      expect((await previewDelete(agent, 'payroll', where)).code).toBe('NOT_READABLE');
    });

  test('cannot be written, and what may be written only in part is refused in the other part', async () => {
    expect(await previewUpdate(agent, 'payroll', { salary: 1 }, 'id = 1')).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
    expect(await previewInsert(agent, 'payroll', ['id', 'salary'], [[200, 1]])).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
    expect(await previewUpdate(agent, 'payroll', { name: 'x', salary: 1 }, 'id = 1')).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
  });

  test('narrowing to columns takes back what was wider, and DELETE is not given with columns', async () => {
    await owner.query('create table shifts (id integer primary key, who text, hours integer)');
    await allow(db, 'shifts');
    expect(await previewDelete(agent, 'shifts', 'id = 1')).toMatchObject({ ok: true });
    await allow(db, 'shifts', ['id', 'who']);
    expect(await previewUpdate(agent, 'shifts', { who: 'x' }, 'hours = 1')).toMatchObject({ ok: false, code: 'NOT_READABLE' });
    expect(await previewUpdate(agent, 'shifts', { hours: 1 }, 'id = 1')).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
    expect(await previewDelete(agent, 'shifts', 'id = 1')).toMatchObject({ ok: false, code: 'NOT_WRITABLE' });
  });

  test('of a key makes the row nameless, not the key known', async () => {
    await owner.query('create table accounts (secret_id integer primary key, label text); insert into accounts values (987654711, \'a\'), (987654712, \'b\')');
    await allow(db, 'accounts', ['label']);
    const preview = accepted(await previewUpdate(agent, 'accounts', { label: 'c' }, 'label = $1', ['a']));
    expect(preview.detail).toMatchObject({ affected_rows: 1, changes: [{ key: null, before: { label: 'a' }, after: { label: 'c' } }] });
    await owner.query('update accounts set label = \'x\' where secret_id = 987654711');
    expect(JSON.stringify([preview, await execute(agent, preview)])).not.toContain('9876547');
  });

  test('that a trigger changes does not show either, but the visible rest does', async () => {
    await createTrigger(db, 'payroll', 'raise', 'before update', 'new.salary := 99123; new.note := \'raised\'; return new;');
    const preview = accepted(await previewUpdate(agent, 'payroll', { name: 'y' }, 'id = 2'));
    expect(preview.detail.changes).toEqual([{ key: 'id=2', before: { name: 'person 2', note: null }, after: { name: 'y', note: 'raised' } }]);
    await dropTrigger(db, 'payroll', 'raise');
  });
});

test('write without read: rows can be added to a table that agents may not see', async () => {
  await owner.query('create table inbox (id integer primary key, body text)');
  await admin.query('select countersign.allow(\'write\', \'inbox\')');
  const preview = accepted(await previewInsert(agent, 'inbox', ['id', 'body'], [[1, 'hello']]));
  expect(preview.detail).toMatchObject({ affected_rows: 1, sample_rows: [{}], changes: [{ key: null, before: null, after: {} }] });
  expect(await execute(agent, preview)).toMatchObject({ ok: true });
  expect(await previewDelete(agent, 'inbox', 'id = 1')).toMatchObject({ ok: false, code: 'NOT_READABLE' });
  expect(await one(db, 'select body from inbox')).toBe('hello');
});

describe('a condition that was found harmless', () => {
  const where = 'id between $1 and $2 and note is not null';
  const ask = async (): Promise<string | null> => (await previewUpdate(agent, 'stock', { amount: 1 }, where, [1, 2])).code;
  const again = async (): Promise<Array<string | null>> => [await ask(), await ask()];

  test('is judged anew when the reader loses a column', async () => {
    expect(await again()).toEqual([null, null]);
    await allow(db, 'stock', ['id', 'amount']);
    expect(await again()).toEqual(['NOT_READABLE', 'NOT_READABLE']);
    await allow(db, 'stock');
    expect(await again()).toEqual([null, null]);
  });

  test('is judged anew when a function comes to stand before the one it called', async () => {
    await owner.query('create table tags (id integer primary key, tag varchar(20)); insert into tags values (1, \'A\')');
    await allow(db, 'tags');
    const lower = async (): Promise<string | null> => (await previewDelete(agent, 'tags', 'lower(tag) = $1', ['a'])).code;
    expect([await lower(), await lower()]).toEqual([null, null]);
    await admin.query('create function public.lower(varchar) returns text language sql as \'select pg_catalog.lower($1::text)\'');
    expect([await lower(), await lower()]).toEqual(['UNSAFE_FUNCTION', 'UNSAFE_FUNCTION']);
    await admin.query('drop function public.lower(varchar)');
    expect([await lower(), await lower()]).toEqual([null, null]);
  });

  test('is judged anew when an operator or a cast of the application takes its place', async () => {
    await owner.query('create type grade as enum (\'a\', \'b\'); create table marks (id integer primary key, grade grade)');
    await allow(db, 'marks');
    const ask = async (): Promise<string | null> => (await previewDelete(agent, 'marks', 'grade = \'a\'')).code;
    expect([await ask(), await ask()]).toEqual([null, null]);
    await admin.query('create function public.same(grade, grade) returns boolean language plpgsql as \'begin return true; end\'; create operator public.= (leftarg = grade, rightarg = grade, function = public.same)');
    expect([await ask(), await ask()]).toEqual(['UNSAFE_FUNCTION', 'UNSAFE_FUNCTION']);
  });

  test('is judged anew when its allowed function is no longer allowed', async () => {
    await admin.query('create function public.even(integer) returns boolean language sql immutable as \'select $1 % 2 = 0\'; grant execute on function public.even(integer) to public');
    const ask = async (): Promise<string | null> => (await previewDelete(agent, 'stock', 'id <= 4 and public.even(amount)')).code;
    expect(await ask()).toBe('UNSAFE_FUNCTION');
    await admin.query('select countersign.allow(\'function\', \'public.even(integer)\')');
    expect([await ask(), await ask()]).toEqual([null, null]);
    await admin.query('select countersign.revoke(\'function\', \'public.even(integer)\')');
    expect([await ask(), await ask()]).toEqual(['UNSAFE_FUNCTION', 'UNSAFE_FUNCTION']);
  });

  test('is never one that reads another table: that one\'s rights are looked at every time', async () => {
    const ask = async (): Promise<string | null> => (await previewDelete(agent, 'stock', 'id in (select id from customers where id < 3)')).code;
    expect([await ask(), await ask()]).toEqual([null, null]);
    await admin.query('select countersign.revoke(\'read\', \'customers\')');
    expect(await ask()).toBe('NOT_READABLE');
    await allow(db, 'customers');
  });
});

describe('names of tables', () => {
  test('fold as in SQL, take quotes, schemas and the database, and never reach a temporary or a Countersign table', async () => {
    await owner.query('create table "Odd.Name" (id integer primary key); create table "Upper" (id integer primary key)');
    for (const table of ['"Odd.Name"', '"Upper"']) await allow(db, table);
    for (const name of ['stock', 'STOCK', 'public.stock', '"stock"', `${db.name}.public.stock`, ' stock ', 'Upper', '"Upper"', 'public."Odd.Name"']) {
      expect([name, (await previewDelete(agent, name, 'id = -1')).code]).toEqual([name, null]);
    }
    for (const name of ['', ' ', 'nope', 'stock; drop table stock', 'stock where true', 'countersign_data.event', 'other.public.stock', 'pg_temp.stock', 'a.b.c.d', 'stock, customers', 'only stock', 'stock*', '"stock', '16384']) {
      expect([name, (await previewDelete(agent, name, 'id = -1')).code]).toEqual([name, 'UNKNOWN_TABLE']);
    }
  });

  test('renamed since the preview: the plan does not follow the name, nor the table', async () => {
    await owner.query('create table staging (id integer primary key); create table live (id integer primary key); insert into staging values (1); insert into live values (1)');
    for (const table of ['staging', 'live']) await allow(db, table);
    const preview = accepted(await previewDelete(agent, 'staging', 'true', []));
    await owner.query('alter table staging rename to aside; alter table live rename to staging');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED', detail: { status: 'stale' } });
    expect(await one(db, 'select (select count(*) from aside) + (select count(*) from staging)')).toBe('2');
  });

  test('dropped and made again since the preview: another table, another plan', async () => {
    await owner.query('create table brief (id integer primary key); insert into brief values (1)');
    await allow(db, 'brief');
    const preview = accepted(await previewDelete(agent, 'brief', 'id = 1'));
    await owner.query('drop table brief; create table brief (id integer primary key); insert into brief values (1)');
    await allow(db, 'brief');
    expect(await execute(agent, preview)).toMatchObject({ ok: false, code: 'EFFECTS_CHANGED' });
    expect(await one(db, 'select count(*) from brief')).toBe('1');
  });
});

test('row security of the table holds for the writer as for everyone', async () => {
  await owner.query('create table notes (id integer primary key, tenant text); insert into notes values (1, \'a\'), (2, \'b\'); alter table notes enable row level security; create policy tenant_a on notes using (tenant = \'a\')');
  await allow(db, 'notes');
  const preview = accepted(await previewDelete(agent, 'notes', 'true', [], { all: true }));
  expect(preview.detail).toMatchObject({ affected_rows: 1, changes: [{ key: 'id=1' }] });
  expect(await previewInsert(agent, 'notes', ['id', 'tenant'], [[3, 'b']])).toMatchObject({ ok: false, detail: { sqlstate: '42501' } });
  accepted(await execute(agent, preview));
  expect(await one(db, 'select array_agg(id) from notes')).toEqual([2]);
  expect(await sqlstate(approve(agent, preview))).toBe('42501');
});
