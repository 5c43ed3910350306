/** One value, one text, in JavaScript and in Postgres; and the same refusals. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_DEPTH, MAX_PAYLOAD_BYTES, canonicalJson, fingerprint } from '../../src/plan-store/fingerprint.js';
import { createTestDatabase } from '../harness/database.js';

const db = await createTestDatabase();

/** What Postgres makes of JSON texts; null is a refusal. */
async function inPostgres(texts: string[]): Promise<Array<string | null>> {
  const { rows } = await db.as('admin').query<{ text: string | null }>(
    'select countersign_data.canonical_json(t.value) as text from unnest($1::text[]) with ordinality as t(value, place) order by t.place', [texts]);
  return rows.map((row) => row.text);
}

const double = (): fc.Arbitrary<number> => fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.maxSafeInteger(),
  // every exponent, and mantissas at the edges of the interval that rounds to a double
  fc.tuple(fc.integer({ min: 0, max: 2046 }), fc.constantFrom(0n, 1n, 2n, 0xfffffffffffffn, 0x8000000000000n), fc.boolean()).map(([exponent, mantissa, negative]) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, (BigInt(exponent) << 52n) | mantissa | (negative ? 1n << 63n : 0n));
    return view.getFloat64(0);
  }),
  // powers of ten and their neighbours, where the notations change
  fc.tuple(fc.integer({ min: -30, max: 30 }), fc.integer({ min: 1, max: 99999 })).map(([power, digits]) => digits * 10 ** power));
const character = fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), fc.constantFrom('\ud7ff', '\ue000', '\uffff', '\ufdd0', '\u{10000}', '\u{10ffff}', '\u007f', '\u2028', '"', '\\', '/', '\b', '\f', '\n', '\r', '\t', '\u001f', 'ä'))
  .filter((text) => text !== '\0');
const word = fc.array(character, { maxLength: 5 }).map((parts) => parts.join(''));
const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 5, depthSize: 'small' }, fc.constantFrom(null, true, false, {}, []), double(), word,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.oneof(word, fc.constantFrom('__proto__', 'constructor', 'toJSON', 'a', 'b', '')), tie('value')), { maxLength: 5 }).map((entries) => {
      const made: Record<string, unknown> = {};
      for (const [key, member] of entries) Object.defineProperty(made, key, { value: member, enumerable: true, configurable: true, writable: true });
      return made;
    })),
}));

/** As many cases in one query, since the round trip would be most of the time. */
const many = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(one, { minLength: 250, maxLength: 250, size: 'max' });

test('any number is written alike', async () => {
  await fc.assert(fc.asyncProperty(many(double()), async (numbers) => {
    expect(await inPostgres(numbers.map((number) => JSON.stringify(number)))).toEqual(numbers.map(canonicalJson));
    // and however it was written before: with all the digits it has
    expect(await inPostgres(numbers.map((number) => number.toExponential()))).toEqual(numbers.map(canonicalJson));
  }), { numRuns: 20 });
});

test('the numbers at which others were wrong', async () => {
  const numbers = [0, -0, 1e21, 1e20, 123456789012345680000, 1e-6, 1e-7, 1.5e-7, 5e-324, 1.7976931348623157e308, 2 ** 53, 2 ** 53 + 2, 1e23, 9.5367431640625e-7, 2e-323, 4.35, 0.1 + 0.2, 9007199254740993,
    333333333.33333329, 1e15, 1e16, 123456789012345.67, 999999999999999, 1000000000000000, -1.1e-300, 2.2250738585072014e-308];
  expect(await inPostgres(numbers.map((number) => JSON.stringify(number)))).toEqual(numbers.map(canonicalJson));
  expect(canonicalJson(-0)).toBe('0');
});

test('any value is written alike, and is what JSON.stringify says', async () => {
  await fc.assert(fc.asyncProperty(many(json), async (values) => {
    const texts = values.map(canonicalJson);
    expect(await inPostgres(values.map((value) => JSON.stringify(value)))).toEqual(texts);
    expect(await inPostgres(texts)).toEqual(texts);
    for (const [n, text] of texts.entries()) expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(values[n])));
  }), { numRuns: 20 });
});

test('the order of keys does not matter, and is that of UTF-16', async () => {
  const keys = ['\u{10000}', '\u{10ffff}', '\ud7ff', '\ue000', '\uffff', 'a', 'B', '', 'aa', '\u{1f600}\ue000', '\u{1f600}a', '\ufb33', '\u0080', '1', '10', '2', '__proto__'];
  const forth = Object.fromEntries(keys.map((key, n) => [key, n]));
  const back = Object.fromEntries(Object.entries(forth).reverse());
  expect(fingerprint(back)).toBe(fingerprint(forth));
  const text = canonicalJson(forth);
  expect([...text.matchAll(/"((?:[^"\\]|\\.)*)":/g)].map((match) => match[1])).toEqual([...new Set(keys)].sort());
  expect(await inPostgres([JSON.stringify(back)])).toEqual([text]);
});

