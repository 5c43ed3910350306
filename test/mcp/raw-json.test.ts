import { describe, expect, test } from 'vitest';
import { hiddenProblem, isExactNumber, survivesParsing } from '../../src/mcp/raw-json.js';

describe('a number is exact when a double holds it as it is written', () => {
  test.each(['0', '-0', '1', '-1.5', '0.1', '1.0', '1.10', '100000', '9007199254740991', '0.30000000000000004', '1e2', '1.5E-7', '5e-324'])(
    '%s is exact',
    (token) => expect(isExactNumber(token)).toBe(true),
  );
  test.each(['9007199254740992', '9007199254740993', '-9007199254740993', '1e400', '-1e400', '1e-400', '0.1234567890123456789', '12345678901234567890.5', '1e16'])(
    '%s is not',
    (token) => expect(isExactNumber(token)).toBe(false),
  );
});

describe('the raw line of a call shows what the parsed one hides', () => {
  const call = (args: string): string => `{"method":"tools/call","params":{"name":"query","arguments":${args}},"jsonrpc":"2.0","id":1}`;
  test('a number that JSON.parse rounds', () => {
    expect(hiddenProblem(call('{"params":[1, 9007199254740993]}'))).toContain('9007199254740993');
    expect(hiddenProblem(call('{"params":[{"a":[0.1234567890123456789]}]}'))).toContain('0.1234567890123456789');
    expect(hiddenProblem(call('{"limit":1e400}'))).toContain('1e400');
  });
  test('a key that parsers swallow', () => {
    expect(hiddenProblem(call('{"table":"t","__proto__":{"confirm_full_table":true}}'))).toContain('__proto__');
    expect(hiddenProblem(call('{"\\u005f_proto__":1}'))).toContain('__proto__');
  });
  test('digits inside of strings are text', () => {
    expect(hiddenProblem(call('{"params":["9007199254740993","a\\"9007199254740993","\\\\"],"reason":"{9007199254740993"}'))).toBeNull();
  });
  test('numbers outside of the arguments are none of its business', () => {
    expect(hiddenProblem('{"id":9007199254740993,"method":"tools/call","params":{"_meta":{"t":1e400},"arguments":{"limit":5}}}')).toBeNull();
  });
  test('an escaped spelling of the key arguments is still read', () => {
    expect(hiddenProblem('{"params":{"\\u0061rguments":{"params":[9007199254740993]}}}')).not.toBeNull();
  });
  test('ten megabytes take less than a second', () => {
    const started = performance.now();
    expect(hiddenProblem(call(`{"statement":"${'x"'.replace('"', '\\"').repeat(3_500_000)}"}`))).toBeNull();
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

test('JSON from the database is only parsed when that loses nothing', () => {
  expect(survivesParsing('{"a":[1,2.5,"9007199254740993"]}')).toBe(true);
  expect(survivesParsing('{"a":9007199254740993}')).toBe(false);
  expect(survivesParsing(`${'['.repeat(5000)}${']'.repeat(5000)}`)).toBe(false);
});
