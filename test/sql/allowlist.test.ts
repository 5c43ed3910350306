/** The allowlist is grants: what allow and revoke make of them, wholly and by columns, and that every change is an event. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { one } from './application.js';

const db = await createTestDatabase();
const [admin, owner] = [db.as('admin'), db.as('owner')];

beforeAll(async () => {
  await admin.query('create schema "odd.schema"');
  await admin.query(`grant usage, create on schema "odd.schema" to ${db.role('owner')}`);
  await owner.query(`
    create table item (id serial primary key, name text, price numeric, secret text);
    create table "odd.schema"."odd.table" (id integer primary key, "a,b" text);
    create view item_view as select id from item;
    create table parted (id integer) partition by list (id); create table parted_1 partition of parted for values in (1);
    create table ruled (id integer); create rule r as on insert to ruled do instead nothing`);
});

type Change = 'allow' | 'revoke';
const change = async (what: Change, verb: string, name: string, columns: string[] | null = null): Promise<string> => {
  const { rows } = await admin.query<{ ok: boolean; code: string | null }>(`select ok, code from countersign.${what}($1, $2, $3)`, [verb, name, columns]);
  return rows[0]?.ok === true ? 'ok' : String(rows[0]?.code);
};

/** Columns on which a role holds a privilege; `all` when on the table itself. */
async function held(role: string, privilege: string, table = 'item'): Promise<string> {
  return one<string>(db, `select case when has_table_privilege($1, $2, $3) then 'all' else coalesce((
    select string_agg(attname, ',' order by attnum) from pg_attribute where attrelid = $2::regclass and attnum > 0 and has_column_privilege($1, attrelid, attnum, $3)), '') end`, [role, table, privilege]);
}

/** What reader and writer hold on the table: reader's SELECT, writer's SELECT, INSERT, UPDATE, and DELETE (which has no columns). */
const rights = async (table = 'item'): Promise<string[]> => [
  await held('countersign_reader', 'SELECT', table), await held('countersign_writer', 'SELECT', table), await held('countersign_writer', 'INSERT', table), await held('countersign_writer', 'UPDATE', table),
  await one<boolean>(db, 'select has_table_privilege(\'countersign_writer\', $1, \'DELETE\')', [table]) ? 'delete' : '',
];

describe('allow and revoke', () => {
  test.each([
    ['allow', 'read', null, ['all', 'all', '', '', '']],
    ['allow', 'write', null, ['all', 'all', 'all', 'all', 'delete']],
    ['revoke', 'read', ['secret'], ['id,name,price', 'id,name,price', 'all', 'all', 'delete']],
    ['allow', 'write', ['name', 'price'], ['id,name,price', 'id,name,price', 'name,price', 'name,price', '']],
    ['revoke', 'write', ['price'], ['id,name,price', 'id,name,price', 'name', 'name', '']],
    ['allow', 'read', ['id'], ['id', 'id', 'name', 'name', '']],
    ['revoke', 'read', null, ['', '', 'name', 'name', '']],
    ['allow', 'write', null, ['', '', 'all', 'all', 'delete']],
    ['allow', 'read', null, ['all', 'all', 'all', 'all', 'delete']],
    ['revoke', 'write', ['id', 'secret'], ['all', 'all', 'name,price', 'name,price', '']],
    ['revoke', 'write', null, ['all', 'all', '', '', '']],
    ['revoke', 'read', ['id', 'name', 'price', 'secret'], ['', '', '', '', '']],
  ] as ReadonlyArray<[Change, string, string[] | null, string[]]>)('one after the other: %s %s %j', async (what, verb, columns, expected) => {
    expect(await change(what, verb, 'item', columns)).toBe('ok');
    expect(await rights()).toEqual(expected);
  });

  test('names with dots and commas in them', async () => {
    expect(await change('allow', 'read', '"odd.schema"."odd.table"', ['a,b'])).toBe('ok');
    expect(await change('allow', 'write', '"odd.schema"."odd.table"')).toBe('ok');
    expect(await rights('"odd.schema"."odd.table"')).toEqual(['a,b', 'a,b', 'all', 'all', 'delete']);
    expect(await one(db, 'select has_schema_privilege(\'countersign_writer\', \'odd.schema\', \'USAGE\') and has_schema_privilege(\'countersign_reader\', \'odd.schema\', \'USAGE\')')).toBe(true);
  });

  test('a serial column brings its sequence along', async () => {
    await change('allow', 'write', 'item');
    expect(await one(db, 'select has_sequence_privilege(\'countersign_writer\', \'item_id_seq\', \'USAGE\')')).toBe(true);
  });

  test.each([
    ['write', 'item_view', 'INVALID_ARGUMENTS'], ['write', 'parted_1', 'INVALID_ARGUMENTS'], ['read', 'parted_1', 'INVALID_ARGUMENTS'], ['write', 'ruled', 'INVALID_ARGUMENTS'],
    ['read', 'nowhere', 'UNKNOWN_TABLE'], ['read', 'countersign_data.event', 'UNKNOWN_TABLE'], ['admire', 'item', 'INVALID_ARGUMENTS'], ['function', 'nowhere', 'INVALID_ARGUMENTS'],
    ['function', 'nowhere(integer)', 'INVALID_ARGUMENTS'],
  ])('%s on %s is refused', async (verb, name, code) => {
    expect(await change('allow', verb, name)).toBe(code);
  });

  test('a view may be read, a column that is none may not', async () => {
    expect(await change('allow', 'read', 'item_view')).toBe('ok');
    expect(await change('allow', 'read', 'item', ['nope'])).toBe('UNKNOWN_COLUMN');
  });

  test('every change is an event, refusals change nothing', async () => {
    const { rows } = await db.as('auditor').query<{ statement: string }>('select statement from countersign.audit_log where status = \'policy\' order by id');
    expect(rows.slice(0, 4).map((row) => row.statement)).toEqual(['allow read on public.item', 'allow write on public.item', 'revoke read on public.item (secret)', 'allow write on public.item (name, price)']);
  });
});

