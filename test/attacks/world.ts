/** A shop with everybody in it, and the two ways an agent reaches it: the MCP tools, and the SQL functions alone. */
import type pg from 'pg';
import { createAdmin, createApprover, createClient, queryThrough, type Approver, type Client, type Outcome, type Query, type Row } from '../../src/client.js';
import { createCallPool, type CallPool } from '../../src/db/pool.js';
import { createListener } from '../../src/db/notify.js';
import { callTool } from '../../src/mcp/dispatch.js';
import { hiddenProblem } from '../../src/mcp/raw-json.js';
import { readRows } from '../../src/mcp/reader.js';
import { createRefusalLog } from '../../src/mcp/refusal-log.js';
import { TOOLS } from '../../src/mcp/tools/registry.js';
import type { ToolContext } from '../../src/mcp/tools/tool.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import type { Login } from '../harness/fixture.js';
import type { Args } from './attack.js';
import { ALLOWLIST, FINGERPRINT, RESET, TABLES } from './shop.js';

/** The answer of a tool: a refusal with its code, or the content. `text` is all that the agent was sent. */
export interface ToolAnswer { code: string | null; content: Row; text: string }

export interface World {
  db: TestDatabase;
  /** The functions of the API on plain connections of the agent's login: nothing of TypeScript decides anything. */
  api: Client;
  /** The same for a connection of the test's own, whose session it may spoil first. */
  apiOn(connection: pg.ClientBase): Client;
  alice: Approver;
  /** One superuser statement or several, without parameters; `<agent>` and the like become the login roles. */
  admin(sql: string): Promise<Row[]>;
  /** Everything of the application as it was at first: quicker than another database, and as good where no setting was changed. */
  reset(): Promise<void>;
  /** Applies the setup of a row, once however many rows have it. */
  prepare(setup: string | undefined): Promise<void>;
  tool(name: string, args: Args, options?: { holdMs?: number; caller?: 'agent' | 'agent2' }): Promise<ToolAnswer>;
  /** As `tool`, from the text a client sends: numbers and keys that JSON.parse spoils are in it. */
  toolFromText(name: string, args: string): Promise<ToolAnswer>;
  /** Runs a text on the reader's login the way `query` does, but without asking whether it may: only grants are left. */
  readUnchecked(statement: string): Promise<string>;
  /** Calls the function behind a tool. */
  sql(tool: string, args: Args): Promise<Outcome>;
  /** All rows of the application as one value. Asked again after a story that makes tables. */
  fingerprint(): Promise<string>;
  /** The code of the newest event. */
  lastCode(): Promise<string | null>;
  /** The fingerprint as it was when rows were last known to be right. */
  known: string | null;
  close(): Promise<void>;
}

const rowsOf = (connection: pg.Pool | pg.ClientBase): Query => async (text, values = []) => (await connection.query<Row>(text, [...values])).rows;

function withNames(db: TestDatabase, sql: string): string {
  return sql.replace(/<(agent2|agent|reader|owner|alice|database)>/g, (_, name: Login | 'database') => (name === 'database' ? db.name : db.role(name)));
}

/** The call of the API that the tool of this name makes with these arguments. */
function callFunction(api: Client, tool: string, args: Args): Promise<Outcome> {
  const common = { table: String(args['table']), params: (args['params'] ?? []) as unknown[], reason: 'a test', callerId: null, confirmFullTable: args['confirm_full_table'] === true };
  const where = (args['where'] ?? null) as string | null;
  const statement = String(args['statement'] ?? '');
  switch (tool) {
    case 'delete_rows': return api.previewDelete({ ...common, where });
    case 'update_rows': return api.previewUpdate({ ...common, where, set: args['set'] as Args });
    case 'insert_rows': return api.previewInsert({ ...common, columns: args['columns'] as string[], rows: args['rows'] as unknown[][] });
    case 'run_migration': return api.previewMigration({ statement, reason: 'a test', callerId: null });
    case 'execute_plan': return api.executePlan({ planToken: String(args['plan_token']), statement, params: common.params, callerId: null });
    default: return api.checkRead({ tool, statement, params: common.params, reason: 'a test', callerId: null });
  }
}

