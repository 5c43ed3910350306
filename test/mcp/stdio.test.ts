import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectSocket, createServer, type AddressInfo } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { contentIn, GENERATIONS, refusalIn, type TestClient, type ToolResult } from './clients.js';
import { startShop, type Shop } from './shop.js';

/** The built command, as clients start it. */
const CLI = process.env['TEST_CLI'] ?? 'dist/cli.js';
const NEWEST = GENERATIONS[0]?.[1] as (typeof GENERATIONS)[number][1];

let shop: Shop;
/** Shared by every test that does not need a server of its own: a start takes longer than most of them. */
let shared: Connected;
const clients: TestClient[] = [];

beforeAll(async () => {
  shop = await startShop();
  shared = await connect();
  clients.length = 0;
}, 60_000);
afterAll(async () => {
  await shared?.close();
  await shop?.stop();
}, 30_000);
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function environment(extra: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    COUNTERSIGN_DATABASE_URL: shop.agentUrl,
    COUNTERSIGN_READER_URL: shop.readerUrl,
    COUNTERSIGN_HOLD_SECONDS: '20',
    COUNTERSIGN_APPROVAL_PAGE: 'off',
    COUNTERSIGN_CALLER_ID: 'test caller',
    ...extra,
  };
}

interface Connected extends TestClient {
  pid: number;
}

async function connect(generation = NEWEST, extra: Record<string, string> = {}): Promise<Connected> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, 'serve'], env: environment(extra), stderr: 'ignore' });
  const client = await generation(transport);
  clients.push(client);
  return Object.assign(client, { pid: transport.pid ?? 0 });
}

async function events(sinceId: unknown): Promise<{ tool: string; status: string; code: string | null }[]> {
  return (await shop.admin('select tool, status, code from countersign.audit_log where id > $1 order by id', [sinceId])) as never;
}

async function lastEvent(): Promise<unknown> {
  return (await shop.admin('select coalesce(max(id), 0) as id from countersign.audit_log'))[0]?.['id'];
}

/** What execute_plan takes, from what a preview gave. */
function planOf(preview: ToolResult): { plan_token: string; statement: string; params: unknown[] } {
  const { plan_token, statement, params } = contentIn(preview);
  return { plan_token, statement, params } as never;
}

