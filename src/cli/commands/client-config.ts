import type { Config } from '../../config.js';
import { defaultDataDir } from '../../db/embedded.js';
import { EXIT, UsageError, type Command } from '../command.js';

const CLIENTS = ['claude-desktop', 'claude-code', 'cursor', 'vscode'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** What a client needs to start the server: nothing of it may depend on the client's working directory or PATH. */
export interface Launch {
  /** Absolute path of node. */
  node: string;
  /** Absolute path of dist/cli.js. */
  cli: string;
  env: Readonly<Record<string, string>>;
}

/** Prints the configuration of an MCP client. */
export const clientConfig: Command = {
  usage: [
    `countersign client-config ${CLIENTS.join('|')}`,
    '',
    'The configuration goes to stdout, where it belongs goes to stderr.',
  ],
  options: {},
  words: [1, 1],
  async run({ io, words, program, config, logins }) {
    const client = CLIENTS.find((known) => known === words[0]);
    if (client === undefined) throw new UsageError(`client-config knows ${CLIENTS.join(', ')}, not ${JSON.stringify(words[0])}`);
    io.out(`${JSON.stringify(configFor(client, { ...program, env: serverEnvironment(config, logins.embedded, io.env) }), null, 2)}\n`);
    io.err(`\n${whereFor(client).join('\n')}\n`);
    if (!logins.embedded) io.err(`${keepSecret(client).join('\n')}\n`);
    if (!logins.embedded && (config.databaseUrl === undefined || config.readerUrl === undefined)) {
      io.err('COUNTERSIGN_DATABASE_URL and COUNTERSIGN_READER_URL are not both set: add what is missing under "env".\n');
    }
    return EXIT.done;
  },
};

/** The configuration object of a client. */
export function configFor(client: ClientName, { node, cli, env }: Launch): Record<string, unknown> {
  const server = { command: node, args: [cli, 'serve'], env };
  switch (client) {
    case 'claude-desktop':
    case 'cursor':
      return { mcpServers: { countersign: server } };
    case 'claude-code':
      return { mcpServers: { countersign: { type: 'stdio', ...server } } };
    case 'vscode':
      return { servers: { countersign: { type: 'stdio', ...server } } };
  }
}

/** Where the configuration belongs. */
export function whereFor(client: ClientName): string[] {
  switch (client) {
    case 'claude-desktop':
      return [
        'Put it into claude_desktop_config.json and start Claude Desktop again:',
        '  macOS    ~/Library/Application Support/Claude/claude_desktop_config.json',
        '  Windows  %APPDATA%\\Claude\\claude_desktop_config.json',
        '  Linux    ~/.config/Claude/claude_desktop_config.json',
      ];
    case 'claude-code':
      return [
        'Put it into .mcp.json at the root of your project. For all your projects, give the',
        'object named "countersign" to: claude mcp add-json --scope user countersign \'{...}\'',
      ];
    case 'cursor':
      return [
        'Put it into mcp.json of Cursor:',
        '  one project   .cursor/mcp.json',
        '  all projects  ~/.cursor/mcp.json (Windows: %USERPROFILE%\\.cursor\\mcp.json)',
      ];
    case 'vscode':
      return ['Put it into .vscode/mcp.json of your project, or into what the command', '"MCP: Open User Configuration" opens, for all of them.'];
  }
}

/** What to do so that the passwords stay where they are. */
function keepSecret(client: ClientName): string[] {
  const kept = 'It holds the passwords of the agent\'s two logins: keep the file to yourself (chmod 600).';
  const file = PROJECT_FILES[client];
  return file === null ? [kept] : [kept, `Never commit it: in a project, add ${file} to .gitignore first, or use the place for all projects.`];
}

/** Where a client looks inside a project, and so where people commit it. */
const PROJECT_FILES: Readonly<Record<ClientName, string | null>> = {
  'claude-desktop': null, 'claude-code': '.mcp.json', cursor: '.cursor/mcp.json', vscode: '.vscode/mcp.json',
};

/**
 * The environment the server is to be started with: its two logins, or the embedded database's folder. Never a human's
 * or an administrator's login: a client's configuration is a file that agents with a shell can read.
 */
function serverEnvironment(config: Config, embedded: boolean, env: NodeJS.ProcessEnv): Record<string, string> {
  const all = {
    ...(embedded
      ? { COUNTERSIGN_DATA_DIR: config.dataDir ?? defaultDataDir(env) }
      : { COUNTERSIGN_DATABASE_URL: config.databaseUrl, COUNTERSIGN_READER_URL: config.readerUrl }),
    COUNTERSIGN_CALLER_ID: config.callerId,
    COUNTERSIGN_HOLD_SECONDS: env['COUNTERSIGN_HOLD_SECONDS'],
    COUNTERSIGN_APPROVAL_PORT: env['COUNTERSIGN_APPROVAL_PORT'],
    COUNTERSIGN_APPROVAL_LOGIN: env['COUNTERSIGN_APPROVAL_LOGIN'],
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
