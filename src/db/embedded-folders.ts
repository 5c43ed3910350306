/**
 * Where the embedded database lives, and as whom it runs.
 *
 * Postgres refuses to run as root, so a root caller gives it to the unprivileged user 65534. That user
 * must be able to enter every folder on the way to its data and binaries, which below a private home or
 * a temporary folder it cannot: such data goes to a folder it can enter, tied to the data directory by an id.
 */
import { randomUUID } from 'node:crypto';
import { accessSync, chmodSync, chownSync, constants, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CountersignError } from '../errors.js';

const UNPRIVILEGED = 65534;

/** The user Postgres runs as when we are root; null = as ourselves. */
export type Identity = { uid: number; gid: number } | null;

export function serverIdentity(): Identity {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : null;
}

function usable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function userFolder(env: NodeJS.ProcessEnv): string {
  if (env['XDG_DATA_HOME']) return join(env['XDG_DATA_HOME'], 'countersign');
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'countersign');
  return process.getuid?.() === 0 ? '/var/lib/countersign' : join(homedir(), '.local', 'share', 'countersign');
}

/** A folder in the shared temporary directory is ours only if nobody else could have put it there. */
function isPrivate(folder: string): boolean {
  const stat = lstatSync(folder);
  return stat.isDirectory() && (process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o022) === 0));
}

/** `COUNTERSIGN_DATA_DIR`, else the user's data folder, else (an unwritable home) a private temporary folder. */
export function defaultDataDir(env: NodeJS.ProcessEnv = process.env): string {
  const chosen = env['COUNTERSIGN_DATA_DIR'];
  if (chosen) return resolve(chosen);
  const home = userFolder(env);
  if (usable(home)) return home;
  const fallback = join(tmpdir(), `countersign-${process.getuid?.() ?? 'user'}`);
  if (usable(fallback) && isPrivate(fallback)) return fallback;
  throw new CountersignError('DATABASE_UNAVAILABLE', `Neither ${home} nor ${fallback} can hold the embedded database.`,
    'Set COUNTERSIGN_DATA_DIR to a folder that this user may write, or COUNTERSIGN_DATABASE_URL to a running Postgres.');
}

/** Whether the identity may enter a folder (its own permissions and those of every folder above it). */
export function mayEnter(folder: string, identity: Identity): boolean {
  if (identity === null) return true;
  for (let at = resolve(folder); ; at = dirname(at)) {
    const stat = statSync(at);
    const bit = stat.uid === identity.uid ? 0o100 : stat.gid === identity.gid ? 0o010 : 0o001;
    if ((stat.mode & bit) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** The folders of one embedded database. `home` holds what the server's own user must reach. */
export interface Folders {
  dataDir: string;
  home: string;
  pgdata: string;
  users: string;
  lock: string;
  state: string;
  credentials: string;
  log: string;
}

/** Creates the data directory, private to its owner, and finds a home for the cluster. */
export function openFolders(dataDir: string, identity: Identity): Folders {
  try {
    mkdirSync(join(dataDir, 'users'), { recursive: true, mode: 0o700 });
    // Root's folder must let the server's user through to its own 0700 folder inside; nothing else in it is readable.
    if (process.platform !== 'win32') chmodSync(dataDir, identity === null ? 0o700 : 0o711);
  } catch (error) {
    throw new CountersignError('DATABASE_UNAVAILABLE', `The data directory ${dataDir} cannot be used: ${(error as Error).message}`,
      'Set COUNTERSIGN_DATA_DIR to a folder that this user owns, or COUNTERSIGN_DATABASE_URL to a running Postgres.');
  }
  const home = mayEnter(dataDir, identity) ? dataDir : externalHome(dataDir, identity);
  return {
    dataDir, home, pgdata: join(home, 'pg'), users: join(dataDir, 'users'), lock: join(dataDir, 'lock'),
    state: join(dataDir, 'server.json'), credentials: join(dataDir, 'credentials.json'), log: join(dataDir, 'server.log'),
  };
}

/** Hands a folder to the server's user, readable by nobody else. */
export function give(path: string, identity: Identity): void {
  if (identity !== null) chownSync(path, identity.uid, identity.gid);
}

function externalHome(dataDir: string, identity: Identity): string {
  const idFile = join(dataDir, 'cluster-id');
  if (!existsSync(idFile)) writeFileSync(idFile, randomUUID(), { flag: 'wx', mode: 0o600 });
  const id = readFileSync(idFile, 'utf8').trim();
  for (const base of ['/var/lib/countersign', join(tmpdir(), `countersign-${process.getuid?.() ?? 'user'}`)]) {
    const clusters = join(base, 'clusters');
    if (!usable(clusters) || !isPrivate(base)) continue;
    for (const folder of [base, clusters]) chmodSync(folder, 0o711);
    if (!mayEnter(clusters, identity)) continue;
    forgetAbandoned(clusters);
    const home = join(clusters, id);
    mkdirSync(home, { recursive: true, mode: 0o711 });
    writeFileSync(join(home, 'origin'), dataDir, { mode: 0o600 });
    return home;
  }
  throw new CountersignError('DATABASE_UNAVAILABLE', `Postgres does not run as root, and its user ${UNPRIVILEGED} cannot enter ${dataDir}.`,
    'Set COUNTERSIGN_DATA_DIR to a folder below /var/lib or /tmp, or run as an ordinary user.');
}

/** Clusters whose data directory was deleted are deleted too; a running one is left for the next time. */
function forgetAbandoned(clusters: string): void {
  for (const id of readdirSync(clusters)) {
    const home = join(clusters, id);
    try {
      const origin = readFileSync(join(home, 'origin'), 'utf8');
      const owned = existsSync(join(origin, 'cluster-id')) && readFileSync(join(origin, 'cluster-id'), 'utf8').trim() === id;
      if (!owned && !existsSync(join(home, 'pg', 'postmaster.pid'))) rmSync(home, { recursive: true, force: true });
    } catch {
      // Being created by another process at this moment, or not ours: leave it.
    }
  }
}
