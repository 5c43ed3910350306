import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/db/install.js';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded.js';
import { isAlive } from '../../src/db/embedded-processes.js';
import { eventually } from '../harness/races.js';

let dataDir: string;
let servers: EmbeddedServer[] = [];
let children: ChildProcess[] = [];
const native = process.env['TEST_POSTGRES_NATIVE'];

beforeEach(() => { dataDir = mkdtempSync(join(tmpdir(), 'countersign-embedded-')); });
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(servers.map((server) => server.stop()));
  await eventually(async () => serverPid() === null, 'the server stops', 20_000);
  [servers, children] = [[], []];
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, durable: false, ...(native ? { native } : {}) });
  servers.push(server);
  return server;
}

/** Another process that uses the same data directory until it is killed. */
async function startElsewhere(): Promise<{ child: ChildProcess; pid: number }> {
  const script = `
    import { startEmbedded } from ${JSON.stringify(join(packageRoot(), 'dist', 'db', 'embedded.js'))};
    const server = await startEmbedded(${JSON.stringify({ dataDir, durable: false, ...(native ? { native } : {}) })});
    console.log(server.pid);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const pid = await new Promise<number>((resolve, reject) => {
    child.stdout?.setEncoding('utf8').once('data', (text: string) => resolve(Number(text)));
    child.once('exit', () => reject(new Error('the other process ended')));
  });
  return { child, pid };
}

function serverPid(): number | null {
  try {
    const pid = Number(readFileSync(join(dataDir, 'pg', 'postmaster.pid'), 'utf8').split('\n')[0]);
    return isAlive(pid) ? pid : null;
  } catch {
    return null;
  }
}

async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return Object.values((await client.query<Record<string, unknown>>(sql)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

describe('the embedded server', () => {
  test('keeps its secrets to its owner and listens on loopback only', async () => {
    const server = await start();
    expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'pg')).mode & 0o777).toBe(0o700);
    expect(readdirSync(dataDir).filter((name) => name.endsWith('.pw'))).toEqual([]);
    expect(await ask(server.adminUrl(), 'select current_setting(\'listen_addresses\')')).toBe('127.0.0.1');
    expect(await ask(server.adminUrl(), 'select current_setting(\'unix_socket_directories\')')).toBe('');
    expect(await ask(server.adminUrl(), 'select count(*)::integer from pg_hba_file_rules where auth_method <> \'scram-sha-256\'')).toBe(0);
    await expect(ask(server.url('countersign_admin', 'postgres', 'guess'), 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  test('is shared, and stopped by the last user only', async () => {
    const first = await start();
    const { child, pid } = await startElsewhere();
    expect(pid).toBe(first.pid);
    await first.stop();
    expect(serverPid()).toBe(pid);
    child.kill('SIGKILL');
    await eventually(async () => serverPid() === null, 'the watcher stops it', 20_000);
  });

  test('stays up for the others when the process that started it is killed', async () => {
    const { child, pid } = await startElsewhere();
    const mine = await start();
    expect(mine).toMatchObject({ pid, started: false });
    child.kill('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await ask(mine.adminUrl(), 'select 1')).toBe(1);
  });

  test('is started once by several starters on an empty folder', async () => {
    const [others, mine] = await Promise.all([Promise.all([startElsewhere(), startElsewhere()]), start()]);
    expect(new Set([...others.map(({ pid }) => pid), mine.pid]).size).toBe(1);
  });

  test('comes back on the same port with its data after a crash', async () => {
    const server = await start();
    const { pid, port } = server;
    await ask(server.adminUrl(), 'create table kept (a integer)').catch(() => undefined);
    process.kill(pid, 'SIGKILL');
    await eventually(async () => server.pid !== pid && await ask(server.adminUrl(), 'select to_regclass(\'kept\') is not null').catch(() => false), 'revival', 20_000);
    expect(server.port).toBe(port);
  });

  test('starts over a stale pid file, also one whose number is somebody else\'s now', async () => {
    const { child, pid } = await startElsewhere();
    process.kill(pid, 'SIGKILL');
    child.kill('SIGKILL');
    const server = await start();
    expect(await ask(server.adminUrl(), 'select 1')).toBe(1);
    expect(server.started).toBe(true);
  });

  test('without its credentials is refused with the remedy, not reset', async () => {
    const server = await start();
    await server.stop();
    rmSync(join(dataDir, 'credentials.json'));
    await expect(start()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(existsSync(join(dataDir, 'pg', 'PG_VERSION'))).toBe(true);
  });
});
