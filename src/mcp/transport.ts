import { parseJSONRPCMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server';
import type { Readable, Writable } from 'node:stream';
import { hiddenProblem } from './raw-json.js';

/** A line above this is dropped as it arrives and answered with a refusal; the connection goes on. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

/** How much of both ends of a dropped line is kept, to find the id of its request. */
const KEPT_OF_A_DROPPED_LINE = 2048;

/** How long the end of the input waits for answers that are under way. */
const DRAIN_MS = 1000;

/** What the raw line shows and the parsed message does not: a rounded number, a swallowed key, broken UTF-8. */
export type HiddenProblems = Map<string | number, string>;

export interface LineTransport extends Transport {
  /** Called once the connection is over, whatever the SDK has set `onclose` to. */
  onfinish?: () => void;
}

interface LineSink {
  line(bytes: Buffer): void;
  dropped(head: string, tail: string): void;
}

/** Splits chunks into lines without copying a long line once per chunk, and without keeping one that is too long. */
function lineSplitter(limit: number, sink: LineSink): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  const take = (part: Buffer): void => {
    size += part.length;
    if (head.length < KEPT_OF_A_DROPPED_LINE) head = Buffer.concat([head, part.subarray(0, KEPT_OF_A_DROPPED_LINE)]);
    if (size <= limit) parts.push(part);
    else {
      parts = [];
      tail = Buffer.concat([tail, part.subarray(-KEPT_OF_A_DROPPED_LINE)]).subarray(-KEPT_OF_A_DROPPED_LINE);
    }
  };
  const finish = (): void => {
    if (size > limit) sink.dropped(head.toString('latin1'), tail.toString('latin1'));
    else if (size > 0) sink.line(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
    parts = [];
    size = 0;
    head = Buffer.alloc(0);
    tail = Buffer.alloc(0);
  };
  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, end));
      finish();
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  };
}

/** Decodes strictly, so that broken bytes are known to be broken instead of turning into U+FFFD unseen. */
function decode(bytes: Buffer): { text: string; broken: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), broken: false };
  } catch {
    return { text: bytes.toString('utf8'), broken: true };
  }
}

const ID = String.raw`"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")`;

/** Clients write the id before `params` or at the very end; anything in between may be data. */
export function findRequestId(head: string, tail: string): string | number | null {
  const beforeParams = head.split('"params"')[0] ?? '';
  const match = new RegExp(ID).exec(beforeParams) ?? new RegExp(`${ID}\\s*\\}\\s*$`).exec(tail);
  return match ? (JSON.parse(match[1] as string) as string | number) : null;
}

interface LooseRequest {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Notes what only the raw line of a tool call shows, and makes its arguments an object so that it reaches its tool. */
function inspect(message: LooseRequest, text: string, broken: boolean, problems: HiddenProblems): void {
  if (message.method !== 'tools/call' || message.id === undefined || !isPlainObject(message.params)) return;
  let problem = broken ? 'the message is not valid UTF-8' : hiddenProblem(text);
  const args = message.params['arguments'];
  if (args !== undefined && !isPlainObject(args)) {
    problem = 'arguments must be an object';
    message.params['arguments'] = {};
  }
  if (problem === null) problems.delete(message.id);
  else problems.set(message.id, problem);
}

/** Requests that came and have no answer yet. */
function createPending(): { came(id: unknown): void; answered(id: unknown): void; settled(ms: number): Promise<void> } {
  const open = new Set<unknown>();
  let empty = (): void => {};
  return {
    came: (id) => void open.add(id),
    answered: (id) => {
      open.delete(id);
      if (open.size === 0) empty();
    },
    settled: (ms) =>
      new Promise((resolve) => {
        if (open.size === 0) return resolve();
        const timer = setTimeout(resolve, ms);
        empty = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
  };
}

export interface LineTransportOptions {
  input: Readable;
  output: Writable;
  problems: HiddenProblems;
  /** The result to answer a dropped request with. */
  answerDropped(problem: string): Promise<Record<string, unknown>>;
  maxLineBytes?: number;
}

/**
 * JSON-RPC lines over a pair of streams. The SDK's own stdio transport closes the connection on a line above
 * 10 MB, and hands on messages in which numbers are already rounded; this one answers the first, and remembers
 * the second for the tool that is called.
 */
export function createLineTransport(options: LineTransportOptions): LineTransport {
  const { input, output, problems, maxLineBytes = MAX_LINE_BYTES } = options;
  const pending = createPending();
  let closed = false;

  const onLine = (bytes: Buffer): void => {
    try {
      const { text, broken } = decode(bytes);
      if (text.trim() === '') return;
      const parsed: unknown = JSON.parse(text);
      if (isPlainObject(parsed)) inspect(parsed as LooseRequest, text, broken, problems);
      const message = parseJSONRPCMessage(parsed);
      if ('method' in message && 'id' in message) pending.came(message.id);
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const onDropped = (head: string, tail: string): void => {
    const id = findRequestId(head, tail);
    const problem = `the message is larger than ${maxLineBytes / 1024 / 1024} MiB`;
    transport.onerror?.(new Error(problem));
    if (id === null) return;
    pending.came(id);
    options
      .answerDropped(problem)
      .then((result) => transport.send({ jsonrpc: '2.0', id, result } as JSONRPCMessage))
      .catch(() => {});
  };
  const onData = lineSplitter(maxLineBytes, { line: onLine, dropped: onDropped });
  // Whoever writes its calls into a pipe and closes it still gets the answers that come soon.
  const onEnd = (): void => void pending.settled(DRAIN_MS).then(() => transport.close());
  const onStreamError = (error: Error): void => {
    if (!closed) transport.onerror?.(error);
    void transport.close();
  };

  const transport: LineTransport = {
    async start() {
      input.on('data', onData).once('end', onEnd).once('close', onEnd).once('error', onStreamError);
      output.on('error', onStreamError);
      if (input.readableEnded || input.destroyed) setImmediate(onEnd);
    },
    send(message) {
      if ('id' in message && !('method' in message)) pending.answered(message.id);
      if (closed) return Promise.reject(new Error('the client is gone'));
      return new Promise((resolve, reject) => {
        output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      input.off('data', onData);
      input.pause();
      transport.onclose?.();
      transport.onfinish?.();
    },
  };
  return transport;
}
