import { describe, expect, test } from 'vitest';
import { parseArrayLiteral, toArrayLiteral } from '../../src/mcp/array-literal.js';
import { builtInType, toJsonValue, toParameter, uniqueNames } from '../../src/mcp/values.js';

const value = (text: string | null, oid: number): unknown => toJsonValue(text, oid, builtInType(oid) ?? { name: 'unknown' });

describe('values arrive whole', () => {
  test.each<[name: string, oid: number, text: string | null, json: unknown]>([
    ['null', 25, null, null],
    ['text', 25, 'a "b"', 'a "b"'],
    ['boolean', 16, 't', true],
    ['boolean', 16, 'f', false],
    ['smallint', 21, '-5', -5],
    ['integer', 23, '2147483647', 2147483647],
    ['bigint', 20, '9007199254740993', '9007199254740993'],
    ['small bigint', 20, '1', '1'],
    ['numeric', 1700, '12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['numeric NaN', 1700, 'NaN', 'NaN'],
    ['double', 701, '0.1', 0.1],
    ['double NaN', 701, 'NaN', 'NaN'],
    ['double infinity', 701, '-Infinity', '-Infinity'],
    ['real infinity', 700, 'Infinity', 'Infinity'],
    ['date', 1082, '2026-03-29', '2026-03-29'],
    ['timestamp', 1114, '2026-03-29 02:30:00.123456', '2026-03-29T02:30:00.123456'],
    ['timestamptz', 1184, '2026-03-29 02:30:00+00', '2026-03-29T02:30:00+00:00'],
    ['timestamptz with minutes', 1184, '2026-03-29 02:30:00+05:30', '2026-03-29T02:30:00+05:30'],
    ['timestamptz infinity', 1184, 'infinity', 'infinity'],
    ['timestamptz BC', 1184, '0044-03-15 00:00:00+00 BC', '0044-03-15T00:00:00+00:00 BC'],
    ['interval', 1186, 'P1Y2DT3.5S', 'P1Y2DT3.5S'],
    ['bytea', 17, '\\x00ff', '\\x00ff'],
    ['uuid', 2950, '6f1c0000-0000-4000-8000-000000000000', '6f1c0000-0000-4000-8000-000000000000'],
    ['jsonb', 3802, '{"a": [1, null]}', { a: [1, null] }],
    ['jsonb with a number that would be rounded', 3802, '{"a": 9007199254740993}', '{"a": 9007199254740993}'],
    ['json null', 114, 'null', null],
    ['integer[]', 1007, '{1,NULL,3}', [1, null, 3]],
    ['bigint[]', 1016, '{9007199254740993}', ['9007199254740993']],
    ['nested integer[]', 1007, '{{1,2},{3,4}}', [[1, 2], [3, 4]]],
    ['text[]', 1009, '{"a\\"b\\\\c","NULL",NULL,"",plain,"{x,y}"}', ['a"b\\c', 'NULL', null, '', 'plain', '{x,y}']],
    ['boolean[]', 1000, '{t,f}', [true, false]],
    ['jsonb[]', 3807, '{"{\\"a\\": 1}",NULL}', [{ a: 1 }, null]],
    ['timestamptz[]', 1185, '{"2026-03-29 02:30:00+00"}', ['2026-03-29T02:30:00+00:00']],
    ['empty array', 1007, '{}', []],
    ['array with bounds', 1007, '[0:1]={5,6}', [5, 6]],
    ['box[] is separated by semicolons', 1020, '{(1,1),(0,0);(2,2),(0,0)}', ['(1,1),(0,0)', '(2,2),(0,0)']],
    ['range', 3904, '[1,5)', '[1,5)'],
  ])('%s (%i): %s', (_name, oid, text, json) => {
    expect(value(text, oid)).toEqual(json);
  });

  test('minus zero does not become a value JSON cannot write', () => {
    expect(Object.is(value('-0', 701), 0)).toBe(true);
  });
});

test('no two columns of a result have one name', () => {
  expect(uniqueNames(['a', 'a', 'b', 'a'])).toEqual(['a', 'a_2', 'b', 'a_3']);
  expect(uniqueNames(['a', 'a', 'a_2'])).toEqual(['a', 'a_3', 'a_2']);
  expect(uniqueNames(['?column?', '?column?'])).toEqual(['?column?', '?column?_2']);
});

describe('arguments become the text Postgres reads', () => {
  test.each<[unknown, string | null]>([
    [null, null],
    ['', ''],
    [' 7 ', ' 7 '],
    [true, 'true'],
    [2.5, '2.5'],
    [-0, '0'],
    [{ a: [1] }, '{"a":[1]}'],
    [[1, null, 'x"y\\z', true], '{"1",NULL,"x\\"y\\\\z","true"}'],
    [[[1, 2], [3, 4]], '{{"1","2"},{"3","4"}}'],
    [['NULL', ''], '{"NULL",""}'],
    [[{ a: '"' }], '{"{\\"a\\":\\"\\\\\\"\\"}"}'],
  ])('%j', (given, text) => {
    expect(toParameter(given)).toBe(text);
  });

  test('an array that is written and read again is the same', () => {
    const array = ['plain', 'with "quotes"', 'back\\slash', '{curly}', 'a,b', '', 'NULL', null, ' space '];
    expect(parseArrayLiteral(toArrayLiteral(array))).toEqual(array);
  });
});
