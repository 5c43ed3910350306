import { describe, expect, it } from 'vitest';

import { main } from '../../src/cli/main.js';
import { fakeIo, longestLine } from './fake-io.js';

const CLI = '/opt/countersign/dist/cli.js';
const NOWHERE = 'postgresql://alice:secret@127.0.0.1:1/shop';
/** Addresses nobody listens on: whatever gets as far as connecting ends with exit code 3. */
const env = {
  COUNTERSIGN_DATABASE_URL: NOWHERE, COUNTERSIGN_READER_URL: NOWHERE, COUNTERSIGN_APPROVER_URL: NOWHERE, COUNTERSIGN_ADMIN_URL: NOWHERE,
};

async function run(args: string[], options: Parameters<typeof fakeIo>[0] = { env }) {
  const io = fakeIo(options);
  return { code: await main(args, io, CLI), io };
}

const COMMANDS = ['serve', 'demo', 'install', 'allow', 'revoke', 'policy', 'approvals', 'pending', 'show', 'approve', 'reject', 'executing', 'settle', 'audit',
  'verify', 'doctor', 'client-config'];

describe('help', () => {
  it('lists every command within 80 columns', async () => {
    const { code, io } = await run(['--help']);
    expect(code).toBe(0);
    expect([...io.stdout().matchAll(/^ {2}([a-z-]+) {2,}/gm)].map((match) => match[1])).toEqual(COMMANDS);
    expect(longestLine(io.stdout())).toBeLessThanOrEqual(80);
  });

  it.each(COMMANDS)('of %s fits into 80 columns and names the command', async (name) => {
    const { code, io } = await run([name, '--help'], {});
    expect(code).toBe(0);
    expect(io.stdout()).toContain(`countersign ${name}`);
    expect(longestLine(io.stdout())).toBeLessThanOrEqual(80);
    expect(io.stderr()).toBe('');
  });

  it('prints the version', async () => {
    const { code, io } = await run(['--version']);
    expect(code).toBe(0);
    expect(io.stdout()).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('a call that cannot be understood', () => {
  it.each([
    [['nonsense']],
    [['pending', '--nonsense']],
    [['pending', 'extra']],
    [['--nonsense']],
    [['show']],
    [['show', 'a', 'b']],
    [['approve']],
    [['approve', 'token', '--note']],
    [['approve', 'token', '--yes=1']],
    [['reject', 'token', '--note', 'x']],
    [['reject', 'token']],
    [['reject', 'token', '--yes']],
    [['reject', 'token', '--reason', ' ']],
    [['allow', 'read']],
    [['allow', 'delete', 'orders']],
    [['allow', 'read', 'orders', '--columns', 'a,,b']],
    [['allow', 'read', 'orders', 'customers', '--columns', 'a']],
    [['allow', 'function', 'f', '--columns', 'a']],
    [['policy', 'get']],
    [['policy', 'set', 'hard_max_rows']],
    [['policy', 'set', 'hard_max_rows', '1', '--table', 'a', '--schema', 'b']],
    [['policy', '--table', 'a']],
    [['audit', '--limit', '0']],
    [['audit', '--limit', 'ten']],
    [['audit', '--limit', '1e3']],
    [['audit', '--plan', '\' or 1=1']],
    [['demo', '--seed', '-1']],
    [['demo', '--seed', '4.2']],
    [['client-config']],
    [['client-config', 'emacs']],
    [['install', '--search-path', ',']],
  ])('ends with 2 and says how to call it: %j', async (args) => {
    const { code, io } = await run(args);
    expect(code).toBe(2);
    expect(io.stdout()).toBe('');
    expect(io.stderr()).toContain('countersign');
  });

  it('says what is wrong with it', async () => {
    expect((await run(['pending', '--nonsense'])).io.stderr()).toMatch(/^Unknown option '--nonsense'\n\ncountersign pending /);
  });

  it('cannot play tricks on the terminal', async () => {
    const { code, io } = await run(['\u001b[2J']);
    expect(code).toBe(2);
    expect(io.stderr()).not.toContain('\u001b');
  });
});

describe('a database that cannot be reached', () => {
  it.each([
    [['pending']], [['executing']], [['show', '3f2a9c1e']], [['approve', '3f2a9c1e']], [['reject', '3f2a9c1e', '--reason', 'no']], [['audit']], [['verify']],
    [['policy']], [['policy', 'set', 'hard_max_rows', '5']], [['allow', 'read', 'orders']], [['revoke', 'write', 'orders']],
    [['install']], [['doctor']],
  ])('ends with 3: %j', async (args) => {
    const { code, io } = await run(args);
    expect(code).toBe(3);
    expect(`${io.stdout()}${io.stderr()}`).toMatch(/cannot be\s+reached/);
    expect(`${io.stdout()}${io.stderr()}`).not.toContain('secret');
  });

  it('is told to programs as JSON on stdout', async () => {
    const { code, io } = await run(['pending', '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(io.stdout())).toMatchObject({ ok: false, code: 'DATABASE_UNAVAILABLE' });
    expect(io.stderr()).toBe('');
  });
});

describe('the environment', () => {
  it('with an unknown variable stops everything', async () => {
    const { code, io } = await run(['pending'], { env: { ...env, COUNTERSIGN_APROVER_URL: NOWHERE } });
    expect(code).toBe(1);
    expect(io.stderr()).toContain('COUNTERSIGN_APROVER_URL');
  });

  it('that names a database for the agent only never lets a human\'s command fall back to another one', async () => {
    const { code, io } = await run(['pending'], { env: { DATABASE_URL: NOWHERE, DATABASE_URL_READONLY: NOWHERE } });
    expect(code).toBe(2);
    expect(io.stderr()).toContain('COUNTERSIGN_APPROVER_URL');
  });

  it('gives way to --url', async () => {
    const { code } = await run(['pending', '--url', 'postgresql://x@127.0.0.1:2/y'], { env: { DATABASE_URL: NOWHERE, DATABASE_URL_READONLY: NOWHERE } });
    expect(code).toBe(3);
  });
});
