/**
 * The embedded Postgres server: real binaries from npm, for trying and developing.
 *
 * Any number of processes share one server in one data directory. Each leaves a note that it uses it; the
 * last one to go stops it, and a server whose users were all killed is stopped by a small watcher. Starting,
 * joining and stopping happen under one lock, so nobody joins a server that is being stopped.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '../errors.js';
import { findNative, prepareBinaries } from './embedded-binaries.js';
import { ADMIN, clusterVersion, ensureServer, findServer, initialise, signalStop, stopServer, type ClusterOptions, type RunningServer } from './embedded-cluster.js';
import { defaultDataDir, openFolders, serverIdentity, type Folders } from './embedded-folders.js';
import { hasUsers, isAlive, registerUser, tryLock, withLock } from './embedded-processes.js';
import { startReaper } from './embedded-reaper.js';

/** Receives one line for a person; it must not write to stdout, which belongs to the protocol. */
export type Log = (line: string) => void;

export interface EmbeddedOptions {
  /** Where it lives; default: `COUNTERSIGN_DATA_DIR` or the user's data folder. */
  dataDir?: string;
  log?: Log;
  /** Another `native` folder of Postgres programs. */
  native?: string;
  /** Additional server settings. */
  settings?: Record<string, string>;
  /** False only for throw-away servers: skips every fsync. Default true. */
  durable?: boolean;
  /** Logins that need a password in the credentials file; made up once, then kept. */
  logins?: readonly string[];
}

/** Passwords of the embedded database, as kept in `credentials.json` (mode 0600). */
export interface Credentials {
  admin: string;
  logins: Record<string, string>;
}

export interface EmbeddedServer {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** Process id of the server at this moment (it changes when a crashed server is started again). */
  readonly pid: number;
  readonly dataDir: string;
  readonly adminUser: string;
  readonly credentials: Credentials;
  /** True when this call started the server rather than joining a running one. */
  readonly started: boolean;
  /** Superuser address of a database of the server. */
  adminUrl(database?: string): string;
  /** Address of a login; the password comes from the credentials unless given. */
  url(user: string, database: string, password?: string): string;
  /** Leaves the server; the last user stops it. */
  stop(): Promise<void>;
}

const REVIVE_EVERY_MS = 1_000;

/** The kept passwords, with new ones for logins that have none yet. The caller holds the lock. */
function readCredentials(folders: Folders, logins: readonly string[]): Credentials {
  const kept = existsSync(folders.credentials) ? (JSON.parse(readFileSync(folders.credentials, 'utf8')) as Credentials) : null;
  if (kept === null && existsSync(join(folders.pgdata, 'PG_VERSION'))) {
    throw new CountersignError('DATABASE_UNAVAILABLE', `${folders.dataDir} holds a database, but its credentials.json is gone.`,
      'Restore the file, or delete the folder to start with a fresh database.');
  }
  const credentials = kept ?? { admin: newPassword(), logins: {} };
  const missing = logins.filter((login) => credentials.logins[login] === undefined);
  for (const login of missing) credentials.logins[login] = newPassword();
  if (kept === null || missing.length > 0) writeCredentials(folders, credentials);
  return credentials;
}

/** Replaces the credentials file as a whole; it is never half written. */
function writeCredentials(folders: Folders, credentials: Credentials): void {
  writeFileSync(`${folders.credentials}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${folders.credentials}.new`, folders.credentials);
}

function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

function addressOf(port: number, user: string, password: string, database: string): string {
  return `postgresql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

interface Joined { cluster: ClusterOptions; credentials: Credentials; server: RunningServer & { started: boolean } }

/** Creates what is missing, starts what does not run. The caller holds the lock. */
async function openServer(folders: Folders, options: EmbeddedOptions, log: Log): Promise<Joined> {
  const identity = serverIdentity();
  const binaries = prepareBinaries(options.native ?? findNative(), folders.home, identity);
  const credentials = readCredentials(folders, options.logins ?? []);
  const cluster: ClusterOptions = {
    folders, identity, binaries, settings: options.settings ?? {}, durable: options.durable ?? true, password: credentials.admin,
  };
  if (!existsSync(join(folders.pgdata, 'PG_VERSION'))) log(`Creating an embedded Postgres in ${folders.dataDir}`);
  await initialise(cluster);
  const server = await ensureServer(cluster);
  if (server.started) startReaper(server.pid, folders);
  log(`Embedded Postgres ${clusterVersion(folders)} ${server.started ? 'started' : 'joined'} on 127.0.0.1:${server.port}`);
  return { cluster, credentials, server };
}

/**
 * Starts the embedded Postgres of a data directory, or joins the one that runs there.
 * A server that dies while we use it is started again on the same port.
 *
 * @throws CountersignError DATABASE_UNAVAILABLE, with the remedy.
 */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedServer> {
  const log = options.log ?? (() => undefined);
  const folders = openFolders(options.dataDir ?? defaultDataDir(), serverIdentity());
  const leave = registerUser(folders.users);
  let joined: Joined;
  try {
    joined = await withLock(folders.lock, () => openServer(folders, options, log));
  } catch (error) {
    leave();
    throw error;
  }
  const { cluster, credentials } = joined;
  let server: RunningServer = joined.server;

  let reviving = false;
  let stopping: Promise<void> | null = null;
  const watch = setInterval(() => void revive(), REVIVE_EVERY_MS);
  watch.unref();
  async function revive(): Promise<void> {
    // A deleted data directory means the user wants it gone, not back.
    if (reviving || isAlive(server.pid) || !existsSync(join(folders.pgdata, 'PG_VERSION'))) return;
    reviving = true;
    try {
      server = await withLock(folders.lock, async () => {
        if (stopping !== null) return server;
        const again = await ensureServer(cluster);
        if (again.started) startReaper(again.pid, folders);
        return again;
      });
      log(`Embedded Postgres had stopped; it runs again on 127.0.0.1:${server.port}`);
    } catch (error) {
      log(`Embedded Postgres stopped and did not start again: ${(error as Error).message}`);
    } finally {
      reviving = false;
    }
  }

  /** An exiting process cannot wait: it signals, and if somebody holds the lock it leaves the decision to them or the watcher. */
  function onExit(): void {
    leave();
    const release = tryLock(folders.lock);
    if (release === null) return;
    const running = hasUsers(folders.users) ? null : findServer(folders);
    if (running !== null) signalStop(running.pid);
    release();
  }
  process.once('exit', onExit);

  async function stop(): Promise<void> {
    clearInterval(watch);
    process.removeListener('exit', onExit);
    await withLock(folders.lock, async () => {
      leave();
      const running = findServer(folders);
      if (running !== null && !hasUsers(folders.users)) await stopServer(cluster, running.pid);
    });
  }

  return {
    host: '127.0.0.1',
    get port() { return server.port; },
    get pid() { return server.pid; },
    dataDir: folders.dataDir,
    adminUser: ADMIN,
    credentials,
    started: joined.server.started,
    adminUrl: (database = 'postgres') => addressOf(server.port, ADMIN, credentials.admin, database),
    url: (user, database, password) => addressOf(server.port, user, password ?? credentials.logins[user] ?? '', database),
    stop: () => (stopping ??= stop()),
  };
}
