/** What JSON, Unicode and sheer size do on their way: nothing may be rounded, merged, cut or crash anybody without a word. */
import { expect } from 'vitest';
import { answered, refused, story, type Args, type Attack } from './attack.js';
import type { World } from './world.js';

const NESTED = 200_000;
const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const ONE_MB = 'x'.repeat(1024 * 1024);
const TEN_MB = 'x'.repeat(10 * 1024 * 1024);

/** The kinds of columns in which a value can lose something. */
const KINDS = `create table public.kinds (id integer primary key, n numeric(10, 2), v varchar(5), c char(5), ts timestamptz, i smallint, whole integer, big bigint, f float8, b boolean, d date, t text, a integer[], j jsonb);
  insert into public.kinds (id, whole) values (1, 5); select countersign.allow('read', 'public.kinds'); select countersign.allow('write', 'public.kinds');`;
const BIGS = `create table public.bigs (id bigint primary key, v text); insert into public.bigs values (9007199254740992, 'innocent'), (9007199254740993, 'target');
  select countersign.allow('read', 'public.bigs'); select countersign.allow('write', 'public.bigs');`;

const into = (column: string, ...values: unknown[]): Args[] => values.map((value) => ({ table: 'kinds', columns: ['id', column], rows: [[2, value]] }));

/** The answer of a function to JSON text that JavaScript does not make: its code, `ok`, or the SQLSTATE with which Postgres refused. */
async function sent(world: World, call: string, values: unknown[]): Promise<string> {
  return world.db.as('agent').query<{ code: string | null }>(`select code from countersign.${call}`, values)
    .then(({ rows }) => rows[0]?.code ?? 'ok', (error: { code?: string }) => error.code ?? String(error));
}

/** Sent as text by a client, and refused by the server before anything was asked. */
async function refusedAsText(world: World, tool: string, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    const answer = await world.toolFromText(tool, text);
    expect(answer.code, text.slice(0, 200)).toBe('INVALID_ARGUMENTS');
    expect(await world.lastCode()).toBe('INVALID_ARGUMENTS');
    expect(answer.text.length).toBeLessThan(3000); // what was too much is not sent back
  }
}

/** What a preview of an insert shows as the row that would be stored. */
async function stored(world: World, row: Args): Promise<Args> {
  const outcome = await world.sql('insert_rows', { table: 'public.kinds', columns: Object.keys(row), rows: [Object.values(row)] });
  expect(outcome.code, JSON.stringify(outcome).slice(0, 500)).toBeNull();
  return (outcome.detail?.['sample_rows'] as Args[])[0] as Args;
}