interface Callers { tool: World['tool']; toolFromText: World['toolFromText']; close(): Promise<void>; reader: CallPool }

/** The dispatcher with its tools, as the server builds it, without a protocol around it. */
function createCallers(db: TestDatabase): Callers {
  const log = (): void => undefined;
  const reader = createCallPool({ url: db.url('reader'), applicationName: 'attack reader', defaults: () => pools.agent.sessionDefaults(), max: 4 });
  const pools = {
    agent: createCallPool({ url: db.url('agent'), applicationName: 'attack agent', max: 6 }),
    agent2: createCallPool({ url: db.url('agent2'), applicationName: 'attack agent2', max: 2 }),
  };
  const listener = createListener(db.url('agent'), log);
  async function call(caller: 'agent' | 'agent2', name: string, args: Args, problem: string | null, holdMs: number): Promise<ToolAnswer> {
    const client = createClient(queryThrough(pools[caller]));
    const context: ToolContext = { client, reader, listener, callerId: null, log, holdMs, signal: new AbortController().signal, progress: () => undefined };
    const dispatch = { tools: new Map(TOOLS.map((tool) => [tool.name, tool])), refusals: createRefusalLog(client, null, log), ready: async () => undefined, approvalPage: () => null, log };
    const result = await callTool(dispatch, { name, args, hiddenProblem: problem }, context);
    const text = JSON.stringify(result);
    const content = JSON.parse((result.content[0] as { text: string }).text) as Row;
    return { code: result.isError ? String(content['code']) : null, content, text };
  }
  return {
    reader,
    tool: (name, args, { holdMs = 0, caller = 'agent' } = {}) => call(caller, name, args, null, holdMs),
    toolFromText(name, text) {
      const line = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${text}}}`;
      const { params } = JSON.parse(line) as { params: { arguments: Args } };
      return call('agent', name, params.arguments, hiddenProblem(line), 0);
    },
    async close() {
      await listener.close();
      await Promise.all([reader.end(), pools.agent.end(), pools.agent2.end()]);
    },
  };
}

export async function createWorld(setup = ''): Promise<World> {
  const db = await createTestDatabase();
  const admin = async (sql: string): Promise<Row[]> => {
    const results = (await db.as('admin').query(withNames(db, sql))) as unknown as pg.QueryResult<Row> | pg.QueryResult<Row>[];
    return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? [];
  };
  await db.as('owner').query(TABLES);
  await admin(ALLOWLIST);
  if (setup !== '') await admin(setup);
  const prepared = new Set<string>();
  const callers = createCallers(db);
  const api = createClient(rowsOf(db.as('agent')));
  const world: World = {
    db,
    api,
    apiOn: (connection) => createClient(rowsOf(connection)),
    alice: createApprover(rowsOf(db.as('alice'))),
    admin,
    async reset() {
      await admin(RESET);
      await db.as('owner').query(TABLES);
      await admin(ALLOWLIST);
      prepared.clear();
      world.known = null;
    },
    async prepare(more) {
      if (more === undefined || prepared.has(more)) return;
      prepared.add(more);
      await admin(more);
      world.known = null;
    },
    tool: callers.tool,
    toolFromText: callers.toolFromText,
    readUnchecked: (statement) => callers.reader
      .run((connection) => readRows(connection, { statement, params: [], limit: 1000, budget: 1024 * 1024 }).catch((error: unknown) => error))
      .then((answer) => (answer instanceof Error ? JSON.stringify({ ...answer, message: answer.message }) : JSON.stringify(answer)), String),
    sql: (tool, args) => callFunction(api, tool, args),
    known: null,
    async fingerprint() {
      const statement = String((await admin(FINGERPRINT))[0]?.['statement']);
      return (await admin(statement)).map((row) => String(row['f'])).sort().join('\n');
    },
    lastCode: async () => ((await admin('select code from countersign_data.event order by id desc limit 1'))[0]?.['code'] ?? null) as string | null,
    async close() {
      await callers.close();
      await db.drop();
    },
  };
  return world;
}

/** For a world that changes nothing between its tests: its administrator. */
export const adminOf = (world: World) => createAdmin(rowsOf(world.db.as('admin')));