test('a fingerprint is the SHA-256 of the text', () => {
  expect(canonicalJson({ b: 1, a: [true, null, 'ä'] })).toBe('{"a":[true,null,"ä"],"b":1}');
  expect(fingerprint({ b: 1, a: [true, null, 'ä'] })).toBe(createHash('sha256').update('{"a":[true,null,"ä"],"b":1}').digest('hex'));
});

describe('as JSON.stringify', () => {
  test('asks toJSON, takes primitives out of their boxes, leaves out what is undefined', () => {
    const values: unknown[] = [
      new Date(0), { at: new Date(0), none: undefined, call: () => 1, sign: Symbol('x') }, [undefined, () => 1, Symbol('x')], Object(1), Object('x'), Object(false), Buffer.from('ab'),
      { toJSON: (key: string) => `asked by ${key}` }, { inner: { toJSON: (key: string) => ({ key }) } }, [{ toJSON: (key: string) => key }], new Uint8Array([1, 2]), new (class { a = 1; #b = 2; c() { return this.#b; } })(),
      { toJSON: 'no function' }, Object.create({ inherited: 1 }), JSON.parse('{"__proto__": {"a": 1}}'), new Date(NaN),
    ];
    for (const value of values) expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    expect(canonicalJson(JSON.parse('{"__proto__": 1}'))).toBe('{"__proto__":1}');
  });

  test('one object in two places is no cycle', () => {
    const shared = { a: 1 };
    expect(canonicalJson([shared, { shared }])).toBe('[{"a":1},{"shared":{"a":1}}]');
  });
});

describe('what JSON cannot hold or would lose is a TypeError that names the place', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = { back: [cycle] };
  const nested = (levels: number): unknown => { let value: unknown = 1; for (let n = 0; n < levels; n++) value = [value]; return value; };
  test.each([
    [{ a: [new Map()] }, 'payload.a[0] is a Map'], [new Set(), 'payload is a Set'], [/x/, 'a RegExp'], [new Error('x'), 'an Error'], [Promise.resolve(), 'a Promise'], [new WeakMap(), 'a WeakMap'],
    [new ArrayBuffer(1), 'an ArrayBuffer'], [1n, 'a bigint'], [Object(1n), 'a bigint'], [{ n: NaN }, 'payload.n is NaN'], [1e400, 'Infinity'], [[-Infinity], '-Infinity'], [cycle, 'contains itself'],
    ['a\0b', 'NUL'], [{ 'a\0': 1 }, 'A key of payload'], ['\ud800', 'half of a surrogate pair'], [{ '\udc00x': 1 }, 'A key of payload'], ['\udc00\ud800', 'half of a surrogate pair'],
    [undefined, 'payload is undefined'], [() => 1, 'payload is a function'], [Symbol('x'), 'payload is a symbol'], [{ toJSON: () => undefined }, 'cannot hold'], [{ toJSON: () => new Map() }, 'a Map'],
    [nested(MAX_DEPTH + 1), 'nested more than 128 levels'], ['x'.repeat(MAX_PAYLOAD_BYTES - 1), 'larger than']
  ])('%#: %2$s', (value, message) => {
    expect(() => fingerprint(value)).toThrow(TypeError);
    expect(() => fingerprint(value)).toThrow(message);
  });

  test('an array that is only long', () => {
    expect(() => fingerprint(new Array(2 ** 32 - 1))).toThrow('larger than');
  });

  test('at the limits both still answer', async () => {
    const deep = nested(MAX_DEPTH);
    const large = 'x'.repeat(MAX_PAYLOAD_BYTES - 2);
    const wide = Array.from({ length: 20_000 }, (_, n) => ({ id: n, price: n / 7, name: `item ${n}`, tags: ['a'] }));
    for (const value of [deep, large, wide]) expect(await inPostgres([JSON.stringify(value)])).toEqual([canonicalJson(value)]);
    expect(await inPostgres([JSON.stringify(nested(MAX_DEPTH + 1)), JSON.stringify(`${large}x`), '1e400', '"\\u0000"', '"\\ud800"', '"\\udc00x"', '9007199254740993', '[1e999]', '{"a":0.30000000000000004440892098500626}']))
      .toEqual(Array(9).fill(null));
  });
});
