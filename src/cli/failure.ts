import { CODES, CountersignError, type Code, type Refusal } from '../errors.js';
import type { Outcome } from '../client.js';
import { EXIT, UsageError } from './command.js';
import type { Io } from './io.js';
import { safeText, wrap } from './terminal.js';

/** A refusal to print, and the exit code it ends with. */
export interface Failure {
  refusal: Refusal;
  exit: number;
}

/** The refusal of an API function as an exception, so that commands read straight on. */
export function demand(outcome: Outcome): Record<string, unknown> {
  if (outcome.ok) return outcome.detail ?? {};
  throw new CountersignError(outcome.code ?? 'INTERNAL_ERROR', outcome.message ?? 'refused', outcome.hint ?? '', outcome.detail ?? {});
}

/** Whatever a command threw, as code, message and hint. Usage errors are not for here. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CountersignError) {
    return { refusal: error, exit: error.code === 'DATABASE_UNAVAILABLE' ? EXIT.unreachable : EXIT.refused };
  }
  const message = error instanceof Error ? (error.message || String((error as NodeJS.ErrnoException).code ?? error)) : String(error);
  const state = sqlState(error);
  if (state === null) return refused('INTERNAL_ERROR', message, 'This is a fault in Countersign; please report it with the command you ran.');
  if (/^(08|57P0)/.test(state)) {
    return { refusal: { code: 'DATABASE_UNAVAILABLE', message, hint: 'Try again once the database answers.' }, exit: EXIT.unreachable };
  }
  return refused(...explain(state, message, (error as { hint?: string }).hint));
}

/** SQLSTATEs a person meets on these commands, each with the remedy. */
function explain(state: string, message: string, hint: string | undefined): [Code, string, string] {
  switch (state) {
    case '42501':
      return ['STATEMENT_FAILED', `${message} (42501)`,
        'This login does not hold the role the command needs. Deciding needs countersign_approver, the audit trail countersign_auditor, administration the installing login. Choose another with --url.'];
    case '3F000':
    case '42883':
    case '42P01':
      return ['STATEMENT_FAILED', `${message} (${state})`,
        'Countersign is not in this database, or an older version is: run countersign install (COUNTERSIGN_ADMIN_URL names its login).'];
    case '57014':
      return ['STATEMENT_TIMEOUT', message, 'Try again; if it stays, look for what holds the database up.'];
    case '55P03':
      return ['LOCK_TIMEOUT', message, 'Something else holds a lock on the object; try again in a moment.'];
    default:
      return ['STATEMENT_FAILED', `${message} (${state})`, hint ?? 'countersign doctor says what is wrong with the set-up.'];
  }
}

function refused(code: Code, message: string, hint: string): Failure {
  return { refusal: { code, message, hint }, exit: EXIT.refused };
}

function sqlState(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return error instanceof Error && typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Prints a refusal: for people on stderr, for programs as JSON on stdout. */
export function printRefusal(io: Io, { code, message, hint }: Refusal, json: boolean): void {
  if (json) {
    io.out(`${JSON.stringify({ ok: false, code, message, hint }, null, 2)}\n`);
    return;
  }
  const known = CODES.includes(code) ? code : safeText(String(code));
  io.err([...wrap(`${known}: ${safeText(message)}`, io.width), ...(hint === '' ? [] : wrap(safeText(hint), io.width))]
    .map((line) => `${line}\n`).join(''));
}

/** What was done, and yet wants a second look: the hint of a success. On stderr, so that stdout stays the result. */
export function printAdvice(io: Io, { hint }: Outcome): void {
  if (hint !== null) io.err(wrap(`warning: ${safeText(hint)}`, io.width).map((line) => `${line}\n`).join(''));
}

/** Prints a call that was not understood. */
export function printUsage(io: Io, error: UsageError, usage: readonly string[]): void {
  io.err(`${safeText(error.message)}\n\n${usage.join('\n')}\n`);
}