describe.each(GENERATIONS)('every tool, driven by %s', (name, generation) => {
  test('reads', async () => {
    const client = await connect(generation);
    if (name.includes('2026')) expect(client.protocol()).toBe('2026-07-28');
    else expect(client.protocol()).toMatch(/^2025-/);
    await client.listTools();

    const tables = contentIn(await client.call('describe_schema', {}))['tables'] as { table: string }[];
    expect(tables.map(({ table }) => table)).toEqual(expect.arrayContaining(['public.customers', 'public.orders']));
    const orders = contentIn(await client.call('describe_schema', { table: 'orders', reason: 'look' }));
    expect(JSON.stringify(orders)).toContain('customer_id');
    expect((orders['fence'] as { nonce: string }).nonce).toBe(orders['fence_end']);

    const rows = contentIn(await client.call('query', { statement: 'select id, name from customers where id <= $1 order by id', params: [2], reason: 'look' }));
    expect(rows).toMatchObject({
      columns: [{ name: 'id', type: 'bigint' }, { name: 'name', type: 'text' }],
      rows: [{ id: '1', name: 'customer 1' }, { id: '2', name: 'customer 2' }],
      row_count: 2,
      truncated: false,
    });
    const plan = contentIn(await client.call('explain_plan', { statement: 'select * from orders where customer_id = $1', params: [5] }));
    expect(plan).toMatchObject({ total_cost: expect.any(Number), plan_rows: expect.any(Number), plan: { 'Node Type': expect.any(String) } });
  });

  test('writes: preview, execute, ask how it stands, execute again', async () => {
    const client = await connect(generation);
    await client.listTools();
    for (const [tool, args, affected] of [
      ['insert_rows', { table: 'orders', columns: ['customer_id', 'total', 'data'], rows: [[900, '12.50', { a: [1] }], [901, null, null]], reason: 'two' }, 2],
      ['update_rows', { table: 'customers', set: { active: false }, where: 'id between $1 and $2', params: [10, 12], reason: 'three' }, 3],
      ['delete_rows', { table: 'orders', where: 'customer_id = $1', params: [902], reason: 'theirs' }, 3],
    ] as const) {
      const before = await shop.admin('select (select count(*) from orders) + (select count(*) from customers where active) as n');
      const preview = await client.call(tool, args);
      // a second generation finds the deleted ones gone, and that is what a preview then says
      const found = contentIn(preview)['affected_rows'] as number;
      if (name.includes('2026')) expect(found).toBe(affected);
      expect(await shop.admin('select (select count(*) from orders) + (select count(*) from customers where active) as n')).toEqual(before);

      const plan = planOf(preview);
      expect(contentIn(await client.call('execute_plan', plan))).toMatchObject({ status: 'executed', affected_rows: found, plan_token: plan.plan_token });
      expect(contentIn(await client.call('plan_status', { plan_token: plan.plan_token }))).toMatchObject({ status: 'executed' });
      expect(refusalIn(await client.call('execute_plan', plan))).toMatchObject({ code: 'PLAN_USED', outcome: expect.anything() });
    }
  });

  test('a schema change waits for a human, and is there once approved', async () => {
    const client = await connect(generation);
    const column = `extra_${GENERATIONS.findIndex(([each]) => each === name)}`;
    const preview = await client.call('run_migration', { statement: `alter table orders add column ${column} text`, reason: 'more room' });
    expect(contentIn(preview)).toMatchObject({ status: 'awaiting_approval', plan_token: expect.any(String) });
    const plan = planOf(preview);
    await shop.approver.approve(plan.plan_token, 'fine', 'psql');
    expect(contentIn(await client.call('execute_plan', plan))).toMatchObject({ status: 'executed' });
    expect(await shop.admin('select 1 as there from information_schema.columns where column_name = $1', [column])).toHaveLength(1);
  });
});

describe('a refusal has its code and leaves its event', () => {
  test.each<[code: string, tool: string, args: Record<string, unknown>]>([
    ['NOT_READABLE', 'query', { statement: 'select * from secrets', reason: 'r' }],
    ['UNKNOWN_TABLE', 'query', { statement: 'select * from nothing_there', reason: 'r' }],
    ['UNKNOWN_COLUMN', 'query', { statement: 'select nothing_there from orders', reason: 'r' }],
    ['MULTI_STATEMENT', 'query', { statement: 'select 1; select 2', reason: 'r' }],
    ['NOT_A_SELECT', 'query', { statement: 'delete from orders', reason: 'r' }],
    ['NOT_A_SELECT', 'query', { statement: 'with d as (delete from orders returning *) select * from d', reason: 'r' }],
    ['UNSAFE_FUNCTION', 'query', { statement: "select set_config('role', 'none', true)", reason: 'r' }],
    ['STATEMENT_FAILED', 'query', { statement: 'selec 1', reason: 'r' }],
    ['STATEMENT_FAILED', 'query', { statement: 'select name::int from customers', reason: 'r' }],
    ['NOT_A_SELECT', 'explain_plan', { statement: 'analyze delete from orders' }],
    ['INVALID_ARGUMENTS', 'query', { statement: 'select 1', reason: 'r', unknown: true }],
    ['INVALID_ARGUMENTS', 'query', { statement: `select '${'x'.repeat(10_000_000)}'`, reason: 'r' }],
    ['INVALID_ARGUMENTS', 'delete_rows', { table: 'orders', where: 'id = $1', params: [2 ** 53], reason: 'r' }],
    ['INVALID_ARGUMENTS', 'approve', { plan_token: 'x' }],
    ['WHERE_REQUIRED', 'delete_rows', { table: 'orders', reason: 'r' }],
    ['MULTI_STATEMENT', 'delete_rows', { table: 'orders', where: 'id = 1; delete from customers', reason: 'r' }],
    ['NOT_WRITABLE', 'delete_rows', { table: 'secrets', where: 'id = 1', reason: 'r' }],
    ['UNKNOWN_TABLE', 'update_rows', { table: 'nothing_there', set: { a: 1 }, where: 'true', reason: 'r' }],
    ['UNSUPPORTED_STATEMENT', 'run_migration', { statement: 'delete from orders', reason: 'r' }],
    ['UNKNOWN_TOKEN', 'plan_status', { plan_token: 'not a token' }],
    ['UNKNOWN_TOKEN', 'execute_plan', { plan_token: '6f1c0000-0000-4000-8000-000000000000', statement: 's', params: [] }],
  ])('%s: %s', async (code, tool, args) => {
    const since = await lastEvent();
    const refused = refusalIn(await shared.call(tool, args));
    expect(refused).toMatchObject({ code, message: expect.any(String), hint: expect.stringMatching(/.{10}/) });
    expect(await events(since)).toMatchObject([{ tool, status: 'refused', code }]);
  });
});

