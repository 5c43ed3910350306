/** Connecting, and telling "there is no database" apart from "the database said no". */
import pg from 'pg';
import { connectionTargets } from '../address.js';
import { CountersignError } from '../errors.js';

/** A dedicated connection to the first address that answers. */
export async function connectFirst(address: string, applicationName: string): Promise<pg.Client> {
  let problem: unknown;
  for (const target of connectionTargets(address)) {
    const client = new pg.Client({ connectionString: target.url, application_name: applicationName, connectionTimeoutMillis: 10_000, keepAlive: true });
    // Without a listener a lost connection would end the process; the pending call reports it.
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (!target.writable || await acceptsWrites(client)) return client;
      problem = new Error('the server is a read-only standby');
    } catch (error) {
      problem = error;
    }
    await client.end().catch(() => undefined);
  }
  throw unavailable(problem);
}

/** Whether a session may write here (a standby may not). */
export async function acceptsWrites(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>('select pg_catalog.pg_is_in_recovery() as standby');
  return rows[0]?.standby === false;
}

const NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNABORTED', 'ENOENT', 'EACCES']);
const SERVER = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '3D000', '28000', '28P01']);
const DRIVER = /^(Connection terminated|timeout expired|timeout exceeded when trying|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after|The server does not support SSL|There was an error establishing an SSL|the server is a read-only standby)/;

/** Whether an error means "no database", as opposed to "the database said no". */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof CountersignError) return error.code === 'DATABASE_UNAVAILABLE';
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (error instanceof pg.DatabaseError) return SERVER.has(code) || code.startsWith('08');
  return NETWORK.has(code) || DRIVER.test(error.message) || /CERT|SELF_SIGNED|^ERR_(TLS|SSL)/.test(code);
}

/** The same error as a refusal with a remedy; other errors come back as they are. */
export function unavailable(error: unknown): unknown {
  if (error instanceof CountersignError || !isUnavailable(error)) return error;
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
  const code = (first as NodeJS.ErrnoException).code ?? '';
  const message = first?.message || code;
  if (code === '28P01' || code === '28000') {
    return new CountersignError('DATABASE_UNAVAILABLE', `The database refused the login: ${message}`, 'Correct user and password in the database address; if it says "no encryption", add ?sslmode=require.');
  }
  if (code === '3D000') return new CountersignError('DATABASE_UNAVAILABLE', message, 'Correct the database name at the end of the address.');
  if (/CERT|SELF_SIGNED/.test(code)) {
    return new CountersignError('DATABASE_UNAVAILABLE', `The server's certificate was not accepted: ${message}`, 'Give its authority with sslrootcert=/path/ca.pem, or encrypt without verifying: sslmode=require.');
  }
  return new CountersignError('DATABASE_UNAVAILABLE', `The database cannot be reached: ${message}`, 'Check that Postgres runs and that the address is right; nothing has to be restarted here, call again.');
}
