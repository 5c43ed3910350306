import type { Client, RecordedRefusal } from '../client.js';
import type { CountersignError } from '../errors.js';

const KEPT = 200;
const MAX_STATEMENT = 10_000;
/** How long an answer waits for its event; a database that is away would hold it for much longer. */
const MAX_DELAY_MS = 2000;

/** Records refusals that were made before the database was asked. */
export interface RefusalLog {
  /** Leaves the event. When the database is away the event is kept and written later; it never delays the answer much. */
  record(tool: string, refused: CountersignError, args: unknown, valuesAreSound: boolean): Promise<void>;
  /** Writes what waits, when there is a reason to believe that the database is back. */
  flush(): Promise<void>;
}

/** Text that Postgres can store, whatever was sent. */
function storable(value: unknown, length: number): string | null {
  return typeof value === 'string' ? value.slice(0, length).replace(/\0|\p{Surrogate}/gu, '\u{fffd}') : null;
}

function describe(tool: string, refused: CountersignError, args: unknown, callerId: string | null, sound: boolean): RecordedRefusal {
  const given = (typeof args === 'object' && args !== null ? args : {}) as Record<string, unknown>;
  return {
    tool: storable(tool, 100) ?? '',
    code: refused.code,
    message: storable(refused.message, 2000) ?? '',
    reason: storable(given['reason'], 2000),
    statement: storable(given['statement'] ?? given['where'], MAX_STATEMENT),
    params: sound && Array.isArray(given['params']) ? given['params'] : null,
    callerId,
  };
}

/** Events that could not be written wait here, in order, for the next one that can. */
export function createRefusalLog(client: Pick<Client, 'recordRefusal'>, callerId: string | null, log: (line: string) => void): RefusalLog {
  const waiting: RecordedRefusal[] = [];
  let writing: Promise<void> | null = null;

  const drain = async (): Promise<void> => {
    for (let next = waiting[0]; next; next = waiting[0]) {
      await client.recordRefusal(next);
      waiting.shift();
    }
  };
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return;
    writing ??= drain()
      .catch((error: Error) => log(`The event of a refusal waits for the database: ${error.message}`))
      .finally(() => {
        writing = null;
      });
    await writing;
  };
  return {
    flush,
    async record(tool, refused, args, valuesAreSound) {
      waiting.push(describe(tool, refused, args, callerId, valuesAreSound));
      if (waiting.length > KEPT) log(`An event was lost while the database was away: ${waiting.shift()?.code}`);
      await Promise.race([flush(), new Promise((resolve) => setTimeout(resolve, MAX_DELAY_MS).unref())]);
    },
  };
}
