/**
 * The page as a function from request to response; no socket here. The order of checks is the contract of DESIGN §7:
 * provenance (403), method (405), files and sign-in, bearer (401), route (404), then the body of a decision (415, 413, 400).
 */
import pg from 'pg';
import type { Outcome } from '../client.js';
import { CountersignError } from '../errors.js';
import { asset } from './assets.js';
import type { Codes } from './codes.js';
import { readFields } from './body.js';
import { bearerOf, checkProvenance, unauthorized } from './guard.js';
import { htmlResponse, HttpRefusal, headerOf, jsonResponse, refusalResponse, statusOf, type WebRequest, type WebResponse } from './http.js';
import type { LiveHub } from './live.js';
import { shownLine, shownPayload } from './payload.js';
import { planPage } from './pages/plan.js';
import { queuePage } from './pages/queue.js';
import { signInPage } from './pages/sign-in.js';
import type { ApprovalStore, Decision, ListName, PlanDetail, PlanList } from './store.js';

/** Facts a host adds to its plans. All of it is text, and is shown as text. */
export interface RenderedPlan { title?: string; facts?: readonly { label: string; value: string }[] }

/** Who may use the page, found by what the request carries. */
export interface Gatekeeper {
  readonly mode: 'token' | 'database' | 'open';
  /** The database as seen by the bearer, or null. */
  find(bearer: string | null): ApprovalStore | null;
  isLive(bearer: string | null): boolean;
  signIn?(user: string, password: string): Promise<{ token: string; login: string }>;
  signOut?(bearer: string): void;
}

export interface AppOptions {
  gatekeeper: Gatekeeper;
  live: LiveHub;
  /** Addresses that open the page once; null where there is no secret to give. */
  codes: Codes | null;
  /** The bound port; known once the server listens. */
  port(): number;
  /** Proves to another Countersign that this one knows the secret; null when there is nothing to prove. */
  proof(challenge: string): string | null;
  renderPlan?: ((plan: PlanDetail) => RenderedPlan) | undefined;
  onDecision?: ((decision: Decision, outcome: Outcome) => void) | undefined;
  exposeRawPayload: boolean;
  log(line: string): void;
}

export type App = (request: WebRequest) => Promise<WebResponse>;

