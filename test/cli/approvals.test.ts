/** `countersign approvals` and the page inside `countersign serve`, as processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { contentIn, GENERATIONS } from '../mcp/clients.js';
import { createShop } from '../sql/application.js';
import { ask, post } from '../approvals/page.js';

const CLI = process.env['TEST_CLI'] ?? 'dist/cli.js';
const db = await createTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'countersign-approvals-'));
const running: ChildProcess[] = [];

beforeAll(async () => {
  await createShop(db);
  return () => rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((child) => child.exitCode ?? new Promise((resolve) => { child.once('exit', resolve); child.kill(); })));
});

const environment = (extra: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '', COUNTERSIGN_DATA_DIR: folder, COUNTERSIGN_APPROVAL_PORT: '0', COUNTERSIGN_DATABASE_URL: db.url('agent'), COUNTERSIGN_READER_URL: db.url('reader'),
  COUNTERSIGN_APPROVER_URL: db.url('alice'), ...extra,
});

interface Started { child: ChildProcess; words(): string; port: number; secret: string; exit: Promise<number | null> }

async function start(args: string[], extra: Record<string, string> = {}): Promise<Started> {
  const child = spawn(process.execPath, [CLI, ...args], { env: environment(extra), stdio: ['pipe', 'pipe', 'pipe'] });
  running.push(child);
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => { words += text; });
  const exit = new Promise<number | null>((resolve) => { child.once('exit', resolve); });
  await expect.poll(() => words, { timeout: 15_000 }).toMatch(/http:\/\/127\.0\.0\.1:\d+\//);
  const [, port = '', , secret = ''] = /http:\/\/127\.0\.0\.1:(\d+)\/(#token=(\S+))?/.exec(words) ?? [];
  return { child, words: () => words, port: Number(port), secret, exit };
}

const built = existsSync(CLI);

test.skipIf(!built)('approvals serves the page until it is asked to end, and a second one points to the first', async () => {
  const first = await start(['approvals']);
  expect((await ask(first, '/api/plans', { secret: first.secret })).status).toBe(200);
  expect((await ask(first, '/assets/page.css', { secret: null })).status).toBe(200);
  const second = await start(['approvals'], { COUNTERSIGN_APPROVAL_PORT: String(first.port) });
  expect([second.port, second.secret, await second.exit]).toEqual([first.port, first.secret, 0]);
  expect(second.words()).toContain('Another Countersign serves the page');
  first.child.kill('SIGTERM');
  expect(await first.exit).toBe(0);
});

test.skipIf(!built)('approvals --open starts a browser with a code that works once, not with the secret (H012)', async () => {
  const seen = join(folder, 'opened');
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > ${seen}\n`, { mode: 0o755 });
  const page = await start(['approvals', '--open'], { PATH: `${bin}:${process.env['PATH']}` });
  await expect.poll(() => existsSync(seen) && readFileSync(seen, 'utf8'), { timeout: 5_000 }).toMatch(/#code=/);
  const opened = readFileSync(seen, 'utf8');
  expect(opened).not.toContain(page.secret);
  const code = opened.split('#code=')[1];
  expect((await post(page, '/api/redeem', { code }, { secret: null })).json).toMatchObject({ ok: true, token: page.secret });
  expect((await post(page, '/api/redeem', { code }, { secret: null })).status).toBe(401);
  expect((await post(page, '/api/codes', {}, { secret: null })).status).toBe(401);
});

test.skipIf(!built)('approvals with sign-in by database login needs no approver\'s password', async () => {
  const { COUNTERSIGN_APPROVER_URL: _none, ...rest } = environment();
  const child = spawn(process.execPath, [CLI, 'approvals'], { env: { ...rest, COUNTERSIGN_APPROVAL_LOGIN: 'database' }, stdio: 'pipe' });
  running.push(child);
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => { words += text; });
  await expect.poll(() => words, { timeout: 15_000 }).toMatch(/http:\/\/127\.0\.0\.1:\d+\/\n/);
  const port = Number(/:(\d+)\//.exec(words)?.[1]);
  const signedIn = await post({ port }, '/api/sign-in', { user: db.role('bob'), password: new URL(db.url('bob')).password }, { secret: null });
  expect(signedIn.json).toMatchObject({ ok: true, login: db.role('bob') });
});

test.skipIf(!built)('serve brings the page, and tells the agent its address without the secret', async () => {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, 'serve'], env: environment(), stderr: 'pipe' });
  let words = '';
  transport.stderr?.on('data', (chunk: Buffer) => { words += chunk.toString('utf8'); });
  const client = await (GENERATIONS[0]?.[1] as (typeof GENERATIONS)[number][1])(transport);
  try {
    await expect.poll(() => words, { timeout: 15_000 }).toMatch(/approval page: http:\/\/127\.0\.0\.1:\d+\/#token=\S+/);
    const [, address = '', secret = ''] = /approval page: (http:\/\/127\.0\.0\.1:\d+\/)#token=(\S+)/.exec(words) ?? [];
    const preview = await client.call('delete_rows', { table: 'stock', where: 'id <= 200', reason: 'because' });
    const { approval, plan_token: token } = contentIn(preview) as { approval: Record<string, string>; plan_token: string };
    expect(approval['page']).toBe(`${address}plans/${token}`);
    expect(JSON.stringify(preview)).not.toContain(secret);
    const small = contentIn(await client.call('delete_rows', { table: 'stock', where: 'id = 1', reason: 'because' }));
    expect(small['approval']).toBeNull();
    const port = Number(new URL(address).port);
    const held = client.call('execute_plan', { plan_token: token, statement: contentIn(preview)['statement'], params: [] });
    expect((await post({ port }, `/api/plans/${token}/approve`, {}, { secret })).status).toBe(200);
    expect(contentIn(await held)).toMatchObject({ status: 'executed', affected_rows: 200 });
  } finally {
    await client.close();
  }
});
