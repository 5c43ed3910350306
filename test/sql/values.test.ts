/** Values arrive whole: no digit, element or null is lost between what is asked, what is shown and what is stored. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { allow, createShop, one, setPolicy } from './application.js';
import { accepted, execute, previewDelete, previewInsert, previewUpdate } from './calls.js';

const db = await createTestDatabase();
const [agent, owner] = [db.as('agent'), db.as('owner')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  await owner.query(`
    create type mood as enum ('fine', 'so, so', '"bad"');
    create domain cents as bigint check (value >= 0);
    create type place as (lat double precision, name text);
    create table zoo (id integer primary key, big bigint, num numeric, money cents, small smallint, real4 real, real8 double precision, yes boolean,
      txt text, code char(4), raw bytea, day date, at timestamptz, local timestamp, clock time, span interval, u uuid, ip inet, m mood, js json, jb jsonb, x xml,
      bits bit varying, r int8range, nr numrange, tr tstzrange, spot place, words text[], bigs bigint[], nums numeric[], grid integer[][], moods mood[], docs jsonb[], raws bytea[])`);
  await allow(db, 'zoo');
});

/** column, what the agent sends, what the preview shows, what is stored (as Postgres prints it). */
const VALUES: ReadonlyArray<[column: string, sent: unknown, shown: unknown, stored: string | null]> = [
  ['big', '9007199254740993', '9007199254740993', '9007199254740993'],
  ['big', '-9223372036854775808', '-9223372036854775808', '-9223372036854775808'],
  ['big', 5, '5', '5'],
  ['num', '12345678901234567890.12345678901234567890', '12345678901234567890.12345678901234567890', '12345678901234567890.12345678901234567890'],
  ['num', 'NaN', 'NaN', 'NaN'],
  ['num', 'Infinity', 'Infinity', 'Infinity'],
  ['num', '1e-20', '0.00000000000000000001', '0.00000000000000000001'],
  ['money', '9007199254740993', '9007199254740993', '9007199254740993'],
  ['small', -32768, -32768, '-32768'],
  ['real8', 'NaN', 'NaN', 'NaN'],
  ['real8', '-Infinity', '-Infinity', '-Infinity'],
  ['real8', 0.1, 0.1, '0.1'],
  ['yes', false, false, 'false'],
  ['txt', '', '', ''],
  ['txt', 'it\'s "quoted" \\ $1 ; -- \u{1F600}', 'it\'s "quoted" \\ $1 ; -- \u{1F600}', 'it\'s "quoted" \\ $1 ; -- \u{1F600}'],
  ['txt', 42, '42', '42'],
  ['txt', 'null', 'null', 'null'],
  ['code', 'ab', 'ab  ', 'ab'],
  ['raw', '\\xdeadbeef00ff', '\\xdeadbeef00ff', '\\xdeadbeef00ff'],
  ['day', '2024-02-29', '2024-02-29', '2024-02-29'],
  ['day', 'infinity', 'infinity', 'infinity'],
  ['at', '2024-06-01T12:00:00.123456+02:00', '2024-06-01T10:00:00.123456+00:00', '2024-06-01 10:00:00.123456+00'],
  ['local', '2024-06-01T12:00:00', '2024-06-01T12:00:00', '2024-06-01 12:00:00'],
  ['clock', '23:59:59.999', '23:59:59.999', '23:59:59.999'],
  ['span', 'P1Y2M3DT4H5M6.7S', 'P1Y2M3DT4H5M6.7S', 'P1Y2M3DT4H5M6.7S'],
  ['span', '-90 minutes', 'PT-1H-30M', 'PT-1H-30M'],
  ['u', '5bd9d58c-5b0e-4a5b-9b0e-1d3c7c1e0f10', '5bd9d58c-5b0e-4a5b-9b0e-1d3c7c1e0f10', '5bd9d58c-5b0e-4a5b-9b0e-1d3c7c1e0f10'],
  ['ip', '10.0.0.0/8', '10.0.0.0/8', '10.0.0.0/8'],
  ['m', '"bad"', '"bad"', '"bad"'],
  ['js', { b: 1, a: [null] }, { b: 1, a: [null] }, '{"a": [null], "b": 1}'],
  ['jb', { deep: [{ er: null }, 'x'] }, { deep: [{ er: null }, 'x'] }, '{"deep": [{"er": null}, "x"]}'],
  ['jb', [1, 2], [1, 2], '[1, 2]'],
  ['jb', 'text', 'text', '"text"'],
  ['jb', 7, 7, '7'],
  ['bits', '10110', '10110', '10110'],
  ['r', '[1,9007199254740993)', '[1,9007199254740993)', '[1,9007199254740993)'],
  ['nr', '(,0.5]', '(,0.5]', '(,0.5]'],
  ['tr', 'empty', 'empty', 'empty'],
  ['spot', '(1.5,"a, b")', { lat: 1.5, name: 'a, b' }, '(1.5,"a, b")'],
  ['words', ['a', null, '', 'NULL', '{"x"}', 'it\'s', 'back\\slash', 'two words'], ['a', null, '', 'NULL', '{"x"}', 'it\'s', 'back\\slash', 'two words'], '{a,NULL,"","NULL","{\\"x\\"}",it\'s,"back\\\\slash","two words"}'],
  ['words', [], [], '{}'],
  ['bigs', ['9007199254740993', null, 1], ['9007199254740993', null, '1'], '{9007199254740993,NULL,1}'],
  ['nums', ['0.10', 'NaN'], ['0.10', 'NaN'], '{0.10,NaN}'],
  ['grid', [[1, 2], [3, 4]], [[1, 2], [3, 4]], '{{1,2},{3,4}}'],
  ['moods', ['so, so', '"bad"'], ['so, so', '"bad"'], '{"so, so","\\"bad\\""}'],
  ['docs', [{ a: 1 }, null, [2]], [{ a: 1 }, null, [2]], '{"{\\"a\\": 1}",NULL,[2]}'],
  ['raws', ['\\x00', '\\xff'], ['\\x00', '\\xff'], '{"\\\\x00","\\\\xff"}'],
  ...['big', 'txt', 'jb', 'words', 'span', 'm', 'spot'].map((column) => [column, null, null, null] as [string, unknown, unknown, string | null]),
];

