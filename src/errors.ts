/**
 * Every refusal a person or an agent can meet. The codes are the contract of DESIGN §4; the database
 * decides most of them, this list only lets TypeScript name them without a typo.
 */
export const CODES = [
  'UNKNOWN_TOKEN', 'PLAN_EXPIRED', 'PLAN_USED', 'PLAN_MISMATCH', 'DATA_DIGEST_MISMATCH', 'AWAITING_APPROVAL',
  'PLAN_REJECTED', 'NOT_EXECUTING', 'ALREADY_EXECUTING', 'NO_RECONCILE',
  'STATEMENT_MISMATCH', 'ROWSET_CHANGED', 'EFFECTS_CHANGED', 'HARD_MAX_ROWS_EXCEEDED', 'WHERE_REQUIRED',
  'NOT_WRITABLE', 'NOT_READABLE', 'UNKNOWN_TABLE', 'UNKNOWN_COLUMN', 'MULTI_STATEMENT', 'NOT_A_SELECT',
  'UNSAFE_FUNCTION', 'UNSUPPORTED_STATEMENT', 'APPROVAL_UNAVAILABLE', 'SELF_APPROVAL', 'STATEMENT_FAILED',
  'STATEMENT_TIMEOUT', 'LOCK_TIMEOUT', 'UNDO_CONFLICT', 'NOT_UNDOABLE', 'INVALID_ARGUMENTS',
  'DATABASE_UNAVAILABLE', 'INTERNAL_ERROR',
] as const;

export type Code = (typeof CODES)[number];

/** What every refusal carries, on every surface: what happened, and the next call to make. */
export interface Refusal {
  code: Code;
  message: string;
  hint: string;
}

/** A refusal as an exception, for the few places in TypeScript that refuse before the database is asked. */
export class CountersignError extends Error {
  override readonly name: string = 'CountersignError';
  constructor(
    readonly code: Code,
    message: string,
    readonly hint: string,
    readonly detail: Record<string, unknown> = {},
  ) {
    super(message);
  }

  toJSON(): Refusal & Record<string, unknown> {
    return { ...this.detail, code: this.code, message: this.message, hint: this.hint };
  }
}

/**
 * What the library refuses with: `code` is for programs, `message` says what happened, `hint` the next thing to do.
 * Made from what the database answered; only a missing database or approver is noticed here.
 */
export class PlanError extends CountersignError {
  override readonly name: string = 'PlanError';
}
