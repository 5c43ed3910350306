/**
 * Puts the backend into a database, or brings it up to date. Tables are history, functions are code:
 * migrations run once each; everything in `sql/` is applied whole, in listing order, in one transaction.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { CountersignError } from '../errors.js';
import { connectFirst, isUnavailable, unavailable } from './connect.js';

export interface InstallOptions {
  /** Also applies `sql/strict.sql`: tightens what the installer may tighten. */
  strict?: boolean;
  /** Skips everything when exactly these sources were applied last (an explicit install repairs drift, so it does not). */
  onlyWhenChanged?: boolean;
  /** Lines for a person; never stdout. */
  log?: (line: string) => void;
  /** Folder that holds `sql/` and `migrations/`; default: the package's own. */
  root?: string;
}

export interface InstallResult {
  /** Migrations that ran now. */
  migrations: string[];
  /** False when `onlyWhenChanged` found nothing to do. */
  applied: boolean;
  /** What could not be done with the installer's rights, in the database's words. */
  warnings: string[];
}

interface SqlFile { name: string; text: string }

interface Sources { roles: SqlFile[]; migrations: SqlFile[]; code: SqlFile[]; digest: string }

const INSTALL_LOCK = 4319_0002;
const ROLES_FILE = '00_roles.sql';
const STRICT_FILE = 'strict.sql';
const ROLE_ATTEMPTS = 5;

/** The package's root, from `src/db` as well as from `dist/db`. */
export function packageRoot(): string {
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, 'package.json'))) at = dirname(at);
  return at;
}

function readSql(root: string, folder: string): SqlFile[] {
  const base = join(root, folder);
  if (!existsSync(base)) return [];
  return readdirSync(base, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.sql'))
    .map((entry) => relative(base, join(entry.parentPath, entry.name)).split(sep))
    .sort(byListing)
    .map((parts) => ({ name: [folder, ...parts].join('/'), text: readFileSync(join(base, ...parts), 'utf8') }));
}

/** The order of a directory listing in the C locale, folder by folder, on every system. */
function byListing(left: string[], right: string[]): number {
  for (let index = 0; ; index++) {
    const [a, b] = [left[index], right[index]];
    if (a === undefined || b === undefined) return left.length - right.length;
    if (a !== b) return a < b ? -1 : 1;
  }
}

function readSources(root: string, strict: boolean): Sources {
  const sql = readSql(root, 'sql');
  const named = (name: string): SqlFile[] => sql.filter((file) => file.name === `sql/${name}`);
  const [roles, strictFiles] = [named(ROLES_FILE), named(STRICT_FILE)];
  const code = [...sql.filter((file) => !roles.includes(file) && !strictFiles.includes(file)), ...(strict ? strictFiles : [])];
  const migrations = readSql(root, 'migrations');
  const hash = createHash('sha256');
  for (const file of [...roles, ...migrations, ...code]) hash.update(file.name).update('\0').update(file.text).update('\0');
  return { roles, migrations, code, digest: hash.digest('hex').slice(0, 32) };
}

/** A refused statement with its file and line, and what the installer's role lacks if that is the reason. */
function failure(error: unknown, file: SqlFile): unknown {
  if (!(error instanceof pg.DatabaseError) || isUnavailable(error)) return error;
  const line = error.position === undefined ? '' : `, line ${file.text.slice(0, Number(error.position)).split('\n').length}`;
  const hint = error.code === '42501'
    ? 'Install as a superuser, or as a role with CREATEROLE that may create schemas in this database and owns the application\'s tables '
      + '(from Postgres 16 on also with ADMIN OPTION on countersign_* roles that somebody else created).'
    : (error.hint ?? 'Nothing was changed by this step. Run "countersign doctor", then install again.');
  return new CountersignError('STATEMENT_FAILED', `Install failed in ${file.name}${line}: ${error.message} (SQLSTATE ${error.code ?? '?'})`, hint);
}

async function applyFiles(client: pg.Client, files: SqlFile[], finish?: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    for (const file of files) {
      try {
        await client.query(file.text);
      } catch (error) {
        throw failure(error, file);
      }
    }
    await finish?.();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Roles belong to the whole server: an install into a neighbouring database may be making the same ones just now. */
async function applyRoles(client: pg.Client, files: SqlFile[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyFiles(client, files);
    } catch (error) {
      const raced = error instanceof CountersignError && /SQLSTATE (XX000|23505|42710|40P01)/.test(error.message);
      if (!raced || attempt >= ROLE_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50 * attempt));
    }
  }
}

const migrationName = (file: SqlFile): string => file.name.slice('migrations/'.length, -'.sql'.length);

async function hasMigrationTable(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>('select to_regclass(\'countersign_data.migration\') is not null as present');
  return rows[0]?.present === true;
}

/** The runner's own table would have a serial column, whose sequence cannot be handed over with the rest; and no comment. */
const CREATE_MIGRATION_TABLE = `
  create schema if not exists countersign_data;
  create table countersign_data.migration (
    id integer generated always as identity primary key,
    name text not null constraint migration_is_applied_once unique,
    run_on timestamp not null);
  comment on table countersign_data.migration is 'Migrations that were applied, in order. Written by the installer only.'`;

/** An older package must not "upgrade" a database that a newer one has already moved on. */
async function refuseNewerDatabase(client: pg.Client, migrations: SqlFile[]): Promise<void> {
  if (!await hasMigrationTable(client)) return;
  const known = new Set(migrations.map(migrationName));
  const applied = await client.query<{ name: string }>('select name from countersign_data.migration order by id');
  const unknown = applied.rows.find((row) => !known.has(row.name));
  if (unknown === undefined) return;
  throw new CountersignError('DATABASE_UNAVAILABLE', `This database was installed by a newer Countersign (migration ${unknown.name} is unknown here).`,
    'Update the countersign package to the version that installed it.');
}

