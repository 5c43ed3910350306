/** The body of a decision: JSON, one flat object, only what is known, each name once. */
import { HttpRefusal, headerOf, type WebRequest } from './http.js';

export const BODY_LIMIT = 64 * 1024;
const NAMES = /"(?:[^"\\]|\\.)*"\s*:/g;

function badJson(message: string): HttpRefusal {
  return new HttpRefusal('INVALID_ARGUMENTS', message, 'Send one JSON object, for example {"note": "checked with billing"}.');
}

function isJson(contentType: string | null | undefined): boolean {
  return /^application\/json(?:\s*;\s*charset=(?:"utf-8"|utf-8))?\s*$/i.test(contentType ?? '');
}

export type BodyFields = Readonly<Record<string, number>>;

/**
 * @param fields the names that may be there, each with its greatest length in characters; every value is a text or null
 * @throws HttpRefusal UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE or INVALID_ARGUMENTS
 */
export async function readFields(request: WebRequest, fields: BodyFields): Promise<Record<string, string | null>> {
  if (!isJson(headerOf(request, 'content-type'))) {
    throw new HttpRefusal('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/json.', 'Send the header Content-Type: application/json.');
  }
  const bytes = await request.readBody(BODY_LIMIT);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badJson('The body is not UTF-8.');
  }
  return checkFields(parseObject(text), text, fields);
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badJson('The body is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badJson('The body must be a JSON object.');
  return value as Record<string, unknown>;
}

function checkFields(object: Record<string, unknown>, text: string, fields: BodyFields): Record<string, string | null> {
  const entries = Object.entries(object);
  for (const [name, value] of entries) {
    const most = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (most === undefined) throw badJson(`The body holds a name that is not known; known are ${Object.keys(fields).join(', ')}.`);
    if (value !== null && typeof value !== 'string') throw badJson(`"${name}" must be a text.`);
    if (value !== null && [...value].length > most) throw badJson(`"${name}" is longer than ${most} characters.`);
    // Postgres's text holds neither.
    if (value !== null && (value.includes('\u0000') || /\p{Surrogate}/u.test(value))) throw badJson(`"${name}" is not text that a database can hold.`);
  }
  // Readers disagree on which of two equal names counts. With texts only, each name is a string before a colon.
  if ((text.match(NAMES) ?? []).length !== entries.length) throw badJson('The body holds a name twice.');
  return Object.fromEntries(entries) as Record<string, string | null>;
}
