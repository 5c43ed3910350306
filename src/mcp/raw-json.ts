/**
 * What JSON.parse forgets: it rounds numbers and merges keys without a word. These checks read the text itself,
 * before a rounded number can pick the wrong row.
 */

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const MINUS = 45;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Deeper JSON from the database is shown as text: JSON.stringify recurses and would overflow the stack. */
const MAX_SHOWN_DEPTH = 100;

interface Visitor {
  key?(key: string, depth: number): void;
  number?(token: string, depth: number): void;
  open?(depth: number): void;
}

/** Index of the quote that closes the string opened at `start`. */
function stringEnd(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
}

function numberEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && '0123456789+-.eE'.includes(text[end] as string)) end += 1;
  return end;
}

/** Walks well-formed JSON text once, without recursion. Depth is the number of open containers. */
function walk(text: string, visitor: Visitor): void {
  const objects: boolean[] = [];
  let keyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const end = stringEnd(text, at);
      if (keyNext) visitor.key?.(text.slice(at, end + 1), objects.length);
      keyNext = false;
      at = end;
    } else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) {
      objects.push(unit === OPEN_OBJECT);
      keyNext = unit === OPEN_OBJECT;
      visitor.open?.(objects.length);
    } else if (unit === CLOSE_OBJECT || unit === CLOSE_ARRAY) {
      objects.pop();
      keyNext = false;
    } else if (unit === COMMA) {
      keyNext = objects.at(-1) === true;
    } else if (unit === MINUS || (unit >= 48 && unit <= 57)) {
      const end = numberEnd(text, at);
      visitor.number?.(text.slice(at, end), objects.length);
      at = end - 1;
    }
  }
}

/** Sign, point and exponent taken out: two spellings of the same number become the same text. */
function canonical(token: string): string {
  const parts = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token);
  if (!parts) return token;
  const fraction = parts[2] ?? '';
  const digits = `${parts[1]}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(parts[3] ?? 0) - fraction.length + digits.length - significant.length}`;
}

/** True when a double holds the number as it is written. Integers from 2^53 on are never trusted. */
export function isExactNumber(token: string): boolean {
  if (token.length <= 15 && !/[eE]/.test(token)) return true;
  const value = Number(token);
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 53) return false;
  return canonical(token) === canonical(String(value));
}

/** True when JSON.parse of the text loses nothing and its result can be written out again. */
export function survivesParsing(text: string): boolean {
  let whole = true;
  walk(text, {
    number: (token) => {
      whole &&= isExactNumber(token);
    },
    open: (depth) => {
      whole &&= depth <= MAX_SHOWN_DEPTH;
    },
  });
  return whole;
}

function unquote(key: string): string {
  return key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
}

/**
 * What is wrong with the `params.arguments` of one JSON-RPC line that the parsed message no longer shows,
 * or null. The line must already have parsed.
 */
export function hiddenProblem(line: string): string | null {
  const path = ['', '', ''];
  let problem: string | null = null;
  const inside = (depth: number) => depth >= 3 && path[1] === 'params' && path[2] === 'arguments';
  walk(line, {
    key: (quoted, depth) => {
      if (depth < 3) path[depth] = unquote(quoted);
      else if (depth === 3 && inside(depth) && unquote(quoted) === '__proto__') problem ??= 'the key "__proto__" is not allowed';
    },
    number: (token, depth) => {
      if (inside(depth) && !isExactNumber(token)) {
        problem ??= `the number ${token.slice(0, 40)} cannot be held exactly by JSON readers`;
      }
    },
  });
  return problem;
}
