/** Every refusal has a code; the codes are few, frozen, and each has one name. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CODES as EXPORTED } from '../../src/errors.js';

const CODES = [
  'UNKNOWN_TOKEN', 'PLAN_EXPIRED', 'PLAN_USED', 'PLAN_MISMATCH', 'DATA_DIGEST_MISMATCH', 'AWAITING_APPROVAL', 'PLAN_REJECTED', 'NOT_EXECUTING', 'ALREADY_EXECUTING', 'NO_RECONCILE',
  'STATEMENT_MISMATCH', 'ROWSET_CHANGED', 'EFFECTS_CHANGED', 'HARD_MAX_ROWS_EXCEEDED', 'WHERE_REQUIRED', 'NOT_WRITABLE', 'NOT_READABLE', 'UNKNOWN_TABLE', 'UNKNOWN_COLUMN', 'MULTI_STATEMENT',
  'NOT_A_SELECT', 'UNSAFE_FUNCTION', 'UNSUPPORTED_STATEMENT', 'APPROVAL_UNAVAILABLE', 'SELF_APPROVAL', 'STATEMENT_FAILED', 'STATEMENT_TIMEOUT', 'LOCK_TIMEOUT', 'UNDO_CONFLICT', 'NOT_UNDOABLE',
  'INVALID_ARGUMENTS', 'DATABASE_UNAVAILABLE', 'INTERNAL_ERROR',
];
/** Of undo, which this version does not have yet. */
const LATER = ['UNDO_CONFLICT', 'NOT_UNDOABLE'];

const root = fileURLToPath(new URL('../../', import.meta.url));
const sources = (folder: string, ending: string): string[] => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith(ending)).map((name) => readFileSync(join(root, folder, name), 'utf8'));
const shouted = /'([A-Z]+(?:_[A-Z]+)+)'/g;

test('the codes are these', () => {
  expect([...EXPORTED]).toEqual(CODES);
});

test('SQL refuses with codes of the list only', () => {
  const used = new Set(sources('sql', '.sql').flatMap((text) => [...text.matchAll(/(?:outcome_refused\(|row\(false, |then |else )\s*'([A-Z]+(?:_[A-Z]+)+)'/g)]).map((match) => match[1] ?? ''));
  expect([...used].filter((code) => !CODES.includes(code))).toEqual([]);
  expect(used.size).toBeGreaterThan(18);
});

test('every code of this version is used somewhere', () => {
  const everywhere = new Set([...sources('sql', '.sql'), ...sources('src', '.ts')].flatMap((text) => [...text.matchAll(shouted)].map((match) => match[1])));
  expect(CODES.filter((code) => !LATER.includes(code) && !everywhere.has(code))).toEqual([]);
});

test('the README has a row for every code', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  expect(CODES.filter((code) => !readme.includes(`\`${code}\``))).toEqual([]);
});
