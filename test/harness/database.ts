/**
 * A database of its own for each test file, copied from the template:
 *
 *   const db = await createTestDatabase();        // at the top of the file
 *   await db.as('alice').query('select …');       // a real connection of that login
 *
 * It is dropped after the file, unless a test in the file failed: then its name is printed.
 */
import pg from 'pg';
import { inject } from 'vitest';
import { loginRole, withDatabase, withLogin, type Login } from './fixture.js';

export interface TestDatabase {
  readonly name: string;
  /** Major version of the server. */
  readonly major: number;
  /** Address for a login. */
  url(login: Login): string;
  /** The role name behind a login. */
  role(login: Login): string;
  /** A pool of real connections of a login; closed after the file. */
  as(login: Login): pg.Pool;
  /** A single connection of its own, by default named so that `waitForLockWait` finds it; closed after the file if still open. */
  connect(login: Login, applicationName?: string): Promise<pg.Client>;
  /** For a file that creates several databases and is done with this one. */
  drop(): Promise<void>;
}

const opened: Array<{ name: string; close(keep: boolean): Promise<void> }> = [];
let counter = 0;

export interface TestDatabaseOptions {
  /** False: without the backend, as a stock Postgres creates it (for tests of the installer). Default true. */
  backend?: boolean;
}

export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const fixture = inject('fixture');
  const name = `${fixture.run}_${process.pid.toString(36)}_${++counter}`;
  const template = options.backend === false ? 'template1' : fixture.template;
  await administer(fixture.adminUrl, async (client) => {
    await client.query(`create database ${name} template ${template}`);
    if (options.backend !== false) await copyDatabaseGrants(client, fixture.template, name);
  });

  const pools = new Map<Login, pg.Pool>();
  const clients: pg.Client[] = [];
  const database = withDatabase(fixture.adminUrl, name);
  const url = (login: Login): string => (login === 'admin' ? database : withLogin(database, loginRole(fixture, login), fixture.password));

  async function close(keep: boolean): Promise<void> {
    await Promise.allSettled([...[...pools.values()].map((pool) => pool.end()), ...clients.map((client) => client.end())]);
    pools.clear();
    if (!keep) await administer(fixture.adminUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
  }
  const entry = { name, close };
  opened.push(entry);

  return {
    name,
    major: fixture.major,
    url,
    role: (login) => (login === 'admin' ? decodeURIComponent(new URL(fixture.adminUrl).username) : loginRole(fixture, login)),
    as(login) {
      let pool = pools.get(login);
      if (pool === undefined) {
        pool = new pg.Pool({ connectionString: url(login), application_name: `test ${login}`, max: 10 });
        // Tests terminate connections on purpose.
        pool.on('error', () => undefined);
        pools.set(login, pool);
      }
      return pool;
    },
    async connect(login, applicationName = `test ${login}`) {
      const client = new pg.Client({ connectionString: url(login), application_name: applicationName });
      client.on('error', () => undefined);
      await client.connect();
      clients.push(client);
      return client;
    },
    async drop() {
      opened.splice(opened.indexOf(entry), 1);
      await close(false);
    },
  };
}

/** Called once after each test file. */
export async function closeTestDatabases(keep: boolean): Promise<string[]> {
  const all = opened.splice(0);
  await Promise.all(all.map((database) => database.close(keep)));
  return all.map((database) => database.name);
}

async function administer(adminUrl: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'countersign test harness' });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Privileges and settings of the database itself are not copied with its contents. */
async function copyDatabaseGrants(client: pg.Client, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(`
    select format('revoke all on database %I from public', $2::text) as statement
    union all
    select format('grant %s on database %I to %s', privilege_type, $2::text, case grantee when 0 then 'public' else grantee::regrole::text end)
    from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba))) where datname = $1 and grantee <> datdba
    union all
    select format('alter database %I set %I to %s', $2::text, split_part(setting, '=', 1),
                  case split_part(setting, '=', 1) when 'search_path' then substr(setting, strpos(setting, '=') + 1)
                       else quote_literal(substr(setting, strpos(setting, '=') + 1)) end)
    from pg_db_role_setting join pg_database on pg_database.oid = setdatabase, unnest(setconfig) as setting
    where datname = $1 and setrole = 0`, [from, to]);
  if (rows.length > 0) await client.query(rows.map((row) => row.statement).join('; '));
}
