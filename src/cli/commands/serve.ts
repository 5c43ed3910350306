import { setTimeout as after } from 'node:timers/promises';
import { connectionTargets, withoutLogin } from '../../address.js';
import { serverLogins } from '../../config.js';
import { connectFirst } from '../../db/connect.js';
import { createListener } from '../../db/notify.js';
import { createCallPool } from '../../db/pool.js';
import type { ApprovalServer } from '../../approvals/start.js';
import type { ServerDependencies } from '../../mcp/dependencies.js';
import type { Command, Context } from '../command.js';

const CLOSE_MS = 500;

/** The MCP server on stdio. stdout carries the protocol and nothing else. */
export const serve: Command = {
  usage: ['countersign serve', '', 'Meant to be started by an MCP client; countersign client-config prints how.'],
  options: {},
  words: [0, 0],
  async run(context) {
    if (context.io.interactive) context.io.err('Waiting for an MCP client on stdin. countersign --help lists the other commands.\n');
    const { startServer } = await import('../../mcp/stdio.js');
    const logins = serverLogins(context.config) ?? await embeddedLogins(context);
    const page = startPage(context, logins);
    try {
      return await startServer({ ...dependencies(context, logins), approvalPage: page.address });
    } finally {
      await page.close();
    }
  },
};

interface ServerLogins {
  databaseUrl: string;
  readerUrl: string;
  /** The embedded database's approver; elsewhere the environment names it, or there is none. */
  approverUrl?: string;
}

/** The page comes up beside the server, which never waits for it: without a page people decide by psql. */
function startPage({ config, io, log, logins }: Context, { databaseUrl, approverUrl }: ServerLogins): { address(): string | null; close(): Promise<void> } {
  const own = logins.addresses.approver ?? approverUrl ?? null;
  const address = config.approvalLogin === 'database' ? (own ?? databaseUrl) : own;
  if (!config.approvalPage || address === null) return { address: () => null, close: async () => undefined };
  let running: ApprovalServer | null = null;
  const starting = import('../approval-page.js')
    .then(({ openApprovalPage }) => openApprovalPage({ address, config, env: io.env, log: (line) => log('warn', line) }))
    .then((page) => {
      running = page;
      log('info', `approval page: ${page.url}`);
    })
    .catch((error: Error) => log('warn', `there is no approval page: ${error.message}`));
  return {
    address: () => running?.address ?? null,
    async close() {
      // A client waits for the end of this process; a database that does not answer must not hold it up.
      await Promise.race([starting.then(() => running?.close()), after(CLOSE_MS)]);
    },
  };
}

async function embeddedLogins({ logins, log }: Context): Promise<ServerLogins> {
  const database = await logins.openEmbedded();
  log('info', `no database address is set: using the embedded Postgres in ${database.server.dataDir}, for trying and developing`);
  const { seedIfEmpty } = await import('../../demo/seed.js');
  const client = await connectFirst(database.adminUrl, 'countersign serve seed');
  try {
    if (await seedIfEmpty(client)) log('info', 'made the demo shop');
  } finally {
    await client.end();
  }
  return { databaseUrl: database.agentUrl, readerUrl: database.readerUrl, approverUrl: database.approverUrl };
}

function dependencies({ config, version, log }: Context, { databaseUrl, readerUrl }: ServerLogins): ServerDependencies {
  const warn = (line: string): void => log('warn', line);
  const agent = createCallPool({ url: databaseUrl, applicationName: 'countersign', log: warn });
  const reader = createCallPool({
    url: readerUrl, applicationName: 'countersign reader', defaults: () => agent.sessionDefaults(), log: warn,
  });
  return {
    version,
    callerId: config.callerId ?? null,
    holdSeconds: config.holdSeconds,
    readerRole: loginOf(readerUrl),
    agent,
    reader,
    listener: createListener(databaseUrl, warn),
    installCommand: `COUNTERSIGN_ADMIN_URL='${withoutLogin(databaseUrl)}' countersign install`,
    log: (line, level = 'info') => log(level, line),
  };
}

/** The role an address signs in with; libpq falls back to the system's user. */
function loginOf(address: string): string {
  const url = connectionTargets(address)[0]?.url ?? address;
  const user = /^[a-z]+:\/\/([^:@/?#]*)(?::[^@/?#]*)?@/.exec(url)?.[1] ?? new URLSearchParams(url.split('?')[1] ?? '').get('user') ?? '';
  return user === '' ? (process.env['PGUSER'] ?? process.env['USER'] ?? '') : decodeURIComponent(user);
}
