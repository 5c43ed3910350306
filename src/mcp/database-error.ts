import { isUnavailable, unavailable } from '../db/pool.js';
import { CountersignError, type Code } from '../errors.js';

/** What node-pg gives with an error: five characters of SQLSTATE, or a system code such as ECONNREFUSED. */
interface ErrorLike {
  code?: unknown;
  message?: unknown;
  severity?: unknown;
}

export function sqlstateOf(error: unknown): string | null {
  const { code, severity } = error as ErrorLike;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined ? code : null;
}

/** What stands between the first and the last double quote, or after a lone one. */
function masked(message: string): string {
  const first = message.indexOf('"');
  if (first === -1) return message;
  const last = message.lastIndexOf('"');
  return `${message.slice(0, first)}"…"${last > first ? message.slice(last + 1) : ''}`;
}

/**
 * The primary message, without what a row could have put into it. Class 22 (data exceptions) quotes the offending
 * value; DETAIL, HINT and CONTEXT are never passed on.
 */
export function primaryMessage(error: unknown): string {
  const message = String((error as ErrorLike).message ?? '');
  return (sqlstateOf(error)?.startsWith('22') ? masked(message) : message).slice(0, 2000);
}

interface Mapping {
  code: Code;
  hint: string;
}

const MAPPINGS: Readonly<Record<string, Mapping>> = {
  '42501': { code: 'NOT_READABLE', hint: 'Call describe_schema to see what you may read, and read only that; an administrator allows more: countersign allow read TABLE.' },
  '42P01': { code: 'UNKNOWN_TABLE', hint: 'Call describe_schema for the tables there are; quote mixed-case names.' },
  '3F000': { code: 'UNKNOWN_TABLE', hint: 'Call describe_schema for the schemas and tables there are.' },
  '42703': { code: 'UNKNOWN_COLUMN', hint: 'Call describe_schema with this table for its columns.' },
  '25006': { code: 'NOT_A_SELECT', hint: 'A read cannot write. Use insert_rows, update_rows or delete_rows.' },
  '25001': { code: 'NOT_A_SELECT', hint: 'A read stays a read; leave transaction settings out.' },
  '57014': { code: 'STATEMENT_TIMEOUT', hint: 'Narrow the statement with a WHERE on an indexed column, or ask for less.' },
  '25P04': { code: 'STATEMENT_TIMEOUT', hint: 'Narrow the statement with a WHERE on an indexed column, or ask for less.' },
  '55P03': { code: 'LOCK_TIMEOUT', hint: 'Somebody holds a lock on these rows. Wait a moment and call again.' },
};

const BY_CLASS: Readonly<Record<string, string>> = {
  '22': 'A value does not fit its type. Check the parameters and casts, and call again.',
  '42': 'Correct the statement and call again; describe_schema shows names and types.',
  '53': 'The database is short of resources. Ask for less, or call again later.',
  '54': 'The result or a value is too large. Select fewer or shorter columns.',
};

/** An error of the reader's login, as the refusal an agent is given. What is no answer of Postgres stays what it is. */
export function fromDatabase(error: unknown): unknown {
  if (error instanceof CountersignError) return error;
  if (isUnavailable(error)) return unavailable(error);
  const sqlstate = sqlstateOf(error);
  if (sqlstate === null) return error;
  const { code, hint } = MAPPINGS[sqlstate] ?? {
    code: 'STATEMENT_FAILED' as const,
    hint: BY_CLASS[sqlstate.slice(0, 2)] ?? 'Read the message, correct the statement and call again.',
  };
  return new CountersignError(code, primaryMessage(error), hint, { sqlstate });
}

const NOT_INSTALLED = new Set(['3F000', '42883', '42501', '42P01', '42703']);

/** An error raised by a function of the API itself: these return refusals, so what is raised is a timeout or a fault. */
export function fromFunction(error: unknown): unknown {
  const sqlstate = error instanceof CountersignError ? null : sqlstateOf(error);
  if (sqlstate === null || !NOT_INSTALLED.has(sqlstate)) return fromDatabase(error);
  return new CountersignError(
    'INTERNAL_ERROR',
    'The backend in this database does not answer as this server expects.',
    'Ask the operator to run "countersign doctor", and "countersign install" after an upgrade.',
    { sqlstate },
  );
}