let id = 0;
const looks = await db.connect('admin');
await looks.query('set intervalstyle = iso_8601; set timezone = \'UTC\'; set bytea_output = hex');
const stored = async (column: string): Promise<string | null> => {
  const { rows } = await looks.query<{ value: string | null }>(`select ${column === 'js' ? 'js::jsonb' : column}::text as value from zoo where id = $1`, [id]);
  return rows[0]?.value ?? null;
};

describe('insert, update and delete of', () => {
  test.each(VALUES)('%s %j', async (column, sent, shown, kept) => {
    const insert = accepted(await previewInsert(agent, 'zoo', ['id', column], [[++id, sent]]));
    expect(insert.detail.sample_rows[0]?.[column]).toEqual(shown);
    expect(await execute(agent, insert)).toMatchObject({ ok: true, detail: { affected_rows: 1 } });
    expect(await stored(column)).toBe(kept);

    await owner.query(`update zoo set ${column} = null where id = $1`, [id]);
    const update = accepted(await previewUpdate(agent, 'zoo', { [column]: sent }, 'id = $1', [id]));
    expect(update.detail.changes).toEqual([sent === null ? { key: `id=${id}`, before: {}, after: {} } : { key: `id=${id}`, before: { [column]: null }, after: { [column]: shown } }]);
    expect(await execute(agent, update)).toMatchObject({ ok: true, detail: { affected_rows: 1 } });
    expect(await stored(column)).toBe(kept);

    const gone = accepted(await previewDelete(agent, 'zoo', 'id = $1', [id]));
    expect(gone.detail.sample_rows[0]?.[column]).toEqual(shown);
    expect(gone.detail.changes[0]).toMatchObject({ key: `id=${id}`, after: null });
    expect(await execute(agent, gone)).toMatchObject({ ok: true, detail: { affected_rows: 1 } });
  });
});

