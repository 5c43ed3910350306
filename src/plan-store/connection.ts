/** Where a store's plans live, and by which logins it is reached. */
import { createApprover, createHost, type Approver, type Host, type Outcome, type Query } from '../client.js';
import { createDatabaseStore } from '../approvals/database-store.js';
import type { ApprovalStore } from '../approvals/store.js';
import { createAnnouncer, type Announcer } from './announcer.js';
import { createListener, type PlanListener } from '../db/notify.js';
import { createSteadyPool } from '../db/steady-pool.js';
import type { createViews } from '../views.js';

/** As much of a `pg` pool as is used. */
export interface QueryablePool {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

export interface EmbeddedChoice {
  /** Default: the same folder as every embedded Countersign of this user. */
  dataDir?: string;
  /** Default `shop`. */
  database?: string;
}

export interface ConnectionOptions {
  /** Address of the host's login, a member of `countersign_agent`. */
  databaseUrl?: string;
  /** A `pg` pool of yours with that login instead; give `databaseUrl` too if waiting shall be woken by NOTIFY instead of asking every second. */
  pool?: QueryablePool;
  /** The embedded Postgres (for trying and developing): started or joined, with everything installed and all logins made. */
  embedded?: boolean | EmbeddedChoice;
  /** Address of an approver's login. Without it the store cannot approve, reject or settle; a human does that elsewhere. */
  approverUrl?: string;
  /** Connections at most. Default 10. */
  max?: number;
  /** Lines for a person. */
  log?: (line: string) => void;
}

export interface StoreConnection {
  host: Host;
  /** Null without an approver's login. */
  approver: Approver | null;
  views: ReturnType<typeof createViews> | null;
  /** What the approval page needs; null without an approver's login. Connects on first use. */
  approvals(): ApprovalStore | null;
  /** Connects on first use. */
  listener(): PlanListener;
  close(): Promise<void>;
}

const ASK_AGAIN_MS = 1_000;

/** For a pool without an address: nothing to LISTEN on, so whoever waits asks again every second. */
export function createPoller(): PlanListener {
  return {
    mark: () => 0,
    waitFor: (_planToken, { signal, timeoutMs = ASK_AGAIN_MS } = {}) => new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const quit = (): void => { clearTimeout(timer); reject(signal?.reason as Error); };
      const timer = setTimeout(() => { signal?.removeEventListener('abort', quit); resolve(); }, Math.min(timeoutMs, ASK_AGAIN_MS));
      signal?.addEventListener('abort', quit, { once: true });
    }),
    on: () => () => undefined,
    close: async () => undefined,
  };
}

interface Addresses { agent: string | undefined; approver: string | undefined; stop(): Promise<void> }

async function addresses(options: ConnectionOptions): Promise<Addresses> {
  const { databaseUrl, pool, embedded, approverUrl, log } = options;
  if (!embedded) {
    // Never the embedded database for want of an address: a variable that is not set must not move plans somewhere else.
    if (databaseUrl === undefined && pool === undefined) throw new TypeError('PlanStore needs databaseUrl, pool, or embedded: true');
    return { agent: databaseUrl, approver: approverUrl, stop: async () => undefined };
  }
  if (databaseUrl !== undefined || pool !== undefined) throw new TypeError('PlanStore takes either databaseUrl or pool, or embedded');
  const { ensureEmbedded } = await import('../db/embedded.js');
  const database = await ensureEmbedded({ ...(embedded === true ? {} : embedded), ...(log ? { log } : {}) });
  return { agent: database.agentUrl, approver: approverUrl ?? database.approverUrl, stop: database.stop };
}

/** What waits for a human wakes pages once it is stored. */
function announcingHost(host: Host, announcer: Announcer | null): Host {
  if (announcer === null) return host;
  return {
    ...host,
    async createHostPlan(plan) {
      const outcome = await host.createHostPlan(plan);
      if (outcome.detail?.['status'] === 'awaiting_approval') announcer.announce(String(outcome.detail['plan_token']));
      return outcome;
    },
  };
}

/** A decision wakes whoever waits for it once it is stored. */
function announcing(approver: Approver, announcer: Announcer): Approver {
  const after = async (decided: Promise<Outcome>): Promise<Outcome> => {
    const outcome = await decided;
    if (outcome.ok && outcome.detail !== null) announcer.announce(String(outcome.detail['plan_token']));
    return outcome;
  };
  return {
    ...approver,
    approve: (...call) => after(approver.approve(...call)),
    reject: (...call) => after(approver.reject(...call)),
  };
}

/** Opens what the options name. Nothing is asked of the database yet. */
export async function openConnection(options: ConnectionOptions): Promise<StoreConnection> {
  const { agent, approver, stop } = await addresses(options);
  const common = { ...(options.log ? { log: options.log } : {}), ...(options.max === undefined ? {} : { max: options.max }) };
  const own = options.pool === undefined ? createSteadyPool({ url: agent ?? '', applicationName: 'countersign host', agent: true, announceLater: true, ...common }) : null;
  const { pool } = options;
  const query: Query = pool === undefined ? (text, values) => own?.query(text, values) ?? Promise.resolve([]) : async (text, values = []) => (await pool.query(text, [...values])).rows;
  const deciders = approver === undefined ? null : createSteadyPool({ url: approver, applicationName: 'countersign host approver', agent: false, announceLater: true, ...common });
  // Loaded only where somebody decides: a host that does not starts in half the time.
  const views = deciders === null ? null : (await import('../views.js')).createViews(deciders.query);
  const address = agent ?? approver;
  // A pool of the host's own has sessions of its own, which notify as they are.
  const announcer = own === null ? null : createAnnouncer(own.query);
  const deciderAnnouncer = deciders === null ? null : createAnnouncer(deciders.query);
  let listener: PlanListener | null = null;
  let approvals: ReturnType<typeof createDatabaseStore> | null = null;
  return {
    approvals: () => (approvals ??= approver === undefined ? null : createDatabaseStore({ url: approver, ...(options.log ? { log: options.log } : {}) })),
    host: announcingHost(createHost(query), announcer),
    approver: deciders === null || deciderAnnouncer === null ? null : announcing(createApprover(deciders.query), deciderAnnouncer),
    views,
    listener: () => (listener ??= address === undefined ? createPoller() : createListener(address, options.log)),
    async close() {
      await Promise.all([listener?.close(), approvals?.close()]);
      await Promise.all([announcer?.close(), deciderAnnouncer?.close()]);
      await Promise.all([own?.end(), deciders?.end()]);
      await stop();
    },
  };
}
