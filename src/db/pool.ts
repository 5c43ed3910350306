/**
 * Connections for the agent's and the reader's login.
 *
 * Nothing of one call survives into the next: after the answer is out, the session is put back to the
 * server's own defaults before anyone else gets it, and a session that cannot be put back is thrown away.
 */
import pg from 'pg';
import { connectionTargets, type Target } from '../address.js';
import { CountersignError } from '../errors.js';
import { acceptsWrites, isUnavailable, unavailable } from './connect.js';

export { isUnavailable, unavailable } from './connect.js';

/** A setting of a session, as `countersign.session_defaults()` lists them. */
export interface Setting { name: string; value: string }

export interface CallPoolOptions {
  /** Address of the login; several hosts, `sslmode` and `target_session_attrs` as libpq reads them. */
  url: string;
  applicationName: string;
  /** Settings of every session: a list, or a function asked once per new connection. Default: the database's own list. */
  defaults?: readonly Setting[] | (() => Promise<readonly Setting[]>);
  /** Connections at most; further calls wait in line. Default 10. */
  max?: number;
  /** Lets the process end while connections are idle. Default false. */
  allowExitOnIdle?: boolean;
  /** Lines for a person; never stdout. */
  log?: (line: string) => void;
}

export interface CallOptions {
  /** Milliseconds the call may take in the database (default: the session's `statement_timeout`); two seconds later the connection is cut. */
  limitMs?: number;
  /** Aborting cuts the connection: Postgres rolls back what was open. */
  signal?: AbortSignal;
}

/** A pool whose connections are lent for one call. */
export interface CallPool {
  /**
   * Lends a session to `work` and resets it afterwards, off the caller's time. No named prepared statements:
   * the reset forgets them.
   * @throws CountersignError DATABASE_UNAVAILABLE or STATEMENT_TIMEOUT; other errors as they come from the driver.
   */
  run<T>(work: (client: pg.PoolClient) => Promise<T>, options?: CallOptions): Promise<T>;
  /** Settings the sessions get; for a second pool that cannot ask the database itself. */
  sessionDefaults(): Promise<readonly Setting[]>;
  end(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const GRACE_MS = 2_000;
const DEFAULT_LIMIT_MS = 30_000;
/** Longest delay a timer can hold; "no limit" ends there. */
const MAX_TIMER_MS = 2_147_483_647 - GRACE_MS;

interface Session { reset: string; limitMs: number }

/** Everything DISCARD ALL forgets except compiled plans: those are ours, and cost every call if thrown away. */
const FORGET = ['close all', 'set session authorization default', 'reset all', 'deallocate all', 'unlisten *',
  'select pg_catalog.pg_advisory_unlock_all()', 'discard temp', 'discard sequences'];

const LIST_DEFAULTS = 'select name, value from countersign.session_defaults()';
const READ_LIMIT = 'select setting as ms from pg_catalog.pg_settings where name = \'statement_timeout\'';
/** Makes a running statement notice within a second that its client has gone. */
const NOTICE_LOSS: Setting = { name: 'client_connection_check_interval', value: '1s' };

/** The settings the database asks for; refuses with the remedy where there is no backend for this login. */
export async function listDefaults(client: pg.ClientBase): Promise<Setting[]> {
  try {
    return (await client.query<Setting>(LIST_DEFAULTS)).rows;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !['3F000', '42883', '42501'].includes(error.code ?? '')) throw error;
    throw new CountersignError('DATABASE_UNAVAILABLE', `Countersign is not usable in this database with this login: ${error.message}`,
      'Run "countersign install" with the administrator\'s address, make the login a member of countersign_agent, then "countersign doctor".',
      { sqlstate: error.code });
  }
}

/** A SET statement, since a strict database takes `set_config()` from everyone. */
function setStatement({ name, value }: Setting): string {
  if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) throw new CountersignError('INTERNAL_ERROR', `"${name}" is no name of a setting.`, 'Correct what countersign.session_defaults() lists.');
  // The one list among them: quoted as a whole it would name a single schema.
  if (name.toLowerCase() !== 'search_path') return `set ${name} = ${pg.escapeLiteral(value)}`;
  const schemas = [...value.matchAll(/"((?:[^"]|"")*)"|([^\s,"]+)/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain?.toLowerCase() ?? '');
  return `set search_path = ${schemas.length > 0 ? schemas.map((schema) => pg.escapeIdentifier(schema)).join(', ') : '\'\''}`;
}

export async function applySettings(client: pg.ClientBase, settings: readonly Setting[]): Promise<void> {
  if (settings.length > 0) await client.query(settings.map(setStatement).join('; '));
}

/** Some systems cannot poll for a lost client; there the watchdog alone has to do. */
async function canNoticeLoss(client: pg.ClientBase): Promise<boolean> {
  return applySettings(client, [NOTICE_LOSS]).then(() => true, (error: unknown) => {
    if (isUnavailable(error)) throw error;
    return false;
  });
}

async function prepareSession(client: pg.ClientBase, settings: readonly Setting[]): Promise<Session> {
  await applySettings(client, settings);
  const all = await canNoticeLoss(client) ? [...settings, NOTICE_LOSS] : settings;
  const { rows } = await client.query<{ ms: string }>(READ_LIMIT);
  const reset = [...FORGET, ...all.map(setStatement)].join('; ');
  return { reset, limitMs: Number(rows[0]?.ms) || DEFAULT_LIMIT_MS };
}

