/** A server of its own for tests that kill, stop or restart it; the shared one must stay up for the others. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureEmbedded, type EmbeddedDatabase } from '../../src/db/embedded.js';

const running = new Set<() => Promise<void>>();

export interface OwnServer extends EmbeddedDatabase {
  /** As a crash of the machine would end it. It comes back by itself within about a second, on the same port. */
  kill(): void;
}

/** An embedded server with the `shop` database, backend and logins, unseeded; stopped and deleted after the file. */
export async function startOwnServer(options: { settings?: Record<string, string> } = {}): Promise<OwnServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-own-'));
  const native = process.env['TEST_POSTGRES_NATIVE'];
  const database = await ensureEmbedded({ dataDir, ...(options.settings ? { settings: options.settings } : {}), ...(native ? { native } : {}) });
  async function stop(): Promise<void> {
    running.delete(stop);
    await database.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
  running.add(stop);
  return { ...database, stop, kill: () => { process.kill(database.server.pid, 'SIGKILL'); } };
}

/** Called once after each test file. */
export async function stopOwnServers(): Promise<void> {
  await Promise.all([...running].map((stop) => stop()));
}
