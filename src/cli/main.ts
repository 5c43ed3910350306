import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageRoot } from '../db/install.js';
import { EXIT, readArguments, UsageError, type Command } from './command.js';
import { allow, revoke } from './commands/allow.js';
import { audit, verify } from './commands/audit.js';
import { clientConfig } from './commands/client-config.js';
import { approve, reject } from './commands/decide.js';
import { demo } from './commands/demo.js';
import { doctor } from './commands/doctor.js';
import { install } from './commands/install.js';
import { executing, pending } from './commands/pending.js';
import { policy } from './commands/policy.js';
import { serve } from './commands/serve.js';
import { show } from './commands/show.js';
import { prepare } from './context.js';
import { failureOf, printRefusal, printUsage } from './failure.js';
import type { Io } from './io.js';

const COMMANDS: readonly Command[] = [
  serve, demo, install, allow, revoke, policy, pending, show, approve, reject, executing, audit, verify, doctor, clientConfig,
];

/**
 * Runs one command line and resolves to its exit code; never throws.
 *
 * @param args what followed the program's name
 * @param cli absolute path of dist/cli.js, for configurations and for starting servers
 */
export async function main(args: readonly string[], io: Io, cli: string): Promise<number> {
  const [first = 'serve', ...rest] = args;
  if (first === '--version' || first === '-v') return print(io, `${packageVersion()}\n`);
  if (first === '--help' || first === '-h' || first === 'help') return print(io, overview());
  // Options without a command belong to the default one.
  const command = first.startsWith('-') ? serve : COMMANDS.find((known) => known.name === first);
  if (command === undefined) {
    printUsage(io, new UsageError(`there is no command ${JSON.stringify(first)}`), ['countersign --help lists them.']);
    return EXIT.usage;
  }
  return runCommand(command, command === serve && first.startsWith('-') ? args : rest, io, cli);
}

async function runCommand(command: Command, args: readonly string[], io: Io, cli: string): Promise<number> {
  try {
    const given = readArguments(command, args);
    if (given.help) return print(io, `${command.summary}\n\n${command.usage.join('\n')}\n`);
    const { context, close } = prepare({ io, cli, version: packageVersion(), given });
    try {
      return await command.run(context);
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof UsageError) {
      printUsage(io, error, command.usage);
      return EXIT.usage;
    }
    const { refusal, exit } = failureOf(error);
    printRefusal(io, refusal, args.includes('--json'));
    return exit;
  }
}

function print(io: Io, text: string): number {
  io.out(text);
  return EXIT.done;
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    'countersign: an agent proposes, Postgres enforces, a human countersigns',
    '',
    'countersign COMMAND [options]      countersign COMMAND --help for one command',
    '',
    ...COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}${name === 'serve' ? ' (the default)' : ''}`),
    '',
    'Addresses come from the environment:',
    '  COUNTERSIGN_DATABASE_URL (or DATABASE_URL)         the agent\'s login',
    '  COUNTERSIGN_READER_URL (or DATABASE_URL_READONLY)  the agent\'s reads',
    '  COUNTERSIGN_APPROVER_URL                           the human who decides',
    '  COUNTERSIGN_ADMIN_URL                              install, allow, policy',
    'With none of them an embedded Postgres is started, for trying and developing.',
    '',
    'Exit codes: 0 done, 1 refused, 2 usage, 3 database unreachable.',
    '',
  ].join('\n');
}

function packageVersion(): string {
  const text = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
