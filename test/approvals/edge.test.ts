/** The edge of HTTP, byte by byte over raw sockets. Numbers in brackets name the cases of the attack list that a line covers. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECURITY_HEADERS } from '../../src/approvals/http.js';
import { createTestDatabase } from '../harness/database.js';
import { createShop, eventsOf, setPolicy } from '../sql/application.js';
import { accepted, previewDelete } from '../sql/calls.js';
import { ask, pageFor, raw, SECRET, startPage, statusIn, type Page } from './page.js';

const db = await createTestDatabase();
let page: Page;
let token: string;

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'approval_required_above_rows', '0');
  token = accepted(await previewDelete(db.as('agent'), 'stock', 'id = 1')).detail.plan_token;
  page = await startPage(db);
});

afterAll(async () => {
  await page.stop();
  // Whatever was tried above, nobody decided.
  expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
});

const AUTH = `Authorization: Bearer ${SECRET}\r\n`;
const get = (target: string, headers = 'Host: 127.0.0.1:<p>\r\n'): string => `GET ${target} HTTP/1.1\r\n${headers}${AUTH}Connection: close\r\n\r\n`;

/** Every answer, whoever gave it: all headers of ours, JSON, nothing of the inside. */
function expectRefusal(text: string, status: number): void {
  expect(statusIn(text)).toBe(status);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) expect(head).toContain(`${name}: ${value}`);
  expect(head).toContain('Content-Type: application/json; charset=utf-8');
  expect(head.toLowerCase()).not.toContain('access-control-');
  expect(Object.keys(JSON.parse(body) as object).sort()).toEqual(expect.arrayContaining(['code', 'hint', 'message', 'ok']));
  expect(text).not.toMatch(/node:|at .*\.[jt]s|<html|stack/i);
}

describe('the Host header', () => {
  test.each([
    ['127.0.0.1:<p>', 200], ['LOCALHOST:<p>', 200], ['[::1]:<p>', 200],
    ['127.0.0.1', 403], ['localhost.:<p>', 403], ['127.1:<p>', 403], ['2130706433:<p>', 403], ['0.0.0.0:<p>', 403], ['127.0.0.1:<p>@evil.test', 403],
    ['evil.test#127.0.0.1:<p>', 403], ['rebind.test:<p>', 403], ['127.0.0.1:1', 403], ['127.0.0.1:0<p>', 403], ['', 403],
  ])('%s is answered with %i (H002, H014)', async (host, status) => {
    const text = await raw(page, get('/api/plans', `Host: ${host}\r\n`));
    if (status === 200) expect(statusIn(text)).toBe(200);
    else expectRefusal(text, status);
  });

  test('twice, or not at all, is refused (H014)', async () => {
    expectRefusal(await raw(page, get('/api/plans', 'Host: 127.0.0.1:<p>\r\nHost: 127.0.0.1:<p>\r\n')), 403);
    expectRefusal(await raw(page, get('/api/plans', '')), 403);
    expectRefusal(await raw(page, `GET /api/plans HTTP/1.0\r\n${AUTH}\r\n`), 403);
  });

  test('is not overruled by an absolute target (H014)', async () => {
    expectRefusal(await raw(page, get('http://evil.test/api/plans')), 404);
    expectRefusal(await raw(page, get('http://127.0.0.1:<p>/api/plans', 'Host: evil.test\r\n')), 403);
  });
});

describe('a target that is not exactly a route', () => {
  const TARGETS = (plan: string): string[] => [
    '/api/plans/%2e%2e/approve', '/api/plans/..%2f..%2fx/approve', `/api/plans/${plan}%00/approve`, '/api/plans/%ZZ/approve', `//127.0.0.1/api/plans/${plan}/approve`, `/api/plans/${plan}/approve/`,
    `/API/PLANS/${plan}/approve`, `/api/plans/%3${plan.slice(1)}/approve`, `/api/plans/${plan}/approve?x=/reject`, `/x/../api/plans/${plan}/approve`, `/api\\plans\\${plan}\\approve`, `/api/plans/${plan.toUpperCase()}A/approve`,
    `/api/plans/${plan.slice(0, 8)}/approve`, `/api/plans/${plan}/approve#x`, `/api/plans/${plan}/approve;x`, `/api/plans/${plan}/approve%20`, '//', '//[', '/%', '*', 'http://', '/\\x', '/..', '/assets/../page.js', '/assets/page.ts',
  ];

  test('reaches nothing by any method, and the server goes on (H013, H024)', async () => {
    for (const target of TARGETS(token)) {
      const text = await raw(page, `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`);
      expect([target, [400, 404].includes(statusIn(text))]).toEqual([target, true]);
      expect([target, [400, 404, 405].includes(statusIn(await raw(page, get(target))))]).toEqual([target, true]);
    }
    expect((await ask(page, '/api/plans')).status).toBe(200);
  });

  test('is answered by a constant text, never by itself (H025)', async () => {
    const text = await raw(page, get('/plans/<script>alert(1)</script>/approve'));
    expectRefusal(text, 404);
    expect(text).not.toContain('script>');
  });
});

