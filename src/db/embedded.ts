/** The embedded database as everyone uses it: a server, the `shop` database, the backend and its logins. */
import type pg from 'pg';
import { adminClient } from './embedded-cluster.js';
import { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from './embedded-server.js';
import { install } from './install.js';

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

/** Who may log in, and what each is: the separation of duties in four lines. */
const LOGINS: ReadonlyArray<{ name: string; groups: readonly string[] }> = [
  { name: 'shop_agent', groups: ['countersign_agent'] },
  { name: 'shop_reader', groups: ['countersign_reader'] },
  { name: 'alice', groups: ['countersign_approver', 'countersign_auditor'] },
  { name: 'shop_owner', groups: [] },
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
  const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles where rolname = any($1)', [LOGINS.map((login) => login.name)]);
  const existing = new Set(rows.map((row) => row.rolname));
  for (const { name, groups } of LOGINS) {
    const role = client.escapeIdentifier(name);
    if (!existing.has(name)) await client.query(`create role ${role} login inherit password ${client.escapeLiteral(server.credentials.logins[name] ?? '')}`);
    await client.query(`grant connect on database ${client.escapeIdentifier(database)} to ${role}`);
    for (const group of groups) await grantMembership(client, group, name);
  }
  await grantMembership(client, 'shop_owner', 'countersign_migrator');
  await client.query('grant usage, create on schema public to shop_owner');
  await client.query('commit');
}

async function grantMembership(client: pg.Client, group: string, member: string): Promise<void> {
  const { rows } = await client.query<{ already: boolean }>('select pg_has_role($1, $2, \'member\') as already', [member, group]);
  if (rows[0]?.already !== true) await client.query(`grant ${client.escapeIdentifier(group)} to ${client.escapeIdentifier(member)}`);
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
  const server = await startEmbedded({ ...options, logins: LOGINS.map((login) => login.name) });
  try {
    const created = await createDatabase(server, database);
    await install(server.adminUrl(database), { strict: true, onlyWhenChanged: true, ...(options.log ? { log: options.log } : {}) });
    await withAdmin(server, database, (client) => createLogins(client, server, database));
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
