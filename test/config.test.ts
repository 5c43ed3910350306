import { describe, expect, test } from 'vitest';
import { connectionTargets } from '../src/address.js';
import { loadConfig, serverLogins } from '../src/config.js';
import { CountersignError } from '../src/errors.js';

function refusal(work: () => unknown): CountersignError {
  try {
    work();
  } catch (error) {
    if (error instanceof CountersignError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('the environment', () => {
  test('says nothing: the defaults', () => {
    expect(loadConfig({ PATH: '/bin' })).toEqual({
      databaseUrl: undefined, readerUrl: undefined, approverUrl: undefined, adminUrl: undefined, callerId: undefined,
      approvalPort: 4319, approvalPage: true, approvalLogin: 'token', holdSeconds: 45, dataDir: undefined, logLevel: 'info',
    });
    expect(serverLogins(loadConfig({}))).toBeNull();
  });

  test('falls back to the usual names of database addresses', () => {
    const config = loadConfig({ DATABASE_URL: 'postgres://a@h/d', DATABASE_URL_READONLY: 'postgres://r@h/d' });
    expect(serverLogins(config)).toEqual({ databaseUrl: 'postgres://a@h/d', readerUrl: 'postgres://r@h/d' });
    expect(loadConfig({ DATABASE_URL: 'postgres://a@h/d', COUNTERSIGN_DATABASE_URL: 'postgres://b@h/d' }).databaseUrl).toBe('postgres://b@h/d');
  });

  test('a misspelt variable stops the start and names the nearest one', () => {
    const error = refusal(() => loadConfig({ COUNTERSIGN_APROVAL_PAGE: 'off' }));
    expect(error.code).toBe('INVALID_ARGUMENTS');
    expect(error.message).toContain('COUNTERSIGN_APROVAL_PAGE');
    expect(error.hint).toContain('COUNTERSIGN_APPROVAL_PAGE');
  });

  test.each([
    ['COUNTERSIGN_APPROVAL_PAGE', 'OFF'], ['COUNTERSIGN_APPROVAL_PAGE', 'false'], ['COUNTERSIGN_APPROVAL_LOGIN', 'Database'], ['COUNTERSIGN_APPROVAL_PORT', '70000'], ['COUNTERSIGN_APPROVAL_PORT', '43x'],
    ['COUNTERSIGN_APPROVAL_PORT', '-1'], ['COUNTERSIGN_HOLD_SECONDS', '1e3'], ['COUNTERSIGN_HOLD_SECONDS', '99999'], ['COUNTERSIGN_LOG_LEVEL', 'verbose'],
    ['COUNTERSIGN_CALLER_ID', 'a\nb'], ['COUNTERSIGN_CALLER_ID', 'x'.repeat(201)], ['COUNTERSIGN_DATABASE_URL', ''], ['COUNTERSIGN_DATABASE_URL', 'mysql://h/d'],
    ['COUNTERSIGN_READER_URL', 'postgres://u:p#w@h/d'], ['DATABASE_URL', 'localhost'],
  ])('%s=%j is refused by name', (name, value) => {
    const error = refusal(() => loadConfig({ [name]: value }));
    expect(error.code).toBe('INVALID_ARGUMENTS');
    expect(error.message).toContain(name);
  });

  test('a refused address does not repeat its password', () => {
    const error = refusal(() => loadConfig({ COUNTERSIGN_ADMIN_URL: 'postgres://u:s3cr#t@h/d' }));
    expect(JSON.stringify(error)).not.toContain('s3cr');
  });

  test('an agent login without a reader login is refused', () => {
    const error = refusal(() => serverLogins(loadConfig({ COUNTERSIGN_DATABASE_URL: 'postgres://a@h/d' })));
    expect(error.message).toContain('COUNTERSIGN_READER_URL');
  });
});

describe('addresses', () => {
  const urls = (address: string): string[] => connectionTargets(address).map((target) => target.url);

  test.each([
    ['postgres://u:p@h/d', ['postgres://u:p@h/d']],
    ['postgresql://u:p%23%40w@[::1]:5433/d', ['postgresql://u:p%23%40w@[::1]:5433/d']],
    ['postgresql://u:p@a:1,b:2/d', ['postgresql://u:p@a:1/d', 'postgresql://u:p@b:2/d']],
    ['postgresql://u:p@h/d?sslmode=require', ['postgresql://u:p@h/d?sslmode=require&uselibpqcompat=true']],
    ['postgresql://u:p@h/d?sslmode=prefer', ['postgresql://u:p@h/d?sslmode=prefer&uselibpqcompat=true', 'postgresql://u:p@h/d?sslmode=disable']],
    ['postgresql://u:p@h/d?sslmode=verify-full&sslrootcert=system', ['postgresql://u:p@h/d?sslmode=verify-full&uselibpqcompat=true']],
    ['postgresql:///d?host=/var/run/postgresql', ['postgresql:///d?host=%2Fvar%2Frun%2Fpostgresql']],
  ])('%s', (address, expected) => {
    expect(urls(address)).toEqual(expected);
  });

  test('target_session_attrs is ours to honour, not the driver\'s', () => {
    expect(connectionTargets('postgresql://u@a,b/d?target_session_attrs=read-write')).toEqual([
      { url: 'postgresql://u@a/d', writable: true }, { url: 'postgresql://u@b/d', writable: true },
    ]);
  });
});
