/** Decides which Postgres the tests run against, and says so. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbedded } from '../../src/db/embedded.js';

export interface TestServer {
  adminUrl: string;
  /** Which one it is, for people. */
  label: string;
  /** `keep` leaves the data of a server of our own behind, for whoever looks at a failed test. */
  stop(keep: boolean): Promise<void>;
}

/** Enough for every file's pools at once and 64 callers in one of them. */
const SETTINGS = { max_connections: '300' };

export async function startTestServer(say: (line: string) => void): Promise<TestServer> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) return { adminUrl: given, label: 'the server of TEST_DATABASE_URL', stop: async () => undefined };
  const native = process.env['TEST_POSTGRES_NATIVE'];
  if (native) return startEmbeddedServer('embedded Postgres of TEST_POSTGRES_NATIVE', native);
  const reason = await whyNoDocker();
  if (reason === null) return startContainer();
  say(`no container: ${reason}`);
  return startEmbeddedServer('embedded Postgres');
}

async function whyNoDocker(): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)('docker', ['info', '--format', '{{.ServerVersion}}'], { timeout: 10_000 });
    return stdout.trim() === '' ? 'no Docker engine answers' : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'docker is not installed' : 'no Docker engine answers';
  }
}

async function startContainer(): Promise<TestServer> {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const container = await new PostgreSqlContainer('postgres:18').withCommand(['postgres', '-c', 'fsync=off', ...settings]).start();
  return {
    adminUrl: container.getConnectionUri(),
    label: 'a postgres:18 container',
    stop: async () => { await container.stop(); },
  };
}

async function startEmbeddedServer(label: string, native?: string): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  const server = await startEmbedded({ dataDir, durable: false, settings: SETTINGS, ...(native ? { native } : {}) });
  return {
    adminUrl: server.adminUrl(),
    label: `${label} in ${dataDir}`,
    async stop(keep) {
      await server.stop();
      if (!keep) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
