/**
 * Wake-ups after the commit. A NOTIFY inside the transaction that creates or decides makes such transactions commit one after
 * the other; sent afterwards, many at once, it costs them nothing. One that is lost costs a waiter a few seconds.
 */
import { announceAll, type Query } from '../client.js';

export interface Announcer {
  announce(planToken: string): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Nobody notices, and what happens to many plans meanwhile is one transaction. */
const GATHER_MS = 15;

export function createAnnouncer(query: Query): Announcer {
  const waiting = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let sending = Promise.resolve();

  function send(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const batch = [...waiting];
    waiting.clear();
    if (batch.length > 0) sending = sending.then(() => announceAll(query, batch)).catch(() => undefined);
    return sending;
  }

  return {
    announce(planToken) {
      waiting.add(planToken);
      timer ??= setTimeout(() => void send(), GATHER_MS);
    },
    close: send,
  };
}
