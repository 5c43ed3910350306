import { beforeAll, describe, expect, it } from 'vitest';

import { main } from '../../src/cli/main.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { fakeIo, longestLine } from './fake-io.js';

let db: TestDatabase;

async function admin(args: string[], url = db.url('admin')) {
  const io = fakeIo();
  const code = await main([...args, '--url', url], io, '/opt/countersign/dist/cli.js');
  return { code, stdout: io.stdout(), stderr: io.stderr() };
}

async function may(role: string, privilege: string, column?: string): Promise<boolean> {
  const { rows } = await db.as('admin').query<{ may: boolean }>(
    column === undefined ? 'select has_table_privilege($1, $2, $3) as may' : 'select has_column_privilege($1, $2, $4, $3) as may',
    column === undefined ? [role, 'public.person', privilege] : [role, 'public.person', privilege, column]);
  return rows[0]?.may === true;
}

beforeAll(async () => {
  db = await createTestDatabase();
  await db.as('owner').query('create table public.person (id integer primary key, name text, ssn text)');
});

describe('allow and revoke', () => {
  it('are grants, and every change is an event', async () => {
    expect(await admin(['allow', 'read', 'person'])).toMatchObject({ code: 0, stderr: '' });
    expect(await may('countersign_reader', 'select')).toBe(true);
    expect(await admin(['revoke', 'read', 'person'])).toMatchObject({ code: 0 });
    expect(await may('countersign_reader', 'select')).toBe(false);
    const { rows } = await db.as('auditor').query(`select count(*)::int as n from countersign.audit_log where status = 'policy'`);
    expect(rows).toEqual([{ n: 2 }]);
  });

  it('may be limited to columns', async () => {
    expect(await admin(['allow', 'read', 'public.person', '--columns', 'id,name'])).toMatchObject({ code: 0 });
    expect(await may('countersign_reader', 'select', 'name')).toBe(true);
    expect(await may('countersign_reader', 'select', 'ssn')).toBe(false);
  });

  it('say which columns agents may write and not read', async () => {
    await db.as('owner').query('create table public.inbox (id integer, body text)');
    const blind = await admin(['allow', 'write', 'inbox']);
    expect(blind.stdout).toContain('Agents may write what they may not read: id, body.');
    expect(blind.stderr.replaceAll('\n', ' ')).toContain('countersign allow read public.inbox, or countersign revoke write public.inbox');
    const open = await admin(['allow', 'write', 'person']);
    expect(open.stdout).toBe('Allowed write on public.person. Agents may write what they may not read: ssn.\n');
    expect(open.stderr.replaceAll('\n', ' ')).toContain('warning: Should they not: countersign revoke write public.person; countersign allow write public.person --columns id,name');
    expect(await admin(['allow', 'write', 'person', '--columns', 'name'])).toEqual({ code: 0, stdout: 'Allowed write on public.person (name).\n', stderr: '' });
    expect((await admin(['allow', 'read', 'person', '--columns', 'id'])).stdout).toContain('Agents may write what they may not read: name.');
    expect(await admin(['revoke', 'write', 'person'])).toMatchObject({ code: 0, stderr: '' });
    expect((await admin(['allow', 'read', 'person', '--columns', 'id,name'])).stderr).toBe('');
  });

  it('refuse what is not there, and say what was done before it', async () => {
    const { code, stdout, stderr } = await admin(['allow', 'read', 'person', 'nonsense']);
    expect(code).toBe(1);
    expect(stdout).toContain('public.person');
    expect(stderr).toMatch(/^UNKNOWN_TABLE: /);
  });

  it('are not for agents', async () => {
    const { code, stderr } = await admin(['allow', 'write', 'person'], db.url('agent'));
    expect(code).toBe(1);
    expect(stderr).toContain('(42501)');
    expect(await may('countersign_writer', 'delete')).toBe(false);
  });
});

describe('policy', () => {
  it('is a table within 80 columns', async () => {
    const { code, stdout } = await admin(['policy']);
    expect(code).toBe(0);
    expect(stdout).toContain('approval_required_above_rows');
    expect(longestLine(stdout)).toBeLessThanOrEqual(80);
  });

  it('is set for the database, a schema or a table', async () => {
    expect(await admin(['policy', 'set', 'approval_required_above_rows', '50'])).toMatchObject({ code: 0 });
    expect(await admin(['policy', 'set', 'approval_required_above_rows', '5', '--table', 'public.person'])).toMatchObject({ code: 0 });
    expect(await admin(['policy', 'set', 'approval_required_above_rows', '20', '--schema', 'public'])).toMatchObject({ code: 0 });
    const rows = JSON.parse((await admin(['policy', '--json'])).stdout) as { key: string; scope: string; value: string }[];
    expect(rows.filter(({ key }) => key === 'approval_required_above_rows').map(({ scope, value }) => `${scope} ${value}`).sort())
      .toEqual(['database 50', 'schema:public 20', 'table:public.person 5']);
  });

  it('warns when a plan would wait for more people than there are', async () => {
    // alice and bob
    expect(await admin(['policy', 'set', 'required_approvals', '2'])).toMatchObject({ code: 0, stderr: '' });
    const three = await admin(['policy', 'set', 'required_approvals', '3', '--table', 'person']);
    expect(three).toMatchObject({ code: 0, stdout: 'required_approvals is 3 for table:person.\n' });
    expect(three.stderr.replaceAll('\n', ' ')).toContain(`warning: Only 2 logins can approve on this server (${db.role('alice')}, ${db.role('bob')}): plans that need 3 wait`);
    const zero = await admin(['policy', 'set', 'required_approvals', '0']);
    expect(zero.code).toBe(1);
    expect(zero.stderr).toContain('Give a whole number from 1 to 100.');
    for (const scope of [[], ['--table', 'person']]) expect((await admin(['policy', 'set', 'required_approvals', 'default', ...scope])).code).toBe(0);
  });

  it('refuses unknown keys, bad values and unknown scopes', async () => {
    for (const args of [['aproval', '1'], ['hard_max_rows', 'many'], ['plan_ttl', '0 minutes'], ['hard_max_rows', '5', '--table', 'nonsense'], ['hard_max_rows', '1']]) {
      const { code, stderr } = await admin(['policy', 'set', ...args]);
      expect([args, code]).toEqual([args, 1]);
      expect(stderr).toMatch(/^[A-Z_]+: /);
    }
  });
});

