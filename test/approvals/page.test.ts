/** The page's routes before a real database: who gets in, what is decided, and what is recorded. */
import { beforeAll, describe, expect, test } from 'vitest';
import { SECURITY_HEADERS } from '../../src/approvals/http.js';
import { startApprovalServer } from '../../src/approvals/start.js';
import { createTestDatabase } from '../harness/database.js';
import { createShop, eventsOf, setPolicy } from '../sql/application.js';
import { accepted, approve, execute, previewDelete, previewInsert, previewUpdate, reject, type Outcome } from '../sql/calls.js';
import { ask, pageFor, post, SECRET, startPage, type Answer, type Page } from './page.js';

const db = await createTestDatabase();
const agent = db.as('agent');
let page: Page;

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  await setPolicy(db, 'approval_required_above_rows', '0');
  page = await startPage(db);
  return () => page.stop();
});

let next = 0;
/** A plan that waits; each about another row. */
async function waiting(said: Parameters<typeof previewDelete>[4] = {}): Promise<string> {
  return accepted(await previewDelete(agent, 'stock', `id = ${++next}`, [], said)).detail.plan_token;
}

const seenOf = async (token: string): Promise<string> => String(((await ask(page, `/api/plans/${token}`)).json['plan'] as Record<string, unknown>)['seen']);
const codeOf = ({ status, json }: Answer): [number, unknown] => [status, json['code']];

describe('every response', () => {
  test('has every security header, sets no cookie, and is never cached (H011, H020)', async () => {
    const token = await waiting();
    const answers = await Promise.all([
      ask(page, '/'), ask(page, '/', { secret: null }), ask(page, `/plans/${token}`), ask(page, '/api/plans'), ask(page, '/api/plans', { secret: null }), ask(page, '/nothing'), ask(page, '/assets/page.js', { secret: null }),
      ask(page, '/assets/page.css'), ask(page, '/', { headers: { Host: 'evil.test' } }), post(page, `/api/plans/${token}/approve`, 'x'), ask(page, '/', { method: 'PUT' }),
    ]);
    for (const { headers, status } of answers) {
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) expect([status, headers[name.toLowerCase()]]).toEqual([status, value]);
      expect(headers['set-cookie']).toBeUndefined();
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    expect(SECURITY_HEADERS['Content-Security-Policy']).toMatch(/script-src 'self';.*frame-ancestors 'none'/);
    expect(SECURITY_HEADERS['Content-Security-Policy']).not.toMatch(/unsafe|https?:/);
  });

  test('holds no inline script, style or handler', async () => {
    for (const path of ['/', `/plans/${await waiting()}`]) {
      const { text } = await ask(page, path);
      expect(text).not.toMatch(/<script(?! type="module" src="\/assets\/page\.js"><\/script>)|<style|\son\w+=|\sstyle=|javascript:/i);
    }
  });
});

