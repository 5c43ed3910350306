import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { createClient, createHost, type Outcome } from '../../src/client.js';
import { main } from '../../src/cli/main.js';
import { queryOf } from '../../src/cli/logins.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import type { Login } from '../harness/fixture.js';
import { fakeIo, longestLine } from './fake-io.js';

let db: TestDatabase;

/** Runs a command as one of the database's logins. */
async function as(login: Login, args: string[], options: Parameters<typeof fakeIo>[0] = {}) {
  const io = fakeIo(options);
  const code = await main([...args, '--url', db.url(login)], io, '/opt/countersign/dist/cli.js');
  return { code, io, stdout: io.stdout(), stderr: io.stderr() };
}

async function propose(reason = 'clean up'): Promise<string> {
  const client = createClient(queryOf(await db.connect('agent')));
  const outcome: Outcome = await client.previewDelete({
    table: 'public.note', where: 'id <= 150', params: [], confirmFullTable: false, reason, callerId: null,
  });
  expect(outcome).toMatchObject({ ok: true, detail: { status: 'awaiting_approval' } });
  return String(outcome.detail?.['plan_token']);
}

beforeAll(async () => {
  db = await createTestDatabase();
  const owner = db.as('owner');
  await owner.query('create table public.note (id integer primary key, body text not null)');
  await owner.query(`insert into public.note select n, 'note ' || n from generate_series(1, 300) n`);
  for (const verb of ['read', 'write']) expect((await as('admin', ['allow', verb, 'public.note'])).code).toBe(0);
});

