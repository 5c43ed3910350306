/** Live events: who may listen, how many, and that they come. */
import { get } from 'node:http';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { planKey } from '../../src/db/notify.js';
import { createTestDatabase } from '../harness/database.js';
import { createShop, setPolicy } from '../sql/application.js';
import { accepted, approve, previewDelete } from '../sql/calls.js';
import { createSessions } from '../../src/approvals/sessions.js';
import { ask, pageFor, post, SECRET, type Page } from './page.js';

const db = await createTestDatabase();

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'approval_required_above_rows', '0');
});

interface Stream { status: number; text(): string; closed: Promise<void>; destroy(): void }

function listen(page: { port: number }, secret = SECRET): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port: page.port, path: '/api/events', agent: false, headers: { Authorization: `Bearer ${secret}` } }, (response) => {
      let text = '';
      const closed = new Promise<void>((end) => response.once('close', () => end()));
      response.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; }).on('error', () => undefined);
      resolve({ status: response.statusCode ?? 0, text: () => text, closed, destroy: () => request.destroy() });
    });
    request.on('error', reject);
    onTestFinished(() => { request.destroy(); });
  });
}

async function told(stream: Stream, words: string): Promise<void> {
  await expect.poll(() => stream.text(), { timeout: 5_000, interval: 5 }).toContain(words);
}

test('tell of a new plan and of a decision by psql, naming the plan by its short name and never by its token', async () => {
  const page = await pageFor(db);
  const stream = await listen(page);
  await told(stream, 'event: open');
  const plan = accepted(await previewDelete(db.as('agent'), 'stock', 'id = 1'));
  const token = plan.detail.plan_token;
  await told(stream, `{"plan":"${planKey(token)}","status":"awaiting_approval"}`);
  accepted(await approve(db.as('bob'), plan));
  await told(stream, `{"plan":"${planKey(token)}","status":"approved"}`);
  expect(stream.text()).not.toContain(token);
});

test('are few: eight streams, then a refusal, and a place is free again when one ends (H018)', async () => {
  const page = await pageFor(db);
  expect((await ask(page, '/api/events', { secret: null })).status).toBe(401);
  const streams = await Promise.all(Array.from({ length: 8 }, () => listen(page)));
  expect(streams.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const ninth = await ask(page, '/api/events');
  expect([ninth.status, ninth.json['code']]).toEqual([429, 'TOO_MANY_REQUESTS']);
  // And the rest of the page answers on.
  expect((await ask(page, '/api/plans')).status).toBe(200);
  streams[0]?.destroy();
  await expect.poll(async () => { const stream = await listen(page); const { status } = stream; stream.destroy(); return status; }).toBe(200);
});

test('end with the page', async () => {
  const page = await pageFor(db);
  const stream = await listen(page);
  await told(stream, 'open');
  await page.close();
  await stream.closed;
});

test('end with the session of whoever listens', async () => {
  const page: Page = await pageFor(db, { sessions: createSessions(db.url('agent')) });
  const password = new URL(db.url('alice')).password;
  const { json } = await post(page, '/api/sign-in', { user: db.role('alice'), password }, { secret: null });
  const secret = String(json['token']);
  const stream = await listen(page, secret);
  await told(stream, 'open');
  accepted(await previewDelete(db.as('agent'), 'stock', 'id = 2'));
  await told(stream, 'awaiting_approval');
  await post(page, '/api/sign-out', {}, { secret });
  await stream.closed;
});
