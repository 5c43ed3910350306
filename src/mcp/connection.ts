import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import type { ServerDependencies } from './dependencies.js';
import { createServers } from './server.js';
import { createLineTransport, type HiddenProblems } from './transport.js';

/** A call that is being refused for a failed check still gets its answer out. */
const LAST_WORDS_MS = 200;

export interface Streams {
  input: Readable;
  output: Writable;
}

/**
 * Serves one client, of either protocol era, until its input ends or `told` resolves.
 * @returns the exit code: 0, or what `told` resolved to.
 */
export async function serveConnection(
  dependencies: ServerDependencies,
  ready: () => Promise<void>,
  told: Promise<number>,
  { input, output }: Streams,
): Promise<number> {
  const problems: HiddenProblems = new Map();
  const servers = createServers(dependencies, ready, problems);
  const transport = createLineTransport({ input, output, problems, answerDropped: servers.answerDropped });
  const closed = new Promise<number>((resolve) => {
    transport.onfinish = () => resolve(0);
  });
  const handle = serveStdio(servers.build, { transport, onerror: (error) => dependencies.log(`MCP: ${error.message}`) });
  const code = await Promise.race([closed, told.then((exit) => after(exit === 0 ? 0 : LAST_WORDS_MS, exit))]);
  await handle.close();
  return code;
}
