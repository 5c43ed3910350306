import { afterAll, expect, test } from 'vitest';
import { createListener, planKey, type PlanListener } from '../../src/db/notify.js';
import { createTestDatabase } from '../harness/database.js';
import { eventually } from '../harness/races.js';

const db = await createTestDatabase();
const admin = db.as('admin');
const token = '0b7e7d8e-0000-4000-8000-00000000000a';
const listeners: PlanListener[] = [];
afterAll(() => Promise.all(listeners.map((listener) => listener.close())));

async function listening(): Promise<PlanListener> {
  const listener = createListener(db.url('agent'));
  listeners.push(listener);
  await new Promise<void>((resolve) => { listener.on('connected', resolve); });
  // Connected comes before LISTEN has taken effect.
  await eventually(async () => (await admin.query('select from pg_stat_activity where application_name = \'countersign listener\' and datname = current_database() and query ilike \'listen%\' and state = \'idle\'')).rowCount, 'LISTEN');
  return listener;
}

const announce = (plan = token): Promise<unknown> => admin.query('select pg_notify(\'countersign\', $1)', [JSON.stringify({ plan: planKey(plan), status: 'approved' })]);

async function took(work: Promise<unknown>): Promise<number> {
  const start = Date.now();
  await work;
  return Date.now() - start;
}

test('the key on the channel is the start of the token\'s hash', () => {
  expect(planKey('00000000-0000-0000-0000-000000000000')).toBe('12b9377cbe7e');
  expect(planKey(' 0B7E7D8E-0000-4000-8000-00000000000A ')).toBe(planKey(token));
});

test('a notification wakes who waits for that plan, and nobody else', async () => {
  const listener = await listening();
  const other = took(listener.waitFor('another', { timeoutMs: 1_000 }));
  const mine = took(listener.waitFor(token));
  await announce();
  expect(await mine).toBeLessThan(900);
  expect(await other).toBeGreaterThanOrEqual(990);
});

test('a notification between reading and waiting is not missed', async () => {
  const listener = await listening();
  const since = listener.mark();
  const heard = new Promise((resolve) => { listener.on('notification', resolve); });
  await announce();
  expect(await heard).toEqual({ plan: planKey(token), status: 'approved' });
  expect(await took(listener.waitFor(token, { since }))).toBeLessThan(100);
});

test('without any notification the wait ends by itself, or with its signal', async () => {
  const listener = await listening();
  expect(await took(listener.waitFor(token, { timeoutMs: 60_000 }))).toBeLessThan(4_000);
  await expect(listener.waitFor(token, { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone');
  const abort = new AbortController();
  const waiting = listener.waitFor(token, { signal: abort.signal });
  abort.abort(new Error('given up'));
  await expect(waiting).rejects.toThrow('given up');
});

test('a payload that is not ours is ignored', async () => {
  const listener = await listening();
  await admin.query('notify countersign, \'not json\'; notify countersign; notify countersign, \'[1]\'');
  const woken = took(listener.waitFor(token));
  await announce();
  expect(await woken).toBeLessThan(1_000);
});

test('a lost connection comes back, wakes who waits, and listens again', async () => {
  const listener = await listening();
  const back = new Promise<void>((resolve) => { listener.on('connected', resolve); });
  const waiting = listener.waitFor(token);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'countersign listener\' and datname = current_database()');
  await back;
  await waiting;
  await eventually(async () => {
    const woken = took(listener.waitFor(token));
    await announce();
    return await woken < 500;
  }, 'listening again');
});

test('a database that is away is waited for in silence, and closing ends that', async () => {
  const lines: string[] = [];
  const listener = createListener('postgresql://a:b@127.0.0.1:1/x', (line) => lines.push(line));
  await eventually(async () => lines.length > 0, 'the first failure');
  await listener.close();
  expect(await took(listener.waitFor(token))).toBeLessThan(100);
});
