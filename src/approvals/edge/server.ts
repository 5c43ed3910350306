/** The socket side: node:http with every limit set, on both loopback addresses. What it serves is a function (app.ts). */
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from '../app.js';
import { HttpRefusal, refusalResponse, SECURITY_HEADERS, type StreamSink, type WebRequest, type WebResponse } from '../http.js';

export interface EdgeLimits {
  /** Milliseconds for all headers, and for a whole request. */
  headersMs: number;
  requestMs: number;
  connections: number;
}

const LIMITS: EdgeLimits = { headersMs: 4_000, requestMs: 8_000, connections: 64 };
/** A stream whose reader lags this many bytes behind is ended. */
const LAG_LIMIT = 256 * 1024;

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, index) => [(rawHeaders[2 * index] ?? '').toLowerCase(), rawHeaders[2 * index + 1] ?? '']);
}

function tooLarge(limit: number): HttpRefusal {
  return new HttpRefusal('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes.`, 'Shorten the note.');
}

async function readBody(message: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(message.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Told while it comes, whatever length was announced or not.
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function sinkOf(response: ServerResponse): StreamSink {
  const listeners: (() => void)[] = [];
  response.once('close', () => listeners.splice(0).forEach((listener) => listener()));
  return {
    write(text) {
      if (response.destroyed || response.writableLength > LAG_LIMIT) {
        response.destroy();
        return false;
      }
      response.write(text);
      return true;
    },
    end: () => void response.end(),
    onClosed: (listener) => void (response.closed ? listener() : listeners.push(listener)),
  };
}

function send(message: IncomingMessage, response: ServerResponse, { status, headers, body, stream }: WebResponse): void {
  if (response.destroyed) return;
  // After a refusal nothing more is read from this connection: what follows may be the rest of a body nobody waits for.
  const end = status >= 400 && !message.complete;
  // Null once the connection is gone.
  const socket: Socket | null = message.socket;
  response.writeHead(status, { ...headers, ...SECURITY_HEADERS, ...(stream ? {} : { 'Content-Length': Buffer.byteLength(body) }), ...(end ? { Connection: 'close' } : {}) });
  if (stream) {
    response.flushHeaders();
    stream(sinkOf(response));
    return;
  }
  response.end(message.method === 'HEAD' ? undefined : body, () => {
    // Lets the answer out first; a reset would take it back from the other's buffer.
    if (end) setTimeout(() => socket?.destroySoon(), 200).unref();
  });
}

/** What node would answer by itself, without a header of ours: written by hand. */
function answerRaw(socket: Socket, refusal: HttpRefusal): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body } = refusalResponse(refusal);
  const lines = Object.entries({ ...headers, ...SECURITY_HEADERS, 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' });
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body.toString()}`);
  setTimeout(() => socket.destroy(), 500).unref();
}

function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy();
  answerRaw(socket, error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? new HttpRefusal('REQUEST_TIMEOUT', 'The request took too long to arrive.', 'Send it again.')
    : new HttpRefusal('BAD_REQUEST', 'This is not a request that can be read.', 'Speak HTTP/1.1.'));
}

/** A server that does not listen yet. */
export function createEdge(app: App, log: (line: string) => void, limits: EdgeLimits = LIMITS): Server {
  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request: WebRequest = {
      method: message.method ?? '', target: message.url ?? '', headers: headersOf(message), readBody: (limit) => readBody(message, limit),
    };
    send(message, response, await app(request));
  };
  const guarded = (message: IncomingMessage, response: ServerResponse): void => {
    message.on('error', () => undefined);
    response.on('error', () => undefined);
    handle(message, response).catch((error: unknown) => {
      log(`A request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      response.destroy();
    });
  };
  const server = createServer({
    // Without a Host header our own check answers, with all headers.
    requireHostHeader: false, insecureHTTPParser: false, maxHeaderSize: 16 * 1024, connectionsCheckingInterval: 500,
    headersTimeout: limits.headersMs, requestTimeout: limits.requestMs, keepAliveTimeout: 5_000, keepAlive: true,
  }, guarded);
  server.maxConnections = limits.connections;
  server.maxHeadersCount = 100;
  server.timeout = 60_000;
  server.on('clientError', onClientError);
  // "Expect: 100-continue" and the rest: the body is asked for by nobody, so the usual checks answer first.
  server.on('checkContinue', guarded).on('checkExpectation', guarded);
  const unwanted = (_: IncomingMessage, socket: Socket): void => answerRaw(socket, new HttpRefusal('METHOD_NOT_ALLOWED', 'This method is not used here.', 'Use GET, POST.', { allow: 'GET, POST' }));
  server.on('connect', unwanted).on('upgrade', unwanted);
  return server;
}
