/**
 * Several processes, one page. Whoever listens keeps the secret in a 0600 file named by database, login and port. Another
 * process that finds the port taken asks who is there with a random challenge; only a process that has the file's secret
 * can answer, so nothing foreign on that port passes for ours.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectionTargets } from '../address.js';
import { sameSecret } from './guard.js';

const PROBE_MS = 1_500;

/** Names the database, the login and the way to sign in: only servers alike in all of them share a page. */
export function databaseKey(address: string, mode: string): string {
  const url = new URL((connectionTargets(address)[0]?.url ?? address).replace('@/', '@socket/').replace('///', '//socket/'));
  const host = url.searchParams.get('host') ?? url.hostname;
  const port = url.searchParams.get('port') ?? (url.port || '5432');
  const user = mode === 'database' ? '' : url.username;
  return createHash('sha256').update([host === 'localhost' ? '127.0.0.1' : host, port, url.pathname, user, mode].join('\n')).digest('hex').slice(0, 16);
}

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function proofOf(secret: string, challenge: string, port: number): string {
  return createHmac('sha256', secret).update(`countersign approval page ${port} ${challenge}`).digest('base64url');
}

export interface SecretFile {
  readonly path: string;
  /** The secret, if the file is ours alone. */
  read(): string | null;
  write(secret: string): void;
  /** Removes the file if it still holds that secret. */
  remove(secret: string): void;
}

export function secretFile(folder: string, key: string, port: number): SecretFile {
  const path = join(folder, `${key}-${port}.token`);
  const read = (): string | null => {
    try {
      const stat = lstatSync(path);
      const ours = process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o077) === 0);
      const secret = readFileSync(path, 'utf8').trim();
      return stat.isFile() && ours && /^[A-Za-z0-9_-]{16,512}$/.test(secret) ? secret : null;
    } catch {
      return null;
    }
  };
  return {
    path,
    read,
    write(secret) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
      const fresh = `${path}.${process.pid}`;
      rmSync(fresh, { force: true });
      writeFileSync(fresh, `${secret}\n`, { mode: 0o600, flag: 'wx' });
      renameSync(fresh, path);
    },
    remove(secret) {
      if (read() === secret) rmSync(path, { force: true });
    },
  };
}

/** Whether the process on that port proves that it has the secret. */
export async function isOurs(port: number, secret: string): Promise<boolean> {
  const challenge = randomBytes(32).toString('base64url');
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/identity?challenge=${challenge}`, { redirect: 'error', signal: AbortSignal.timeout(PROBE_MS) });
    const { countersign } = await response.json() as { countersign?: unknown };
    return typeof countersign === 'string' && sameSecret(countersign, proofOf(secret, challenge, port));
  } catch {
    return false;
  }
}