describe('who gets in', () => {
  test('nobody without the secret, on any route (H001, H023)', async () => {
    const token = await waiting();
    for (const path of ['/api/plans', `/api/plans/${token}`, '/api/events', `/plans/${token}`, '/nothing']) expect(codeOf(await ask(page, path, { secret: null }))).toEqual([401, 'UNAUTHORIZED']);
    for (const verb of ['approve', 'reject']) {
      expect(codeOf(await post(page, `/api/plans/${token}/${verb}`, {}, { secret: null }))).toEqual([401, 'UNAUTHORIZED']);
      expect(codeOf(await post(page, `/api/plans/${token}/${verb}`, {}, { secret: `${SECRET}x` }))).toEqual([401, 'UNAUTHORIZED']);
      expect(codeOf(await post(page, `/api/plans/${token}/${verb}?token=${SECRET}`, {}, { secret: null }))).toEqual([401, 'UNAUTHORIZED']);
    }
    expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
  });

  test('a stranger\'s page shows a sign-in form and nothing of the database', async () => {
    const token = await waiting({ reason: 'a reason to be found' });
    for (const path of ['/', `/plans/${token}`]) {
      const { status, text } = await ask(page, path, { secret: null, headers: { Accept: 'text/html' } });
      expect(status).toBe(401);
      expect(text).toContain('id="sign-in"');
      expect(text).not.toMatch(/stock|a reason|alice/);
    }
  });

  test('the secret counts as a bearer, and in the query of a GET', async () => {
    expect((await ask(page, `/api/plans?token=${SECRET}`, { secret: null })).status).toBe(200);
    expect((await ask(page, '/api/plans', { secret: null, headers: { Authorization: `bearer ${SECRET}` } })).status).toBe(200);
    for (const header of [`Basic ${SECRET}`, SECRET, `Bearer ${SECRET} x`, 'Bearer ', `Bearer ${SECRET}, Bearer ${SECRET}`]) expect((await ask(page, `/api/plans?token=${SECRET}`, { secret: null, headers: { Authorization: header } })).status).toBe(401);
    expect((await ask(page, `/api/plans?token=${SECRET}&token=${SECRET}`, { secret: null })).status).toBe(401);
  });

  test('a page without a secret is not started by accident', async () => {
    await expect(startApprovalServer(null, { port: 0, requireAuth: false })).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    await expect(startApprovalServer(null, { port: 0, authToken: 'short' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const open = await pageFor(db, { requireAuth: false, acceptAnyLocalProcess: true });
    expect((await ask(open, '/api/plans', { secret: null })).status).toBe(200);
    expect((await ask(open, '/api/plans', { secret: null, headers: { Origin: 'http://evil.test' } })).status).toBe(403);
  });

  test('the secret is random when nobody chose it', async () => {
    const [a, b] = [await startApprovalServer(null, { port: 0 }), await startApprovalServer(null, { port: 0 })];
    expect(a.url).toMatch(/#token=[A-Za-z0-9_-]{43}$/);
    expect(a.url.split('#')[1]).not.toBe(b.url.split('#')[1]);
    await Promise.all([a.close(), b.close()]);
  });
});

describe('where a request comes from, asked before everything else', () => {
  const origin = (port: number): string => `http://127.0.0.1:${port}`;
  test.each([
    ['another site (H003)', () => ({ Origin: 'http://evil.test' })], ['another port of this machine (H005)', () => ({ Origin: origin(page.port === 3000 ? 3001 : 3000), 'Sec-Fetch-Site': 'same-site' })],
    ['no origin, but the browser says cross-site (H006)', () => ({ 'Sec-Fetch-Site': 'cross-site' })], ['same-site (H005)', () => ({ 'Sec-Fetch-Site': 'same-site' })], ['the null origin', () => ({ Origin: 'null' })],
    ['our name with https', () => ({ Origin: `https://127.0.0.1:${page.port}` })], ['an origin with a tail', () => ({ Origin: `${origin(page.port)}.evil.test` })], ['another of our names', () => ({ Origin: `http://localhost:${page.port}` })],
    ['a frame (H010)', () => ({ 'Sec-Fetch-Dest': 'iframe', 'Sec-Fetch-Site': 'same-origin' })], ['an object (H010)', () => ({ 'Sec-Fetch-Dest': 'object' })],
  ])('%s', async (_name, headers) => {
    const token = await waiting();
    for (const secret of [SECRET, null]) {
      expect(codeOf(await post(page, `/api/plans/${token}/approve`, {}, { headers: headers(), secret }))).toEqual([403, 'FORBIDDEN']);
      expect(codeOf(await ask(page, '/', { headers: headers(), secret }))).toEqual([403, 'FORBIDDEN']);
      expect(codeOf(await ask(page, '/nothing', { headers: headers(), secret, method: 'PUT' }))).toEqual([403, 'FORBIDDEN']);
    }
    expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
  });

  test('our own page is let in', async () => {
    for (const site of ['same-origin', 'none']) expect((await ask(page, '/api/plans', { headers: { Origin: origin(page.port), 'Sec-Fetch-Site': site, 'Sec-Fetch-Dest': 'empty' } })).status).toBe(200);
  });
});

describe('the body of a decision', () => {
  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/json, text/plain', 'application/jsonx', '', 'application/json;charset=x', 'text/plain; application/json'])('of type "%s" is 415 (H003, H021)', async (type) => {
    const token = await waiting();
    expect(codeOf(await post(page, `/api/plans/${token}/approve`, {}, { headers: { 'Content-Type': type } }))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
  });

  test.each([
    ['no JSON', 'x'], ['nothing', ''], ['null', 'null'], ['a list', '[]'], ['a text', '"x"'], ['an unknown name', '{"force": true}'], ['a number', '{"note": 1}'], ['an object', '{"note": {}}'], ['a name twice', '{"note": "a", "note": "b"}'],
    ['a name twice, escaped', '{"note": "a", "no\\u0074e": "b"}'], ['a long note', JSON.stringify({ note: 'x'.repeat(2001) })], ['a zero character', '{"note": "a\\u0000b"}'], ['half a character', '{"note": "\\ud800"}'], ['__proto__', '{"__proto__": {"note": "x"}}'],
  ])('that is %s is 400 and decides nothing (H015)', async (_name, body) => {
    const token = await waiting();
    expect(codeOf(await post(page, `/api/plans/${token}/approve`, body))).toEqual([400, 'INVALID_ARGUMENTS']);
    expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
  });

  test('that is not UTF-8 is 400, and one of 64 KiB is read whole', async () => {
    const token = await waiting();
    expect((await ask(page, `/api/plans/${token}/approve`, { method: 'POST', body: Buffer.from([0x7b, 0xff, 0x7d]) })).status).toBe(400);
    expect((await post(page, `/api/plans/${token}/approve`, ' '.repeat(65_536))).status).toBe(400);
    expect((await post(page, `/api/plans/${token}/approve`, ' '.repeat(65_537))).status).toBe(413);
  });
});

describe('deciding', () => {
  test('approves: the answer, the event, the channel, and the name beside the identity (H022)', async () => {
    const token = await waiting();
    const answer = await post(page, `/api/plans/${token}/approve`, { approvedBy: 'ceo@example.com', note: 'checked' });
    expect([answer.status, answer.json]).toEqual([200, expect.objectContaining({ ok: true, plan_token: token, status: 'approved', decided_by: db.role('alice') })]);
    const { rows } = await db.as('auditor').query('select status, approved_by, "session_user", reported_by, channel, note from countersign.audit_log where plan_token = $1 order by id desc limit 1', [token]);
    expect(rows).toEqual([{ status: 'approved', approved_by: db.role('alice'), session_user: db.role('alice'), reported_by: 'ceo@example.com', channel: 'page', note: 'checked' }]);
    expect((await ask(page, `/plans/${token}`)).text).toMatch(/ceo@example\.com<\/q> \(self-reported\)/);
    expect((await db.as('auditor').query('select * from countersign.verify_chain()')).rows).toEqual([]);
  });

  test('rejects with a reason that the agent reads', async () => {
    const plan = accepted(await previewDelete(agent, 'stock', `id = ${++next}`));
    expect((await post(page, `/api/plans/${plan.detail.plan_token}/reject`, { rejectedBy: 'Al', reason: 'narrow it' })).json).toMatchObject({ ok: true, status: 'rejected' });
    expect(await execute(agent, plan)).toMatchObject({ code: 'PLAN_REJECTED', message: expect.stringContaining('narrow it') as string });
  });

  test('a decision carries what its human saw; when the plan has moved it is refused with the new state (H026)', async () => {
    const token = await waiting();
    const seen = await seenOf(token);
    accepted(await approve(db.as('bob'), { detail: { plan_token: token } } as Outcome));
    const late = await post(page, `/api/plans/${token}/reject`, { reason: 'no', seen });
    expect([late.status, late.json]).toEqual([409, expect.objectContaining({ ok: false, code: 'PLAN_MISMATCH', status: 'approved', approved_by: [db.role('bob')] })]);
    expect((await post(page, `/api/plans/${token}/reject`, { reason: 'no', seen: await seenOf(token) })).json).toMatchObject({ ok: true, status: 'rejected' });
    expect(codeOf(await post(page, `/api/plans/${token}/approve`, { seen: 'invented' }))).toEqual([409, 'PLAN_REJECTED']);
  });

  test('ten at once decide once (H026)', async () => {
    const token = await waiting();
    const seen = await seenOf(token);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? post(page, `/api/plans/${token}/approve`, { seen }) : post(page, `/api/plans/${token}/reject`, { seen, reason: 'r' }))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect((await eventsOf(db, token)).filter((event) => ['approved', 'rejected'].includes(event))).toHaveLength(1);
  });

  test('a double click is told what is so, and changes nothing', async () => {
    const token = await waiting();
    expect((await post(page, `/api/plans/${token}/approve`, {})).status).toBe(200);
    expect(codeOf(await post(page, `/api/plans/${token}/approve`, {}))).toEqual([409, 'INVALID_ARGUMENTS']);
  });

  test('two of two: the second person finds who was first', async () => {
    await setPolicy(db, 'required_approvals', '2', 'table:customers');
    const token = accepted(await previewUpdate(agent, 'customers', { segment: 'x' }, 'id = 3')).detail.plan_token;
    expect((await post(page, `/api/plans/${token}/approve`, { note: 'first' })).json).toMatchObject({ status: 'awaiting_approval', message: 'Recorded: 1 of 2 approvals.' });
    const others = await pageFor(db, {}, 'bob');
    const { text } = await ask(others, `/plans/${token}`);
    expect(text).toMatch(/1 of 2<\/b> approvals; 1 more needed/);
    expect(text).toContain(db.role('alice'));
    expect((await post(others, `/api/plans/${token}/approve`, {})).json).toMatchObject({ status: 'approved' });
  });

  test('no plan: 404, and no event for a token that never was', async () => {
    const token = '00000000-0000-4000-8000-000000000000';
    expect(codeOf(await ask(page, `/api/plans/${token}`))).toEqual([404, 'UNKNOWN_TOKEN']);
    expect(codeOf(await ask(page, `/plans/${token}`))).toEqual([404, 'UNKNOWN_TOKEN']);
    expect(codeOf(await post(page, `/api/plans/${token}/approve`, {}))).toEqual([404, 'UNKNOWN_TOKEN']);
  });

  test('an agent\'s login behind a page decides nothing (H001)', async () => {
    const token = await waiting();
    const wrong = await pageFor(db, {}, 'agent');
    expect(codeOf(await post(wrong, `/api/plans/${token}/approve`, {}))).toEqual([503, 'DATABASE_UNAVAILABLE']);
    expect((await ask(wrong, '/api/plans')).text).not.toMatch(/permission denied|plan_list/);
    expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
  });

  test('onDecision is told, and cannot change anything, not even by throwing', async () => {
    const told: unknown[] = [];
    const own = await pageFor(db, { onDecision: (decision, outcome) => { told.push([decision.verb, decision.token, outcome.ok]); throw new Error('host'); } });
    const token = await waiting();
    expect((await post(own, `/api/plans/${token}/approve`, {})).status).toBe(200);
    expect((await post(own, `/api/plans/${token}/approve`, {})).status).toBe(409);
    expect(told).toEqual([['approve', token, true]]);
    expect(own.log.join()).toContain('onDecision failed: host');
  });
});

describe('what is shown', () => {
  test('facts a host adds are text, whatever they hold', async () => {
    const own = await pageFor(db, { renderPlan: () => ({ title: '<b>Send</b> 3 mails', facts: [{ label: '<i>to', value: '<img src=x onerror=alert(1)>' }] }) });
    const { text } = await ask(own, `/plans/${await waiting()}`);
    expect(text).toContain('&lt;b&gt;Send&lt;/b&gt; 3 mails');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    const broken = await pageFor(db, { renderPlan: () => { throw new Error('no'); } });
    expect((await ask(broken, `/plans/${await waiting()}`)).status).toBe(200);
  });

  test('numbers lose no digit', async () => {
    const token = accepted(await previewInsert(agent, 'stock', ['id', 'amount'], '[["9007199254740993", 1]]' as never)).detail.plan_token;
    expect((await ask(page, `/plans/${token}`)).text).toContain('9007199254740993');
    const other = accepted(await previewDelete(agent, 'stock', 'id = $1', '[9007199254740993]')).detail.plan_token;
    expect((await ask(page, `/plans/${other}`)).text).toContain('9007199254740993');
    expect((await ask(page, `/api/plans/${other}`)).text).toContain('"params":["9007199254740993"]');
  });

  test('the same statement again shows who rejected it and why', async () => {
    const where = `id = ${++next}`;
    accepted(await reject(db.as('bob'), accepted(await previewDelete(agent, 'stock', where)), 'the auditors need it'));
    const token = accepted(await previewDelete(agent, 'stock', where)).detail.plan_token;
    const { text } = await ask(page, `/plans/${token}`);
    expect(text).toContain('The same statement before');
    expect(text).toContain('the auditors need it');
    expect(text).toContain('Rejected before');
  });

  test('internals stay inside when something breaks', async () => {
    await db.as('admin').query('alter function countersign.plan_list(text, text, integer) rename to plan_list_away');
    const answer = await ask(page, '/api/plans').finally(() => db.as('admin').query('alter function countersign.plan_list_away(text, text, integer) rename to plan_list'));
    expect([answer.status, answer.json['code']]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    expect(answer.text).not.toMatch(/plan_list|function/);
    expect(page.log.join('\n')).toContain('plan_list');
  });
});

describe('ten thousand plans', () => {
  test('are paged by an index, oldest first, each once', async () => {
    const flooded = await createTestDatabase();
    await createShop(flooded);
    await setPolicy(flooded, 'approval_required_above_rows', '0');
    const { detail } = accepted(await previewDelete(flooded.as('agent'), 'stock', 'id = 1'));
    // Copies of one honest plan: ten thousand previews would take a minute, and the lists read nothing that differs.
    await flooded.as('admin').query(`
      begin; set local session_replication_role = replica;
      create temp table copies on commit drop as select gen_random_uuid() as token, n from generate_series(1, 10000) n;
      insert into countersign_data.event overriding system value select (jsonb_populate_record(e, jsonb_build_object('id', 1000000 + c.n, 'chain', c.token, 'plan_token', c.token))).* from countersign_data.event e, copies c where e.chain = '${detail.plan_token}';
      insert into countersign_data.plan select (jsonb_populate_record(p, jsonb_build_object('token', c.token, 'created_at', p.created_at + c.n * interval '1 millisecond'))).* from countersign_data.plan p, copies c where p.token = '${detail.plan_token}';
      commit; analyze countersign_data.plan; analyze countersign_data.event`);
    const many = await pageFor(flooded);
    await ask(many, '/');
    const started = performance.now();
    const first = await ask(many, '/');
    // About 80 ms on a busy machine of two cores; a page that read all plans would take seconds.
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(first.text).toContain('<title>(10001) Countersign</title>');
    expect(first.text).toContain('10,001 plans wait for you');
    expect(first.text.match(/class="plan"/g)).toHaveLength(50);
    const tokens = new Set<string>();
    let after = '';
    for (let turn = 0; turn < 4; turn++) {
      const { json } = await ask(many, `/api/plans?list=waiting${after}`);
      for (const { plan_token } of json['plans'] as { plan_token: string }[]) tokens.add(plan_token);
      after = `&after=${String(json['next'])}`;
    }
    expect(tokens.size).toBe(200);
    expect([...tokens][0]).toBe(detail.plan_token);
    // The look-back goes by fingerprint.
    expect((await ask(many, `/plans/${detail.plan_token}`)).status).toBe(200);
    const explained = await flooded.as('admin').query<Record<string, string>>(`explain select q.token from countersign_data.plan q where q.state = 'awaiting_approval' and q.expires_at > clock_timestamp()
      and (q.created_at, q.token) > ('-infinity', '00000000-0000-0000-0000-000000000000') order by q.created_at, q.token limit 51`);
    expect(explained.rows.map((row) => Object.values(row)[0]).join('\n')).toMatch(/Index Scan using plan_waiting/);
    await flooded.drop();
  });
});
