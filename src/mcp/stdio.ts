import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import type { ServerDependencies } from './dependencies.js';
import { createServers } from './server.js';
import { createStartupCheck } from './startup-check.js';
import { createLineTransport, type HiddenProblems } from './transport.js';

/** How long a start waits for the checks before it serves without them; the tools then wait for them. */
const CHECK_FIRST_MS = 1500;
/** How long the end waits for the pools; Postgres ends the sessions of a process that is gone by itself. */
const CLOSE_MS = 500;

export interface Streams {
  input: Readable;
  output: Writable;
}

/** Resolves at the first signal that asks the process to end. */
function askedToEnd(): { asked: Promise<void>; forget(): void } {
  let end = (): void => {};
  const asked = new Promise<void>((resolve) => {
    end = resolve;
  });
  process.on('SIGTERM', end).on('SIGINT', end);
  return { asked, forget: () => void process.off('SIGTERM', end).off('SIGINT', end) };
}

async function closeAll({ agent, reader, listener }: ServerDependencies): Promise<void> {
  await Promise.race([Promise.allSettled([agent.end(), reader.end(), listener.close()]), after(CLOSE_MS)]);
}

/**
 * Serves MCP on stdio until stdin ends or the process is asked to end, then closes the pools.
 *
 * The checks come first, so that a setting that would void a promise stops the start; a database that is away does
 * not: the tools answer DATABASE_UNAVAILABLE until it is back and has passed the checks.
 *
 * @returns the exit code: 0, or 1 when a check said not to run here (its lines are logged). The caller ends the process.
 */
export async function startServer(
  dependencies: ServerDependencies,
  { input, output }: Streams = { input: process.stdin, output: process.stdout },
): Promise<number> {
  const check = createStartupCheck(dependencies);
  const signals = askedToEnd();
  const refused = check.fatal.then((lines) => lines.forEach((line) => dependencies.log(line))).then(() => 1);
  await Promise.race([check.ready().catch((error: Error) => dependencies.log(error.message)), after(CHECK_FIRST_MS), signals.asked]);
  let code = await Promise.race([refused, after(0).then(() => 0)]);
  if (code === 0) code = await serve(dependencies, check.ready, refused, signals.asked, { input, output });
  await closeAll(dependencies);
  signals.forget();
  return code;
}

async function serve(
  dependencies: ServerDependencies,
  ready: () => Promise<void>,
  refused: Promise<number>,
  asked: Promise<void>,
  { input, output }: Streams,
): Promise<number> {
  const problems: HiddenProblems = new Map();
  const servers = createServers(dependencies, ready, problems);
  const transport = createLineTransport({ input, output, problems, answerDropped: servers.answerDropped });
  const closed = new Promise<number>((resolve) => {
    transport.onfinish = () => resolve(0);
  });
  const handle = serveStdio(servers.build, { transport, onerror: (error) => dependencies.log(`MCP: ${error.message}`) });
  const code = await Promise.race([closed, asked.then(() => 0), refused.then((exit) => after(200).then(() => exit))]);
  await handle.close();
  return code;
}