describe('parameters', () => {
  test('take the type that Postgres infers, arrays and nulls included', async () => {
    await owner.query('insert into zoo (id, big, txt, words, m) values (1001, 9007199254740993, \'a\', \'{x,y}\', \'fine\'), (1002, 9007199254740992, null, null, null)');
    const rows = async (where: string, params: unknown): Promise<number> => accepted(await previewDelete(agent, 'zoo', where, params)).detail.affected_rows;
    expect(await rows('big = $1', ['9007199254740993'])).toBe(1);
    expect(await rows('id = any($1)', [[1001, 1002]])).toBe(2);
    expect(await rows('big = any($1)', [['9007199254740993', null]])).toBe(1);
    expect(await rows('txt is not distinct from $1 and id = 1002', [null])).toBe(1);
    expect(await rows('id = 1001 and txt = $1', [null])).toBe(0);
    expect(await rows('words && $1', [['y']])).toBe(1);
    expect(await rows('m = $1', ['fine'])).toBe(1);
    expect(await rows('id > 1000 and ($1::boolean or $2::text is null)', [true, null])).toBe(2);
    expect(await rows('id = $1 or id = $1 + 1', [1001])).toBe(2);
    expect(await rows('txt = $1', ['\'; drop table zoo; --'])).toBe(0);
  });

  test('numbers in JSON text keep every digit', async () => {
    expect(accepted(await previewDelete(agent, 'zoo', 'big = $1', '[9007199254740993]')).detail.affected_rows).toBe(1);
  });

  test.each([
    ['too few', 'id = $1 and big = $2', [1], 'INVALID_ARGUMENTS'],
    ['too many', 'id = $1', [1, 2], 'INVALID_ARGUMENTS'],
    ['none', 'id = $1', [], 'INVALID_ARGUMENTS'],
    ['a gap', 'id = $2', [1, 2], 'INVALID_ARGUMENTS'],
    ['no array', 'id = $1', { a: 1 }, 'INVALID_ARGUMENTS'],
    ['a wrong type', 'id = $1', ['five'], 'STATEMENT_FAILED'],
    ['a list where one value is due', 'id = $1', [[1]], 'STATEMENT_FAILED'],
    ['too large', 'small = $1', [100_000], 'STATEMENT_FAILED'],
    ['an enum label that is none', 'm = $1', ['great'], 'STATEMENT_FAILED'],
  ])('%s: refused with its code', async (_name, where, params, code) => {
    expect(await previewDelete(agent, 'zoo', where, params)).toMatchObject({ ok: false, code });
  });

  test.each([
    ['no column', [], [[1]]], ['no row', ['id'], []], ['a short row', ['id', 'txt'], [[1]]], ['a long row', ['id'], [[1, 2]]], ['a row that is none', ['id'], [1]],
    ['a column twice', ['id', 'id'], [[1, 1]]], ['rows that are none', ['id'], { a: 1 }],
  ])('insert: %s is refused as INVALID_ARGUMENTS', async (_name, columns, rows) => {
    expect(await previewInsert(agent, 'zoo', columns, rows)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  });

  test.each([['not an object', [1]], ['empty', {}], ['null', null]])('update: set is %s: refused as INVALID_ARGUMENTS', async (_name, set) => {
    expect(await previewUpdate(agent, 'zoo', set, 'id = 1')).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
  });

  test('an unknown column is UNKNOWN_COLUMN wherever it stands', async () => {
    expect(await previewUpdate(agent, 'zoo', { nope: 1 }, 'id = 1')).toMatchObject({ ok: false, code: 'UNKNOWN_COLUMN' });
    expect(await previewInsert(agent, 'zoo', ['nope'], [[1]])).toMatchObject({ ok: false, code: 'UNKNOWN_COLUMN' });
    expect(await previewDelete(agent, 'zoo', 'nope = 1')).toMatchObject({ ok: false, code: 'UNKNOWN_COLUMN' });
    for (const system of ['ctid', 'xmin', 'tableoid']) expect(await previewUpdate(agent, 'zoo', { [system]: 1 }, 'id = 1')).toMatchObject({ ok: false, code: 'UNKNOWN_COLUMN' });
  });
});

describe('columns that Postgres fills', () => {
  beforeAll(async () => {
    await owner.query(`create table invoice (id bigint generated always as identity primary key, other integer generated by default as identity, serial_no serial,
      net numeric not null, gross numeric generated always as (net * 1.19) stored, made timestamptz default now(), "Mixed Case" text default 'none')`);
    await allow(db, 'invoice');
  });

  test('identity, serial, generated and defaults are shown as they come out', async () => {
    const preview = accepted(await previewInsert(agent, 'invoice', ['net', 'Mixed Case'], [['100', 'a'], ['200.50', null]]));
    expect(preview.detail.sample_rows).toHaveLength(2);
    expect(preview.detail.sample_rows).toContainEqual(expect.objectContaining({ net: '200.50', gross: '238.5950', 'Mixed Case': null }));
    expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 2 } });
    expect(await one(db, 'select array_agg(gross::text order by net) from invoice')).toEqual(['119.00', '238.5950']);
    const update = accepted(await previewUpdate(agent, 'invoice', { net: '10' }, 'net = 100'));
    expect(update.detail.changes[0]).toMatchObject({ before: { net: '100', gross: '119.00' }, after: { net: '10', gross: '11.90' } });
    expect(await execute(agent, update)).toMatchObject({ ok: true });
    expect(await execute(agent, accepted(await previewDelete(agent, 'invoice', 'gross > 100')))).toMatchObject({ ok: true, detail: { affected_rows: 1 } });
  });

  test('a value for GENERATED ALWAYS is refused by Postgres', async () => {
    expect(await previewInsert(agent, 'invoice', ['id', 'net'], [[5, '1']])).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '428C9' } });
    expect(await previewUpdate(agent, 'invoice', { gross: '1' }, 'id = 1')).toMatchObject({ ok: false, code: 'STATEMENT_FAILED', detail: { sqlstate: '428C9' } });
  });
});

