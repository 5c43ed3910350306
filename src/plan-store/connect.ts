/** Typed calls of the database's functions over one login, for programs that need no store. */
import { createApprover, createAuditor, createClient, createHost, type Approver, type Auditor, type Client, type Host } from '../client.js';
import { createListener, type PlanListener } from '../db/notify.js';
import { createSteadyPool } from '../db/steady-pool.js';
import type { createViews } from '../views.js';

export interface Connection {
  /** For members of countersign_agent. */
  agent: Client;
  host: Host;
  /** For members of countersign_approver. */
  approver: Approver;
  /** For members of countersign_auditor. */
  auditor: Auditor;
  views: ReturnType<typeof createViews>;
  /** Wakes whoever waits for a decision; connects on first use. */
  listener(): PlanListener;
  close(): Promise<void>;
}

/** Opens a pool for a login; what the login may not do, Postgres refuses (42501). No connection is made before the first call. */
export async function connect(url: string, options: { max?: number; log?: (line: string) => void } = {}): Promise<Connection> {
  const { createViews } = await import('../views.js');
  const pool = createSteadyPool({ url, applicationName: 'countersign library', agent: false, ...options });
  let listener: PlanListener | null = null;
  return {
    agent: createClient(pool.query), host: createHost(pool.query), approver: createApprover(pool.query), auditor: createAuditor(pool.query), views: createViews(pool.query),
    listener: () => (listener ??= createListener(url, options.log)),
    async close() {
      await listener?.close();
      await pool.end();
    },
  };
}
