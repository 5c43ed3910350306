/** Several servers, one page; and nothing foreign on the port passes for it. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { databaseKey, proofOf } from '../../src/approvals/sharing.js';
import { startApprovalServer, type ApprovalServerOptions } from '../../src/approvals/start.js';
import { createTestDatabase } from '../harness/database.js';
import { ask, pageFor, startPage, type Page } from './page.js';

const db = await createTestDatabase();
const KEY = databaseKey(db.url('alice'), 'token');
let folder: string;

beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'countersign-sharing-')); });
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A random secret each, as processes of their own would have. */
const options = (port: number, key = KEY): ApprovalServerOptions => ({ port, sharing: { folder, key }, authToken: randomBytes(16).toString('hex') });
const start = (port: number, key?: string): Promise<Page> => pageFor(db, options(port, key));
const secretIn = (page: { url: string }): string => page.url.split('#token=')[1] ?? '';

test('the secret lies in a file of its owner alone, named by database and port, and goes with the server', async () => {
  const page = await startPage(db, options(0));
  const [file = ''] = readdirSync(folder);
  expect(file).toBe(`${KEY}-${page.port}.token`);
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(folder, file), 'utf8').trim()).toBe(secretIn(page));
  await page.stop();
  expect(readdirSync(folder)).toEqual([]);
});

test('a second server on the same database shares the page, and takes it over with a secret of its own when the first ends', async () => {
  const first = await startPage(db, options(0));
  const second = await start(first.port);
  expect([second.shared, second.url]).toEqual([true, first.url]);
  expect((await ask(second, '/api/plans', { secret: secretIn(second) })).status).toBe(200);
  await first.stop();
  await expect.poll(() => second.shared, { timeout: 6_000 }).toBe(false);
  // What an open tab may have sent to whoever was faster on the free port opens nothing any more.
  expect((await ask(second, '/api/plans', { secret: secretIn(first) })).status).toBe(401);
  expect((await ask(second, '/api/plans', { secret: secretIn(second) })).status).toBe(200);
  expect(second.log.join()).toContain('serves the approval page now');
  expect(readdirSync(folder)).toHaveLength(1);
});

test('a server on another database, or for another login, gets a port of its own', async () => {
  const first = await start(0);
  for (const key of [databaseKey(db.url('alice').replace(db.name, 'other'), 'token'), databaseKey(db.url('bob'), 'token'), databaseKey(db.url('alice'), 'database')]) {
    const other = await start(first.port, key);
    expect(other.shared).toBe(false);
    expect(other.port).not.toBe(first.port);
  }
});

test('something foreign on the port is not believed, not even when a file names it', async () => {
  const foreign = createServer((_, response) => response.end(JSON.stringify({ ok: true, countersign: 'yes, really' })));
  await new Promise<void>((resolve) => { foreign.listen(0, '127.0.0.1', resolve); });
  const { port } = foreign.address() as { port: number };
  writeFileSync(join(folder, `${KEY}-${port}.token`), 'a-secret-left-behind-by-a-crash\n', { mode: 0o600 });
  const page = await start(port);
  expect([page.shared, page.port === port]).toEqual([false, false]);
  expect(page.log.join()).toContain(`port ${port} is taken`);
  foreign.close();
});

test('something foreign on [::1] alone is enough to move (H019)', async () => {
  const foreign = createTcpServer();
  await new Promise<void>((resolve) => { foreign.listen({ host: '::1', port: 0, ipv6Only: true }, resolve); });
  const { port } = foreign.address() as { port: number };
  const page = await start(port);
  expect(page.port).not.toBe(port);
  foreign.close();
});

test('a file that others could have written is not believed', async () => {
  const first = await start(0);
  const path = join(folder, `${KEY}-${first.port}.token`);
  chmodSync(path, 0o644);
  expect((await start(first.port)).shared).toBe(false);
});

test('the proof answers one challenge, for one port, and tells nothing of the secret', async () => {
  const page = await start(0);
  const challenge = 'c'.repeat(43);
  const { status, json } = await ask(page, `/api/identity?challenge=${challenge}`, { secret: null });
  expect([status, json['countersign']]).toEqual([200, proofOf(secretIn(page), challenge, page.port)]);
  expect(proofOf(secretIn(page), challenge, page.port + 1)).not.toBe(json['countersign']);
  for (const bad of ['', 'short', `${challenge}%00`, 'x'.repeat(65)]) expect((await ask(page, `/api/identity?challenge=${bad}`, { secret: null })).status).toBe(401);
  expect((await ask(page, `/api/identity?challenge=${challenge}`, { secret: null, headers: { Origin: 'http://evil.test' } })).status).toBe(403);
});

test('without a folder nothing is shared and nothing is proved', async () => {
  const page = await startApprovalServer(null, { port: 0 });
  expect((await ask(page, `/api/identity?challenge=${'c'.repeat(43)}`, { secret: null })).status).toBe(401);
  await page.close();
});
