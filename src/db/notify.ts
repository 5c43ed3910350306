/**
 * The wake-up channel: one connection of its own that LISTENs. A notification carries no truth, only
 * "look again"; and since one can be lost, whoever waits also looks again after every reconnect and
 * every few seconds.
 */
import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import pgListen from 'pg-listen';
import { connectionTargets } from '../address.js';

const createSubscriber = pgListen.default;

const CHANNEL = 'countersign';
const LOOK_AGAIN_MS = 3_000;
const CHECK_MS = 5_000;
const REMEMBERED = 1_000;

/** What a notification says: which plan (a short hash of its token, never the token) and where it went. */
export interface PlanNotification { plan: string; status: string }

export interface WaitOptions {
  signal?: AbortSignal;
  /** Milliseconds after which to return anyway; default and upper bound about 3 s, so that a lost wake-up costs no more. */
  timeoutMs?: number;
  /** A `mark()` taken before the state was read: a notification that came since ends the wait at once. */
  since?: number;
}

export interface PlanListener {
  /** Take before reading a plan's state, hand to `waitFor`: nothing that happens in between is missed. */
  mark(): number;
  /** Resolves when it is worth reading the plan again. Never rejects for the database's sake; rejects with the signal's reason. */
  waitFor(planToken: string, options?: WaitOptions): Promise<void>;
  /** Every notification, `connected` after each (re)connect, and `lost` when the connection is. Returns the unsubscriber. */
  on(event: 'notification', listener: (notification: PlanNotification) => void): () => void;
  on(event: 'connected' | 'lost', listener: () => void): () => void;
  close(): Promise<void>;
}

/** The name of a plan on the channel. */
export function planKey(planToken: string): string {
  return createHash('sha256').update(planToken.trim().toLowerCase()).digest('hex').slice(0, 12);
}

function parse(payload: string): PlanNotification | null {
  try {
    const value = JSON.parse(payload) as Partial<PlanNotification> | null;
    return typeof value?.plan === 'string' && typeof value.status === 'string' ? { plan: value.plan, status: value.status } : null;
  } catch {
    // Anybody may NOTIFY on the channel; what is not ours is not an error.
    return null;
  }
}

/** Listens with the login of `url`; connects in the background and for ever again, and never throws. */
export function createListener(url: string, log: (line: string) => void = () => undefined): PlanListener {
  const events = new EventEmitter().setMaxListeners(0);
  // Several hosts: the first one; the others matter to the pools, which re-read the state.
  const connectionString = connectionTargets(url)[0]?.url ?? url;
  const subscriber = createSubscriber(
    { connectionString, application_name: 'countersign listener', connectionTimeoutMillis: 5_000, query_timeout: CHECK_MS },
    { parse, paranoidChecking: CHECK_MS, retryTimeout: 0, retryInterval: nextAttemptMs },
  );
  const seen = new Map<string, number>();
  let clock = 0;
  let closed = false;

  function nextAttemptMs(attempt: number): number {
    // The only way to end the library's own loop when we are closed while the database is away.
    if (closed) throw new Error('closed');
    return Math.min(200 * 2 ** attempt, CHECK_MS);
  }

  subscriber.notifications.on(CHANNEL, (notification: PlanNotification | null | undefined) => {
    if (!notification) return;
    seen.delete(notification.plan);
    seen.set(notification.plan, ++clock);
    if (seen.size > REMEMBERED) for (const oldest of seen.keys()) { seen.delete(oldest); break; }
    events.emit('notification', notification);
    events.emit(`plan ${notification.plan}`);
  });
  subscriber.events.on('connected', () => {
    if (closed) void subscriber.close().catch(() => undefined);
    else events.emit('connected');
  });
  subscriber.events.on('reconnect', (attempt) => { if (attempt === 1 && !closed) events.emit('lost'); });
  subscriber.events.on('error', (error) => { if (!closed) log(`Listening for decisions was interrupted: ${error.message}`); });
  // A failed first attempt goes on by itself; the channel is on the list it subscribes after connecting.
  subscriber.connect().catch((error: Error) => log(`Listening for decisions waits for the database: ${error.message}`));
  Promise.resolve(subscriber.listenTo(CHANNEL)).catch(() => undefined);

  function waitFor(planToken: string, { signal, timeoutMs = LOOK_AGAIN_MS, since }: WaitOptions = {}): Promise<void> {
    const key = planKey(planToken);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      if (closed || (since !== undefined && (seen.get(key) ?? 0) > since)) return resolve();
      const settle = (): void => { tidy(); resolve(); };
      const quit = (): void => { tidy(); reject(signal?.reason as Error); };
      const timer = setTimeout(settle, Math.min(timeoutMs, LOOK_AGAIN_MS));
      const tidy = (): void => {
        clearTimeout(timer);
        for (const name of [`plan ${key}`, 'connected', 'closed']) events.removeListener(name, settle);
        signal?.removeEventListener('abort', quit);
      };
      for (const name of [`plan ${key}`, 'connected', 'closed']) events.once(name, settle);
      signal?.addEventListener('abort', quit, { once: true });
    });
  }

  return {
    mark: () => clock,
    waitFor,
    on(event: string, listener: (notification: PlanNotification) => void) {
      events.on(event, listener);
      return () => { events.removeListener(event, listener); };
    },
    async close() {
      if (closed) return;
      closed = true;
      events.emit('closed');
      await subscriber.close().catch(() => undefined);
    },
  };
}
