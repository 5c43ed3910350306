import { join } from 'node:path';
import { createDatabaseStore } from '../approvals/database-store.js';
import { createSessions } from '../approvals/sessions.js';
import { databaseKey } from '../approvals/sharing.js';
import { startApprovalServer, type ApprovalServer } from '../approvals/start.js';
import { defaultDataDir } from '../db/embedded-folders.js';
import type { Config } from '../config.js';

export interface PageOptions {
  /** The approver's address; with sign-in by database login any address of the database, whose login is not used. */
  address: string;
  config: Pick<Config, 'approvalLogin' | 'approvalPort' | 'dataDir'>;
  env: NodeJS.ProcessEnv;
  log(line: string): void;
}

/** Starts the approval page of this process, or joins the one another process serves on the same database. */
export async function openApprovalPage({ address, config, env, log }: PageOptions): Promise<ApprovalServer> {
  const sharing = { folder: join(config.dataDir ?? defaultDataDir(env), 'approvals'), key: databaseKey(address, config.approvalLogin) };
  // Who may decide may see what about, as by psql; a host that shows its own page says otherwise if it wants.
  const options = { port: config.approvalPort, sharing, log, exposeRawPayload: true };
  if (config.approvalLogin === 'database') return startApprovalServer(null, { ...options, sessions: createSessions(address) });
  const store = createDatabaseStore({ url: address, log });
  const server = await startApprovalServer(store, options).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return {
    address: server.address,
    openUrl: () => server.openUrl(),
    get url() { return server.url; },
    get port() { return server.port; },
    get shared() { return server.shared; },
    async close() {
      await server.close();
      await store.close();
    },
  };
}