test.each(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])('%s is 405 without a word of CORS (H008)', async (method) => {
  const text = await raw(page, `${method} /api/plans/${token}/approve HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\nOrigin: http://127.0.0.1:<p>\r\n${AUTH}Connection: close\r\n\r\n`);
  expect(statusIn(text)).toBe(405);
  expect(text.toLowerCase()).not.toContain('access-control');
  expect(text).toContain('Allow: GET, POST');
});

test('CONNECT, an upgrade and a method nobody knows are refused with all headers', async () => {
  expectRefusal(await raw(page, `CONNECT evil.test:443 HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n\r\n`), 405);
  expectRefusal(await raw(page, `GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n${AUTH}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`), 405);
  expectRefusal(await raw(page, `APPROVE / HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n\r\n`), 400);
});

test('a method override changes nothing (H008)', async () => {
  const answer = await ask(page, `/api/plans/${token}/approve`, { headers: { 'X-HTTP-Method-Override': 'POST', 'X-Method-Override': 'POST' } });
  expect([answer.status, answer.json['code']]).toEqual([405, 'METHOD_NOT_ALLOWED']);
});

describe('requests that two readers could read differently', () => {
  test.each([
    ['both a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'], ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x'],
    ['an unknown encoding', 'Transfer-Encoding: x\r\n\r\n'], ['a space before the colon', 'Content-Length : 2\r\n\r\n{}'], ['a folded header', 'X-A: 1\r\n 2\r\n\r\n'], ['bare line feeds', 'X: 1\nContent-Length: 2\n\n{}'],
  ])('%s are refused (H017)', async (_name, rest) => {
    expectRefusal(await raw(page, `POST /api/plans/${token}/approve HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n${AUTH}Content-Type: application/json\r\n${rest}`), 400);
  });

  test('and so are headers without end', async () => {
    expect(statusIn(await raw(page, `GET / HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`))).toBe(400);
  });
});

describe('bodies', () => {
  const chunked = (...chunks: string[]): string => `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;
  const head = (rest: string): string => `POST /api/plans/${token}/reject HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n${AUTH}Content-Type: application/json\r\n${rest}`;

  test('over 64 KiB are refused by their announced length, before they are read (H015)', async () => {
    expectRefusal(await raw(page, head('Content-Length: 65537\r\n\r\n')), 413);
  });

  test('over 64 KiB in chunks are refused while they are read (H015)', async () => {
    const started = Date.now();
    expectRefusal(await raw(page, head(`Transfer-Encoding: chunked\r\n\r\n10001\r\n${'x'.repeat(0x10001)}\r\n`)), 413);
    expect(Date.now() - started).toBeLessThan(2_500);
  });

  test('in small chunks are as good as others, and as strictly read', async () => {
    const text = await raw(page, head(`Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunked('{"sur', 'prise": "x"}')}`));
    expectRefusal(text, 400);
    expect(text).toContain('INVALID_ARGUMENTS');
  });

  test('are not even asked for by 100-continue without the secret', async () => {
    expectRefusal(await raw(page, `POST /api/plans/${token}/approve HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`), 401);
  });
});

describe('slow and many', () => {
  function drip(target: { port: number }): Promise<number> {
    const started = Date.now();
    return new Promise((resolve) => {
      const socket: Socket = connect({ host: '127.0.0.1', port: target.port });
      socket.write('GET / HTTP/1.1\r\n');
      const timer = setInterval(() => socket.write('X'), 100);
      socket.on('error', () => undefined).on('data', () => undefined).on('close', () => { clearInterval(timer); resolve(Date.now() - started); });
    });
  }

  test('a hundred half-open requests are cut, and meanwhile the page answers the rest (H016)', async () => {
    const own = await pageFor(db, { limits: { headersMs: 1_000, requestMs: 1_500, connections: 40 } });
    const slow = Array.from({ length: 100 }, () => drip(own));
    const lives = await Promise.all(slow);
    expect(Math.max(...lives)).toBeLessThan(4_000);
    expect((await ask(own, '/api/plans')).status).toBe(200);
  });

  test('a body that does not come is cut too (H016)', async () => {
    const own = await pageFor(db, { limits: { headersMs: 1_000, requestMs: 1_500 } });
    const started = Date.now();
    await raw(own, `POST /api/plans/${token}/approve HTTP/1.1\r\nHost: 127.0.0.1:<p>\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{`, { waitMs: 8_000 });
    expect(Date.now() - started).toBeLessThan(5_000);
  });

  test('the limits of a page as it ships are those of the contract (H016)', async () => {
    const started = Date.now();
    expect(await drip(page)).toBeLessThan(6_500);
    expect(Date.now() - started).toBeGreaterThan(2_900);
  });
});

describe('both loopback addresses', () => {
  test('are the page\'s own, so that nothing else answers for "localhost" (H019)', async () => {
    expect((await ask(page, '/api/plans', { host: '::1', headers: { Host: `[::1]:${page.port}` } })).status).toBe(200);
    await expect(new Promise((resolve, reject) => {
      import('node:net').then(({ createServer }) => createServer().once('error', reject).listen(page.port, '::1', () => resolve(null)));
    })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('are what is printed: never a name that something else could answer (H019)', () => {
    expect(page.url).toBe(`http://127.0.0.1:${page.port}/#token=${SECRET}`);
    expect(page.address).toBe(`http://127.0.0.1:${page.port}/`);
  });
});