async function applyMigrations(client: pg.Client, root: string, log: (line: string) => void): Promise<string[]> {
  const quiet = (): void => undefined;
  // Loaded only when needed: it is large, and every start of a server passes through this file.
  const { runner } = await import('node-pg-migrate');
  const done = await runner({
    dbClient: client,
    dir: join(root, 'migrations', '*.sql'),
    useGlob: true,
    direction: 'up',
    migrationsSchema: 'countersign_data',
    migrationsTable: 'migration',
    // The whole install already holds a lock of its own, which covers more than the migrations.
    noLock: true,
    logger: { debug: quiet, info: quiet, warn: log, error: log },
  });
  return done.map((migration) => migration.name);
}

/**
 * The digest of what was applied rides in the comment of the schema: no table of its own, written in the
 * transaction that applied it, and readable by whoever wonders what is installed.
 */
const DIGEST = /\n?\[sources ([0-9a-f]{32})\]$/;

async function schemaComment(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ comment: string | null }>(
    'select obj_description(oid, \'pg_namespace\') as comment from pg_namespace where nspname = \'countersign\'');
  return rows[0]?.comment ?? '';
}

async function writeDigest(client: pg.Client, digest: string): Promise<void> {
  await client.query('reset role');
  const { rowCount } = await client.query('select from pg_namespace where nspname = \'countersign\'');
  if (rowCount === 0) return;
  const comment = `${(await schemaComment(client)).replace(DIGEST, '')}\n[sources ${digest}]`;
  await client.query('savepoint digest');
  try {
    await client.query(`comment on schema countersign is ${client.escapeLiteral(comment)}`);
  } catch {
    // Without the right to comment the next start merely applies everything again.
    await client.query('rollback to savepoint digest');
  }
}

/** Whether exactly this package's sources were the last ones applied to the client's database. */
export async function isCurrent(client: pg.Client, options: Pick<InstallOptions, 'strict' | 'root'> = {}): Promise<boolean> {
  const { digest } = readSources(options.root ?? packageRoot(), options.strict ?? false);
  return DIGEST.exec(await schemaComment(client))?.[1] === digest;
}

/**
 * What a role's or database's own defaults must not change about an install. Function bodies are not checked one by
 * one: in listing order a helper may stand before the one it calls (the tests execute every function).
 */
const SESSION = [
  'search_path = pg_catalog, pg_temp', 'statement_timeout = 0', 'lock_timeout = \'30s\'', 'idle_in_transaction_session_timeout = 0',
  'standard_conforming_strings = on', 'default_transaction_isolation = \'read committed\'', 'default_transaction_read_only = off',
  'client_min_messages = warning', 'check_function_bodies = off', 'synchronous_commit = on',
].map((setting) => `set ${setting}`).join('; ');

/**
 * Installs or upgrades the backend. Idempotent. Works as a superuser and as a role with CREATEROLE that
 * owns the application's tables. Several installs at once wait for each other.
 *
 * @throws CountersignError DATABASE_UNAVAILABLE (no connection, or a newer backend), STATEMENT_FAILED (with file and line).
 */
export async function install(adminUrl: string, options: InstallOptions = {}): Promise<InstallResult> {
  const log = options.log ?? (() => undefined);
  const root = options.root ?? packageRoot();
  const sources = readSources(root, options.strict ?? false);
  const client = await connectFirst(adminUrl, 'countersign install');
  const warnings: string[] = [];
  client.on('notice', (notice) => { if (notice.severity === 'WARNING' && notice.message) warnings.push(notice.message); });
  try {
    await client.query(SESSION);
    await waitForTurn(client);
    if (options.onlyWhenChanged && await isCurrent(client, options)) {
      return { migrations: [], applied: false, warnings };
    }
    await refuseNewerDatabase(client, sources.migrations);
    await applyRoles(client, sources.roles);
    const migrations = await migrate(client, root, sources.migrations, log);
    await applyFiles(client, sources.code, () => writeDigest(client, sources.digest));
    for (const warning of warnings) log(warning);
    return { migrations, applied: true, warnings };
  } catch (error) {
    throw unavailable(failure(error, { name: 'the database', text: '' }));
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Any login may take an advisory lock, so the wait has an end (lock_timeout of SESSION) and names who is in the way. */
async function waitForTurn(client: pg.Client): Promise<void> {
  try {
    await client.query('select pg_advisory_lock($1)', [INSTALL_LOCK]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '55P03') throw error;
    const { rows } = await client.query<{ pid: number }>(
      "select pid from pg_locks where locktype = 'advisory' and objid = $1 and granted", [INSTALL_LOCK]);
    throw new CountersignError('LOCK_TIMEOUT', `Another install, or a session that holds its lock, did not finish within 30 s (pid ${rows.map((row) => row.pid).join(', ')}).`,
      'Look what that session does (pg_stat_activity), end it with select pg_terminate_backend(pid) if it is no install, then install again.');
  }
}

async function migrate(client: pg.Client, root: string, files: SqlFile[], log: (line: string) => void): Promise<string[]> {
  if (files.length === 0) return [];
  const errors: string[] = [];
  try {
    if (!await hasMigrationTable(client)) await client.query(CREATE_MIGRATION_TABLE);
    return await applyMigrations(client, root, (line) => errors.push(line));
  } catch (error) {
    for (const line of errors) log(line);
    throw failure(error, { name: 'migrations', text: '' });
  }
}