export function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`timeout expired ${what}`)), ms); });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** First come, first served. In front of the driver's pool, whose own queue would count waiting in line as a failure to connect. */
function createTurnstile(places: number): { enter(signal?: AbortSignal): Promise<void>; leave(): void } {
  const line: Array<() => void> = [];
  return {
    async enter(signal) {
      signal?.throwIfAborted();
      if (places > 0) { places--; return; }
      await new Promise<void>((resolve, reject) => {
        const go = (): void => { signal?.removeEventListener('abort', quit); resolve(); };
        const quit = (): void => { line.splice(line.indexOf(go), 1); reject(signal?.reason as Error); };
        line.push(go);
        signal?.addEventListener('abort', quit, { once: true });
      });
    },
    leave() {
      const next = line.shift();
      if (next) next();
      else places++;
    },
  };
}

/** The driver's pool over the addresses to try; `rotate` moves to the next after a failure. */
export function createDriverPool(options: CallPoolOptions, targets: Target[], greet: (client: pg.ClientBase, target: Target) => Promise<void>): { pool: pg.Pool; rotate(): void } {
  let current = 0;
  const target = (): Target => targets[current % targets.length] as Target;
  class TargetClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: target().url });
      // A session lost while lent or idle must not end the process: the pending call reports it, the pool replaces it.
      this.on('error', () => undefined);
    }
  }
  const pool = new pg.Pool({
    application_name: options.applicationName,
    max: options.max ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 60,
    keepAlive: true,
    allowExitOnIdle: options.allowExitOnIdle ?? false,
    Client: TargetClient,
    onConnect: (client) => within(CONNECT_TIMEOUT_MS, 'while preparing the session', greet(client, target())),
  });
  pool.on('error', (error) => options.log?.(`A database connection was lost: ${error.message}`));
  return { pool, rotate: () => { current++; } };
}

/** Opens a pool. No connection is made before the first call. */
export function createCallPool(options: CallPoolOptions): CallPool {
  const targets = connectionTargets(options.url);
  const sessions = new WeakMap<pg.ClientBase, Session>();
  const turnstile = createTurnstile(options.max ?? 10);
  let latest: readonly Setting[] | null = null;

  async function defaultsFor(client: pg.ClientBase): Promise<readonly Setting[]> {
    const { defaults } = options;
    if (typeof defaults === 'function') return defaults();
    return defaults ?? listDefaults(client);
  }

  const { pool, rotate } = createDriverPool(options, targets, async (client, target) => {
    if (target.writable && !await acceptsWrites(client)) throw new Error('the server is a read-only standby');
    latest = await defaultsFor(client);
    sessions.set(client, await prepareSession(client, latest));
  });

  async function checkOut(): Promise<pg.PoolClient> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await pool.connect();
      } catch (error) {
        if (attempt >= targets.length || !isUnavailable(error)) throw unavailable(error);
        rotate();
      }
    }
  }

  /** Puts the session back to its defaults and only then lets the next call have it. */
  async function giveBack(client: pg.PoolClient): Promise<void> {
    try {
      if (client.getTransactionStatus() !== 'I') await client.query('rollback');
      await within(CONNECT_TIMEOUT_MS, 'while resetting the session', client.query(sessions.get(client)?.reset ?? 'discard all'));
      client.release();
    } catch (error) {
      client.release(error as Error);
    }
  }

  async function lend<T>(client: pg.PoolClient, work: (client: pg.PoolClient) => Promise<T>, call: CallOptions): Promise<T> {
    const watchdog = createWatchdog(call.limitMs ?? sessions.get(client)?.limitMs ?? DEFAULT_LIMIT_MS, call.signal);
    let lost: Error | null = null;
    try {
      return await Promise.race([work(client), watchdog.bite]);
    } catch (error) {
      if (watchdog.bit() || isUnavailable(error)) lost = error as Error;
      throw unavailable(error);
    } finally {
      watchdog.stop();
      if (lost === null) void giveBack(client).finally(turnstile.leave);
      else {
        // Releasing with an error closes the socket, also under a running statement.
        client.release(lost);
        turnstile.leave();
      }
    }
  }

  return {
    async run(work, call = {}) {
      await turnstile.enter(call.signal);
      let client: pg.PoolClient;
      try {
        client = await checkOut();
      } catch (error) {
        turnstile.leave();
        throw error;
      }
      return lend(client, work, call);
    },
    async sessionDefaults() {
      // Asked of the database the first time only; new connections keep it fresh.
      if (latest === null) await this.run(async () => undefined);
      return latest ?? [];
    },
    end: () => pool.end(),
  };
}

interface Watchdog { bite: Promise<never>; bit(): boolean; stop(): void }

/** Rejects when the call is overdue or aborted; a server that hangs cannot be waited for by its own timeouts. */
function createWatchdog(limitMs: number, signal?: AbortSignal): Watchdog {
  let bitten = false;
  let reject: (reason: unknown) => void = () => undefined;
  const bite = new Promise<never>((_, fail) => { reject = fail; });
  // Nobody may be listening yet when an aborted signal bites at once.
  bite.catch(() => undefined);
  const end = (reason: unknown): void => { bitten = true; reject(reason); };
  const onAbort = (): void => end(signal?.reason);
  const timer = setTimeout(() => end(overdue(limitMs)), Math.min(limitMs, MAX_TIMER_MS) + GRACE_MS);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return { bite, bit: () => bitten, stop: () => { clearTimeout(timer); signal?.removeEventListener('abort', onAbort); } };
}

function overdue(limitMs: number): CountersignError {
  return new CountersignError('STATEMENT_TIMEOUT', `The database did not answer within ${(limitMs + GRACE_MS) / 1000} seconds; the connection was cut, and Postgres rolls back what was open.`,
    'Make the statement touch less, or ask an administrator to raise statement_timeout. Whether an execution had finished, plan_status tells.');
}
