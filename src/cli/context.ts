import { loadConfig, type Config, type LogLevel } from '../config.js';
import type { Context, Given } from './command.js';
import type { Io } from './io.js';
import { createLogins } from './logins.js';

export interface PrepareOptions {
  io: Io;
  /** Absolute path of dist/cli.js. */
  cli: string;
  version: string;
  given: Given;
}

/** Reads the environment and makes what every command works with. Opens nothing yet. */
export function prepare({ io, cli, version, given }: PrepareOptions): { context: Context; close(): Promise<void> } {
  const config = loadConfig(io.env);
  const log = logAt(io, config.logLevel);
  const logins = createLogins({
    addresses: {
      agent: config.databaseUrl ?? null,
      reader: config.readerUrl ?? null,
      approver: config.approverUrl ?? null,
      admin: config.adminUrl ?? null,
    },
    dataDir: config.dataDir ?? null,
    // A person who lists what waits is not interested in how the embedded database came up.
    log: (line) => log('debug', line),
    notice: (line) => log('info', line),
  });
  const context: Context = {
    ...given,
    io,
    logins,
    config,
    version,
    log,
    program: { node: process.execPath, cli },
  };
  return { context, close: () => logins.close() };
}

const RANK: Readonly<Record<LogLevel, number>> = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 };

/** Diagnostics on stderr, as far as COUNTERSIGN_LOG_LEVEL lets them. */
function logAt(io: Io, level: Config['logLevel']): Context['log'] {
  return (at, line) => {
    if (RANK[at] <= RANK[level]) io.err(`countersign: ${line}\n`);
  };
}
