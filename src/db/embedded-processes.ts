/**
 * Who is using a data directory: a lock that outlives no holder, and one small file per user.
 *
 * A process is named by its id *and* its start time, because ids come back: in a container every run
 * starts with the same few numbers, and a file left by the run before must not look alive.
 */
import { readFileSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CountersignError } from '../errors.js';

const LOCK_WAIT_MS = 90_000;
const BREAKER_STALE_MS = 10_000;

/** Start time of a process in clock ticks since boot, `''` where the system does not tell, null when it is gone. */
function startTime(pid: number): string | null {
  if (process.platform !== 'linux') return '';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold spaces and parentheses itself; what follows the last one is fixed.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? null : (rest[18] ?? '');
  } catch {
    return null;
  }
}

/** Whether a process runs (a zombie does not). With `started`, whether it still is the same process. */
export function isAlive(pid: number, started = ''): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = startTime(pid);
  return now !== null && (started === '' || now === '' || now === started);
}

const self = `${process.pid} ${startTime(process.pid) ?? ''}`;

function holderOf(file: string): { pid: number; started: string } | null {
  try {
    const [pid = '', started = ''] = readFileSync(file, 'utf8').trim().split(' ');
    return { pid: Number(pid), started };
  } catch {
    return null;
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Somebody else removed it, which is what was wanted.
  }
}

function create(file: string): boolean {
  try {
    writeFileSync(file, self, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function ageMs(file: string): number {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

/** Removes a lock whose holder died. Breakers take turns, or the second would remove the first one's new lock. */
function breakStale(lock: string): void {
  const breaker = `${lock}.break`;
  if (!create(breaker)) {
    if (ageMs(breaker) > BREAKER_STALE_MS) remove(breaker);
    return;
  }
  const holder = holderOf(lock);
  // An empty file is one its creator has not written yet, unless it stays empty.
  const empty = holder !== null && holder.pid === 0 && ageMs(lock) < BREAKER_STALE_MS;
  if (holder !== null && !empty && !isAlive(holder.pid, holder.started)) remove(lock);
  remove(breaker);
}

/** Takes the lock at once or says no. Synchronous, so that an exit handler can use it. */
export function tryLock(lock: string): (() => void) | null {
  return create(lock) ? () => remove(lock) : null;
}

/** Runs `work` while holding the lock file. */
export async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + LOCK_WAIT_MS;
  let release = tryLock(lock);
  while (release === null) {
    if (Date.now() > deadline) {
      throw new CountersignError('DATABASE_UNAVAILABLE', `Another process holds ${lock} for more than ${LOCK_WAIT_MS / 1000} seconds.`,
        `Look at process ${holderOf(lock)?.pid ?? '?'}; end it if it hangs, then start again.`);
    }
    breakStale(lock);
    release = tryLock(lock);
    if (release === null) await sleep(25);
  }
  try {
    return await work();
  } finally {
    release();
  }
}

let counter = 0;

/** Notes this process as a user of the directory. The returned function takes the note back (synchronously). */
export function registerUser(folder: string): () => void {
  const file = join(folder, `${process.pid}.${++counter}`);
  writeFileSync(file, self, { mode: 0o600 });
  return () => remove(file);
}

/** Whether any noted process still runs; notes of dead ones are cleared away. */
export function hasUsers(folder: string): boolean {
  let found = false;
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const user = holderOf(file);
    if (user !== null && isAlive(user.pid, user.started)) found = true;
    else remove(file);
  }
  return found;
}
