/** Signing in with one's own database login: session_user is the person, and no approver's password is kept. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createSessions, withoutLogin } from '../../src/approvals/sessions.js';
import { createTestDatabase } from '../harness/database.js';
import type { Login } from '../harness/fixture.js';
import { createShop, setPolicy } from '../sql/application.js';
import { accepted, previewDelete } from '../sql/calls.js';
import { ask, pageFor, post, type Page } from './page.js';

const db = await createTestDatabase();

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'approval_required_above_rows', '0');
});

const passwordOf = (login: Login): string => decodeURIComponent(new URL(db.url(login)).password);
const signInPage = (): Promise<Page> => pageFor(db, { sessions: createSessions(db.url('agent')) });

async function signIn(page: Page, login: Login, password = passwordOf(login)) {
  return post(page, '/api/sign-in', { user: db.role(login), password }, { secret: null });
}

async function secretOf(page: Page, login: Login): Promise<string> {
  const { json } = await signIn(page, login);
  expect(json).toMatchObject({ ok: true, login: db.role(login) });
  return String(json['token']);
}

let next = 0;
const waiting = async (): Promise<string> => accepted(await previewDelete(db.as('agent'), 'stock', `id = ${++next}`)).detail.plan_token;

test('the page\'s address holds no secret, and asks for role and password', async () => {
  const page = await signInPage();
  expect(page.url).toBe(page.address);
  const { status, text } = await ask(page, '/', { secret: null });
  expect(status).toBe(401);
  expect(text).toContain('id="password"');
  expect(text).not.toContain(db.role('agent'));
});

test('who signs in is who decides, whatever they call themselves (H022)', async () => {
  const page = await signInPage();
  const [alice, bob] = [await secretOf(page, 'alice'), await secretOf(page, 'bob')];
  const token = await waiting();
  expect((await ask(page, '/', { secret: alice })).text).toContain(`<b>${db.role('alice')}</b>`);
  expect((await post(page, `/api/plans/${token}/approve`, { approvedBy: 'somebody else' }, { secret: bob })).json).toMatchObject({ ok: true, decided_by: db.role('bob') });
  const { rows } = await db.as('auditor').query('select approved_by, "session_user", reported_by from countersign.audit_log where plan_token = $1 order by id desc limit 1', [token]);
  expect(rows).toEqual([{ approved_by: db.role('bob'), session_user: db.role('bob'), reported_by: 'somebody else' }]);
});

test.each([['a wrong password', 'alice', 'wrong'], ['a role without the right', 'nobody', undefined], ['an auditor', 'auditor', undefined], ['the agent', 'agent', undefined]] as const)('%s is not let in, and all are answered alike (H001)', async (_name, login, password) => {
  const { status, json } = await signIn(await signInPage(), login, password);
  expect([status, json]).toEqual([401, expect.objectContaining({ code: 'UNAUTHORIZED', message: 'The database did not accept that role and password, or the role may not decide.' })]);
});

test('guessing stops after five failures a minute, also in parallel', async () => {
  const page = await signInPage();
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => signIn(page, 'alice', `guess ${n}`)));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(7);
  expect((await signIn(page, 'alice')).status).toBe(429);
});

test('signing in takes the same care of where a request comes from', async () => {
  const page = await signInPage();
  const body = { user: db.role('alice'), password: passwordOf('alice') };
  expect((await post(page, '/api/sign-in', body, { secret: null, headers: { Origin: 'http://evil.test' } })).status).toBe(403);
  expect((await post(page, '/api/sign-in', body, { secret: null, headers: { 'Content-Type': 'text/plain' } })).status).toBe(415);
  expect((await ask(page, `/api/sign-in?user=x`, { secret: null })).status).toBe(401);
});

test('a session ends by signing out, by time, and with its connection', async () => {
  let now = Date.now();
  const page = await pageFor(db, { sessions: createSessions(db.url('agent'), () => now) });
  const gone = await secretOf(page, 'alice');
  expect((await post(page, '/api/sign-out', {}, { secret: gone })).status).toBe(200);
  expect((await ask(page, '/api/plans', { secret: gone })).status).toBe(401);

  const idle = await secretOf(page, 'alice');
  now += 29 * 60_000;
  expect((await ask(page, '/api/plans', { secret: idle })).status).toBe(200);
  now += 31 * 60_000;
  expect((await ask(page, '/api/plans', { secret: idle })).status).toBe(401);

  const lost = await secretOf(page, 'alice');
  await db.as('admin').query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'countersign page\' and usename = $1 and datname = current_database()', [db.role('alice')]);
  await expect.poll(async () => (await ask(page, '/api/plans', { secret: lost })).status).toBe(401);
});

describe('an address without its login', () => {
  test.each([
    ['postgresql://u:p@h:1/d', 'postgresql://h:1/d'], ['postgres://u@h/d?sslmode=require', 'postgres://h/d?sslmode=require'], ['postgresql://h/d', 'postgresql://h/d'],
    ['postgresql://u:p@/d?host=/var/run&user=x&password=y', 'postgresql:///d?host=%2Fvar%2Frun'],
  ])('%s', (address, expected) => {
    expect(withoutLogin(address)).toBe(expected);
  });
});
