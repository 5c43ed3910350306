/** What a row of the tables says. A row is one idea, tried with one or more inputs. */
import type { Code } from '../../src/errors.js';
import type { World } from './world.js';

export type Args = Record<string, unknown>;

/** Where a path answers otherwise than the other: the MCP tool (guard and parser in front), or the SQL function alone. */
export interface ByPath { tool: Code; sql: Code | 'readable' }

interface Row {
  /** The reference cases that this row stands for; siblings of our own have none. */
  ids: readonly string[];
  title: string;
  /** SQL by a superuser beforehand. `<agent>`, `<reader>`, `<owner>` become the login roles. */
  setup?: string;
}

/** Refused with exactly this code, on both paths; no row changes, nothing secret is in any answer, an event tells of it. */
export interface Refused extends Row {
  kind: 'refused';
  tool: string;
  inputs: readonly Args[];
  code: Code | ByPath;
  /** Postgres shows this to every login: the check refuses it, grants alone would not. */
  grantsDoNotHold?: true;
}

/** A read that is answered, with exactly these rows. */
export interface Answered extends Row { kind: 'answered'; inputs: readonly Args[]; rows: readonly unknown[] }

/** What a preview must have measured. */
export interface Measured {
  status: 'previewed' | 'awaiting_approval';
  affected: number;
  total: number;
  /** table -> [inserted, updated, deleted]; all of them. */
  effects?: Readonly<Record<string, readonly [number, number, number]>>;
  /** Words that the gate must say. */
  gate?: RegExp;
}

/** Previewed with exactly these figures, on both paths; no row changes, nothing secret is shown. */
export interface Previewed extends Row { kind: 'previewed'; tool: string; inputs: readonly Args[]; measured: Measured }

/** Previewed (and approved, where it waits); then something happens; execution refuses and no row changes by it. */
export interface Stale extends Row { kind: 'stale'; tool: string; input: Args; measured?: Measured; between?: string; code: Code }

/** Whatever does not fit into a line. */
export interface Story extends Row {
  kind: 'story';
  /** The oldest server on which it can be brought about, and why not on one before. */
  since?: { major: number; why: string };
  play: (world: World) => Promise<void>;
  /** Shares a database, which is put back before it; for stories that change no setting, role or connection. */
  shares?: true;
}

export type Attack = Refused | Answered | Previewed | Stale | Story;

const NEWER: ReadonlyArray<readonly [words: RegExp, major: number]> = [[/^MERGE\b/i, 15], [/\bsecurity_invoker\b/i, 15]];

/**
 * Whether a statement uses what a later Postgres brought. The server then knows no such word: it says so itself
 * (STATEMENT_FAILED), whatever a newer one would have to refuse or could grant.
 */
export const notKnownTo = (major: number, statement: unknown): boolean =>
  typeof statement === 'string' && NEWER.some(([words, since]) => major < since && words.test(statement));

const words = (ids: string): string[] => ids.split(' ').filter((id) => id !== '');

/** Reads that are refused. */
export function read(ids: string, title: string, code: Code | ByPath, statements: readonly string[], setup?: string): Refused {
  return { kind: 'refused', ids: words(ids), title, tool: 'query', inputs: statements.map((statement) => ({ statement })), code, ...(setup ? { setup } : {}) };
}

/** Conditions on the orders that are refused, each tried in a delete. */
export function where(ids: string, title: string, code: Code | ByPath, conditions: readonly string[], setup?: string): Refused {
  const inputs = conditions.map((condition) => ({ table: 'public.orders', where: condition }));
  return { kind: 'refused', ids: words(ids), title, tool: 'delete_rows', inputs, code, ...(setup ? { setup } : {}) };
}

/** Migrations that are refused. */
export function migration(ids: string, title: string, code: Code | ByPath, statements: readonly string[], setup?: string): Refused {
  return { kind: 'refused', ids: words(ids), title, tool: 'run_migration', inputs: statements.map((statement) => ({ statement })), code, ...(setup ? { setup } : {}) };
}

export function refused(ids: string, title: string, code: Code | ByPath, tool: string, inputs: readonly Args[], setup?: string): Refused {
  return { kind: 'refused', ids: words(ids), title, tool, inputs, code, ...(setup ? { setup } : {}) };
}

export function answered(ids: string, title: string, statements: readonly (string | Args)[], rows: readonly unknown[], setup?: string): Answered {
  const inputs = statements.map((statement) => (typeof statement === 'string' ? { statement } : statement));
  return { kind: 'answered', ids: words(ids), title, inputs, rows, ...(setup ? { setup } : {}) };
}

export function previewed(ids: string, title: string, tool: string, inputs: readonly Args[], measured: Measured, setup?: string): Previewed {
  return { kind: 'previewed', ids: words(ids), title, tool, inputs, measured, ...(setup ? { setup } : {}) };
}

export function stale(ids: string, title: string, code: Code, tool: string, input: Args, rest: Pick<Stale, 'setup' | 'between' | 'measured'>): Stale {
  return { kind: 'stale', ids: words(ids), title, tool, input, code, ...rest };
}

export function story(ids: string, title: string, play: Story['play'], setup?: string): Story {
  return { kind: 'story', ids: words(ids), title, play, ...(setup ? { setup } : {}) };
}

/** Stories that share a database; quicker where there are many. */
export const sharing = (rows: readonly Attack[]): Attack[] => rows.map((row) => (row.kind === 'story' ? { ...row, shares: true } : row));
