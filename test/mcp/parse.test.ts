import { describe, expect, test } from 'vitest';
import { CountersignError } from '../../src/errors.js';
import { checkExplained, checkMigration, checkSelect, checkWhere } from '../../src/mcp/parse.js';

async function codeOf(checked: Promise<void>): Promise<string> {
  try {
    await checked;
    return 'passes';
  } catch (error) {
    expect(error).toBeInstanceOf(CountersignError);
    expect((error as CountersignError).hint).not.toBe('');
    return (error as CountersignError).code;
  }
}

describe('query', () => {
  test.each([
    ['select 1'],
    ['select 1;'],
    ['-- a comment\nselect 1 /* and one more */'],
    ['values (1), (2)'],
    ['table orders'],
    ['with a as (select 1), b as (with c as (select 2) select * from c) select * from a, b'],
    ['(select 1) union all (select 2) order by 1 limit 3'],
    ['select percentile_cont(0.5) within group (order by total) from orders'],
    ['select count(*) filter (where x) over (partition by y) from t'],
    ['select st_distance(a, b) from places'],
    ["select 'delete from orders; drop table orders'"],
    ['select "delete", "update" from "insert"'],
    ['select myschema.set_config(1)'],
    ['select * from t where id = $1 and name like $2'],
  ])('%s passes', async (text) => {
    expect(await codeOf(checkSelect(text))).toBe('passes');
  });

  test.each([
    ['select 1; select 2', 'MULTI_STATEMENT'],
    ['select 1; drop table orders', 'MULTI_STATEMENT'],
    ['commit; delete from orders', 'MULTI_STATEMENT'],
    ['', 'STATEMENT_FAILED'],
    ['   ', 'STATEMENT_FAILED'],
    [';', 'STATEMENT_FAILED'],
    ['-- only a comment', 'STATEMENT_FAILED'],
    ['selec 1', 'STATEMENT_FAILED'],
    ['select (', 'STATEMENT_FAILED'],
    [`select ${'('.repeat(30_000)}1${')'.repeat(30_000)}`, 'STATEMENT_FAILED'],
    ['delete from orders', 'NOT_A_SELECT'],
    ['insert into orders values (1)', 'NOT_A_SELECT'],
    ['update orders set a = 1', 'NOT_A_SELECT'],
    ['with d as (delete from orders returning *) select count(*) from d', 'NOT_A_SELECT'],
    ['select * from (with d as (update t set a = 1 returning *) select * from d) x', 'NOT_A_SELECT'],
    ['with d as (merge into t using s on t.id = s.id when matched then delete returning *) select 1', 'NOT_A_SELECT'],
    ['select * into temp leak from orders', 'NOT_A_SELECT'],
    ['select * from orders for update', 'NOT_A_SELECT'],
    ['select * from (select * from orders for share) x', 'NOT_A_SELECT'],
    ['explain select 1', 'NOT_A_SELECT'],
    ['explain analyze delete from orders', 'NOT_A_SELECT'],
    ['copy orders to stdout', 'NOT_A_SELECT'],
    ["copy (select 1) to program 'id'", 'NOT_A_SELECT'],
    ['set role app_owner', 'NOT_A_SELECT'],
    ['set transaction read write', 'NOT_A_SELECT'],
    ['reset all', 'NOT_A_SELECT'],
    ['begin', 'NOT_A_SELECT'],
    ['prepare p as select 1', 'NOT_A_SELECT'],
    ['deallocate all', 'NOT_A_SELECT'],
    ['call proc()', 'NOT_A_SELECT'],
    ['do $$ begin end $$', 'NOT_A_SELECT'],
    ['listen x', 'NOT_A_SELECT'],
    ['create temp table x as select 1', 'NOT_A_SELECT'],
    ["select query_to_xml('select 1', true, true, '')", 'UNSAFE_FUNCTION'],
    ["select pg_catalog.table_to_xml('t', true, true, '')", 'UNSAFE_FUNCTION'],
    ['select pg_read_file(\'/etc/passwd\')', 'UNSAFE_FUNCTION'],
    ['select pg_advisory_lock(42)', 'UNSAFE_FUNCTION'],
    ["select set_config('role', 'none', true)", 'UNSAFE_FUNCTION'],
    ['select 1 from t where exists (select lo_import(\'/etc/passwd\'))', 'UNSAFE_FUNCTION'],
    ["select PG_TERMINATE_BACKEND(1)", 'UNSAFE_FUNCTION'],
    ["select nextval('s')", 'UNSAFE_FUNCTION'],
  ])('%s is %s', async (text, code) => {
    expect(await codeOf(checkSelect(text))).toBe(code);
  });

  test('a syntax error carries the words of the parser and its SQLSTATE', async () => {
    const error = await checkSelect('select from where').catch((thrown: unknown) => thrown as CountersignError);
    expect(error).toMatchObject({ code: 'STATEMENT_FAILED', detail: { sqlstate: '42601' } });
    expect((error as CountersignError).message).toContain('syntax error at or near "where"');
  });

  test('the parser works on after an input that exhausts it', async () => {
    await codeOf(checkSelect(`select ${'('.repeat(32_000)}`));
    expect(await codeOf(checkSelect('select 1'))).toBe('passes');
  });
});