test('values arrive whole', async () => {
  const statement = `select 9007199254740993::bigint as id, 1 as a, 2 as a, 'NaN'::float8 as f, 12345678901234567890.123456789::numeric as n,
    '2026-03-29 02:30'::timestamp as ts, '2026-03-29 02:30+02'::timestamptz as tz, date '2026-03-29' as d, interval '1 year 3.5 s' as i,
    '\\x00ff'::bytea as b, '{"a":[1]}'::jsonb as j, array['a"b', null, 'NULL']::text[] as t, array['ok']::mood[] as m, int4range(1, 5) as r, 'bad'::mood as e`;
  expect(contentIn(await shared.call('query', { statement, reason: 'r' }))['rows']).toEqual([
    {
      id: '9007199254740993', a: 1, a_2: 2, f: 'NaN', n: '12345678901234567890.123456789', ts: '2026-03-29T02:30:00',
      tz: '2026-03-29T00:30:00+00:00', d: '2026-03-29', i: 'P1YT3.5S', b: '\\x00ff', j: { a: [1] }, t: ['a"b', null, 'NULL'],
      m: ['ok'], r: '[1,5)', e: 'bad',
    },
  ]);
});

describe('large results', () => {
  const peakMegabytes = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

  test('are cut at the limit and at the byte budget, and say so', async () => {
    const client = shared;
    const some = contentIn(await client.call('query', { statement: 'select g from generate_series(1, 1000000) g', limit: 3, reason: 'r' }));
    expect(some).toMatchObject({ row_count: 3, truncated: true });
    const all = contentIn(await client.call('query', { statement: 'select g from generate_series(1, 3) g', limit: 3, reason: 'r' }));
    expect(all).toMatchObject({ row_count: 3, truncated: false });
    const wide = contentIn(await client.call('query', { statement: "select repeat('x', 300000) from generate_series(1, 100)", reason: 'r' }));
    expect(wide).toMatchObject({ row_count: 3, truncated: true });
  });

  test.skipIf(process.platform !== 'linux').each([
    ["select repeat('x', 600000000)"],
    ["select string_agg(repeat('x', 1000000), '') from generate_series(1, 100)"],
    ["select repeat('x', 30000000)::int"],
  ])('%s does not take the process down', async (statement) => {
    const client = shared;
    expect(refusalIn(await client.call('query', { statement, reason: 'r' })).code).toMatch(/^(STATEMENT_FAILED|STATEMENT_TIMEOUT)$/);
    expect(peakMegabytes(client.pid)).toBeLessThan(300);
    expect(contentIn(await client.call('query', { statement: 'select 1 as one', reason: 'r' }))).toMatchObject({ rows: [{ one: 1 }] });
  }, 60_000);
});

