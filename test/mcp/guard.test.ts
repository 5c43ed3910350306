import { describe, expect, test } from 'vitest';
import { CountersignError } from '../../src/errors.js';
import { DEFAULT_LIMITS, guardArguments, type Limits } from '../../src/mcp/guard.js';

function refused(args: Record<string, unknown>, limits?: Limits): CountersignError {
  try {
    guardArguments(args, limits);
  } catch (error) {
    expect(error).toBeInstanceOf(CountersignError);
    return error as CountersignError;
  }
  throw new Error('the arguments were let through');
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

describe('what no honest caller sends is refused before anything looks at it', () => {
  const cases: [name: string, args: Record<string, unknown>, path: string, words: RegExp][] = [
    ['a NUL in a statement', { statement: 'select 1\0' }, 'statement', /NUL/],
    ['a NUL in a value', { params: ['a\0b'] }, 'params[0]', /NUL/],
    ['a NUL in a key', { set: { 'a\0': 1 } }, 'set (a key)', /NUL/],
    ['a lone high surrogate', { params: ['A\ud800'] }, 'params[0]', /surrogate/],
    ['a lone low surrogate', { reason: '\udc00 why' }, 'reason', /surrogate/],
    ['an integer of 2^53', { params: [9007199254740992] }, 'params[0]', /too large/],
    ['a large negative integer', { params: [-9007199254740993] }, 'params[0]', /too large/],
    ['an infinity', { rows: [[Number.POSITIVE_INFINITY]] }, 'rows[0][0]', /too large/],
    ['NaN', { params: [Number.NaN] }, 'params[0]', /too large/],
    ['a key __proto__', { rows: [[JSON.parse('{"__proto__":{"admin":true}}')]] }, 'rows[0][0]', /__proto__/],
    ['a key constructor', { set: { constructor: 1 } }, 'set', /constructor/],
    ['a key prototype', { params: [{ prototype: 1 }] }, 'params[0]', /prototype/],
    ['a forbidden name of an argument', JSON.parse('{"__proto__":1}') as Record<string, unknown>, 'arguments', /__proto__/],
    ['undefined', { params: [undefined] }, 'params[0]', /not JSON/],
    ['a sparse array', { params: [, 1] }, 'params[0]', /not JSON/],
    ['a statement above 64 KiB', { statement: `select '${'x'.repeat(65_530)}'` }, 'statement', /64 KiB/],
    ['a statement of 10 MB', { statement: 'x'.repeat(10_000_000) }, 'statement', /64 KiB/],
    ['a where above 64 KiB in bytes, not in characters', { where: 'é'.repeat(40_000) }, 'where', /64 KiB/],
    ['values above 1 MiB', { params: ['x'.repeat(1024 * 1024)] }, 'params', /1 MiB/],
    ['values above 1 MiB over several arguments', { set: { a: 'x'.repeat(600_000) }, params: ['x'.repeat(600_000)] }, 'params', /1 MiB/],
    ['70,000 parameters', { params: Array.from({ length: 70_000 }, () => 1) }, 'params', /65535/],
  ];
  test.each(cases)('%s', (_name, args, path, words) => {
    const error = refused(args);
    expect(error.code).toBe('INVALID_ARGUMENTS');
    expect(error.detail).toEqual({ path });
    expect(error.message).toMatch(words);
    expect(error.hint.length).toBeGreaterThan(10);
  });

  test('values nested deeper than 32 levels', () => {
    expect(() => guardArguments({ params: [nested(30)] })).not.toThrow();
    expect(refused({ params: [nested(33)] }).message).toMatch(/deeper than 32/);
    expect(refused({ params: nested(1_000_000) }).message).toMatch(/deeper than 32/);
  });
});

describe('what an honest caller sends passes', () => {
  const cases: [name: string, args: Record<string, unknown>][] = [
    ['no arguments', {}],
    ['whole pairs of surrogates', { params: ['😀'], reason: '𝒳' }],
    ['the largest safe integers', { params: [2 ** 53 - 1, -(2 ** 53 - 1)] }],
    ['minus zero and fractions', { params: [-0, 0.1, 1e-7] }],
    ['a large integer as a string', { params: ['9007199254740993'] }],
    ['null, booleans, objects, arrays', { params: [null, true, { a: [1, 'x'] }, []] }],
    ['a statement of 64 KiB exactly', { statement: 'x'.repeat(65_536) }],
    ['65,535 parameters', { params: Array.from({ length: 65_535 }, () => 1) }],
  ];
  test.each(cases)('%s', (_name, args) => {
    expect(() => guardArguments(args)).not.toThrow();
  });

  test('limits are those of the tool', () => {
    const rows = [['x'.repeat(2 * 1024 * 1024)]];
    expect(refused({ rows }).code).toBe('INVALID_ARGUMENTS');
    expect(() => guardArguments({ rows }, { ...DEFAULT_LIMITS, values: 8 * 1024 * 1024 })).not.toThrow();
  });
});
