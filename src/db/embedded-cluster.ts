/** One Postgres cluster on disk and its server process: create, start, find, stop. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { CountersignError } from '../errors.js';
import type { Binaries } from './embedded-binaries.js';
import { give, type Folders, type Identity } from './embedded-folders.js';
import { choosePort, HOST, rememberPort } from './embedded-port.js';
import { isAlive } from './embedded-processes.js';

export const ADMIN = 'countersign_admin';
const START_WAIT_MS = 60_000;
const STOP_WAIT_MS = 30_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** Strict from the first second: what the server's settings can rule out, no grant has to. */
const SETTINGS: Record<string, string> = {
  listen_addresses: HOST,
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: '100',
  max_prepared_transactions: '0',
  temp_file_limit: '1GB',
  track_counts: 'on',
  wal_level: 'minimal',
  max_wal_senders: '0',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Statements of an agent may hold personal data; they belong in the audit trail, not in a log file.
  log_min_error_statement: 'panic',
};

export interface ClusterOptions {
  folders: Folders;
  identity: Identity;
  binaries: Binaries;
  /** Additional server settings. */
  settings: Record<string, string>;
  /** False only for throw-away clusters: skips every fsync. A crash of Postgres still loses nothing, a crash of the machine does. */
  durable: boolean;
  password: string;
}

/** A server that answered. */
export interface RunningServer { pid: number; port: number }

function run(program: string, args: string[], options: ClusterOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: options.binaries.env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], ...options.identity });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { output += text; });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(output.trim() || `exit code ${code}`))));
  });
}

