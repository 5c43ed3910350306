import { setTimeout as after } from 'node:timers/promises';
import type { Streams } from './connection.js';
import type { ServerDependencies } from './dependencies.js';
import { createStartupCheck } from './startup-check.js';

/** How long a start waits for the checks before it serves without them; the tools then wait for them. */
const CHECK_FIRST_MS = 5000;
/** How long the end waits for the pools; Postgres ends the sessions of a process that is gone by itself. */
const CLOSE_MS = 500;

/** Resolves at the first signal that asks the process to end. */
function askedToEnd(): { asked: Promise<number>; forget(): void } {
  let end = (): void => {};
  const asked = new Promise<number>((resolve) => {
    end = () => resolve(0);
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
  streams: Streams = { input: process.stdin, output: process.stdout },
): Promise<number> {
  const check = createStartupCheck(dependencies);
  const signals = askedToEnd();
  let fatal = false;
  const refused = check.fatal.then((lines) => {
    fatal = true;
    lines.forEach((line) => dependencies.log(line, 'error'));
    return 1;
  });
  // Said once: what ends the process is in the lines above.
  const checked = check.ready().catch((error: Error) => fatal || dependencies.log(error.message));
  // The SDK takes longer to load than the database to answer; so the one goes on while the other is awaited.
  const loading = import('./connection.js');
  await Promise.race([checked, after(CHECK_FIRST_MS), signals.asked]);
  const { serveConnection } = await loading;
  let code = await Promise.race([refused, after(0).then(() => 0)]);
  if (code === 0) code = await serveConnection(dependencies, check.ready, Promise.race([refused, signals.asked]), streams);
  await closeAll(dependencies);
  signals.forget();
  return code;
}

