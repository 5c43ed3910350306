import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { createListener } from '../../src/db/notify.js';
import { createCallPool } from '../../src/db/pool.js';
import { startServer } from '../../src/mcp/stdio.js';
import { contentIn, GENERATIONS, refusalIn, type TestClient } from './clients.js';

/** Nothing listens on port 1, and a refused connection is noticed at once. */
const NOWHERE = 'postgresql://nobody:secret@127.0.0.1:1/nowhere';

interface Running {
  input: PassThrough;
  output: PassThrough;
  lines: string[];
  ended: Promise<number>;
}

const running: Running[] = [];

function start(): Running {
  const [input, output, lines] = [new PassThrough(), new PassThrough(), [] as string[]];
  const log = (line: string): void => void lines.push(line);
  const agent = createCallPool({ url: NOWHERE, applicationName: 'test', log });
  const reader = createCallPool({ url: NOWHERE, applicationName: 'test reader', log });
  const ended = startServer(
    { version: '0.0.0', callerId: null, holdSeconds: 1, readerRole: 'reader', installCommand: 'countersign install', agent, reader, listener: createListener(NOWHERE, log), log },
    { input, output },
  );
  const server = { input, output, lines, ended };
  running.push(server);
  return server;
}

afterEach(async () => {
  for (const server of running.splice(0)) {
    server.input.end();
    await server.ended;
  }
});

/** Sends one raw line and waits for the answer with that id. */
async function raw(server: Running, line: string, id: number): Promise<Record<string, unknown>> {
  server.input.write(`${line}\n`);
  let text = '';
  for await (const chunk of server.output.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const found = text.split('\n').filter(Boolean).map((part) => JSON.parse(part) as Record<string, unknown>).find((message) => message['id'] === id);
    if (found) return found;
  }
  throw new Error('no answer');
}

const CALL = (id: number, name: string, args: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;
const HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}';

describe.each(GENERATIONS)('%s', (_name, connect) => {
  async function client(): Promise<TestClient> {
    const server = start();
    return connect(new StdioServerTransport(server.output, server.input));
  }

  test('lists every tool in order, with strict arguments, without asking the database', async () => {
    const tools = await (await client()).listTools();
    expect(tools.map((tool) => tool.name)).toEqual([
      'describe_schema', 'query', 'explain_plan', 'delete_rows', 'insert_rows', 'update_rows', 'run_migration', 'execute_plan', 'plan_status',
    ]);
    for (const tool of tools) {
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(tool.outputSchema).toMatchObject({ type: 'object' });
      expect(tool.description?.length).toBeGreaterThan(100);
    }
    const annotations = Object.fromEntries(tools.map((tool) => [tool.name, tool.annotations]));
    expect(annotations['query']).toMatchObject({ readOnlyHint: true, destructiveHint: false, openWorldHint: false });
    expect(annotations['delete_rows']).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    expect(annotations['execute_plan']).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true });
    expect(tools.find((tool) => tool.name === 'query')?.inputSchema['required']).toEqual(['statement', 'reason']);
    expect(tools.some((tool) => /approve|reject/.test(tool.name))).toBe(false);
  });

  test.each<[name: string, tool: string, args: Record<string, unknown>, words: RegExp]>([
    ['a missing argument', 'query', { statement: 'select 1' }, /reason/],
    ['an unknown argument', 'delete_rows', { table: 't', reason: 'r', force: true }, /unknown argument "force"/],
    ['a wrong type', 'query', { statement: 5, reason: 'r' }, /statement/],
    ['a limit that is too high', 'query', { statement: 'select 1', reason: 'r', limit: 10_001 }, /limit/],
    ['a limit of nothing', 'query', { statement: 'select 1', reason: 'r', limit: 0 }, /limit/],
    ['a blank reason', 'query', { statement: 'select 1', reason: '  ' }, /reason/],
    ['rows of uneven length', 'insert_rows', { table: 't', columns: ['a', 'b'], rows: [[1, 2], [1]], reason: 'r' }, /rows\[1\]/],
    ['a set of nothing', 'update_rows', { table: 't', set: {}, where: 'true', reason: 'r' }, /set: name at least one column/],
    ['a statement of 10 MB', 'query', { statement: `select '${'x'.repeat(10_000_000)}'`, reason: 'r' }, /64 KiB/],
    ['70,000 parameters', 'delete_rows', { table: 't', where: 'id = any($1)', params: Array(70_000).fill('1'), reason: 'r' }, /70000/],
    ['an integer beyond 2^53', 'delete_rows', { table: 't', where: 'id = $1', params: [2 ** 53], reason: 'r' }, /cannot be held exactly/],
    ['a NUL', 'query', { statement: 'select 1\0', reason: 'r' }, /NUL/],
    ['a lone surrogate', 'query', { statement: 'select 1', reason: '\ud800' }, /surrogate/],
    ['a tool that is not there', 'approve_plan', { plan_token: 'x' }, /no tool/],
  ])('%s is refused before the database is asked, and the server goes on', async (_case, tool, args, words) => {
    const connected = await client();
    const refused = refusalIn(await connected.call(tool, args));
    expect(refused.code).toBe('INVALID_ARGUMENTS');
    expect(refused.message).toMatch(words);
    expect(refused.hint).not.toBe('');
    expect(await connected.listTools()).toHaveLength(9);
  });

  test('a database that is away is said to be away', async () => {
    const connected = await client();
    for (const [tool, args] of [
      ['describe_schema', {}],
      ['query', { statement: 'select 1', reason: 'r' }],
      ['plan_status', { plan_token: 'x' }],
      ['execute_plan', { plan_token: 'x', statement: 's', params: [] }],
    ] as const) {
      expect(refusalIn(await connected.call(tool, args))).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    }
  });
});

