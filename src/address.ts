/**
 * Connection addresses as libpq users write them. The driver takes one host and its own meaning of
 * `sslmode`; people bring several hosts, `target_session_attrs`, self-signed certificates and `prefer`.
 * Each address becomes a list of plain ones to try in order.
 */
import { CountersignError } from './errors.js';

/** One address to try. `writable` = the session must accept writes (`target_session_attrs`). */
export interface Target { url: string; writable: boolean }

const PARTS = /^(postgres(?:ql)?:\/\/)((?:[^@/]*@)?)([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/;

/** @throws CountersignError INVALID_ARGUMENTS when the address cannot be read. The address itself is never repeated: it holds a password. */
export function connectionTargets(address: string): Target[] {
  const parts = PARTS.exec(address);
  if (parts === null) throw unreadable();
  const [, scheme = '', user = '', hosts = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  const writable = ['read-write', 'primary'].includes(parameters.get('target_session_attrs') ?? '');
  parameters.delete('target_session_attrs');
  // The driver reads the file; for libpq "system" means the system's certificates, which are node's default.
  if (parameters.get('sslrootcert') === 'system') parameters.delete('sslrootcert');
  const listed = hosts.split(',');
  const list = (parameters.get('host')?.includes(',') ? parameters.get('host')?.split(',') : undefined) ?? listed;
  if (list !== listed) parameters.delete('host');
  return list.flatMap((host) => sslVariants(parameters).map((variant) => {
    const url = `${scheme}${user}${host}${path}${variant}`;
    if (!URL.canParse(url.replace('@/', '@socket/').replace('///', '//socket/'))) throw unreadable();
    return { url, writable };
  }));
}

/** Where an address leads, with ADMIN:PASSWORD for the login: to be shown to whoever has another one. */
export function withoutLogin(address: string): string {
  const [, scheme = '', , hosts = '', path = '', query = ''] = PARTS.exec(address) ?? [];
  const parameters = [...new URLSearchParams(query)].filter(([name]) => ['host', 'port', 'sslmode', 'sslrootcert'].includes(name));
  const kept = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return `${scheme}ADMIN:PASSWORD@${hosts}${path}${kept === '' ? '' : `?${kept}`}`.replaceAll('\'', '%27');
}

function unreadable(): CountersignError {
  return new CountersignError('INVALID_ARGUMENTS', 'The database address cannot be read.',
    'Write postgresql://user:password@host:5432/database, with special characters of the password percent-encoded (# as %23, @ as %40, / as %2F).');
}

/** libpq's meaning: `require` encrypts without verifying, `prefer` falls back to no encryption. */
function sslVariants(parameters: URLSearchParams): string[] {
  const mode = parameters.get('sslmode');
  const render = (changes: Record<string, string>): string => {
    const copy = new URLSearchParams(parameters);
    for (const [name, value] of Object.entries(changes)) copy.set(name, value);
    const text = copy.toString().replaceAll('+', '%20');
    return text === '' ? '' : `?${text}`;
  };
  if (mode === null || parameters.has('uselibpqcompat') || mode === 'no-verify') return [render({})];
  if (mode === 'prefer') return [render({ uselibpqcompat: 'true' }), render({ sslmode: 'disable' })];
  if (mode === 'allow') return [render({ sslmode: 'disable' }), render({ sslmode: 'require', uselibpqcompat: 'true' })];
  return [render({ uselibpqcompat: 'true' })];
}