describe('a plan that waits', () => {
  async function waiting(client: TestClient, from: number): Promise<{ plan_token: string; statement: string; params: unknown[] }> {
    const preview = await client.call('delete_rows', { table: 'customers', where: 'id between $1 and $2', params: [from, from + 39], reason: 'gone' });
    expect(contentIn(preview)).toMatchObject({ status: 'awaiting_approval', affected_rows: 40, total_rows: 160 });
    return planOf(preview);
  }

  test('is held, with progress, until a human approves, and then executed', async () => {
    const client = shared;
    const plan = await waiting(client, 100);
    const progress: string[] = [];
    const held = client.call('execute_plan', plan, { onprogress: ({ message }) => void progress.push(message ?? '') });
    await after(500);
    const approved = performance.now();
    await shop.approver.approve(plan.plan_token, 'checked', 'psql');
    expect(contentIn(await held)).toMatchObject({ status: 'executed', affected_rows: 40, total_rows: 160 });
    expect(performance.now() - approved).toBeLessThan(2000);
    expect(progress[0]).toMatch(/human/);
  });

  test('is held until a human rejects, and carries the reason', async () => {
    const client = shared;
    const plan = await waiting(client, 200);
    const held = client.call('execute_plan', plan);
    await after(300);
    await shop.approver.reject(plan.plan_token, 'narrow it', 'psql');
    const refused = refusalIn(await held);
    expect(refused.code).toBe('PLAN_REJECTED');
    expect(JSON.stringify(refused)).toContain('narrow it');
  });

  test('is given back after the time to hold, and can be taken up again', async () => {
    const client = await connect(NEWEST, { COUNTERSIGN_HOLD_SECONDS: '1' });
    const plan = await waiting(client, 300);
    const started = performance.now();
    expect(refusalIn(await client.call('execute_plan', plan))).toMatchObject({ code: 'AWAITING_APPROVAL' });
    expect(performance.now() - started).toBeGreaterThan(900);
    await shop.approver.approve(plan.plan_token, null, 'psql');
    expect(contentIn(await client.call('execute_plan', plan))).toMatchObject({ status: 'executed' });
  });

  test('is let go when the caller cancels, and nothing is executed', async () => {
    const client = shared;
    const plan = await waiting(client, 400);
    const cancel = new AbortController();
    const held = client.call('execute_plan', plan, { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 300);
    await expect(held).rejects.toThrow();
    await shop.approver.approve(plan.plan_token, null, 'psql');
    expect(contentIn(await client.call('plan_status', { plan_token: plan.plan_token }))).toMatchObject({ status: 'approved' });
  });
});

describe('the process', () => {
  function raw(extra: Record<string, string> = {}): ChildProcess & { out(): string; err(): string } {
    const child = spawn(process.execPath, [CLI, 'serve'], { env: environment(extra), stdio: 'pipe' });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => void (out += String(chunk)));
    child.stderr.on('data', (chunk) => void (err += String(chunk)));
    return Object.assign(child, { out: () => out, err: () => err });
  }
  const HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n';

  test('writes the protocol and nothing else to stdout, and ends with stdin', async () => {
    const child = raw();
    child.stdin?.end(`${HELLO}{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n`);
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(child.out().trim().split('\n').map((line) => (JSON.parse(line) as { id: number }).id)).toEqual([0, 1]);
  });

  test.each(['end of input', 'SIGTERM', 'SIGINT'])('ends within two seconds at %s, also while it holds a plan', async (how) => {
    const preview = await shared.call('delete_rows', { table: 'customers', where: 'id between 500 and 549', reason: 'gone' });
    const child = raw();
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'execute_plan', arguments: planOf(preview) } });
    child.stdin?.write(`${HELLO}${call}\n`);
    await expect.poll(() => child.out(), { timeout: 15_000 }).toContain('"id":0');
    await after(500);
    const started = performance.now();
    if (how === 'end of input') child.stdin?.end();
    else child.kill(how as NodeJS.Signals);
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test('several run at once on one database', async () => {
    const three = await Promise.all([connect(), connect(GENERATIONS[1]?.[1]), connect(GENERATIONS[2]?.[1])]);
    const answers = await Promise.all(three.map((client) => client.call('query', { statement: 'select 1 as one', reason: 'r' })));
    for (const answered of answers) expect(contentIn(answered)).toMatchObject({ rows: [{ one: 1 }] });
  });

  test('does not start with a login that is both agent and approver, and says what to do', async () => {
    await shop.admin('grant countersign_approver to shop_agent');
    try {
      const child = raw();
      child.stdin?.write(HELLO);
      const [code] = await once(child, 'exit');
      expect(code).toBe(1);
      expect(child.out()).toBe('');
      expect(child.err()).toMatch(/fatal: .*\n/);
    } finally {
      await shop.admin('revoke countersign_approver from shop_agent');
    }
  });

  test('survives a crash of Postgres: it says so, and recovers by itself', async () => {
    const client = await connect();
    const since = await lastEvent();
    expect(contentIn(await client.call('query', { statement: 'select 1 as one', reason: 'r' }))['row_count']).toBe(1);
    shop.crash();
    const codes = new Set<string>();
    await expect
      .poll(async () => {
        const result = await client.call('query', { statement: 'select 1 as one', reason: 'r' });
        if (result.isError) codes.add(refusalIn(result).code);
        return result.isError === true;
      }, { timeout: 20_000, interval: 50 })
      .toBe(false);
    expect([...codes]).toEqual(['DATABASE_UNAVAILABLE']);
    expect(contentIn(await client.call('describe_schema', {}))['tables']).toBeDefined();
    // what could not be recorded while the database was away is recorded now
    await expect
      .poll(async () => (await events(since)).filter(({ code }) => code === 'DATABASE_UNAVAILABLE').length, { timeout: 5000 })
      .toBeGreaterThan(0);
  }, 40_000);

  test('does not know what became of an execution whose connection was lost, and says how to find out', async () => {
    const client = await connect();
    const preview = await client.call('update_rows', { table: 'slow', set: { v: 2 }, where: 'id = 1', reason: 'r' });
    const executed = client.call('execute_plan', planOf(preview));
    await after(300);
    shop.crash();
    const refused = refusalIn(await executed);
    expect(refused.code).toBe('DATABASE_UNAVAILABLE');
    expect(refused.hint).toContain('plan_status');
    await expect
      .poll(async () => (await client.call('plan_status', { plan_token: planOf(preview).plan_token })).structuredContent?.['status'], { timeout: 20_000 })
      .toBe('previewed');
    expect(contentIn(await client.call('execute_plan', planOf(preview)))).toMatchObject({ status: 'executed', affected_rows: 1 });
  }, 60_000);

  test('started without a database, serves as soon as there is one', async () => {
    const target = new URL(shop.agentUrl);
    const pipe = createServer((socket) => {
      const through = connectSocket(Number(target.port), target.hostname);
      socket.on('error', () => through.destroy()).pipe(through).on('error', () => socket.destroy()).pipe(socket);
    });
    pipe.listen(0, '127.0.0.1');
    await once(pipe, 'listening');
    const { port } = pipe.address() as AddressInfo;
    pipe.close();
    await once(pipe, 'close');

    const moved = (url: string): string => url.replace(`:${target.port}/`, `:${port}/`);
    const client = await connect(NEWEST, { COUNTERSIGN_DATABASE_URL: moved(shop.agentUrl), COUNTERSIGN_READER_URL: moved(shop.readerUrl) });
    expect(await client.listTools()).toHaveLength(9);
    expect(refusalIn(await client.call('query', { statement: 'select 1', reason: 'r' })).code).toBe('DATABASE_UNAVAILABLE');
    pipe.listen(port, '127.0.0.1');
    await once(pipe, 'listening');
    expect(contentIn(await client.call('query', { statement: 'select 1 as one', reason: 'r' }))).toMatchObject({ rows: [{ one: 1 }] });
    pipe.close();
  }, 40_000);
});
