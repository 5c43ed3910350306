/** The approval page of a process: its own, or the one another process on the same database already serves. */
import type { Outcome } from '../client.js';
import { CountersignError } from '../errors.js';
import { createCodes } from './codes.js';
import { createApp, type Gatekeeper, type RenderedPlan } from './app.js';
import { listenOnLoopback, PortTaken, type Listening } from './edge/listen.js';
import { createEdge, type EdgeLimits } from './edge/server.js';
import { sameSecret } from './guard.js';
import { createLiveHub, type LiveHub } from './live.js';
import type { Sessions } from './sessions.js';
import { isOurs, newSecret, proofOf, secretFile, type SecretFile } from './sharing.js';
import type { ApprovalStore, Decision, HasApprovals, PlanDetail } from './store.js';

export const DEFAULT_PORT = 4319;
const TAKE_OVER_MS = 2_000;

export interface ApprovalServerOptions {
  /** Port on loopback (default 4319); 0 for one the system assigns. Taken by something foreign, the system assigns one as well. */
  port?: number;
  /** The secret that opens the page; default 32 random bytes. At least 16 of the characters of base64url. */
  authToken?: string;
  /** False lets every process of this machine read and decide, so it is refused unless `acceptAnyLocalProcess` says it too. */
  requireAuth?: boolean;
  acceptAnyLocalProcess?: boolean;
  /** Facts a host adds to its plans: text, shown as text. Must not throw; if it does, the page shows the plan without. */
  renderPlan?: (plan: PlanDetail) => RenderedPlan;
  /** Told after a decision made on this page was recorded. Cannot change it. */
  onDecision?: (decision: Decision, outcome: Outcome) => void;
  /** Whether payloads of host plans are shown with their values. Default false: their shape. */
  exposeRawPayload?: boolean;
  /** Lets people sign in with their own database login instead of a secret. */
  sessions?: Sessions;
  /** Where the secret is kept for other processes, and by which name of the database; without it nothing is shared. */
  sharing?: { folder: string; key: string };
  limits?: Partial<EdgeLimits>;
  /** Lines for a person; never stdout. */
  log?: (line: string) => void;
}

export interface ApprovalServer {
  /** The page's address without any secret. */
  readonly address: string;
  /** An address that opens the page once, within a minute: for a browser that is started with it on its command line. */
  openUrl(): Promise<string>;
  /** The address to open, with the secret in its fragment, which browsers do not send. */
  readonly url: string;
  readonly port: number;
  /** True while another process serves the page; this one takes over when that one ends. */
  readonly shared: boolean;
  close(): Promise<void>;
}

function gatekeeperOf(store: ApprovalStore | null, secret: string, options: ApprovalServerOptions): Gatekeeper {
  const { sessions } = options;
  if (sessions !== undefined) {
    return {
      mode: 'database',
      find: (bearer) => (bearer === null ? null : sessions.find(bearer)),
      isLive: (bearer) => bearer !== null && sessions.isLive(bearer),
      signIn: (user, password) => sessions.signIn(user, password),
      signOut: (bearer) => sessions.signOut(bearer),
    };
  }
  const open = options.requireAuth === false;
  const passes = (bearer: string | null): boolean => open || (bearer !== null && sameSecret(bearer, secret));
  return { mode: open ? 'open' : 'token', find: (bearer) => (passes(bearer) ? store : null), isLive: passes };
}

function checkOptions({ requireAuth, acceptAnyLocalProcess, authToken }: ApprovalServerOptions): void {
  if (requireAuth === false && acceptAnyLocalProcess !== true) {
    throw new CountersignError('INVALID_ARGUMENTS', 'requireAuth: false would let every process of this machine approve, the agent\'s included.',
      'Leave it out. If that is really meant, add acceptAnyLocalProcess: true.');
  }
  if (authToken !== undefined && !/^[A-Za-z0-9_-]{16,512}$/.test(authToken)) {
    throw new CountersignError('INVALID_ARGUMENTS', 'authToken must be 16 to 512 characters of A-Z, a-z, 0-9, - and _.', 'Leave it out: a random one is made.');
  }
}

export interface UnboundServer {
  listen(port: number): Promise<Listening>;
  close(): Promise<void>;
}

