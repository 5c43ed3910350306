/**
 * Codes that open the page once. An address given to "open" or "xdg-open" stands in the process list for everyone of the
 * machine to read; a code in it is worth nothing as soon as the browser has used it.
 */
import { randomBytes } from 'node:crypto';

const LIFE_MS = 60_000;
const MOST = 20;

export interface Codes {
  issue(): string;
  /** The secret, the first time the code comes within a minute; else null. */
  redeem(code: string): string | null;
}

export function createCodes(secret: string, now: () => number = Date.now): Codes {
  const until = new Map<string, number>();
  return {
    issue() {
      for (const [code, end] of until) if (now() >= end || until.size >= MOST) until.delete(code);
      const code = randomBytes(24).toString('base64url');
      until.set(code, now() + LIFE_MS);
      return code;
    },
    redeem(code) {
      const end = until.get(code);
      until.delete(code);
      return end !== undefined && now() < end ? secret : null;
    },
  };
}