describe('policy', () => {
  const set = async (key: string, value: string | null, scope: string | null = null): Promise<string> => {
    const { rows } = await admin.query<{ ok: boolean; code: string | null }>('select ok, code from countersign.set_policy($1, $2, $3)', [key, value, scope]);
    return rows[0]?.ok === true ? 'ok' : String(rows[0]?.code);
  };

  test('has these keys, with these defaults', async () => {
    const { rows } = await db.as('auditor').query('select key, scope, value from countersign.policy order by key');
    expect(rows.map((row: Record<string, string>) => `${row['key']} ${row['scope']} ${row['value']}`)).toEqual([
      'approval_required_above_rows default 100', 'approval_ttl default 24 hours', 'hard_max_rows default 10000', 'lock_timeout default 2 seconds', 'plan_ttl default 10 minutes',
      'required_approvals default 1', 'sample_rows default 10', 'statement_timeout default 10 seconds', 'undo_retention default 30 days', 'ungated_rows_per_hour default 1000',
    ]);
  });

  test.each([
    ['hard_max_rows', '-1'], ['hard_max_rows', 'many'], ['hard_max_rows', ''], ['hard_max_rows', '1e3'], ['hard_max_rows', '99999999999999999999'], ['plan_ttl', '0 seconds'], ['plan_ttl', '-1 hour'],
    ['plan_ttl', 'soon'], ['required_approvals', '0'], ['made_up', '1'],
  ])('%s cannot be %j', async (key, value) => {
    expect(await set(key, value)).toBe('INVALID_ARGUMENTS');
  });

  test('scopes: the database, a schema, a table; others are unknown', async () => {
    for (const scope of ['schema:nowhere', 'table:nowhere', 'public', 'role:alice', '']) expect(await set('sample_rows', '3', scope)).toBe('UNKNOWN_TABLE');
    for (const scope of [null, 'database', 'schema:public', 'table:item']) expect(await set('sample_rows', '3', scope)).toBe('ok');
    expect((await db.as('auditor').query('select scope, value from countersign.policy where key = \'sample_rows\'')).rows).toEqual([
      { scope: 'database', value: '3' }, { scope: 'schema:public', value: '3' }, { scope: 'table:public.item', value: '3' }]);
    for (const scope of [null, 'schema:public', 'table:item']) expect(await set('sample_rows', null, scope)).toBe('ok');
    expect(await one(db, 'select count(*) from countersign_data.policy_row')).toBe('0');
  });

  test('the cap may never lie below the line at which a human is asked, in any scope', async () => {
    expect(await set('hard_max_rows', '100')).toBe('ok');
    expect(await set('hard_max_rows', '99')).toBe('INVALID_ARGUMENTS');
    expect(await set('approval_required_above_rows', '101', 'table:item')).toBe('INVALID_ARGUMENTS');
    expect(await set('approval_required_above_rows', '50', 'schema:public')).toBe('ok');
    expect(await set('hard_max_rows', '60', 'table:item')).toBe('ok');
    expect(await set('approval_required_above_rows', null, 'schema:public')).toBe('INVALID_ARGUMENTS');
    expect((await db.as('auditor').query('select value from countersign.policy where key = \'hard_max_rows\' and scope = \'database\'')).rows).toEqual([{ value: '100' }]);
  });
});
