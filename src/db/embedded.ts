/** The embedded database as everyone uses it: a server, the `shop` database, the backend and its logins. */
import pg from 'pg';
import { adminClient } from './embedded-cluster.js';
import { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from './embedded-server.js';
import { install, isCurrent } from './install.js';

export { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from './embedded-server.js';
export { defaultDataDir } from './embedded-folders.js';

export interface EnsureEmbeddedOptions extends EmbeddedOptions {
  /** Default `shop`. */
  database?: string;
}

export interface EmbeddedDatabase {
  readonly server: EmbeddedServer;
  readonly database: string;
  /** True when this call created the database (it is empty: nobody seeded it yet). */
  readonly created: boolean;
  /** The bootstrap superuser, on the database. */
  readonly adminUrl: string;
  readonly agentUrl: string;
  readonly readerUrl: string;
  /** `alice`, who approves and audits. */
  readonly approverUrl: string;
  /** Owns the application's tables. */
  readonly ownerUrl: string;
  /** Leaves the server; the last user stops it. */
  stop(): Promise<void>;
}

const LOGINS = ['shop_agent', 'shop_reader', 'alice', 'shop_owner'] as const;

/** Who is what: the separation of duties as pairs of member and group. */
const MEMBERSHIPS: ReadonlyArray<readonly [member: string, group: string]> = [
  ['shop_agent', 'countersign_agent'],
  ['shop_reader', 'countersign_reader'],
  ['alice', 'countersign_approver'],
  ['alice', 'countersign_auditor'],
  // Lets run_migration change what the shop owns.
  ['countersign_migrator', 'shop_owner'],
];

/** Any constant: two processes must not create the same database at once. */
const CREATE_LOCK = 4319_0001;

async function createDatabase(server: EmbeddedServer, database: string): Promise<boolean> {
  return withAdmin(server, 'postgres', async (client) => {
    await client.query('select pg_advisory_lock($1)', [CREATE_LOCK]);
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
    return rowCount === 0;
  });
}

/** Creates missing logins with the passwords of the credentials file, and gives missing memberships. */
async function createLogins(client: pg.Client, server: EmbeddedServer, database: string): Promise<void> {
  await client.query('begin');
  await client.query('select pg_advisory_xact_lock($1)', [CREATE_LOCK]);
  const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles where rolname = any($1)', [LOGINS]);
  const existing = new Set(rows.map((row) => row.rolname));
  for (const login of LOGINS) {
    const role = client.escapeIdentifier(login);
    if (!existing.has(login)) await client.query(`create role ${role} login inherit password ${client.escapeLiteral(server.credentials.logins[login] ?? '')}`);
    await client.query(`grant connect on database ${client.escapeIdentifier(database)} to ${role}`);
  }
  for (const [member, group] of await missingMemberships(client)) {
    await client.query(`grant ${client.escapeIdentifier(group)} to ${client.escapeIdentifier(member)}`);
  }
  await client.query('grant usage, create on schema public to shop_owner');
  await client.query('commit');
}

async function missingMemberships(client: pg.Client): Promise<typeof MEMBERSHIPS> {
  const { rows } = await client.query<{ member: string; role: string }>(`
    select wanted.member, wanted.role from unnest($1::text[], $2::text[]) as wanted (member, role)
    where not exists (select from pg_roles m, pg_roles r where m.rolname = wanted.member and r.rolname = wanted.role and pg_has_role(m.oid, r.oid, 'member'))`,
  [MEMBERSHIPS.map(([member]) => member), MEMBERSHIPS.map(([, group]) => group)]);
  return rows.map(({ member, role }) => [member, role] as const);
}

/** The usual case, found out over one connection: everything was made by an earlier start. */
async function isReady(server: EmbeddedServer, database: string): Promise<boolean> {
  try {
    return await withAdmin(server, database, async (client) =>
      await isCurrent(client, { strict: true }) && (await missingMemberships(client)).length === 0);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '3D000') return false;
    throw error;
  }
}

async function withAdmin<T>(server: EmbeddedServer, database: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = adminClient(server.port, server.credentials.admin, database);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Starts or joins the embedded server and makes the database ready to use: created, the backend installed
 * (strict), logins made. Quick when there is nothing to do. Seeding is left to the caller.
 *
 * @throws CountersignError DATABASE_UNAVAILABLE or STATEMENT_FAILED, with the remedy.
 */
export async function ensureEmbedded(options: EnsureEmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  const database = options.database ?? 'shop';
  const server = await startEmbedded({ ...options, logins: LOGINS });
  try {
    const ready = await isReady(server, database);
    const created = !ready && await createDatabase(server, database);
    if (!ready) {
      await install(server.adminUrl(database), { strict: true, onlyWhenChanged: true, ...(options.log ? { log: options.log } : {}) });
      await withAdmin(server, database, (client) => createLogins(client, server, database));
    }
    return {
      server, database, created,
      adminUrl: server.adminUrl(database),
      agentUrl: server.url('shop_agent', database),
      readerUrl: server.url('shop_reader', database),
      approverUrl: server.url('alice', database),
      ownerUrl: server.url('shop_owner', database),
      stop: () => server.stop(),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