describe('raw lines', () => {
  test('a number that JSON.parse would round is refused by its digits', async () => {
    const server = start();
    await raw(server, HELLO, 0);
    const answer = await raw(server, CALL(1, 'delete_rows', '{"table":"t","where":"id = $1","params":[0.12345678901234567890],"reason":"r"}'), 1);
    expect(refusalIn(answer['result'] as never)).toMatchObject({ code: 'INVALID_ARGUMENTS' });
    expect(refusalIn(answer['result'] as never).message).toContain('0.12345678901234567890');
  });

  test('a swallowed key, arguments that are no object, and broken UTF-8 are refused', async () => {
    const server = start();
    await raw(server, HELLO, 0);
    const own = await raw(server, CALL(1, 'describe_schema', '{"__proto__":{"table":"t"}}'), 1);
    expect(refusalIn(own['result'] as never).message).toContain('__proto__');
    const list = await raw(server, CALL(2, 'describe_schema', '[1]'), 2);
    expect(refusalIn(list['result'] as never).message).toMatch(/must be an object/);
    server.input.write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"query","arguments":{"statement":"'), Buffer.from([0xff]), Buffer.from('"}}}')]));
    const broken = await raw(server, '', 3);
    expect(refusalIn(broken['result'] as never).message).toMatch(/UTF-8/);
  });

  test('a line that is too long is dropped and answered, at both places clients put the id', async () => {
    const server = start();
    await raw(server, HELLO, 0);
    const long = 'x'.repeat(33 * 1024 * 1024);
    const first = await raw(server, CALL(1, 'query', `{"statement":"${long}"}`), 1);
    expect(refusalIn(first['result'] as never)).toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const last = await raw(server, `{"method":"tools/call","params":{"name":"query","arguments":{"statement":"${long}"}},"jsonrpc":"2.0","id":2}`, 2);
    expect(refusalIn(last['result'] as never).message).toMatch(/32 MiB/);
    const listed = await raw(server, '{"jsonrpc":"2.0","id":3,"method":"tools/list"}', 3);
    expect(listed['result']).toBeDefined();
  });

  test('nonsense between two calls is skipped', async () => {
    const server = start();
    await raw(server, HELLO, 0);
    server.input.write('not json\n{"jsonrpc":"1.0"}\n\n[]\n');
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const answer = await raw(server, CALL(1, 'query', `{"statement":"select 1","reason":"r","params":${deep}}`), 1);
    expect(refusalIn(answer['result'] as never).message).toMatch(/deeper than 32/);
  });
});

test('the server ends with its input, in time, and answers what came before', async () => {
  const server = start();
  server.input.end(`${HELLO}\n${CALL(1, 'describe_schema', '{}')}\n`);
  const started = performance.now();
  expect(await server.ended).toBe(0);
  expect(performance.now() - started).toBeLessThan(2000);
  const answers = String(server.output.read()).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(answers.map((message) => message['id'])).toEqual([0, 1]);
  running.length = 0;
});

test('a success has the same JSON in both halves', () => {
  expect(() => contentIn({ content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 2 } })).toThrow(/differ/);
});
