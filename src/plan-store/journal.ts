/** The append-only journal of the in-memory predecessor: one JSON object a line, the last one perhaps torn by a crash. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PlanError } from '../errors.js';

/** A line: whatever else it holds is kept with the plan. */
export interface JournalLine { ts?: unknown; planToken: string; status: string; [key: string]: unknown }

export interface JournalReport {
  /** Whole lines that were read. */
  lines: number;
  /** Tokens that were left executing, as the journal has them. */
  executing: string[];
  /** Of those, brought in now; none on a second run. */
  adopted: string[];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The token of the database for a journal's: itself where it is a uuid, else one that is always the same for it. */
export function tokenOf(journalToken: string): string {
  const token = journalToken.toLowerCase();
  if (UUID.test(token)) return token;
  const hex = createHash('sha256').update(`countersign journal ${journalToken}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function parseLine(text: string): JournalLine | null {
  try {
    const line = JSON.parse(text) as Partial<JournalLine> | null;
    return typeof line === 'object' && line !== null && typeof line.planToken === 'string' && typeof line.status === 'string' ? line as JournalLine : null;
  } catch {
    return null;
  }
}

/**
 * Reads a journal: how many lines, and what each token that was left executing is known by (its lines merged, the later ones
 * winning).
 * @throws PlanError INVALID_ARGUMENTS for a line, not the last one, that cannot be read: what it said is not guessed.
 */
export async function readJournal(path: string): Promise<{ lines: number; executing: JournalLine[] }> {
  const texts = (await readFile(path, 'utf8')).split('\n');
  const plans = new Map<string, JournalLine>();
  let lines = 0;
  const last = texts.findLastIndex((text) => text.trim() !== '');
  for (const [n, text] of texts.entries()) {
    if (text.trim() === '') continue;
    const line = parseLine(text);
    if (line === null) {
      // Torn by the crash: what it would have said did not happen yet, or nobody knows.
      if (n === last) break;
      throw new PlanError('INVALID_ARGUMENTS', `Line ${n + 1} of ${path} is no journal line.`, 'Repair or remove that line; nothing was brought in.', { line: n + 1 });
    }
    lines++;
    plans.set(line.planToken, { ...plans.get(line.planToken), ...line });
  }
  return { lines, executing: [...plans.values()].filter((plan) => plan.status === 'executing') };
}
