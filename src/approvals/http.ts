/** What the page speaks: a request without a socket, a response without one, and refusals in one table of statuses. */
import type { Code } from '../errors.js';

/** Refusals of the HTTP edge itself; what a plan is refused with comes from the database (`Code`). */
export type EdgeCode = 'UNAUTHORIZED' | 'FORBIDDEN' | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'PAYLOAD_TOO_LARGE' | 'UNSUPPORTED_MEDIA_TYPE' | 'TOO_MANY_REQUESTS' | 'BAD_REQUEST' | 'REQUEST_TIMEOUT';

export interface WebRequest {
  method: string;
  /** As sent: neither decoded nor normalised. Routes match exactly this. */
  target: string;
  /** Every header line, names in lower case; a name may be there twice. */
  headers: readonly (readonly [name: string, value: string])[];
  /** Reads the body up to a number of bytes. @throws HttpRefusal PAYLOAD_TOO_LARGE while reading, not after. */
  readBody(limit: number): Promise<Buffer>;
}

/** Where a stream of events is written. `closed` is called once, whoever ends it. */
export interface StreamSink {
  /** False when the reader does not keep up and the stream was ended. */
  write(text: string): boolean;
  end(): void;
  onClosed(listener: () => void): void;
}

export interface WebResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
  /** For a response that goes on: called after the headers are out. */
  stream?: (sink: StreamSink) => void;
}

const STATUS: Readonly<Partial<Record<Code | EdgeCode, number>>> = {
  BAD_REQUEST: 400, INVALID_ARGUMENTS: 400, UNAUTHORIZED: 401, FORBIDDEN: 403, SELF_APPROVAL: 403, UNKNOWN_TOKEN: 404, NOT_FOUND: 404, METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408, PAYLOAD_TOO_LARGE: 413, UNSUPPORTED_MEDIA_TYPE: 415, TOO_MANY_REQUESTS: 429, INTERNAL_ERROR: 500, DATABASE_UNAVAILABLE: 503,
};

/** The status of a code; what is not listed is about where a plan stands: a conflict. */
export function statusOf(code: Code | EdgeCode): number {
  return STATUS[code] ?? 409;
}

/** A refusal on its way out. Its message is written here or by the database, never taken from an exception. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  constructor(
    readonly code: Code | EdgeCode,
    message: string,
    readonly hint: string,
    readonly detail: Readonly<Record<string, unknown>> = {},
    readonly status: number = statusOf(code),
  ) {
    super(message);
  }
}

/** On every response, whatever it is. No inline script or style, no framing, no cache, nothing to other origins. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Cache-Control': 'no-store',
};

export function jsonResponse(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): WebResponse {
  return { status, headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers }, body: `${JSON.stringify(value)}\n` };
}

export function htmlResponse(status: number, body: string): WebResponse {
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body };
}

export function refusalResponse({ code, message, hint, detail, status }: HttpRefusal): WebResponse {
  const headers: Record<string, string> = code === 'METHOD_NOT_ALLOWED' ? { Allow: String(detail['allow'] ?? 'GET, POST') } : {};
  return jsonResponse(status, { ...detail, ok: false, code, message, hint }, headers);
}

/** The one value of a header; null when it is missing, undefined when it is there more than once. */
export function headerOf(request: Pick<WebRequest, 'headers'>, name: string): string | null | undefined {
  const found = request.headers.filter(([key]) => key === name);
  return found.length === 0 ? null : found.length === 1 ? found[0]?.[1] : undefined;
}
