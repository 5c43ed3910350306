import { DEFAULT_SEED } from '../../demo/seed.js';
import { wholeNumber, type Command } from '../command.js';

/** The whole story on an embedded Postgres. */
export const demo: Command = {
  usage: [
    'countersign demo [--yes] [--seed N]',
    '',
    '--yes     a scripted human decides, and the demo ends by itself',
    `--seed N  other people, products and orders (default ${DEFAULT_SEED})`,
    '',
    'Uses the embedded database only. Run it as often as you like: it puts the shop',
    'back as it was first.',
  ],
  options: { yes: { type: 'boolean', short: 'y' }, seed: { type: 'string' } },
  words: [0, 0],
  async run({ io, flag, option, program, logins, config }) {
    const seed = wholeNumber('seed', option('seed'), DEFAULT_SEED, 0, Number.MAX_SAFE_INTEGER);
    // Loaded here, so that no other command waits for the MCP client.
    const { runDemo } = await import('../demo/demo.js');
    const interrupt = new AbortController();
    const abort = (): void => interrupt.abort();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, abort);
    return runDemo({
      io, seed, yes: flag('yes'), dataDir: config.dataDir ?? null, pagePort: config.approvalPage ? config.approvalPort : null, ...program,
      databaseConfigured: !logins.embedded, signal: interrupt.signal,
    });
  },
};
