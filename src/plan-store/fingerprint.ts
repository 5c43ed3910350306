/**
 * A payload as one text: RFC 8785 over what JSON.stringify would write. Whatever JSON would lose without a word is refused,
 * since two payloads that differ must never have one fingerprint. The database writes the text again by itself.
 */
import canonicalize from 'canonicalize';
import { createHash } from 'node:crypto';
import { types } from 'node:util';

/** Bytes of canonical JSON; the database's own limit is the same. */
export const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** Levels of objects and arrays inside each other; the database's own limit is the same. */
export const MAX_DEPTH = 128;

interface Walk {
  ancestors: Set<object>;
  /** Values that may still come: each takes at least two bytes, so more would not fit anyway. */
  left: number;
}

type Plain = null | boolean | number | string | Plain[] | { [key: string]: Plain };

const LOST: ReadonlyArray<readonly [(value: object) => boolean, string]> = [
  [types.isMap, 'a Map'], [types.isSet, 'a Set'], [types.isWeakMap, 'a WeakMap'], [types.isWeakSet, 'a WeakSet'], [types.isRegExp, 'a RegExp'],
  [types.isPromise, 'a Promise'], [types.isNativeError, 'an Error'], [types.isAnyArrayBuffer, 'an ArrayBuffer'], [types.isDataView, 'a DataView'],
  [types.isGeneratorObject, 'a generator'], [types.isMapIterator, 'an iterator'], [types.isSetIterator, 'an iterator'],
];

function refuse(path: string, what: string): never {
  throw new TypeError(`${path} ${what}`);
}

function checkText(text: string, path: string): string {
  if (text.includes('\0')) refuse(path, 'holds the character NUL, which Postgres cannot keep');
  if (/\p{Surrogate}/u.test(text)) refuse(path, 'holds half of a surrogate pair, which is no Unicode text');
  return text;
}

function checkNumber(value: number, path: string): number {
  if (!Number.isFinite(value)) refuse(path, `is ${value}, which JSON cannot hold`);
  return value;
}

/** What stands where JSON.stringify would look: `toJSON` asked, boxed primitives taken out. */
function resolve(value: unknown, key: string): unknown {
  if ((typeof value === 'object' && value !== null) || typeof value === 'bigint') {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') value = (toJSON as (key: string) => unknown).call(value, key);
  }
  if (types.isNumberObject(value)) return Number(value);
  if (types.isStringObject(value)) return String(value);
  if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
  if (types.isBigIntObject(value)) return BigInt.prototype.valueOf.call(value);
  return value;
}

/** Undefined for what JSON leaves out: undefined itself, functions, symbols. */
function plain(given: unknown, key: string, path: string, depth: number, walk: Walk): Plain | undefined {
  const value = resolve(given, key);
  if (walk.left-- <= 0) refuse('The payload', `is larger than ${MAX_PAYLOAD_BYTES} bytes`);
  switch (typeof value) {
    case 'string': return checkText(value, path);
    case 'number': return checkNumber(value, path);
    case 'boolean': return value;
    case 'bigint': return refuse(path, 'is a bigint, which JSON cannot hold; use a string');
    case 'object': return value === null ? null : container(value, path, depth, walk);
    default: return undefined;
  }
}

function container(value: object, path: string, depth: number, walk: Walk): Plain {
  const lost = LOST.find(([is]) => is(value));
  if (lost !== undefined) refuse(path, `is ${lost[1]}, which JSON would lose; give it a toJSON or convert it`);
  if (walk.ancestors.has(value)) refuse(path, 'contains itself');
  if (depth > MAX_DEPTH) refuse('The payload', `is nested more than ${MAX_DEPTH} levels deep`);
  walk.ancestors.add(value);
  const copy = Array.isArray(value) ? list(value, path, depth, walk) : members(value, path, depth, walk);
  walk.ancestors.delete(value);
  return copy;
}

function list(value: readonly unknown[], path: string, depth: number, walk: Walk): Plain[] {
  if (value.length > walk.left) refuse('The payload', `is larger than ${MAX_PAYLOAD_BYTES} bytes`);
  const copy: Plain[] = [];
  for (let index = 0; index < value.length; index++) copy.push(plain(value[index], String(index), `${path}[${index}]`, depth + 1, walk) ?? null);
  return copy;
}

function members(value: object, path: string, depth: number, walk: Walk): { [key: string]: Plain } {
  // Without a prototype "__proto__" is a key like any other.
  const copy = Object.create(null) as { [key: string]: Plain };
  for (const key of Object.keys(value)) {
    const member = plain((value as Record<string, unknown>)[key], key, `${path}.${key}`, depth + 1, walk);
    if (member !== undefined) copy[checkText(key, `A key of ${path}`)] = member;
  }
  return copy;
}

/**
 * The canonical JSON (RFC 8785) of a payload, with JSON.stringify's meaning: `toJSON` is asked, undefined members are left
 * out. Numbers are JavaScript's: what was beyond 2^53 when it became a number was rounded before it came here; use strings.
 *
 * @throws TypeError for what JSON cannot hold or would lose (Map, Set, RegExp, bigint, NaN, cycles, lone surrogates, NUL …),
 * for more than 8 MiB, and for more than 128 levels. The message names the place.
 */
export function canonicalJson(payload: unknown): string {
  const value = plain(payload, '', 'payload', 1, { ancestors: new Set(), left: MAX_PAYLOAD_BYTES });
  const text = value === undefined ? undefined : canonicalize(value);
  if (text === undefined) throw new TypeError(`payload is ${payload === undefined ? 'undefined' : `a ${typeof payload}`}, which JSON cannot hold`);
  if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) throw new TypeError(`The payload is larger than ${MAX_PAYLOAD_BYTES} bytes`);
  return text;
}

/** SHA-256 of {@link canonicalJson}, in hex. Equal for equal payloads, whatever the order of their keys. Throws as that does. */
export function fingerprint(payload: unknown): string {
  return createHash('sha256').update(canonicalJson(payload)).digest('hex');
}