const TOKEN = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const TARGET = /^(\/[^?#\\]*)(?:\?([^#]*))?$/;
const ASSET = /^\/assets\/([a-z.]+)$/;

interface Call { request: WebRequest; query: URLSearchParams; store: ApprovalStore; bearer: string | null; token: string }

interface Route { method: 'GET' | 'POST'; path: RegExp; query: readonly string[]; run(call: Call): Promise<WebResponse> }

const DECISION_FIELDS = {
  approve: { approvedBy: 200, note: 2000, seen: 100 },
  reject: { rejectedBy: 200, reason: 2000, seen: 100 },
} as const;
const SIGN_IN_FIELDS = { user: 63, password: 1024 } as const;
const PAGE_SIZE = { waiting: 50, executing: 50, history: 20 } as const;
const LISTS: readonly ListName[] = ['waiting', 'executing', 'history'];

function notFound(): HttpRefusal {
  return new HttpRefusal('NOT_FOUND', 'There is nothing at this address.', 'The page is at /.');
}

function unknownPlan(): HttpRefusal {
  return new HttpRefusal('UNKNOWN_TOKEN', 'There is no such plan in this database.', 'The list at / shows what waits.');
}

function listOf(query: URLSearchParams): ListName | null {
  const asked = query.get('list');
  if (asked === null) return null;
  const list = LISTS.find((known) => known === asked);
  if (list === undefined) throw notFound();
  return list;
}

function afterOf(query: URLSearchParams): string | null {
  const after = query.get('after');
  if (after !== null && !new RegExp(`^${TOKEN}$`).test(after)) throw notFound();
  return after;
}

/** Anything thrown, as what a stranger may see of it. */
function asRefusal(error: unknown, log: (line: string) => void): HttpRefusal {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof CountersignError) return new HttpRefusal(error.code, error.message, error.hint);
  if (error instanceof pg.DatabaseError && ['42501', '42883', '3F000'].includes(error.code ?? '')) {
    log(`The approval page's login cannot work: ${error.message}`);
    return new HttpRefusal('DATABASE_UNAVAILABLE', 'The login behind this page may not decide in this database.', 'Run "countersign doctor"; the login must be a member of countersign_approver.');
  }
  log(`Unexpected on the approval page: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return new HttpRefusal('INTERNAL_ERROR', 'Something went wrong inside Countersign.', 'Nothing was decided by this request unless the plan says so. The cause is in the log.');
}

export function createApp(options: AppOptions): App {
  const { gatekeeper, live, log } = options;
  const path = (text: string): RegExp => new RegExp(`^${text.replace(':token', `(${TOKEN})`)}$`);
  const context = async (store: ApprovalStore) => ({ ...(await store.identity()), mode: gatekeeper.mode });

  async function planOf({ store, token }: Call): Promise<PlanDetail> {
    const plan = await store.plan(token);
    if (plan === null) throw unknownPlan();
    return shownPayload(plan, options.exposeRawPayload);
  }

  function rendered(plan: PlanDetail): RenderedPlan {
    try {
      return options.renderPlan?.(plan) ?? {};
    } catch (error) {
      log(`renderPlan failed: ${error instanceof Error ? error.message : String(error)}`);
      return {};
    }
  }

  async function listed(store: ApprovalStore, list: ListName, after: string | null): Promise<PlanList> {
    const page = await store.list(list, after, PAGE_SIZE[list]);
    return { ...page, plans: page.plans.map((line) => shownLine(line, options.exposeRawPayload)) };
  }

  async function queue({ store, query }: Call): Promise<WebResponse> {
    const [only, after] = [listOf(query), afterOf(query)];
    const lists = await Promise.all((only === null ? LISTS : [only]).map((list) => listed(store, list, only === null ? null : after)));
    return htmlResponse(200, queuePage(lists, only, after !== null, await context(store)));
  }

  async function decide(call: Call, verb: Decision['verb']): Promise<WebResponse> {
    const body = await readFields(call.request, DECISION_FIELDS[verb]);
    const decision: Decision = { verb, token: call.token, note: body['note'] ?? body['reason'] ?? null, decidedBy: body['approvedBy'] ?? body['rejectedBy'] ?? null, seen: body['seen'] ?? null };
    const outcome = await call.store.decide(decision);
    if (!outcome.ok) {
      const code = outcome.code ?? 'INTERNAL_ERROR';
      // The arguments were sound; what the database says is about where the plan stands.
      const status = code === 'INVALID_ARGUMENTS' ? 409 : statusOf(code);
      throw new HttpRefusal(code, outcome.message ?? 'The decision was refused.', outcome.hint ?? 'Look at the plan again.', outcome.detail ?? {}, status);
    }
    try {
      options.onDecision?.(decision, outcome);
    } catch (error) {
      log(`onDecision failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    return jsonResponse(200, { ...outcome.detail, ok: true, message: outcome.message });
  }

  const ROUTES: readonly Route[] = [
    { method: 'GET', path: path('/'), query: ['list', 'after'], run: queue },
    { method: 'GET', path: path('/plans/:token'), query: [], run: async (call) => {
      const plan = await planOf(call);
      return htmlResponse(200, await planPage(plan, rendered(plan), await context(call.store)));
    } },
    { method: 'GET', path: path('/api/plans'), query: ['list', 'after'], run: async ({ store, query }) => {
      const list = listOf(query) ?? 'waiting';
      return jsonResponse(200, { ok: true, ...(await listed(store, list, afterOf(query))) });
    } },
    { method: 'GET', path: path('/api/plans/:token'), query: [], run: async (call) => jsonResponse(200, { ok: true, plan: await planOf(call) }) },
    { method: 'POST', path: path('/api/plans/:token/approve'), query: [], run: (call) => decide(call, 'approve') },
    { method: 'POST', path: path('/api/plans/:token/reject'), query: [], run: (call) => decide(call, 'reject') },
    { method: 'GET', path: path('/api/events'), query: [], run: async ({ store, bearer }) => live.open(store, () => gatekeeper.isLive(bearer)) },
    { method: 'POST', path: path('/api/codes'), query: [], run: async ({ request }) => {
      await readFields(request, {});
      if (options.codes === null) throw notFound();
      return jsonResponse(200, { ok: true, code: options.codes.issue() });
    } },
    { method: 'POST', path: path('/api/sign-out'), query: [], run: async ({ bearer, request }) => {
      await readFields(request, {});
      gatekeeper.signOut?.(bearer ?? '');
      return jsonResponse(200, { ok: true });
    } },
  ];

  function find(method: string, pathname: string, query: URLSearchParams): { route: Route; token: string } {
    const fitting = ROUTES.map((route) => ({ route, match: route.path.exec(pathname) })).filter(({ match }) => match !== null);
    const [first] = fitting;
    if (first === undefined) throw notFound();
    const chosen = fitting.find(({ route }) => route.method === method);
    if (chosen === undefined) throw methodNotAllowed(first.route.method);
    const known = new Set([...chosen.route.query, ...(method === 'GET' ? ['token'] : [])]);
    if ([...query.keys()].some((name) => !known.has(name))) throw notFound();
    return { route: chosen.route, token: chosen.match?.[1] ?? '' };
  }

  /** What needs no secret: the files, the proof of identity, and signing in. */
  async function answerOpen(request: WebRequest, pathname: string, query: URLSearchParams): Promise<WebResponse | null> {
    const file = ASSET.exec(pathname)?.[1];
    if (file !== undefined && request.method === 'GET') return asset(file);
    if (pathname === '/api/identity' && request.method === 'GET') {
      const challenge = query.get('challenge') ?? '';
      const proof = /^[A-Za-z0-9_-]{32,64}$/.test(challenge) ? options.proof(challenge) : null;
      return proof === null ? null : jsonResponse(200, { ok: true, countersign: proof });
    }
    if (pathname === '/api/redeem' && request.method === 'POST') {
      const { code } = await readFields(request, { code: 100 });
      const token = options.codes?.redeem(code ?? '') ?? null;
      if (token === null) throw unauthorized();
      return jsonResponse(200, { ok: true, token });
    }
    if (pathname === '/api/sign-in' && request.method === 'POST' && gatekeeper.signIn !== undefined) {
      const { user, password } = await readFields(request, SIGN_IN_FIELDS);
      return jsonResponse(200, { ok: true, ...(await gatekeeper.signIn(user ?? '', password ?? '')) });
    }
    return null;
  }

  const wantsPage = (request: WebRequest, pathname: string): boolean => request.method === 'GET'
    && (pathname === '/' || (path('/plans/:token').test(pathname) && /text\/html/.test(headerOf(request, 'accept') ?? '')));

  async function answer(request: WebRequest): Promise<WebResponse> {
    checkProvenance(request, options.port());
    if (request.method !== 'GET' && request.method !== 'POST') throw methodNotAllowed('GET, POST');
    const [, pathname, search] = TARGET.exec(request.target) ?? [];
    if (pathname === undefined) throw notFound();
    const query = new URLSearchParams(search ?? '');
    const open = await answerOpen(request, pathname, query);
    if (open !== null) return open;
    const bearer = bearerOf(request, query);
    const store = gatekeeper.find(bearer);
    if (store === null) {
      if (wantsPage(request, pathname)) return htmlResponse(401, signInPage(gatekeeper.mode));
      throw unauthorized();
    }
    const { route, token } = find(request.method, pathname, query);
    return route.run({ request, query, store, bearer, token });
  }

  return (request) => answer(request).catch((error: unknown) => refusalResponse(asRefusal(error, log)));
}

function methodNotAllowed(allow: string): HttpRefusal {
  return new HttpRefusal('METHOD_NOT_ALLOWED', 'This method is not used here.', `Use ${allow}.`, { allow });
}
