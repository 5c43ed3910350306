/** What somebody with the agent's password tries in psql, and what the owners of the functions that run agent SQL could do to them. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { createShop } from './application.js';
import { accepted, approve, execute, outcomeOf, planStatus, previewDelete, sqlstate } from './calls.js';

const db = await createTestDatabase();

beforeAll(() => createShop(db));

const ATTEMPTS = [
  // tables
  'select * from customers', 'table secrets', 'copy customers to stdout', 'copy (select token from secrets) to stdout', 'delete from stock', 'truncate stock', 'lock table stock',
  'declare c cursor with hold for select * from secrets', 'with w as (delete from stock returning *) select * from w', 'explain analyze delete from stock',
  'select nextval(\'orders_id_seq\')', 'alter table stock disable trigger all', 'create index on stock (amount)', 'comment on table stock is \'mine\'', 'analyze secrets; select * from secrets',
  // Countersign's own
  'select * from countersign_data.event', 'update countersign_data.plan set state = \'approved\'', 'insert into countersign_data.event (status) values (\'approved\')',
  'select * from countersign.pending', 'select * from countersign.audit_log', 'select * from countersign.policy', 'select countersign_data.decide(\'approve\', \'x\', null, null, null, null)',
  'select countersign.approve(\'00000000\')', 'select countersign.reject(\'00000000\')', 'select countersign.settle(\'00000000\', \'done\')', 'select countersign_data.end_execution(null, null, null, true)', 'select countersign.show(\'00000000\')', 'select countersign.plan_detail(\'00000000\')',
  'select countersign.set_policy(\'hard_max_rows\', \'1000000000\')', 'select countersign.set_search_path(\'{public}\')', 'select countersign.allow(\'write\', \'secrets\')',
  'select countersign.record_policy(\'x\')', 'select countersign.find_relation(\'secrets\')', 'select countersign.change_allowlist(true, \'write\', \'secrets\', null)',
  'select countersign_exec.run_dml(null, null, null, \'delete from stock\', \'[]\', 1, null, null)', 'select countersign_exec.run_ddl(\'drop table stock\')', 'select countersign_exec.resolve(\'stock\')',
  'create or replace function countersign.version() returns integer language sql as \'select 2\'', 'alter function countersign.version() owner to current_user',
  'drop function countersign.approve(text, text, text, text, text)', 'grant execute on function countersign.approve(text, text, text, text, text) to public', 'drop schema countersign cascade',
  'drop trigger _10_event_is_chained on countersign_data.event', 'create view countersign_scratch.v as select 1',
  // roles
  'grant countersign_approver to current_user', 'create role helper in role countersign_approver', 'alter role countersign_agent superuser', 'alter role current_user createrole',
  'alter role countersign_owner login password \'x\'', 'reassign owned by countersign_owner to current_user', 'drop owned by countersign_owner',
  'alter default privileges for role countersign_owner grant select on tables to public',
  // the server
  'create table mine (id integer)', 'create temporary table mine (id integer)', 'create schema mine', 'do $$ begin end $$', 'create function pg_temp.f() returns integer language sql as \'select 1\'',
  'create extension dblink', 'create language mine handler plpgsql_call_handler', 'create event trigger e on ddl_command_start execute function touch()', 'create publication p for all tables',
  'create subscription s connection \'\' publication p', 'create foreign data wrapper f', 'copy (select 1) to program \'id\'', 'copy stock from \'/etc/passwd\'', 'select pg_read_file(\'/etc/passwd\')',
  'select pg_ls_dir(\'.\')', 'select lo_import(\'/etc/passwd\')', 'select lo_create(0)', 'select pg_terminate_backend(1)', 'select pg_advisory_lock(1)', 'select set_config(\'role\', \'none\', false)',
  'select query_to_xml(\'select * from secrets\', true, true, \'\')', 'select * from pg_authid', 'select * from pg_shadow', 'select * from pg_stat_activity', 'select * from pg_db_role_setting',
  'alter system set track_counts = off', 'set track_counts = off', 'set session_replication_role = replica', 'set log_statement = none', 'alter database current_setting set x.y = 1',
  'load \'auto_explain\'', 'checkpoint', 'select pg_reload_conf()', 'select pg_switch_wal()', 'select pg_stat_reset()', 'select pg_create_restore_point(\'x\')',
] as const;

test.each(ATTEMPTS)('the agent\'s login is refused: %s', async (statement) => {
  const client = await db.connect('agent');
  // Two kinds of statement are refused in a transaction for that alone.
  if (!/^(alter system|create subscription)/.test(statement)) await client.query('begin');
  const name = new URL(db.url('agent')).pathname.slice(1);
  let code = 'ok';
  for (const part of statement.replace('database current_setting', `database ${name}`).split('; ')) {
    code = await sqlstate(client.query(part));
    await client.query('rollback');
  }
  expect(code).toBe('42501');
  await client.end();
});

test('another agent\'s plans are not there for this one: not to see, not to execute', async () => {
  const preview = accepted(await previewDelete(db.as('agent'), 'stock', 'id = 1'));
  const other = db.as('agent2');
  expect(await planStatus(other, preview)).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
  expect(await execute(other, preview)).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
  expect((await other.query('select countersign.plan_state($1) as state', [preview.detail.plan_token])).rows).toEqual([{ state: null }]);
});

test('a plan token cannot be guessed: it comes from the server\'s strong random, whatever setseed says', async () => {
  const client = await db.connect('agent');
  const tokens: string[] = [];
  for (const seed of [0.5, 0.5]) {
    await client.query('select setseed($1)', [seed]);
    tokens.push(accepted(await previewDelete(client, 'stock', 'id = 1')).detail.plan_token);
  }
  expect(tokens[0]).not.toBe(tokens[1]);
  for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  await client.end();
});

test.each(['', 'null', '00000000-0000-0000-0000-000000000000', '%', '\' or true --', 'A'.repeat(36), '5BD9D58C-5B0E-4A5B-9B0E-1D3C7C1E0F10', '{5bd9d58c-5b0e-4a5b-9b0e-1d3c7c1e0f10}', 'x'.repeat(100_000)])(
  'a token that is none gets the one answer: %#', async (token) => {
    const outcome = await outcomeOf(db.as('agent'), 'execute_plan($1, $2, $3::jsonb, null)', [token, 'x', '[]']);
    expect(outcome).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN', message: 'There is no such plan in this database for this login.' });
    expect(await approve(db.as('alice'), { ...outcome, detail: { ...outcome.detail, plan_token: token } })).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN' });
  });

describe.each([
  ['countersign_writer', 'countersign_exec.run_dml(text, text[], text, text, jsonb, bigint, bytea, jsonb)'],
  ['countersign_migrator', 'countersign_exec.run_ddl(text)'],
  ['countersign_analyst', 'countersign_exec.resolve(text)'],
] as const)('%s owns %s, and', (owner, signature) => {
  test('is its owner', async () => {
    const { rows } = await db.as('admin').query('select pg_get_userbyid(proowner) as owner from pg_proc where oid = $1::regprocedure', [signature]);
    expect(rows).toEqual([{ owner }]);
  });

  test.each([
    'alter function SIGNATURE set search_path = public', 'alter function SIGNATURE reset all', 'alter function SIGNATURE security invoker', 'alter function SIGNATURE owner to OWNER',
    'alter function SIGNATURE rename to other', 'alter function SIGNATURE set schema public', 'drop function SIGNATURE', 'grant execute on function SIGNATURE to public',
    'comment on function SIGNATURE is null', 'create or replace function SIGNATURE returns void language sql as \'\'', 'alter function SIGNATURE depends on extension plpgsql', 'select SIGNATURE',
  ])('cannot: %s', async (template) => {
    const client = await db.connect('admin');
    await client.query(`set session authorization ${owner}`);
    await client.query('begin');
    const call = `${signature.split('(')[0]}(${signature.slice(signature.indexOf('(') + 1, -1).split(', ').map((type) => `null::${type}`).join(', ')})`;
    const statement = template.startsWith('select') ? `select ${call}` : template.replace('SIGNATURE', signature).replace('OWNER', owner);
    expect(await sqlstate(client.query(statement))).toBe('42501');
    await client.query('rollback');
    await client.end();
  });

  test('cannot log in, create roles or databases, replicate or pass row security', async () => {
    const { rows } = await db.as('admin').query('select rolcanlogin or rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as any from pg_roles where rolname = $1', [owner]);
    expect(rows).toEqual([{ any: false }]);
  });
});

test('code that the reader\'s login left where agent SQL may find it stops every preview until it is gone', async () => {
  const admin = db.as('admin');
  // where a database is not strict, the reader's login may make it itself
  await admin.query(`create function public.lower(integer) returns text language sql as $$ select 'mine' $$; grant create on schema public to ${db.role('reader')}; alter function public.lower(integer) owner to ${db.role('reader')}`);
  const preview = db.as('agent').query('select countersign.preview_delete(\'stock\', \'id = 1\', \'[]\', false, \'r\', null)');
  await expect(preview).rejects.toMatchObject({ code: '42501', hint: expect.stringContaining('Drop them') });
  await admin.query(`drop function public.lower(integer); revoke create on schema public from ${db.role('reader')}`);
  await db.as('agent').query('select countersign.preview_delete(\'stock\', \'id = 1\', \'[]\', false, \'r\', null)');
});
