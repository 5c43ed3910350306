import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Outcome } from '../client.js';
import { CountersignError, type Code, type Refusal } from '../errors.js';
import { fence } from './fence.js';

type Json = Record<string, unknown>;

/** Bytes of JSON that one answer may hold. Clients choke on more, and models do not read it. */
export const RESULT_BUDGET = 1024 * 1024;

/** Success: the same JSON in both halves, since each client shows the model only one of them. */
export function success(content: Json): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content };
}

/**
 * Refusal: everything in the text and no structured half, because clients hide the text where both are there.
 * A message that quotes Postgres, or a detail, may hold text from the database; then the whole is fenced.
 */
export function refusal(refused: Refusal & Json): CallToolResult {
  const { code, message, hint, ...detail } = refused;
  const quotesDatabase = code === 'STATEMENT_FAILED' || Object.keys(detail).length > 0;
  const content = quotesDatabase ? fence({ code, hint }, { message, ...withinBudget(detail) }) : { code, message, hint };
  return { content: [{ type: 'text', text: JSON.stringify(content) }], isError: true };
}

/** The refusal in an outcome of the database. Gaps are filled, so that an agent always has a next call. */
export function refusalOf(outcome: Outcome): Refusal & Json {
  return {
    ...outcome.detail,
    code: outcome.code ?? 'INTERNAL_ERROR',
    message: outcome.message ?? 'The call was refused.',
    hint: outcome.hint ?? 'Read the message, correct the call and try again.',
  };
}

export function asError(outcome: Outcome): CountersignError {
  const { code, message, hint, ...detail } = refusalOf(outcome);
  return new CountersignError(code as Code, message, hint, detail);
}

/** Lists that are only a sample and may be shortened, the least needed first; of `reached`, effects tell the counts. */
const SAMPLES = ['reached', 'changes', 'sample_rows', 'changed', 'tables'] as const;

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** Shortens the sample lists of a result until it fits, and says so in `note`. Counts and effects are never touched. */
export function withinBudget(content: Json, budget: number = RESULT_BUDGET): Json {
  let excess = sizeOf(content) - budget;
  if (excess <= 0) return content;
  const shortened: Json = { ...content };
  const notes: string[] = [];
  for (const name of SAMPLES) {
    const list = shortened[name];
    if (excess <= 0 || !Array.isArray(list)) continue;
    let kept = list.length;
    while (kept > 0 && excess > 0) {
      kept -= 1;
      excess -= sizeOf(list[kept]) + 1;
    }
    shortened[name] = list.slice(0, kept);
    notes.push(`${name} shows ${kept} of ${list.length}`);
  }
  return notes.length > 0 ? { ...shortened, note: `The answer was too large: ${notes.join(', ')}.` } : shortened;
}
