/**
 * A statement as people read it: laid out, coloured, its parameters in place. Only white space may differ from what will
 * run; Postgres's own scanner checks that, and where it does not hold the raw text is shown.
 */
import { html, Html, type Piece } from './html.js';
import { ExactNumber } from './exact-json.js';
import { visible, visibleValue } from './text.js';

interface Token { start: number; end: number; text: string; tokenType: number; keywordKind: number }

interface Scanner { scanSync(text: string): { tokens: Token[] } }

let scanner: Promise<Scanner> | undefined;

function loadScanner(): Promise<Scanner> {
  scanner ??= import('libpg-query').then(async (module) => {
    await module.loadModule();
    return module as unknown as Scanner;
  });
  return scanner;
}

/** Beyond it, laying out takes longer than a reader waits; such a statement is shown as it is. */
const LAYOUT_LIMIT = 20_000;
const KIND = { float: 259, integer: 260, string: 261, parameter: 267, lineComment: 275, blockComment: 276 } as const;
const NUMBERS = new Set<number>([KIND.float, KIND.integer]);
const COMMENTS = new Set<number>([KIND.lineComment, KIND.blockComment]);
const RESERVED = 4;

function scan(scanner: Scanner, text: string): Token[] | null {
  try {
    return scanner.scanSync(text).tokens;
  } catch {
    return null;
  }
}

const sameTokens = (a: Token[], b: Token[] | null): boolean =>
  b !== null && a.length === b.length && a.every((token, index) => token.text === b[index]?.text && token.tokenType === b[index]?.tokenType);

async function laidOut(scanner: Scanner, statement: string, tokens: Token[]): Promise<string> {
  if (statement.length > LAYOUT_LIMIT) return statement;
  const { format } = await import('sql-formatter');
  try {
    const text = format(statement, { language: 'postgresql', paramTypes: { numbered: ['$'] }, expressionWidth: 72 });
    return sameTokens(tokens, scan(scanner, text)) ? text : statement;
  } catch {
    return statement;
  }
}

/** A parameter's value in a line of SQL, short. */
function valueInPlace(value: unknown): Piece {
  if (value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber) return String(value);
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
  return text.length > 80 ? html`${visible(text.slice(0, 80))}<span class="more">… (${text.length} characters)</span>` : visible(text);
}

function tokenShown(token: Token, text: string, params: readonly unknown[] | null): Piece {
  if (COMMENTS.has(token.tokenType)) return html`<span class="comment" title="A comment. Postgres does not read it.">${visible(text)}</span>`;
  if (token.tokenType === KIND.parameter) {
    const place = Number(text.slice(1)) - 1;
    const known = params !== null && place < params.length;
    return html`<span class="param"><span class="place">${text}</span>${known && html`<span class="value">${valueInPlace(params[place])}</span>`}</span>`;
  }
  if (token.tokenType === KIND.string) return html`<span class="string">${visible(text)}</span>`;
  if (NUMBERS.has(token.tokenType)) return html`<span class="number">${text}</span>`;
  if (token.keywordKind === RESERVED || (token.keywordKind > 0 && text === text.toUpperCase())) return html`<span class="keyword">${text}</span>`;
  return visible(text, 'name');
}

function coloured(text: string, tokens: Token[], params: readonly unknown[] | null): Html {
  // The scanner counts in bytes.
  const bytes = Buffer.from(text);
  const pieces: Piece[] = [];
  let last = 0;
  for (const token of tokens) {
    pieces.push(visible(bytes.toString('utf8', last, token.start)), tokenShown(token, bytes.toString('utf8', token.start, token.end), params));
    last = token.end;
  }
  return html`${pieces}${visible(bytes.toString('utf8', last))}`;
}

export interface StatementShown { shown: Html; lines: number; laidOut: boolean }

/** @param params values of `$1`, `$2` …; null where the places stand for columns of many rows. */
export async function showStatement(statement: string, params: readonly unknown[] | null): Promise<StatementShown> {
  const loaded = await loadScanner();
  const tokens = scan(loaded, statement);
  if (tokens === null) return { shown: visible(statement), lines: statement.split('\n').length, laidOut: false };
  const text = await laidOut(loaded, statement, tokens);
  const again = text === statement ? tokens : (scan(loaded, text) ?? tokens);
  return { shown: coloured(text, again, params), lines: text.split('\n').length, laidOut: text !== statement };
}

/** A value in a cell. NULL, numbers and texts differ by more than their letters. */
export function showValue(value: unknown): Html {
  if (value === null || value === undefined) return html`<span class="null">NULL</span>`;
  if (typeof value === 'number' || value instanceof ExactNumber) return html`<span class="number">${String(value)}</span>`;
  if (typeof value === 'boolean') return html`<span class="number">${String(value)}</span>`;
  if (value === '') return html`<span class="null">empty text</span>`;
  return typeof value === 'string' ? visibleValue(value) : visible(JSON.stringify(value));
}