describe('explain_plan takes the statement itself', () => {
  test.each([
    ['select 1', 'passes'],
    ['explain select 1', 'NOT_A_SELECT'],
    ['analyze delete from orders', 'NOT_A_SELECT'],
    ['ANALYZE select 1', 'NOT_A_SELECT'],
    ['(analyze) with d as (delete from orders returning 1) select * from d', 'NOT_A_SELECT'],
    ['( ANALYSE, verbose) select 1', 'NOT_A_SELECT'],
    ['delete from orders', 'NOT_A_SELECT'],
  ])('%s: %s', async (text, code) => {
    expect(await codeOf(checkExplained(text))).toBe(code);
  });
});

describe('a where is one expression', () => {
  test.each([
    ['id = $1'],
    ['true'],
    ["status = 'open' -- the open ones"],
    ['id in (select order_id from refunds where at < now())'],
    ["name ilike '%;drop%' or (a and not b)"],
    ['(id, region) in (($1, $2))'],
    ['total between 1 and 5'],
  ])('%s passes', async (text) => {
    expect(await codeOf(checkWhere(text))).toBe('passes');
  });

  test.each([
    ['id = 1; delete from customers where true; --', 'MULTI_STATEMENT'],
    ['true) or (true', 'STATEMENT_FAILED'],
    ['id = 1 returning *', 'STATEMENT_FAILED'],
    ['true order by 1', 'UNSUPPORTED_STATEMENT'],
    ['true union select 1', 'UNSUPPORTED_STATEMENT'],
    ['true limit 1', 'UNSUPPORTED_STATEMENT'],
    ['true /*', 'STATEMENT_FAILED'],
    ['/* nothing */', 'STATEMENT_FAILED'],
    ['', 'STATEMENT_FAILED'],
    ['where id = 1', 'STATEMENT_FAILED'],
    ['id in (select id from t for update)', 'UNSUPPORTED_STATEMENT'],
    ["id = (select 1 where set_config('a.b', 'c', true) = 'c')", 'UNSAFE_FUNCTION'],
  ])('%s is %s', async (text, code) => {
    expect(await codeOf(checkWhere(text))).toBe(code);
  });
});

describe('run_migration takes one schema change', () => {
  test.each([
    ['alter table orders add column note text', 'passes'],
    ['create index on orders (status)', 'passes'],
    ['drop table orders; drop table customers', 'MULTI_STATEMENT'],
    ['delete from orders', 'UNSUPPORTED_STATEMENT'],
    ['select 1', 'UNSUPPORTED_STATEMENT'],
    ['do $$ begin end $$', 'UNSUPPORTED_STATEMENT'],
    ['commit', 'UNSUPPORTED_STATEMENT'],
    ['set role admin', 'UNSUPPORTED_STATEMENT'],
    ['', 'STATEMENT_FAILED'],
    ['alter table', 'STATEMENT_FAILED'],
  ])('%s: %s', async (text, code) => {
    expect(await codeOf(checkMigration(text))).toBe(code);
  });
});
