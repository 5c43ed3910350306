import type { ClientBase } from 'pg';
import type { Read } from '../../client.js';
import { CountersignError } from '../../errors.js';
import { refusalOf } from '../result.js';
import type { Answer, Json, ToolContext } from './tool.js';

interface ReadAnswer {
  rows: number;
  content: Json;
}

const CANCELLED = new CountersignError('STATEMENT_TIMEOUT', 'The read was cancelled by the caller.', 'Call again when the answer is wanted.');

function asValue(error: unknown): CountersignError {
  if (error instanceof CountersignError) return error;
  throw error;
}

/**
 * A read from the question whether it may run to its event: the database resolves what the text calls, the reader's
 * login runs it, and its event is committed before the answer is given out. No event, no answer.
 */
export async function audited(
  { client, reader, signal }: Pick<ToolContext, 'client' | 'reader' | 'signal'>,
  read: Read,
  work: (connection: ClientBase) => Promise<ReadAnswer>,
): Promise<Answer> {
  const allowed = await client.checkRead(read);
  if (!allowed.ok) return { refused: refusalOf(allowed) };
  const started = performance.now();
  // A refusal is a value here, so that the pool keeps a connection that is still sound.
  const answered = await reader
    .run((connection) => work(connection).catch(asValue), { signal })
    .catch((error: unknown) => asValue(signal.aborted ? CANCELLED : error));
  const refused = answered instanceof CountersignError ? answered : null;
  await client.recordRead({
    ...read,
    rows: answered instanceof CountersignError ? 0 : answered.rows,
    durationMs: Math.round(performance.now() - started),
    code: refused?.code ?? null,
    message: refused?.message ?? null,
  });
  return answered instanceof CountersignError ? { refused: answered.toJSON() } : { content: answered.content };
}