test('a table of 150 columns, a text of a megabyte and a name of 63 bytes are handled, and the text is shown cut', async () => {
  const long = `t${'é'.repeat(31)}`;
  await owner.query(`create table wide (id integer primary key, "${long}" text, ${Array.from({ length: 148 }, (_, n) => `c${n} text default 'v${n}'`).join(', ')})`);
  await allow(db, 'wide');
  const insert = accepted(await previewInsert(agent, 'wide', ['id', long], [[1, 'm'.repeat(1_000_000)]]));
  expect(Object.keys(insert.detail.sample_rows[0] ?? {})).toHaveLength(150);
  expect(insert.detail.sample_rows[0]?.[long]).toBe(`${'m'.repeat(2000)}… (1000000 characters)`);
  accepted(await execute(agent, insert));
  expect(await one(db, `select length("${long}") from wide`)).toBe(1_000_000);
  const update = accepted(await previewUpdate(agent, 'wide', Object.fromEntries(Array.from({ length: 148 }, (_, n) => [`c${n}`, n === 3 ? null : `w${n}`])), 'id = 1'));
  expect(await execute(agent, update)).toMatchObject({ ok: true });
  expect(await one(db, 'select c0 || coalesce(c3, \'-\') || c147 from wide')).toBe('w0-w147');
});
