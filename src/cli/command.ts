import { parseArgs, type ParseArgsConfig } from 'node:util';

import type { Config, LogLevel } from '../config.js';
import type { Io } from './io.js';
import type { Logins } from './logins.js';

/** What was given on the command line, after the command's name. */
export interface Given {
  /** Everything that is no option. */
  words: string[];
  flag(name: string): boolean;
  option(name: string): string | undefined;
}

export interface Context extends Given {
  io: Io;
  logins: Logins;
  config: Config;
  /** Version of the package. */
  version: string;
  /** Diagnostics, as far as COUNTERSIGN_LOG_LEVEL lets them. */
  log(level: Exclude<LogLevel, 'silent'>, line: string): void;
  /** How this program is started, in absolute paths. */
  program: { node: string; cli: string };
}

export interface Command {
  /** The lines of `countersign NAME --help`; the first is the usage. */
  usage: readonly string[];
  options: NonNullable<ParseArgsConfig['options']>;
  /** Fewest and most words it takes. */
  words: readonly [fewest: number, most: number];
  run(context: Context): Promise<number>;
}

/** Exit codes of DESIGN §8. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3 } as const;

/** A call that cannot be understood. Printed with the usage; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const JSON_OPTION = { json: { type: 'boolean' } } as const;
export const URL_OPTION = { url: { type: 'string' } } as const;

/** Reads the arguments of one command strictly: whatever it does not know is a {@link UsageError}. */
export function readArguments(command: Command, args: readonly string[]): Given & { help: boolean } {
  const { values, positionals } = parse(command, args);
  const help = values['help'] === true;
  const [fewest, most] = command.words;
  if (!help && positionals.length < fewest) throw new UsageError('something is missing');
  if (!help && positionals.length > most) throw new UsageError(`one word too many: ${positionals[most] ?? ''}`);
  return {
    help,
    words: positionals,
    flag: (name) => values[name] === true,
    option: (name) => {
      const value = values[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

function parse(command: Command, args: readonly string[]): { values: Readonly<Record<string, unknown>>; positionals: string[] } {
  try {
    return parseArgs({
      args: [...args],
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    // Node's own text is clear up to its first full stop; the rest advises on its API.
    throw new UsageError(error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error));
  }
}

/** A whole number given as an option, within bounds. */
export function wholeNumber(name: string, text: string | undefined, otherwise: number, from: number, to: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < from || value > to) {
    throw new UsageError(`--${name} takes a whole number from ${from} to ${to}, not ${JSON.stringify(text)}`);
  }
  return value;
}

/** A list as `a,b,c`, without empty members. */
export function commaList(name: string, text: string | undefined): string[] | null {
  if (text === undefined) return null;
  const members = text.split(',').map((member) => member.trim());
  if (members.some((member) => member === '')) throw new UsageError(`--${name} takes names with commas between them, like a,b`);
  return members;
}
