import { readFileSync } from 'node:fs';

import { EXIT, readArguments, UsageError, type Command } from './command.js';
import { prepare } from './context.js';
import { failureOf, printRefusal, printUsage } from './failure.js';
import type { Io } from './io.js';

interface Entry {
  name: string;
  /** One line for `countersign --help`. */
  summary: string;
  /** Loaded when called: a server that an MCP client starts must answer at once, and needs none of the others. */
  load(): Promise<Command>;
}

const SERVE: Entry = { name: 'serve', summary: 'the MCP server on stdio (the default)', load: async () => (await import('./commands/serve.js')).serve };

const ENTRIES: readonly Entry[] = [
  SERVE,
  { name: 'demo', summary: 'see it work: embedded Postgres, a shop, a scripted agent', load: async () => (await import('./commands/demo.js')).demo },
  { name: 'install', summary: 'put the backend into a database, or upgrade it', load: async () => (await import('./commands/install.js')).install },
  { name: 'allow', summary: 'let the agent read or write tables, or call functions', load: async () => (await import('./commands/allow.js')).allow },
  { name: 'revoke', summary: 'take tables or functions off the allowlist again', load: async () => (await import('./commands/allow.js')).revoke },
  { name: 'policy', summary: 'show the policy, or set one of its values', load: async () => (await import('./commands/policy.js')).policy },
  { name: 'approvals', summary: 'the approval page alone; --open opens it', load: async () => (await import('./commands/approvals.js')).approvals },
  { name: 'pending', summary: 'list the plans that wait for a human', load: async () => (await import('./commands/pending.js')).pending },
  { name: 'show', summary: 'show one plan: statement, effects, rows before and after', load: async () => (await import('./commands/show.js')).show },
  { name: 'approve', summary: 'let a waiting plan run', load: async () => (await import('./commands/decide.js')).approve },
  { name: 'reject', summary: 'refuse a plan for good, and tell the agent why', load: async () => (await import('./commands/decide.js')).reject },
  { name: 'executing', summary: 'list host plans that began and were not settled', load: async () => (await import('./commands/pending.js')).executing },
  { name: 'settle', summary: 'say how a host plan ended that hangs in executing', load: async () => (await import('./commands/decide.js')).settle },
  { name: 'audit', summary: 'show the audit trail, newest last', load: async () => (await import('./commands/audit.js')).audit },
  { name: 'verify', summary: 'check the hash chains of the audit trail', load: async () => (await import('./commands/audit.js')).verify },
  { name: 'doctor', summary: 'check versions, logins, grants and clocks; say what to run', load: async () => (await import('./commands/doctor.js')).doctor },
  { name: 'client-config', summary: 'print the configuration for an MCP client', load: async () => (await import('./commands/client-config.js')).clientConfig },
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
  const isOption = first.startsWith('-');
  const entry = isOption ? SERVE : ENTRIES.find((known) => known.name === first);
  if (entry === undefined) {
    printUsage(io, new UsageError(`there is no command ${JSON.stringify(first)}`), ['countersign --help lists them.']);
    return EXIT.usage;
  }
  return runCommand(entry, isOption ? args : rest, io, cli);
}

async function runCommand({ summary, load }: Entry, args: readonly string[], io: Io, cli: string): Promise<number> {
  const command = await load();
  try {
    const given = readArguments(command, args);
    if (given.help) return print(io, `${summary}\n\n${command.usage.join('\n')}\n`);
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
  const width = Math.max(...ENTRIES.map(({ name }) => name.length));
  return [
    'countersign: an agent proposes, Postgres enforces, a human countersigns',
    '',
    'countersign COMMAND [options]      countersign COMMAND --help for one command',
    '',
    ...ENTRIES.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'Addresses come from the environment:',
    '  COUNTERSIGN_DATABASE_URL (or DATABASE_URL)         the agent\'s login',
    '  COUNTERSIGN_READER_URL (or DATABASE_URL_READONLY)  the agent\'s reads',
    '  COUNTERSIGN_APPROVER_URL                           the human who decides',
    '  COUNTERSIGN_ADMIN_URL                              install, allow, policy',
    'With none of them an embedded Postgres is started, for trying and developing.',
    '',
    'Also: COUNTERSIGN_DATA_DIR, COUNTERSIGN_APPROVAL_PORT (4319),',
    '  COUNTERSIGN_APPROVAL_PAGE=off, COUNTERSIGN_APPROVAL_LOGIN=database,',
    '  COUNTERSIGN_HOLD_SECONDS (45), COUNTERSIGN_CALLER_ID, COUNTERSIGN_LOG_LEVEL',
    '',
    'Exit codes: 0 done, 1 refused, 2 usage, 3 database unreachable.',
    '',
  ].join('\n');
}

/** From package.json, which lies above src/cli as well as dist/cli. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
