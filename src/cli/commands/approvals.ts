import { spawn } from 'node:child_process';
import { openApprovalPage } from '../approval-page.js';
import { EXIT, URL_OPTION, type Command, type Context } from '../command.js';

/** The approval page alone, until the process is asked to end. */
export const approvals: Command = {
  usage: [
    'countersign approvals [--open] [--url URL]',
    '',
    '--open  opens the page in your browser',
    '',
    'The page listens on 127.0.0.1 only. Where another Countersign serves it already,',
    'its address is printed (or opened) and the command ends.',
    'COUNTERSIGN_APPROVAL_LOGIN=database lets each human sign in with their own',
    'database login instead of a secret.',
  ],
  options: { open: { type: 'boolean' }, ...URL_OPTION },
  words: [0, 0],
  async run(context) {
    const { io, config, log } = context;
    const page = await openApprovalPage({ address: await addressOf(context), config, env: io.env, log: (line) => log('warn', line) });
    try {
      io.err(`${page.shared ? 'Another Countersign serves the page' : 'The approval page'}: ${page.url}\n`);
      io.out(`${page.address}\n`);
      if (context.flag('open') && !openBrowser(await page.openUrl())) io.err('No browser could be started; open the address yourself.\n');
      if (!page.shared) await askedToEnd();
      return EXIT.done;
    } finally {
      await page.close();
    }
  },
};

/** With sign-in by database login nobody's login is needed: any address of the database will do. */
async function addressOf({ logins, config, option }: Context): Promise<string> {
  const given = option('url');
  const { approver, agent } = logins.addresses;
  if (config.approvalLogin === 'database' && given === undefined && !logins.embedded && approver === null && agent !== null) return agent;
  return logins.address('approver', given);
}

function openBrowser(url: string): boolean {
  const [program, ...args] = process.platform === 'darwin' ? ['open', url] : process.platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler', url] : ['xdg-open', url];
  try {
    const child = spawn(program ?? '', args, { stdio: 'ignore', detached: true });
    child.on('error', () => undefined);
    child.unref();
    return child.pid !== undefined;
  } catch {
    return false;
  }
}

function askedToEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
}
