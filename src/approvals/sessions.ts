/**
 * Sign-in with one's own database login (COUNTERSIGN_APPROVAL_LOGIN=database). Each person has one connection, made with
 * their role and password, which are then forgotten: session_user is the person. The browser holds a random token that
 * names the connection; when the connection is lost the person signs in again.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Query } from '../client.js';
import { connectFirst, isUnavailable } from '../db/connect.js';
import { exactQuery, storeOf } from './database-store.js';
import { HttpRefusal } from './http.js';
import type { ApprovalStore, StoreChange } from './store.js';

const IDLE_MS = 30 * 60_000;
const LIFE_MS = 8 * 60 * 60_000;
const MOST_SESSIONS = 16;
/** Failures a minute, whoever they were for: a person mistypes, a program guesses. */
const MOST_FAILURES = 5;
const WINDOW_MS = 60_000;

export interface Sessions {
  signIn(user: string, password: string): Promise<{ token: string; login: string }>;
  /** The store of a live session; using it keeps it alive. */
  find(token: string): ApprovalStore | null;
  isLive(token: string): boolean;
  signOut(token: string): void;
  close(): Promise<void>;
}

interface Session { store: ApprovalStore; client: pg.Client; until: number; idleUntil: number }

/** The address without whoever it names: host, port, database and how to encrypt. */
export function withoutLogin(address: string): string {
  const plain = address.replace(/^(postgres(?:ql)?:\/\/)[^@/?#]*@/, '$1');
  const [path = '', query] = plain.split('?');
  const rest = new URLSearchParams(query);
  rest.delete('user');
  rest.delete('password');
  const text = rest.toString().replaceAll('+', '%20');
  return text === '' ? path : `${path}?${text}`;
}

function withLogin(address: string, user: string, password: string): string {
  return withoutLogin(address).replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`);
}

const refused = (): HttpRefusal => new HttpRefusal('UNAUTHORIZED', 'The database did not accept that role and password, or the role may not decide.',
  'Use your own database login. It must be a member of countersign_approver and of none of the agents\' groups.');

/** A connection answers one question at a time. */
function oneByOne(query: Query): Query {
  let last: Promise<unknown> = Promise.resolve();
  return (text, values) => {
    const answer = last.then(() => query(text, values));
    last = answer.catch(() => undefined);
    return answer;
  };
}

function storeOn(client: pg.Client): ApprovalStore {
  const listeners = new Set<(change: StoreChange) => void>();
  client.on('notification', ({ payload }) => {
    try {
      const { plan, status } = JSON.parse(payload ?? '') as { plan?: unknown; status?: unknown };
      const change = { plan: typeof plan === 'string' ? plan : null, status: typeof status === 'string' ? status : null };
      listeners.forEach((listener) => listener(change));
    } catch {
      // Anybody may NOTIFY on the channel; what is not ours is not an error.
    }
  });
  // With the connection the session is over, and whoever listens has to hear it.
  client.once('end', () => listeners.forEach((listener) => listener({ plan: null, status: null })));
  return storeOf(oneByOne(exactQuery(client)), (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  });
}

/** @param address any address of the database; the login in it is not used */
export function createSessions(address: string, now: () => number = Date.now): Sessions {
  const sessions = new Map<string, Session>();
  const asking = new Set<string>();
  let failures: number[] = [];

  function end(token: string): void {
    const session = sessions.get(token);
    sessions.delete(token);
    session?.client.end().catch(() => undefined);
  }

  function live(token: string): Session | null {
    const session = sessions.get(token);
    if (session === undefined) return null;
    if (now() < session.until && now() < session.idleUntil) return session;
    end(token);
    return null;
  }

  /** A server that takes any password would make anybody anyone. Asked once for each role. */
  async function checkServerAsks(user: string): Promise<void> {
    if (asking.has(user)) return;
    const taken = await connectFirst(withLogin(address, user, randomBytes(18).toString('hex')), 'countersign page check').catch((error: unknown) => {
      if (isUnavailable(error) && !/refused the login/.test((error as Error).message)) throw error;
      return null;
    });
    if (taken !== null) {
      await taken.end().catch(() => undefined);
      throw new HttpRefusal('FORBIDDEN', 'This database accepts any password from this machine, so signing in would prove nothing.',
        'Replace "trust" by "scram-sha-256" in pg_hba.conf.');
    }
    asking.add(user);
  }

  async function connect(user: string, password: string): Promise<{ client: pg.Client; store: ApprovalStore }> {
    await checkServerAsks(user);
    const client = await connectFirst(withLogin(address, user, password), 'countersign page');
    const store = storeOn(client);
    try {
      await store.list('waiting', null, 1);
      await client.query('listen countersign');
      return { client, store };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  function keep(client: pg.Client, store: ApprovalStore): string {
    for (const token of [...sessions.keys()]) live(token);
    while (sessions.size >= MOST_SESSIONS) end(sessions.keys().next().value ?? '');
    const token = randomBytes(32).toString('base64url');
    sessions.set(token, { client, store, until: now() + LIFE_MS, idleUntil: now() + IDLE_MS });
    client.once('end', () => sessions.delete(token));
    return token;
  }

  return {
    async signIn(user, password) {
      failures = failures.filter((at) => at > now() - WINDOW_MS);
      if (failures.length >= MOST_FAILURES) throw new HttpRefusal('TOO_MANY_REQUESTS', 'Too many failed sign-ins.', 'Wait a minute, then try again.');
      // Counted before the answer is known, so that guesses in parallel count too.
      const mark = now();
      failures.push(mark);
      try {
        const { client, store } = await connect(user, password);
        const { login } = await store.identity();
        failures.splice(failures.indexOf(mark), 1);
        return { token: keep(client, store), login };
      } catch (error) {
        const loginRefused = error instanceof Error && /refused the login/.test(error.message);
        if (loginRefused || (error as { code?: unknown }).code === '42501') throw refused();
        failures.splice(failures.indexOf(mark), 1);
        throw error;
      }
    },
    find(token) {
      const session = live(token);
      if (session === null) return null;
      session.idleUntil = now() + IDLE_MS;
      return session.store;
    },
    isLive: (token) => live(token) !== null,
    signOut: end,
    async close() {
      const open = [...sessions.values()];
      sessions.clear();
      await Promise.allSettled(open.map(({ client }) => client.end()));
    },
  };
}
