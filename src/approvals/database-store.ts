/** The store behind the page: a pool of one approver's login, and a connection that listens. */
import pg from 'pg';
import { createApprover, type Query, type Row } from '../client.js';
import { createListener, type PlanListener } from '../db/notify.js';
import { createCallPool } from '../db/pool.js';
import { parseExact } from './exact-json.js';
import type { ApprovalStore, Decision, PlanDetail, PlanList, StoreChange } from './store.js';

const JSON_TYPES = new Set<number>([pg.types.builtins.JSON, pg.types.builtins.JSONB]);

const EXACT_TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format?: 'text' | 'binary') =>
    JSON_TYPES.has(id) ? parseExact : pg.types.getTypeParser(id, format ?? 'text')) as typeof pg.types.getTypeParser,
};

export function exactQuery(client: pg.ClientBase): Query {
  return async (text, values = []) => (await client.query<Row>({ text, values: [...values], types: EXACT_TYPES })).rows;
}

/** What a host's plan has not, since nothing of it is measured here. */
const UNMEASURED: Partial<PlanDetail> = { effects: [], changes: [], triggers: [], undo: null };

const WHO = 'select session_user::text as login, current_database()::text as database';

/** The calls of a store over any way to run a statement. */
export function storeOf(query: Query, watch: ApprovalStore['watch']): ApprovalStore {
  const approver = createApprover(query);
  let who: { login: string; database: string } | null = null;
  return {
    identity: async () => (who ??= (await query(WHO))[0] as { login: string; database: string }),
    list: async (list, after, limit) => await approver.planList(list, after, limit) as unknown as PlanList,
    async plan(token) {
      const detail = await approver.planDetail(token);
      return detail === null ? null : { ...UNMEASURED, ...detail } as unknown as PlanDetail;
    },
    decide: ({ verb, token, note, decidedBy, seen }: Decision) => approver[verb](token, note, 'page', { decidedBy, seen }),
    watch,
  };
}

/** Every notification as a change, and every loss and return of the connection. */
export function watchListener(listener: PlanListener, onChange: (change: StoreChange) => void): () => void {
  const stops = [
    listener.on('notification', ({ plan, status }) => onChange({ plan, status })),
    listener.on('connected', () => onChange({ plan: null, status: null })),
    // Reading again is how a page learns that it cannot.
    listener.on('lost', () => onChange({ plan: null, status: null })),
  ];
  return () => stops.forEach((stop) => stop());
}

export interface DatabaseStoreOptions { url: string; log?: (line: string) => void }

/** Opens the store of an approver's address. Connects when first used; the listener at once and for ever again. */
export function createDatabaseStore({ url, log = () => undefined }: DatabaseStoreOptions): ApprovalStore & { close(): Promise<void> } {
  // No defaults to ask for: they are the agent's, and this session runs no text but ours.
  const pool = createCallPool({ url, applicationName: 'countersign page', defaults: [], max: 6, log });
  const listener = createListener(url, log);
  const query: Query = (text, values) => pool.run((client) => exactQuery(client)(text, values));
  return {
    ...storeOf(query, (onChange) => watchListener(listener, onChange)),
    async close() {
      await Promise.allSettled([listener.close(), pool.end()]);
    },
  };
}