describe('pending and show', () => {
  it('say so when nothing waits', async () => {
    expect(await as('alice', ['pending'])).toMatchObject({ code: 0, stdout: 'Nothing waits for a decision.\n' });
    expect(await as('alice', ['executing'])).toMatchObject({ code: 0, stdout: 'No plan is stuck in execution.\n' });
    expect(await as('alice', ['pending', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  it('show what waits within 80 columns, whatever the agent wrote', async () => {
    const token = await propose(`urgent \u001b[2J\u202e ${'very '.repeat(100)}`);
    for (const args of [['pending'], ['show', token], ['show', token.slice(0, 8)]]) {
      const { code, stdout } = await as('alice', args);
      expect(code).toBe(0);
      expect(stdout).toContain(token.slice(0, 8));
      expect(stdout).toContain('\\u{1B}');
      expect(stdout).not.toMatch(/[\u001b\u202e]/);
      expect(stdout).not.toContain('\n\n\n');
      expect(longestLine(stdout)).toBeLessThanOrEqual(80);
    }
    expect(JSON.parse((await as('alice', ['show', token, '--json'])).stdout)).toMatchObject({ plan_token: token, total_rows: 150 });
    expect((await as('alice', ['reject', token, '--reason', 'no'])).code).toBe(0);
  });

  it('know no plan that is not there', async () => {
    for (const token of ['00000000', '00000000-0000-4000-8000-000000000000', 'short', '%', '']) {
      const { code, stderr } = await as('alice', ['show', token]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^UNKNOWN_TOKEN: /);
    }
  });
});

describe('deciding', () => {
  let token: string;
  beforeEach(async () => { token = await propose(); });

  it('by a prefix of the token approves and says so', async () => {
    const { code, stdout } = await as('alice', ['approve', token.slice(0, 8), '--note', 'looks right']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Approved/);
    const { rows } = await db.as('auditor').query('select status, channel, note from countersign.audit_log where plan_token = $1 order by id desc limit 1', [token]);
    expect(rows).toEqual([{ status: 'approved', channel: 'cli', note: 'looks right' }]);
  });

  it('twice is refused with its code, for people and for programs', async () => {
    expect((await as('alice', ['reject', token, '--reason', 'no'])).code).toBe(0);
    const again = await as('alice', ['approve', token]);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(/^PLAN_REJECTED: /);
    const json = await as('alice', ['approve', token, '--json']);
    expect(json).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, code: 'PLAN_REJECTED' });
  });

  it('asks when there is somebody to ask, after showing what matters', async () => {
    const declined = await as('alice', ['approve', token], { answer: 'n' });
    expect(declined).toMatchObject({ code: 1, stdout: '' });
    expect(declined.io.questions).toEqual(['Approve this plan? [y/N] ']);
    expect(declined.stderr).toContain('DELETE FROM public.note');
    expect(declined.stderr).toContain('public.note: 0 inserted, 0 updated, 150 deleted');
    expect(declined.stderr).toContain('Nothing was decided.');
    expect((await as('alice', ['approve', token], { answer: '' })).code).toBe(1);
    const accepted = await as('alice', ['approve', token], { answer: 'yes' });
    expect(accepted).toMatchObject({ code: 0 });
    expect(accepted.stdout).toMatch(/^Approved/);
  });

  it('does not ask with --yes', async () => {
    const { code, io } = await as('alice', ['reject', token, '--yes', '--reason', 'no'], { answer: 'n' });
    expect(code).toBe(0);
    expect(io.questions).toEqual([]);
  });

  it('rejects with a reason only: asks for it where it can, and refuses where it cannot', async () => {
    const silent = await as('alice', ['reject', token]);
    expect(silent).toMatchObject({ code: 2, stdout: '' });
    expect(silent.stderr).toMatch(/^nothing was decided: give --reason TEXT; the agent will read the reason/);
    const asked = await as('alice', ['reject', token], { answer: 'y' });
    expect(asked).toMatchObject({ code: 0 });
    expect(asked.io.questions).toEqual(['Reject this plan for good? [y/N] ', 'Why? The agent will read it: ']);
    const { rows } = await db.as('auditor').query('select note from countersign.audit_log where plan_token = $1 and status = \'rejected\'', [token]);
    expect(rows).toEqual([{ note: 'y' }]);
  });

  it('is told what a human does next, in the words of the command line', async () => {
    const hint = async (args: string[]): Promise<string> => String((JSON.parse((await as('alice', [...args, '--json'])).stdout) as { hint: string }).hint);
    expect(await hint(['approve', '00000000'])).toMatch(/^countersign pending lists what waits\./);
    expect(await hint(['show', '00000000'])).toMatch(/^countersign pending lists the plans that wait/);
    const expired = await propose();
    await db.as('admin').query('update countersign_data.plan set expires_at = created_at + interval \'1 ms\' where token = $1', [expired]);
    for (const args of [['approve', expired], ['reject', expired, '--reason', 'late']]) expect(await hint(args)).toBe('Ask the agent to preview it again.');
    expect((await as('alice', ['reject', token, '--reason', 'no'])).code).toBe(0);
    expect(await hint(['approve', token])).toBe('Nothing to do. Should it run after all, ask the agent to preview it again: that plan waits for you.');
  });

  it('is not for the agent, the reader or an auditor, whatever they call', async () => {
    for (const login of ['agent', 'reader', 'auditor', 'nobody'] as const) {
      for (const args of [['approve', token], ['reject', token, '--reason', 'no'], ['pending'], ['show', token]]) {
        const { code, stderr } = await as(login, args);
        expect([login, args[0], code]).toEqual([login, args[0], 1]);
        expect(stderr).toMatch(/^STATEMENT_FAILED: permission denied .*\(42501\)/);
        expect(stderr).toContain('countersign_approver');
      }
    }
  });
});

describe('what hangs in executing', () => {
  async function stuck(): Promise<string> {
    const host = createHost(queryOf(await db.connect('agent')));
    const plan = { tool: 'send_mail', payload: `{"n":${Math.random()}}`, reason: 'spring letter', callerId: null, previewCount: 3, dataDigest: null, extra: null, approvalRequired: false, alwaysRequireApproval: false, planTtlMs: null, approvalTtlMs: null };
    const planToken = String((await host.createHostPlan(plan)).detail?.['plan_token']);
    expect(await host.beginExecute({ planToken, payload: plan.payload, dataDigest: null, callerId: null })).toMatchObject({ ok: true });
    return planToken;
  }

  it('is listed with its payload, shown, and settled by a prefix of its token', async () => {
    const token = await stuck();
    const listed = await as('alice', ['executing']);
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.stdout).toContain('send_mail');
    expect(listed.stdout).toContain('{"n":');
    expect(listed.stderr).toContain('countersign settle PLAN done|not-done');
    expect(longestLine(listed.stdout)).toBeLessThanOrEqual(80);
    const shown = await as('alice', ['show', token]);
    expect(shown.stdout).toMatch(/outside the database: send_mail/);
    expect(longestLine(shown.stdout)).toBeLessThanOrEqual(80);
    const settled = await as('alice', ['settle', token.slice(0, 8), 'done', '--note', 'it is in the sent folder']);
    expect(settled).toMatchObject({ code: 0, stdout: 'Recorded as done.\n' });
    const { rows } = await db.as('auditor').query('select status, channel, note from countersign.audit_log where plan_token = $1 order by id desc limit 1', [token]);
    expect(rows).toEqual([{ status: 'executed', channel: 'cli', note: `settled as done by ${db.role('alice')}: it is in the sent folder` }]);
    expect(await as('alice', ['settle', token, 'not-done'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/^NOT_EXECUTING: /) });
  });

  it('asks first, and takes no third answer', async () => {
    const token = await stuck();
    const declined = await as('alice', ['settle', token, 'not-done'], { answer: 'n' });
    expect(declined.io.questions).toEqual(['Settle this plan as not-done? [y/N] ']);
    expect(declined.code).toBe(1);
    expect((await as('alice', ['settle', token, 'not-done', '--yes'])).stdout).toMatch(/^Recorded as not done/);
    expect((await as('alice', ['settle', token, 'perhaps'])).code).toBe(2);
    expect((await as('alice', ['settle', token])).code).toBe(2);
    expect(await as('agent', ['settle', token, 'done'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/42501/) });
  });
});

describe('the trail', () => {
  it('is a table within 80 columns, newest last', async () => {
    const { code, stdout } = await as('auditor', ['audit', '--limit', '5']);
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^\d{4}-\d\d-\d\d +tool +what happened +rows +plan +by$/);
    expect(longestLine(stdout)).toBeLessThanOrEqual(80);
  });

  it('counts the rows of every table, so that a cascade is seen', async () => {
    await db.as('owner').query('create table public.author (id integer primary key); create table public.book (author integer references public.author on delete cascade)');
    await db.as('owner').query('insert into public.author values (1); insert into public.book select 1 from generate_series(1, 7)');
    for (const verb of ['read', 'write']) await as('admin', ['allow', verb, 'public.author', 'public.book']);
    const client = createClient(queryOf(await db.connect('agent')));
    const { detail } = await client.previewDelete({ table: 'author', where: 'id = 1', params: [], confirmFullTable: false, reason: 'r', callerId: null });
    expect(detail).toMatchObject({ affected_rows: 1, total_rows: 8 });
    const line = (text: string): string => text.split('\n').find((each) => each.includes(String(detail?.['plan_token']).slice(0, 8))) ?? '';
    expect(line((await as('auditor', ['audit'])).stdout)).toMatch(/ delete_rows +previewed +8 /);
  });

  it('of one plan is shown in full', async () => {
    const token = await propose();
    const { code, stdout } = await as('auditor', ['audit', '--plan', token.slice(0, 8)]);
    expect(code).toBe(0);
    expect(stdout).toContain('awaiting_approval');
    expect(stdout).toContain('DELETE FROM public.note');
    expect(longestLine(stdout)).toBeLessThanOrEqual(80);
    const json = JSON.parse((await as('auditor', ['audit', '--plan', token, '--json'])).stdout) as unknown[];
    expect(json).toMatchObject([{ plan_token: token, status: 'awaiting_approval' }]);
  });

  it('is verified, and tampering ends with 1', async () => {
    expect(await as('auditor', ['verify'])).toMatchObject({ code: 0, stdout: 'The audit trail is intact.\n' });
    const admin = await db.connect('admin');
    await admin.query(`set session_replication_role = replica`);
    await admin.query(`update countersign_data.event set reason = 'something else' where id = (select min(id) from countersign_data.event)`);
    const { code, stdout } = await as('auditor', ['verify']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^chain +event +problem/);
    expect(JSON.parse((await as('auditor', ['verify', '--json'])).stdout)).toMatchObject({ intact: false, problems: [{}] });
  });
});
