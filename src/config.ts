/**
 * Configuration from the environment (DESIGN §8). Everything with our prefix must be known and valid:
 * a typo must stop the start, never quietly weaken a setting.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { connectionTargets } from './address.js';
import { CountersignError } from './errors.js';

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** What the environment says; `undefined` = not said. Addresses hold passwords: never print them. */
export interface Config {
  /** Agent login. With neither this nor `readerUrl` the embedded database is meant. */
  databaseUrl: string | undefined;
  readerUrl: string | undefined;
  /** Approver login of page and command line; without it people decide by psql. */
  approverUrl: string | undefined;
  adminUrl: string | undefined;
  callerId: string | undefined;
  approvalPort: number;
  approvalPage: boolean;
  /** `token`: the page decides as the approver login, opened by a secret. `database`: each human signs in with their own login. */
  approvalLogin: 'token' | 'database';
  /** How long `execute_plan` holds a call that waits for a human. */
  holdSeconds: number;
  dataDir: string | undefined;
  logLevel: LogLevel;
}

const address = z.string().refine((value) => {
  try {
    return connectionTargets(value).length > 0;
  } catch {
    return false;
  }
}, 'must be a Postgres address: postgresql://user:password@host:5432/database, with special characters of the password percent-encoded (# as %23, @ as %40, / as %2F)');

const integer = (least: number, most: number): z.ZodType<number, string> => z.string()
  .regex(/^\d{1,9}$/, `must be a whole number from ${least} to ${most}`).transform(Number)
  .pipe(z.number().min(least, `must be at least ${least}`).max(most, `must be at most ${most}`));

const VARIABLES = {
  COUNTERSIGN_DATABASE_URL: address,
  COUNTERSIGN_READER_URL: address,
  COUNTERSIGN_APPROVER_URL: address,
  COUNTERSIGN_ADMIN_URL: address,
  COUNTERSIGN_CALLER_ID: z.string().max(200, 'must have at most 200 characters').regex(/^[^\p{Cc}\p{Cf}]+$/u, 'must hold no control characters'),
  COUNTERSIGN_APPROVAL_PORT: integer(0, 65_535),
  COUNTERSIGN_APPROVAL_PAGE: z.enum(['on', 'off'], 'must be "on" or "off"'),
  COUNTERSIGN_APPROVAL_LOGIN: z.enum(['token', 'database'], 'must be "token" or "database"'),
  // Beyond an hour no client waits; and a held call holds a place in line.
  COUNTERSIGN_HOLD_SECONDS: integer(0, 3_600),
  COUNTERSIGN_DATA_DIR: z.string().transform((value) => resolve(value)),
  COUNTERSIGN_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`),
} satisfies Record<string, z.ZodType>;

type Variable = keyof typeof VARIABLES;

const NAMES = Object.keys(VARIABLES) as Variable[];

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function nearest(name: string): string {
  return [...NAMES].sort((a, b) => distance(name, a) - distance(name, b))[0] ?? '';
}

function refuseUnknown(env: NodeJS.ProcessEnv): void {
  // Windows does not tell capitals apart, and nobody means another variable by them.
  const unknown = Object.keys(env).find((name) => name.toUpperCase().startsWith('COUNTERSIGN_') && !(name in VARIABLES));
  if (unknown === undefined) return;
  throw new CountersignError('INVALID_ARGUMENTS', `The environment variable ${unknown} is not known.`,
    `Did you mean ${nearest(unknown.toUpperCase())}? Correct it or unset it; known are ${NAMES.join(', ')}.`, { variable: unknown });
}

function read<V extends Variable>(env: NodeJS.ProcessEnv, name: V, fallback?: string): z.output<(typeof VARIABLES)[V]> | undefined {
  const from = env[name] === undefined && fallback !== undefined && env[fallback] ? fallback : name;
  const value = env[from];
  if (value === undefined) return undefined;
  const parsed = VARIABLES[name].safeParse(value);
  if (value !== '' && parsed.success) return parsed.data as z.output<(typeof VARIABLES)[V]>;
  // The value itself stays out of the message: it may be an address with a password in it.
  const problem = value === '' ? 'is set but empty' : (parsed.error?.issues[0]?.message ?? 'is not valid');
  throw new CountersignError('INVALID_ARGUMENTS', `The environment variable ${from} ${problem}.`, `Correct ${from}, or unset it.`, { variable: from });
}

/** A reader without an agent login, or the other way round, would quietly turn half the tools off. */
function requireBoth(databaseUrl: string | undefined, readerUrl: string | undefined): void {
  if ((databaseUrl === undefined) === (readerUrl === undefined)) return;
  const [given, missing] = databaseUrl === undefined
    ? ['COUNTERSIGN_READER_URL', 'COUNTERSIGN_DATABASE_URL'] : ['COUNTERSIGN_DATABASE_URL', 'COUNTERSIGN_READER_URL'];
  throw new CountersignError('INVALID_ARGUMENTS', `${given} (or its fallback) is set, ${missing} is not.`,
    `Set ${missing} to the address of the other login; with neither, the embedded database is used.`, { variable: missing });
}

/**
 * Reads and checks the environment.
 * @throws CountersignError INVALID_ARGUMENTS naming the variable, with the remedy.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  refuseUnknown(env);
  const config: Config = {
    databaseUrl: read(env, 'COUNTERSIGN_DATABASE_URL', 'DATABASE_URL'),
    readerUrl: read(env, 'COUNTERSIGN_READER_URL', 'DATABASE_URL_READONLY'),
    approverUrl: read(env, 'COUNTERSIGN_APPROVER_URL'),
    adminUrl: read(env, 'COUNTERSIGN_ADMIN_URL'),
    callerId: read(env, 'COUNTERSIGN_CALLER_ID'),
    approvalPort: read(env, 'COUNTERSIGN_APPROVAL_PORT') ?? 4319,
    approvalPage: (read(env, 'COUNTERSIGN_APPROVAL_PAGE') ?? 'on') === 'on',
    approvalLogin: read(env, 'COUNTERSIGN_APPROVAL_LOGIN') ?? 'token',
    holdSeconds: read(env, 'COUNTERSIGN_HOLD_SECONDS') ?? 45,
    dataDir: read(env, 'COUNTERSIGN_DATA_DIR'),
    logLevel: read(env, 'COUNTERSIGN_LOG_LEVEL') ?? 'info',
  };
  return config;
}

/**
 * The two logins a server needs, or null when the embedded database is meant.
 * @throws CountersignError INVALID_ARGUMENTS when only one of them is given.
 */
export function serverLogins(config: Config): { databaseUrl: string; readerUrl: string } | null {
  const { databaseUrl, readerUrl } = config;
  requireBoth(databaseUrl, readerUrl);
  return databaseUrl === undefined || readerUrl === undefined ? null : { databaseUrl, readerUrl };
}