export const PAYLOADS: readonly Attack[] = [
  refused('X002', 'parentheses without end', 'INVALID_ARGUMENTS', 'query', [
    { statement: `SELECT ${'('.repeat(NESTED)}1${')'.repeat(NESTED)}` }, { statement: `SELECT ${'NOT '.repeat(NESTED)}true` }, { statement: `SELECT ${'- '.repeat(NESTED)}1` }, { statement: `SELECT 1${'+1'.repeat(NESTED)}` },
  ]),
  refused('X002', 'as many as the length allows', 'STATEMENT_FAILED', 'query', [
    { statement: `SELECT ${'('.repeat(30_000)}1${')'.repeat(30_000)}` }, { statement: `SELECT ${'NOT '.repeat(16_000)}true` }, { statement: `SELECT ${'ARRAY['.repeat(9000)}1${']'.repeat(9000)}` },
  ]),
  refused('X002', 'the same in a condition', 'STATEMENT_FAILED', 'delete_rows', [
    { table: 'orders', where: `${'('.repeat(30_000)}true${')'.repeat(30_000)}` }, { table: 'orders', where: `${'NOT '.repeat(16_000)}true` }, { table: 'orders', where: `id = 1 AND ${'('.repeat(30_000)}` },
  ]),
  answered('X002', 'after all of them the server answers as before', ['SELECT ((((((((((1)))))))))) AS n'], [{ n: 1 }]),
  refused('X003', 'ten megabytes of statement', 'INVALID_ARGUMENTS', 'query', [{ statement: `SELECT '${TEN_MB}'` }, { statement: `SELECT 1 -- ${ONE_MB}` }, { statement: `SELECT '${'é'.repeat(33_000)}'` }]),
  refused('X003', 'a megabyte of condition', 'INVALID_ARGUMENTS', 'delete_rows', [{ table: 'orders', where: `status = '${ONE_MB}'` }, { table: 'orders', where: `id IN (${Array(20_000).fill('1').join(', ')}, 1, 2, 3, 4${' '.repeat(20_000)})` }]),
  refused('X003', 'a megabyte of migration', 'INVALID_ARGUMENTS', 'run_migration', [{ statement: `COMMENT ON TABLE orders IS '${ONE_MB}'` }]),
  refused('X003', 'a megabyte of name', { tool: 'INVALID_ARGUMENTS', sql: 'UNKNOWN_TABLE' }, 'delete_rows', [{ table: ONE_MB, where: 'true' }]),
  story('X003', 'ten megabytes anywhere else: refused by the tools, and kept short by the functions', async (world) => {
    expect((await world.tool('delete_rows', { table: 'orders', where: 'id = $1', params: [TEN_MB], reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
    expect((await world.tool('update_rows', { table: 'orders', set: { status: TEN_MB }, where: 'id = 1', reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
    expect((await world.tool('delete_rows', { table: 'orders', where: 'id = 1', reason: TEN_MB })).code).toBe('INVALID_ARGUMENTS');
    expect((await world.tool(TEN_MB, {})).code).toBe('INVALID_ARGUMENTS');
    const update = 'preview_update(\'orders\', $1::jsonb, \'id = 1\', \'[]\', false, $2, $2)';
    expect(await sent(world, update, ['{"status": "x"}', TEN_MB])).toBe('ok');
    expect(await world.admin('select max(length(reason)) as reason, max(length(caller_id)) as caller from countersign_data.plan')).toEqual([{ reason: 2000, caller: 200 }]);
    const large = 'preview_update(\'orders\', jsonb_build_object(\'status\', repeat(\'x\', 17000000)), \'id = 1\', \'[]\', false, $1, null)';
    expect(await sent(world, large, ['a test'])).toBe('INVALID_ARGUMENTS');
    const [event] = await world.admin('select max(pg_column_size(e))::integer as size from countersign_data.event e');
    expect(Number(event?.['size'])).toBeLessThan(200_000);
  }),
  story('X004', 'NUL, which Postgres cannot store', async (world) => {
    const texts = ['a\0b', '\0'];
    for (const text of texts) {
      for (const [tool, args] of [
        ['insert_rows', { table: 'orders', columns: ['id', 'customer_id', 'status'], rows: [[999, 1, text]] }], ['insert_rows', { table: 'orders', columns: ['id', text], rows: [[1, 1]] }], ['update_rows', { table: 'orders', set: { status: text }, where: 'id = 1' }],
        ['update_rows', { table: 'orders', set: { [text]: 'x' }, where: 'id = 1' }], ['delete_rows', { table: 'orders', where: `status = '${text}'` }], ['delete_rows', { table: text, where: 'true' }],
        ['query', { statement: `SELECT 1${text}` }], ['query', { statement: 'SELECT $1::text', params: [text] }], ['run_migration', { statement: `DROP TABLE orders${text}` }], [text, {}],
      ] as const) expect((await world.tool(tool, { reason: 'a test', ...args })).code, tool).toBe('INVALID_ARGUMENTS');
      expect((await world.tool('query', { statement: 'SELECT 1', reason: text })).code).toBe('INVALID_ARGUMENTS');
    }
    expect(await sent(world, 'preview_insert(\'orders\', array[\'id\', \'customer_id\', \'status\'], $1::jsonb, \'x\', null)', ['[[999, 1, "a\\u0000b"]]'])).toBe('22P05');
    expect(await sent(world, 'preview_delete(\'orders\', $1, \'[]\', false, \'x\', null)', ['status = \'a\0b\''])).toBe('22021');
  }),
  story('X005', 'halves of a surrogate pair, which would all become the same character', async (world) => {
    for (const text of ['A\ud800', 'A\udbff', '\udc00A', '\udfff\ud800', 'ok\ud83d']) {
      for (const args of [{ table: 'orders', columns: ['id', 'status'], rows: [[999, text]] }, { table: 'orders', columns: [text], rows: [[1]] }, { table: 'orders', columns: ['id'], rows: [[{ [text]: 1 }]] }]) {
        expect((await world.tool('insert_rows', { ...args, reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
      }
      expect((await world.tool('query', { statement: `SELECT '${text}'`, reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
      expect((await world.tool('execute_plan', { plan_token: 'x', statement: text, params: [] })).code).toBe('INVALID_ARGUMENTS');
      expect(await sent(world, 'preview_update(\'orders\', $1::jsonb, \'id = 1\', \'[]\', false, \'x\', null)', [JSON.stringify({ status: text })])).toMatch(/^22P0[25]$/);
    }
    await refusedAsText(world, 'update_rows', ['{"table":"orders","set":{"status":"A\\ud800"},"where":"id = 1","reason":"x"}', '{"table":"orders","set":{"status":"\\udbff"},"where":"id = 1","reason":"x"}']);
    const whole = await world.tool('update_rows', { table: 'orders', set: { status: '😀' }, where: 'id = 1', reason: 'a test' });
    expect(whole.content['params']).toEqual(['😀']);
  }),
  story('X006', 'a number that JSON readers round to the neighbour\'s', async (world) => {
    const numbers = ['9007199254740993', '[9007199254740993]', '-9007199254740993', '9007199254740992', '9007199254740993.0', '9.007199254740993e15', '12345678901234567890', '0.1234567890123456789', '1e16', '123456789012345.67891'];
    await refusedAsText(world, 'delete_rows', numbers.map((number) => `{"table":"public.bigs","where":"id = $1","params":[${number}],"reason":"x"}`));
    await refusedAsText(world, 'update_rows', ['{"table":"bigs","set":{"id":9007199254740993},"where":"v = \'target\'","reason":"x"}']);
    await refusedAsText(world, 'query', ['{"statement":"select $1::bigint","params":[9007199254740993],"reason":"x"}']);
    // In memory, where it is too late to see it.
    expect((await world.tool('delete_rows', { table: 'bigs', where: 'id = $1', params: [Number('9007199254740993')], reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
    // As text it is exact, and shown as it is bound; and the functions never see a double.
    const asText = await world.toolFromText('delete_rows', '{"table":"public.bigs","where":"id = $1","params":["9007199254740993"],"reason":"x"}');
    expect(asText.content).toMatchObject({ affected_rows: 1, params: ['9007199254740993'], sample_rows: [{ id: '9007199254740993', v: 'target' }] });
    const { rows } = await world.db.as('agent').query<{ key: string }>('select detail->\'changes\'->0->>\'key\' as key from countersign.preview_delete(\'bigs\', \'id = $1\', \'[9007199254740993]\', false, \'x\', null)');
    expect(rows[0]?.key).toBe('id=9007199254740993');
    const { plan_token, statement, params } = asText.content;
    expect((await world.tool('execute_plan', { plan_token, statement, params })).code).toBeNull();
    expect(await world.admin('select v from public.bigs')).toEqual([{ v: 'innocent' }]);
  }, BIGS),
  story('X007', 'numbers that are none, or not the same afterwards', async (world) => {
    await refusedAsText(world, 'update_rows', ['1e400', '-1e400', '1e309', '[1e400, -0, 1.0, 0.1]', '{"x":1e999}'].map((number) => `{"table":"kinds","set":{"j":${number}},"where":"id = 1","reason":"x"}`));
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53]) {
      expect((await world.tool('update_rows', { table: 'kinds', set: { f: number }, where: 'id = 1', reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
    }
    // Postgres's own JSON is exact; what a column cannot hold is refused by the column.
    expect(await sent(world, 'preview_update(\'kinds\', $1::jsonb, \'id = 1\', \'[]\', false, \'x\', null)', ['{"f": 1e400}'])).toBe('STATEMENT_FAILED');
    // Equal numbers, other spelling: what is shown is what is stored.
    const shown = await world.toolFromText('insert_rows', '{"table":"kinds","columns":["id","n","f","t"],"rows":[[2,1.0,-0,0.1]],"reason":"x"}');
    expect(shown.content['sample_rows']).toMatchObject([{ n: '1.00', f: 0, t: '0.1' }]);
    expect(await stored(world, { id: 2, f: 'NaN', t: '1e400' })).toMatchObject({ f: 'NaN', t: '1e400' });
  }, KINDS),
  story('X008', 'keys that JavaScript takes for something else', async (world) => {
    await refusedAsText(world, 'insert_rows', [
      '{"table":"orders","columns":["id"],"rows":[[{"__proto__":{"admin":true},"id":1}]],"reason":"x"}', '{"table":"orders","columns":["id"],"rows":[{"__proto__":{"admin":true},"id":1}],"reason":"x"}',
      '{"__proto__":{"table":"orders"},"columns":["id"],"rows":[[1]],"reason":"x"}', '{"\\u005f_proto__":{"table":"orders"},"columns":["id"],"rows":[[1]],"reason":"x"}', '{"table":"orders","columns":["id"],"rows":[[{"constructor":{"prototype":{}}}]],"reason":"x"}',
    ]);
    await refusedAsText(world, 'update_rows', ['__proto__', 'constructor', 'prototype', '\\u005f_proto__'].map((key) => `{"table":"orders","set":{"${key}":{"status":"x"},"status":"y"},"where":"id = 1","reason":"x"}`));
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(await sent(world, 'preview_update(\'orders\', $1::jsonb, \'id = 1\', \'[]\', false, \'x\', null)', [`{"${key}": {"status": "x"}}`])).toBe('UNKNOWN_COLUMN');
    }
    for (const name of ['__proto__', 'constructor', 'toString', 'valueOf']) expect((await world.tool(name, {})).code).toBe('INVALID_ARGUMENTS');
  }),
  story('X009', 'values nested without end', async (world) => {
    for (const depth of [40, 1000, 10_000, 100_000]) {
      await refusedAsText(world, 'delete_rows', [`{"table":"orders","where":"id = $1","params":${deep(depth)},"reason":"x"}`, `{"table":"orders","where":"id = $1","params":[${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}],"reason":"x"}`]);
      await refusedAsText(world, 'query', [`{"statement":${deep(depth)},"reason":"x"}`, `{"statement":"select 1","unknown":${deep(depth)},"reason":"x"}`]);
      expect(await sent(world, 'preview_delete(\'orders\', \'id = $1\', $1::jsonb, false, \'x\', null)', [deep(depth)]), `${depth} levels`).toMatch(/^(STATEMENT_FAILED|54001)$/);
    }
    expect((await world.tool('query', { statement: 'select 1 as n', reason: 'a test' })).content['rows']).toEqual([{ n: 1 }]);
  }),
  story('X010', 'arguments that are no JSON', async (world) => {
    const sparse: unknown[] = [1];
    sparse[2] = 3;
    for (const params of [[undefined], sparse, Array(3), [() => 1], [Symbol('x')], [10n], [new Map()].map((map) => [map.size, undefined])]) {
      expect((await world.tool('delete_rows', { table: 'orders', where: 'id = $1', params, reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
      expect((await world.tool('insert_rows', { table: 'orders', columns: ['id'], rows: [params], reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
    }
    expect((await world.tool('update_rows', { table: 'orders', set: { status: undefined }, where: 'id = 1', reason: 'a test' })).code).toBe('INVALID_ARGUMENTS');
  }),
  refused('X010', 'params that are no list', 'INVALID_ARGUMENTS', 'delete_rows', [{}, 'x', 7, true, { 0: 1, length: 1 }].map((params) => ({ table: 'orders', where: 'id = $1', params }))),
  refused('X010', 'more or fewer values than parameters', 'INVALID_ARGUMENTS', 'delete_rows', [[], [1, 2], [1, null]].map((params) => ({ table: 'orders', where: 'id = $1', params }))),
  refused('X010 X012', 'a value that its column does not take', 'STATEMENT_FAILED', 'insert_rows', [
    ...into('whole', 2.5, '2.5', true, '1e3', '', 'x', '12 34', '０', [1], { a: 1 }, 2147483648), ...into('d', '2026-02-30', '2026-13-01', 'yesterdayish', 5.5), ...into('i', 40_000, '-32769'), ...into('v', 'abcdef'), ...into('c', 'abcdef'),
    ...into('n', '123456789012', 'x'), ...into('big', '9223372036854775808', 1.5), ...into('b', 2, 'maybe'), ...into('ts', '2026-01-01T25:00:00Z', 1), ...into('a', 'x', { a: 1 }),
  ], KINDS),
  story('X010 X012', 'a value that its column changes is shown as it will be stored', async (world) => {
    expect(await stored(world, { id: 2, n: 1.005, v: 'abcde', c: 'ab', i: 7, whole: ' 7 ', b: 'yes', d: 'January 8, 1999', ts: '2026-01-01T00:00:00+02:00', a: [1, 2], j: { a: [1] }, t: { a: 1 } })).toMatchObject({
      n: '1.01', v: 'abcde', c: 'ab   ', i: 7, whole: 7, b: true, d: '1999-01-08', ts: expect.stringMatching(/^2025-12-31[T ]22:00:00/) as string, j: { a: [1] }, t: '{"a": 1}' });
    // The same in an update, whose values are parameters.
    const rounded = await world.sql('update_rows', { table: 'kinds', set: { n: 1.005, whole: ' 8 ' }, where: 'id = 1' });
    expect(rounded.detail?.['changes']).toMatchObject([{ key: 'id=1', before: { n: null, whole: 5 }, after: { n: '1.01', whole: 8 } }]);
    expect((await world.sql('update_rows', { table: 'kinds', set: { v: 'abcdef' }, where: 'id = 1' })).code).toBe('STATEMENT_FAILED');
    expect((await world.sql('update_rows', { table: 'kinds', set: { whole: 2.5 }, where: 'id = 1' })).code).toBe('STATEMENT_FAILED');
  }, KINDS),
  story('X011', 'a statement or params that are nearly what was previewed', async (world) => {
    const where = 'status = \'a  b\' OR id = $1';
    const { detail } = await world.sql('update_rows', { table: 'orders', set: { status: 'a  b' }, where, params: [1] });
    const { plan_token, statement, params } = detail as { plan_token: string; statement: string; params: unknown[] };
    for (const nearly of [statement.replace('a  b', 'a b'), statement.replace(/\s+/g, ' '), `${statement} `, ` ${statement}`, `${statement}\n`, `${statement};`, `${statement} -- `, statement.toLowerCase(), statement.replace(' WHERE', '\nWHERE'),
      statement.replace(' WHERE', ' -- \nWHERE'), statement.replace('status', 'ｓtatus'), statement.replace(' ', '\u00a0'), statement.slice(0, -1), 'UPDATE public.orders SET status = $2']) {
      expect(nearly).not.toBe(statement);
      expect((await world.tool('execute_plan', { plan_token, statement: nearly, params })).code, nearly).toBe('STATEMENT_MISMATCH');
      expect((await world.sql('execute_plan', { plan_token, statement: nearly, params })).code).toBe('STATEMENT_MISMATCH');
    }
    for (const nearly of [[], [1], ['1', 'a  b'], [1, 'a b'], ['a  b', 1], [1, 'a  b', null], [1, ['a  b']], [2, 'a  b'], [true, 'a  b']]) {
      expect((await world.tool('execute_plan', { plan_token, statement, params: nearly })).code, JSON.stringify(nearly)).toBe('STATEMENT_MISMATCH');
    }
    for (const nearly of ['null', '{}', '"x"', '{"0": 1, "1": "a  b"}']) expect(await sent(world, 'execute_plan($1, $2, $3::jsonb, null)', [plan_token, statement, nearly])).toBe('STATEMENT_MISMATCH');
    expect((await world.tool('execute_plan', { plan_token, statement, params })).content['affected_rows']).toBe(1);
    expect(await world.admin('select status from public.orders where id = 1')).toEqual([{ status: 'a  b' }]);
  }),
];

/** Every payload of the cases is contained. */
export const NOT_CONTAINED: Readonly<Record<string, string>> = {};