describe('install', () => {
  it('can be run again and says so', async () => {
    const { code, stdout } = await admin(['install']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Countersign's backend, version 1, is installed\./);
  });

  it('puts the backend into an empty database', async () => {
    const empty = await createTestDatabase({ backend: false });
    const before = await admin(['pending'], empty.url('admin'));
    expect(before.code).toBe(1);
    expect(before.stderr.replaceAll('\n', ' ')).toContain('run countersign install');
    expect((await admin(['install', '--search-path', 'public'], empty.url('admin'))).code).toBe(0);
    expect((await admin(['pending'], empty.url('admin'))).code).toBe(0);
    await empty.drop();
  });
});

describe('doctor', () => {
  async function doctor(env: NodeJS.ProcessEnv, args: string[] = []) {
    const io = fakeIo({ env });
    return { code: await main(['doctor', ...args], io, '/opt/countersign/dist/cli.js'), stdout: io.stdout() };
  }

  it('finds nothing to object to in a sound set-up', async () => {
    const { code, stdout } = await doctor({
      COUNTERSIGN_DATABASE_URL: db.url('agent'), COUNTERSIGN_READER_URL: db.url('reader'),
      COUNTERSIGN_APPROVER_URL: db.url('alice'), COUNTERSIGN_ADMIN_URL: db.url('admin'),
    });
    expect(stdout).not.toMatch(/^fatal/m);
    expect(code).toBe(0);
    expect(longestLine(stdout)).toBeLessThanOrEqual(80);
    expect(stdout).toMatch(/^ok +clock: this machine and the database agree$/m);
  });

  it('leaves out the logins it was not given, and judges no other in their place', async () => {
    const { code, stdout } = await doctor({ COUNTERSIGN_ADMIN_URL: db.url('admin') }, ['--json']);
    const checks = JSON.parse(stdout) as { checkName: string; severity: string; message: string }[];
    expect(checks.filter(({ severity }) => severity === 'fatal')).toEqual([]);
    expect(code).toBe(0);
    expect(checks.filter(({ message }) => message.startsWith('not checked')).map(({ message }) => message)).toEqual([
      'not checked: no agent login is configured (COUNTERSIGN_DATABASE_URL)', 'not checked: no reader login is configured (COUNTERSIGN_READER_URL)',
      'not checked: no approver login is configured (COUNTERSIGN_APPROVER_URL)']);
    expect(checks.filter(({ checkName, message }) => message.includes(db.role('admin')) && checkName !== 'admin login')).toEqual([]);
    expect(checks.map(({ checkName }) => checkName)).toEqual(expect.arrayContaining(['backend', 'PUBLIC may execute no Countersign function', 'some tables are readable']));
    const text = (await doctor({ COUNTERSIGN_ADMIN_URL: db.url('admin') })).stdout;
    expect(text).toMatch(/\nNothing stops the server so far; its logins were not all checked\.\n$/);
  });

  it('still stops at one of the server\'s two logins without the other', async () => {
    const { code, stdout } = await doctor({ COUNTERSIGN_ADMIN_URL: db.url('admin'), COUNTERSIGN_READER_URL: db.url('reader') });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fatal +agent login: not checked/m);
  });

  it('sends a superuser as the agent\'s login to a role of its own', async () => {
    const { code, stdout } = await doctor({ COUNTERSIGN_DATABASE_URL: db.url('admin'), COUNTERSIGN_READER_URL: db.url('reader') }, ['--json']);
    expect(code).toBe(1);
    const hints = (JSON.parse(stdout) as { severity: string; hint: string }[]).filter(({ severity }) => severity === 'fatal').map(({ hint }) => hint);
    expect(hints.join('\n')).toContain('create role my_agent login password');
    expect(hints.join('\n')).not.toContain('grant countersign_agent to');
    expect(stdout).toContain(`${db.role('admin')} is a superuser, and no agent may be one.`);
  });

  it('names a login in the wrong group and what to run', async () => {
    const { code, stdout } = await doctor({ COUNTERSIGN_DATABASE_URL: db.url('alice'), COUNTERSIGN_READER_URL: db.url('nobody') }, ['--json']);
    expect(code).toBe(1);
    const checks = JSON.parse(stdout) as { severity: string; hint: string }[];
    const hints = checks.filter(({ severity }) => severity === 'fatal').map(({ hint }) => hint);
    expect(hints).toContain(`Run as an administrator: grant countersign_agent to ${db.role('alice')};`);
    expect(hints).toContain(`Run as an administrator: revoke countersign_approver from ${db.role('alice')};`);
    expect(hints).toContain(`Run as an administrator: grant countersign_reader to ${db.role('nobody')};`);
  });
});