/** Creates the cluster aside and renames it, so that an interrupted attempt leaves nothing half made. */
export async function initialise(options: ClusterOptions): Promise<void> {
  const { folders, identity, binaries } = options;
  if (findServer(folders) !== null) return;
  if (existsSync(join(folders.pgdata, 'PG_VERSION'))) return assertVersion(options);
  const aside = join(folders.home, `pg.${randomBytes(4).toString('hex')}`);
  const passwordFile = `${aside}.pw`;
  try {
    mkdirSync(aside, { mode: 0o700 });
    give(aside, identity);
    writeFileSync(passwordFile, options.password, { mode: 0o600, flag: 'wx' });
    give(passwordFile, identity);
    const locale = binaries.major() >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
    await run(binaries.program('initdb'), ['-D', aside, '-U', ADMIN, `--pwfile=${passwordFile}`, '--auth=scram-sha-256',
      '--encoding=UTF8', '--locale=C', '--no-instructions', ...locale, ...(options.durable ? [] : ['--no-sync'])], options);
    rmSync(folders.pgdata, { recursive: true, force: true });
    renameSync(aside, folders.pgdata);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    throw new CountersignError('DATABASE_UNAVAILABLE', `The embedded database could not be created: ${(error as Error).message}`,
      `Check free space and permissions of ${folders.home}, or set COUNTERSIGN_DATABASE_URL to a running Postgres.`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** Major version of the cluster on disk. */
export function clusterVersion(folders: Folders): number {
  return Number(readFileSync(join(folders.pgdata, 'PG_VERSION'), 'utf8').trim());
}

function assertVersion({ folders, binaries }: ClusterOptions): void {
  const version = clusterVersion(folders);
  if (version === binaries.major()) return;
  throw new CountersignError('DATABASE_UNAVAILABLE', `${folders.dataDir} holds a Postgres ${version} database; the installed programs are Postgres ${binaries.major()}.`,
    'The embedded database is for trying and developing: set COUNTERSIGN_DATA_DIR to a new folder, or delete the old one.');
}

/** The server that the cluster's pid file names, if it really runs and really is this cluster's. */
export function findServer(folders: Folders): RunningServer | null {
  try {
    const [pid, , , port] = readFileSync(join(folders.pgdata, 'postmaster.pid'), 'utf8').split('\n');
    const server = { pid: Number(pid), port: Number(port) };
    return server.port > 0 && isAlive(server.pid) && isPostgres(server.pid, folders.pgdata) ? server : null;
  } catch {
    return null;
  }
}

/** After a crash the pid may belong to somebody else by now. */
function isPostgres(pid: number, pgdata: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(pgdata);
  } catch {
    return false;
  }
}

export function adminClient(port: number, password: string, database = 'postgres'): pg.Client {
  const client = new pg.Client({
    host: HOST, port, user: ADMIN, password, database, ssl: false, application_name: 'countersign embedded', connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => { /* reported by the pending call, or nobody waits any more */ });
  return client;
}

/** Null when the server answered, else why it did not. */
async function probe(port: number, password: string): Promise<(Error & { code?: string }) | null> {
  const client = adminClient(port, password);
  try {
    await client.connect();
    await client.query('select 1');
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Starts the server detached: it must outlive this process when another one uses it too. */
function launch(options: ClusterOptions, port: number): { pid: number; exited: () => boolean; logFrom: number } {
  const { folders, binaries, identity } = options;
  if (existsSync(folders.log) && statSync(folders.log).size > LOG_LIMIT_BYTES) rmSync(folders.log);
  const log = openSync(folders.log, 'a', 0o600);
  const logFrom = statSync(folders.log).size;
  const settings = { ...SETTINGS, ...(options.durable ? {} : { fsync: 'off', full_page_writes: 'off' }), ...options.settings };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const child = spawn(binaries.program('postgres'), ['-D', folders.pgdata, '-p', String(port), ...args], {
      env: binaries.env, cwd: '/', detached: true, stdio: ['ignore', log, log], ...identity,
    });
    let exited = false;
    child.once('exit', () => { exited = true; });
    child.once('error', () => { exited = true; });
    child.unref();
    return { pid: child.pid ?? 0, exited: () => exited, logFrom };
  } finally {
    closeSync(log);
  }
}

function logSince(folders: Folders, from: number): string {
  try {
    return readFileSync(folders.log).subarray(from).toString('utf8').trim().split('\n').slice(-5).join('\n');
  } catch {
    return '';
  }
}

/** Waits for a server found running (or just launched) until it answers; false when it goes away instead. */
async function answers(port: number, password: string, gone: () => boolean, deadline: number): Promise<boolean> {
  for (;;) {
    const problem = await probe(port, password);
    if (problem === null) return true;
    if (gone()) return false;
    if (problem.code === '28P01') {
      throw new CountersignError('DATABASE_UNAVAILABLE', 'The embedded database does not accept the password in credentials.json.',
        'The file belongs to another data directory, or was changed: restore it, or start with a new COUNTERSIGN_DATA_DIR.');
    }
    if (Date.now() > deadline) throw new CountersignError('DATABASE_UNAVAILABLE', `The embedded Postgres does not answer: ${problem.message}`, 'Look at server.log in the data directory.');
    await sleep(20);
  }
}

/** The cluster's running server; starts it (recovering from a crash) when there is none. The caller holds the lock. */
export async function ensureServer(options: ClusterOptions): Promise<RunningServer & { started: boolean }> {
  const { folders, password } = options;
  const deadline = Date.now() + START_WAIT_MS;
  const avoid = new Set<number>();
  for (;;) {
    const found = findServer(folders);
    if (found !== null) {
      if (await answers(found.port, password, () => findServer(folders)?.pid !== found.pid, deadline)) return { ...found, started: false };
      continue;
    }
    // Ours by now: no live server of this cluster exists, and Postgres would trust the number in the file.
    rmSync(join(folders.pgdata, 'postmaster.pid'), { force: true });
    const port = await choosePort(folders, avoid);
    const child = launch(options, port);
    if (await answers(port, password, child.exited, deadline)) {
      rememberPort(folders, port);
      return { pid: child.pid, port, started: true };
    }
    const reason = logSince(folders, child.logFrom);
    if (/could not bind|Address already in use/.test(reason)) avoid.add(port);
    // Right after a kill -9 the old server's children may still be leaving.
    else if (!/pre-existing shared memory block|lock file/.test(reason) || Date.now() > deadline) {
      throw new CountersignError('DATABASE_UNAVAILABLE', `The embedded Postgres did not start:\n${reason || 'it could not be run'}`, `See ${folders.log}.`);
    }
    await sleep(100);
  }
}

/** Asks for a fast shutdown. Synchronous, so that an exit handler can use it. */
export function signalStop(pid: number): void {
  try {
    process.kill(pid, 'SIGINT');
  } catch {
    // Already gone.
  }
}

/** Fast shutdown, and waits until the server is gone. */
export async function stopServer(options: ClusterOptions, pid: number): Promise<void> {
  if (process.platform === 'win32') {
    // Windows knows no signals: killing would skip the shutdown checkpoint.
    await run(options.binaries.program('pg_ctl'), ['stop', '-D', options.folders.pgdata, '-m', 'fast'], options).catch(() => undefined);
    return;
  }
  signalStop(pid);
  const deadline = Date.now() + STOP_WAIT_MS;
  while (isAlive(pid) && Date.now() < deadline) await sleep(10);
}
