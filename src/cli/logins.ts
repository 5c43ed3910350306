import pg from 'pg';

import type { Query } from '../client.js';
import type { EmbeddedDatabase } from '../db/embedded.js';
import { connectFirst, isUnavailable, unavailable } from '../db/connect.js';
import { UsageError } from './command.js';

/** In which of the separate capacities a command acts. */
export type Who = 'agent' | 'reader' | 'approver' | 'auditor' | 'admin';

/** The addresses the environment names; all of them null means the embedded database. */
export interface Addresses {
  agent: string | null;
  reader: string | null;
  approver: string | null;
  admin: string | null;
}

export interface Logins {
  readonly addresses: Addresses;
  /** True when no address is configured, so that commands act on the embedded database. */
  readonly embedded: boolean;
  /** The address for a capacity: what `--url` gave, else the environment's, else the embedded database's (started if need be). */
  address(who: Who, given: string | undefined): Promise<string>;
  /** One connection for one piece of work, closed afterwards. */
  use<T>(who: Who, given: string | undefined, work: (query: Query, client: pg.Client) => Promise<T>): Promise<T>;
  /** The embedded database itself; one a process. */
  openEmbedded(): Promise<EmbeddedDatabase>;
  /** Leaves the embedded database, if it was used. */
  close(): Promise<void>;
}

const VARIABLE: Readonly<Record<Who, string>> = {
  agent: 'COUNTERSIGN_DATABASE_URL',
  reader: 'COUNTERSIGN_READER_URL',
  approver: 'COUNTERSIGN_APPROVER_URL',
  // People who decide read the trail with the same login; auditors of their own pass --url.
  auditor: 'COUNTERSIGN_APPROVER_URL',
  admin: 'COUNTERSIGN_ADMIN_URL',
};

export interface LoginsOptions {
  addresses: Addresses;
  dataDir: string | null;
  log(line: string): void;
  /** What whoever asked must know. */
  notice(line: string): void;
}

export function createLogins({ addresses, dataDir, log, notice }: LoginsOptions): Logins {
  const embedded = Object.values(addresses).every((address) => address === null);
  let opened: Promise<EmbeddedDatabase> | null = null;
  const start = async (): Promise<EmbeddedDatabase> => {
    // Loaded only where it is used: whoever has a database of their own does not wait for the installer.
    const { ensureEmbedded } = await import('../db/embedded.js');
    return ensureEmbedded({ log, ...(dataDir === null ? {} : { dataDir }) });
  };
  const openEmbedded = (): Promise<EmbeddedDatabase> => (opened ??= start());

  const address = async (who: Who, given: string | undefined): Promise<string> => {
    const configured = given ?? addresses[who === 'auditor' ? 'approver' : who];
    if (configured !== null) return configured;
    // Never the embedded database when another one is configured: a decision must not land in the wrong place.
    if (!embedded) throw new UsageError(`this needs the ${who}'s login: set ${VARIABLE[who]} or pass --url`);
    const database = await openEmbedded();
    // Whoever decides must not take the demo's empty list for their own database's.
    if (who !== 'agent' && who !== 'reader') notice(`no address is set, so this is the embedded demo database; for yours set ${VARIABLE[who]}`);
    return { agent: database.agentUrl, reader: database.readerUrl, approver: database.approverUrl, auditor: database.approverUrl, admin: database.adminUrl }[who];
  };

  return {
    addresses,
    embedded,
    address,
    openEmbedded,
    async use(who, given, work) {
      const client = await connectFirst(await address(who, given), `countersign ${who}`);
      try {
        return await work(queryOf(client), client);
      } catch (error) {
        throw isUnavailable(error) ? unavailable(error) : error;
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    async close() {
      const database = await opened?.catch(() => null);
      await database?.stop();
    },
  };
}

/** Runs statements on one connection, with values as the database writes them: no dates or numbers of JavaScript's. */
export function queryOf(client: pg.ClientBase): Query {
  return async (text, values = []) => {
    const { rows } = await client.query<Record<string, unknown>>({ text, values: [...values], types: TEXT_TYPES });
    return rows;
  };
}

const JAVASCRIPT_TYPES = new Set<number>([pg.types.builtins.BOOL, pg.types.builtins.INT2, pg.types.builtins.INT4, pg.types.builtins.JSON,
  pg.types.builtins.JSONB, 1009]); // 1009: text[]

/** What JavaScript holds exactly is parsed; everything else stays Postgres's own text. */
const TEXT_TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format?: 'text' | 'binary') =>
    JAVASCRIPT_TYPES.has(id) ? pg.types.getTypeParser(id, format ?? 'text') : (value: string) => value) as typeof pg.types.getTypeParser,
};
