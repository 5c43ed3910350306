/** The port of an embedded server: its own for good, and never one the system hands out by itself. */
import { randomInt } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Folders } from './embedded-folders.js';

export const HOST = '127.0.0.1';

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** The port of last time, so that addresses given to clients stay good; else one below the range systems hand out by themselves. */
export async function choosePort(folders: Folders, avoid: Set<number>): Promise<number> {
  const remembered = rememberedPort(folders);
  if (remembered !== null && !avoid.has(remembered) && await isFree(remembered)) return remembered;
  for (;;) {
    const port = randomInt(15_000, 32_000);
    if (!avoid.has(port) && await isFree(port)) return port;
  }
}

function rememberedPort(folders: Folders): number | null {
  try {
    return (JSON.parse(readFileSync(folders.state, 'utf8')) as { port: number }).port;
  } catch {
    return null;
  }
}

/** Writes the port down for the next start. */
export function rememberPort(folders: Folders, port: number): void {
  writeFileSync(`${folders.state}.new`, JSON.stringify({ port }), { mode: 0o600 });
  renameSync(`${folders.state}.new`, folders.state);
}
