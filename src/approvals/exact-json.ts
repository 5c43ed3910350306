/** JSON as Postgres writes it, no digit lost: a human must not approve 9007199254740992 when the plan says …993. */

/** A number JavaScript would change. Goes into JSON as text. */
export class ExactNumber {
  constructor(readonly digits: string) {}
  toString(): string {
    return this.digits;
  }
  toJSON(): string {
    return this.digits;
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Postgres's jsonb cannot hold this character, so no text of its own looks like the mark. */
const MARK = '\u0000';

export function parseExact(text: string): unknown {
  const marked = text.replace(TOKEN, (token) => (token.startsWith('"') || String(Number(token)) === token ? token : JSON.stringify(MARK + token)));
  return JSON.parse(marked, (_key, value: unknown) => (typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(1)) : value));
}
