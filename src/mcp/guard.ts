import { CountersignError } from '../errors.js';

/** How large the arguments of a tool may be. Sizes are UTF-8 bytes. */
export interface Limits {
  /** One text argument: a statement, a WHERE, a table name, a reason. */
  text: number;
  /** All values together: params, set, rows. */
  values: number;
  /** Elements of `params`; the wire protocol of Postgres counts them in 16 bits. */
  params: number;
}

export const DEFAULT_LIMITS: Limits = { text: 64 * 1024, values: 1024 * 1024, params: 65_535 };

const MAX_DEPTH = 32;
/** In a `u` pattern a whole pair is one code point of another category, so this finds halves only. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const SEND_A_STRING = 'Send the number as a string, for example "9007199254740993"; Postgres reads it exactly.';

function refuse(path: string, what: string, hint: string): never {
  throw new CountersignError('INVALID_ARGUMENTS', `${path}: ${what}.`, hint, { path });
}

function checkText(text: string, path: string): void {
  if (text.includes('\0')) {
    refuse(path, 'the text contains a NUL character, which Postgres cannot store', 'Remove the NUL character (\\u0000) and call again.');
  }
  if (LONE_SURROGATE.test(text)) {
    refuse(path, 'the text contains half of a surrogate pair', 'Send well-formed Unicode: each \\ud800-\\udbff must be followed by its \\udc00-\\udfff.');
  }
}

function checkNumber(value: number, path: string): void {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 53) {
    refuse(path, 'the number is too large for JSON to hold exactly', SEND_A_STRING);
  }
}

function checkKey(key: string, path: string): void {
  if (FORBIDDEN_KEYS.has(key)) refuse(path, `the key "${key}" is not allowed`, 'Rename or remove this key and call again.');
  checkText(key, `${path} (a key)`);
}

function checkScalar(value: unknown, path: string): number {
  if (typeof value === 'string') {
    checkText(value, path);
    return Buffer.byteLength(value);
  }
  if (typeof value === 'number') checkNumber(value, path);
  else if (value !== null && typeof value !== 'boolean') {
    refuse(path, 'the value is not JSON', 'Send null, a boolean, a number, a string, an array or an object.');
  }
  return 8;
}

/** Checks one value and all below it; returns its size in bytes, as soon as it is known to be too much. */
function checkValue(value: unknown, path: string, depth: number, budget: number): number {
  if (typeof value !== 'object' || value === null) return checkScalar(value, path);
  if (depth > MAX_DEPTH) refuse(path.slice(0, 60), `the value is nested deeper than ${MAX_DEPTH} levels`, 'Send flatter values.');
  let size = 2;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && size <= budget; index += 1) {
      size += 1 + checkValue(value[index], `${path}[${index}]`, depth + 1, budget - size);
    }
    return size;
  }
  for (const [key, below] of Object.entries(value)) {
    if (size > budget) break;
    checkKey(key, path);
    size += Buffer.byteLength(key) + 1 + checkValue(below, `${path}.${key}`, depth + 1, budget - size);
  }
  return size;
}

/**
 * Refuses what no honest caller sends, before anything looks at its meaning.
 * Throws a CountersignError INVALID_ARGUMENTS that names the place.
 */
export function guardArguments(args: Readonly<Record<string, unknown>>, limits: Limits = DEFAULT_LIMITS): void {
  let values = 0;
  for (const [name, value] of Object.entries(args)) {
    checkKey(name, 'arguments');
    const isText = typeof value === 'string';
    const budget = isText ? limits.text : limits.values - values;
    if (isText && Buffer.byteLength(value) > budget) {
      refuse(name, `the text is longer than ${limits.text / 1024} KiB`, 'Send a shorter text; put long values into params.');
    }
    if (name === 'params' && Array.isArray(value) && value.length > limits.params) {
      refuse(name, `${value.length} parameters are more than the ${limits.params} that Postgres can take`, 'Send fewer parameters, or one array parameter with = any($1).');
    }
    const size = checkValue(value, name, 1, budget);
    if (!isText) values += size;
    if (values > limits.values) {
      refuse(name, `the values are larger than ${limits.values / 1024 / 1024} MiB together`, 'Split the work into several smaller calls.');
    }
  }
}
