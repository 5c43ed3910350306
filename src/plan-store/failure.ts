/** What a call raised instead of answering, as a refusal. */
import { isUnavailable, unavailable } from '../db/connect.js';
import { CountersignError, PlanError, type Code } from '../errors.js';

const NOT_INSTALLED = new Set(['3F000', '42883', '42501', '42P01']);

const STATES: Readonly<Record<string, readonly [Code, string]>> = {
  '57014': ['STATEMENT_TIMEOUT', 'Try again; if it stays, look for what holds the database up.'],
  '55P03': ['LOCK_TIMEOUT', 'Something else holds a lock on the plan; try again in a moment.'],
};

/** Anything a query threw, as a PlanError; what is no database's answer (a fault of ours) comes back as it is. */
export function asPlanError(error: unknown): unknown {
  if (error instanceof PlanError) return error;
  const known = isUnavailable(error) ? unavailable(error) : error;
  if (known instanceof CountersignError) return new PlanError(known.code, known.message, known.hint, known.detail);
  const { code: state, message } = known as { code?: unknown; message?: string };
  if (!(known instanceof Error) || typeof state !== 'string' || !/^[0-9A-Z]{5}$/.test(state)) return known;
  if (NOT_INSTALLED.has(state)) {
    return new PlanError('DATABASE_UNAVAILABLE', `Countersign is not usable in this database with this login: ${message}`,
      'Run "countersign install" with the administrator\'s address and make the login a member of countersign_agent (or of countersign_approver, to decide).', { sqlstate: state });
  }
  const [code, hint] = STATES[state] ?? (state.startsWith('22') ? ['INVALID_ARGUMENTS', 'Correct the arguments; text may not hold the character NUL.'] as const
    : ['INTERNAL_ERROR', '"countersign doctor" says what is wrong with the set-up.'] as const);
  return new PlanError(code, message ?? '', hint, { sqlstate: state });
}
