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

const MOST_AT_ONCE = 500;

export function createAnnouncer(query: Query): Announcer {
  let waiting: string[] = [];
  let sending: Promise<void> | null = null;

  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MOST_AT_ONCE);
      await announceAll(query, batch).catch(() => undefined);
    }
    sending = null;
  }

  return {
    announce(planToken) {
      waiting.push(planToken);
      sending ??= Promise.resolve().then(send);
    },
    async close() {
      await sending;
    },
  };
}
