/**
 * The security boundary of the page, whole. Two questions before anything else is looked at: does the request come from
 * our own page or a program of this machine that means us (provenance), and does it carry the secret (bearer)?
 *
 * Loopback and Origin are no authentication: any process of this machine passes them. The bearer is; and the database
 * decides in the end, by the login behind it.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { HttpRefusal, headerOf, type WebRequest } from './http.js';

const HOST = /^(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/i;
/** A page of ours, or an address typed, pasted or opened by another program. */
const OWN_SITES = new Set(['same-origin', 'none']);
const FRAMES = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe']);

function forbidden(message: string): HttpRefusal {
  return new HttpRefusal('FORBIDDEN', message, 'Open the address that countersign printed, in a tab of its own.');
}

/** Refuses what another site, another port or another name caused. Works on the raw headers; each may be there once. */
export function checkProvenance(request: WebRequest, port: number): void {
  const host = headerOf(request, 'host');
  if (typeof host !== 'string' || HOST.exec(host)?.[1] !== String(port)) throw forbidden('The Host header does not name this page.');
  const origin = headerOf(request, 'origin');
  if (origin !== null && origin?.toLowerCase() !== `http://${host.toLowerCase()}`) throw forbidden('The request comes from another origin.');
  const site = headerOf(request, 'sec-fetch-site');
  if (site !== null && !OWN_SITES.has(site ?? '')) throw forbidden('The request was caused by another site.');
  const destination = headerOf(request, 'sec-fetch-dest');
  if (destination !== null && (destination === undefined || FRAMES.has(destination))) throw forbidden('This page is not shown inside another.');
}

/** The secret a request carries: the Authorization header, or on a GET `?token=`, for a pasted address and curl. */
export function bearerOf(request: WebRequest, query: URLSearchParams): string | null {
  const header = headerOf(request, 'authorization');
  if (header !== null) return /^Bearer ([A-Za-z0-9._~+/=-]{1,512})$/i.exec(header ?? '')?.[1] ?? null;
  const tokens = query.getAll('token');
  return request.method === 'GET' && tokens.length === 1 ? (tokens[0] ?? null) : null;
}

/** Compares without telling by time how much was right. */
export function sameSecret(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

export function unauthorized(): HttpRefusal {
  return new HttpRefusal('UNAUTHORIZED', 'This needs the secret of the approval page.',
    'Open the address countersign printed on stderr, run "countersign approvals --open", or send it as "Authorization: Bearer …".');
}
