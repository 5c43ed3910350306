import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { CountersignError } from '../../src/errors.js';
import { fromDatabase, fromFunction } from '../../src/mcp/database-error.js';

function raised(code: string, message: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error');
  return Object.assign(error, { code, severity: 'ERROR', detail: 'Key (ssn)=(123-45-6789) exists.', hint: 'a hint', where: 'a context' });
}

describe('an error of the reader becomes a refusal', () => {
  test.each([
    ['42501', 'NOT_READABLE'],
    ['42P01', 'UNKNOWN_TABLE'],
    ['42703', 'UNKNOWN_COLUMN'],
    ['25006', 'NOT_A_SELECT'],
    ['57014', 'STATEMENT_TIMEOUT'],
    ['55P03', 'LOCK_TIMEOUT'],
    ['42601', 'STATEMENT_FAILED'],
    ['53400', 'STATEMENT_FAILED'],
    ['58P01', 'STATEMENT_FAILED'],
    ['P0001', 'STATEMENT_FAILED'],
    ['57P01', 'DATABASE_UNAVAILABLE'],
    ['08006', 'DATABASE_UNAVAILABLE'],
  ])('%s is %s', (sqlstate, code) => {
    expect(fromDatabase(raised(sqlstate, 'a message'))).toMatchObject({ code });
  });

  test('with the SQLSTATE and the primary message, and nothing of DETAIL, HINT or CONTEXT', () => {
    const refused = fromDatabase(raised('23505', 'duplicate key value violates unique constraint "person_ssn_key"'));
    expect((refused as CountersignError).message).toBe('duplicate key value violates unique constraint "person_ssn_key"');
    expect((refused as CountersignError).detail).toEqual({ sqlstate: '23505' });
    expect(JSON.stringify(refused)).not.toContain('123-45-6789');
  });

  test.each([
    ['invalid input syntax for type integer: "s3cr3t"', 'invalid input syntax for type integer: "…"'],
    ['invalid input syntax for type integer: "a"b"c" here', 'invalid input syntax for type integer: "…" here'],
    [`invalid input syntax for type integer: "${'s'.repeat(5000)}"`, 'invalid input syntax for type integer: "…"'],
    ['cut off: "s3cr3t', 'cut off: "…"'],
    ['division by zero', 'division by zero'],
  ])('a data exception does not show the value: %s', (message, shown) => {
    expect((fromDatabase(raised('22P02', message)) as CountersignError).message).toBe(shown);
  });

  test('what is no answer of Postgres stays what it is', () => {
    const fault = new TypeError('x is not a function');
    expect(fromDatabase(fault)).toBe(fault);
  });
});

test('a function of the API that is missing or forbidden is a fault of the installation', () => {
  for (const sqlstate of ['42883', '3F000', '42501']) {
    expect(fromFunction(raised(sqlstate, 'permission denied for function preview_delete'))).toMatchObject({ code: 'INTERNAL_ERROR' });
  }
  expect(fromFunction(raised('57014', 'canceling statement due to statement timeout'))).toMatchObject({ code: 'STATEMENT_TIMEOUT' });
});