/** The page without a port: `listen` binds it, more than once if need be. */
export function createApprovalServer(store: ApprovalStore | null, options: ApprovalServerOptions & { secret: string }): UnboundServer {
  checkOptions(options);
  const log = options.log ?? (() => undefined);
  let listening: Listening | null = null;
  const live: LiveHub = createLiveHub();
  const gatekeeper = gatekeeperOf(store, options.secret, options);
  const codes = gatekeeper.mode === 'token' ? createCodes(options.secret) : null;
  const app = createApp({
    gatekeeper, live, codes, log,
    port: () => listening?.port ?? 0,
    proof: (challenge) => (options.sharing === undefined || listening === null ? null : proofOf(options.secret, challenge, listening.port)),
    renderPlan: options.renderPlan, onDecision: options.onDecision, exposeRawPayload: options.exposeRawPayload ?? false,
  });
  return {
    async listen(port) {
      const edge = createEdge(app, log, { headersMs: 4_000, requestMs: 8_000, connections: 64, ...options.limits });
      return (listening = await listenOnLoopback(edge, port));
    },
    async close() {
      live.close();
      await listening?.close();
      await options.sessions?.close();
    },
  };
}

/** The secret of the Countersign on that port, or null when it is something else. */
async function secretOfOther(file: SecretFile | null, port: number): Promise<string | null> {
  // It may have taken the port this instant and be about to write its file.
  for (let attempt = 1; file !== null && attempt <= 5; attempt++) {
    const secret = file.read();
    if (secret !== null && await isOurs(port, secret)) return secret;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return null;
}

/**
 * Starts the page, or joins the one that is there. The store stays the caller's to close.
 *
 * @param of a PlanStore opened with an approver's login, a store of your own, or null where people sign in with theirs (`sessions`)
 * @throws CountersignError INVALID_ARGUMENTS for options that would open the page to everybody, APPROVAL_UNAVAILABLE for a PlanStore without an approver's login
 */
export async function startApprovalServer(of: ApprovalStore | HasApprovals | null, options: ApprovalServerOptions = {}): Promise<ApprovalServer> {
  checkOptions(options);
  const store = of !== null && 'approvals' in of ? of.approvals : of;
  const wanted = options.port ?? DEFAULT_PORT;
  const { sharing } = options;
  const fileFor = (port: number): SecretFile | null => (sharing === undefined ? null : secretFile(sharing.folder, sharing.key, port));
  const secret = options.authToken ?? newSecret();
  const own = createApprovalServer(store, { ...options, secret });
  let theirs: string | null = null;
  let listening: Listening | null = null;
  let port = wanted;

  const bind = async (at: number): Promise<void> => {
    listening = await own.listen(at);
    port = listening.port;
    fileFor(port)?.write(secret);
    theirs = null;
  };
  try {
    await bind(wanted);
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    theirs = await secretOfOther(fileFor(wanted), wanted);
    if (theirs === null) {
      options.log?.(`port ${wanted} is taken by something that is no Countersign of this database; the page gets another one`);
      await bind(0);
    }
  }
  // With a secret of its own: whoever was faster on the free port may have been sent the other one by an open tab.
  const takeOver = listening === null ? setInterval(() => {
    bind(wanted).then(() => {
      clearInterval(takeOver);
      options.log?.(`this process serves the approval page now; open it again: ${urlOf()}`);
    }, () => undefined);
  }, TAKE_OVER_MS).unref() : undefined;

  const address = `http://127.0.0.1:${port}/`;
  const needsNone = options.sessions !== undefined || options.requireAuth === false;
  const urlOf = (): string => (needsNone ? address : `${address}#token=${theirs ?? secret}`);
  return {
    address,
    get url() { return urlOf(); },
    async openUrl() {
      if (needsNone) return address;
      if (theirs !== null && !await isOurs(port, theirs)) {
        throw new CountersignError('APPROVAL_UNAVAILABLE', 'The process that served the page is gone.', 'Try again in a moment: this one takes over.');
      }
      const response = await fetch(`${address}api/codes`, { method: 'POST', headers: { Authorization: `Bearer ${theirs ?? secret}`, 'Content-Type': 'application/json' }, body: '{}' });
      return `${address}#code=${(await response.json() as { code: string }).code}`;
    },
    get port() { return port; },
    get shared() { return listening === null; },
    async close() {
      clearInterval(takeOver);
      if (listening !== null) fileFor(port)?.remove(secret);
      await own.close();
    },
  };
}
