/** kill -9 of Postgres while plans are being executed: afterwards each is executed, with its effect and its events, or untouched. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startOwnServer, type OwnServer } from '../harness/own-server.js';
import { eventually } from '../harness/races.js';
import { accepted, execute, previewUpdate, type Outcome } from './calls.js';

const ROWS = 200;
const AT_ONCE = 4;
const ROUNDS = 20;

let server: OwnServer;
let batch = 0;
const open = new Set<pg.Client>();

beforeAll(async () => {
  // What a killed process wrote the system still has, so nothing needs to reach the disk; only a machine that dies needs fsync.
  server = await startOwnServer({ settings: { fsync: 'off' } });
  const admin = await connect(server.adminUrl, 'admin');
  await admin.query(`
    create table stock (id integer primary key, batch integer not null, amount integer not null, note text);
    insert into stock select g, (g - 1) / ${ROWS}, 1, 'as delivered' from generate_series(1, ${ROWS * AT_ONCE * (ROUNDS + 1)}) g;
    create index on stock (batch); alter table stock owner to shop_owner; analyze stock`);
  await admin.query('select countersign.allow(\'read\', \'stock\'), countersign.allow(\'write\', \'stock\'), countersign.set_policy(\'approval_required_above_rows\', \'1000\'), countersign.set_policy(\'ungated_rows_per_hour\', \'1000000\'), countersign.set_policy(\'lock_timeout\', \'30 seconds\')');
});

afterAll(async () => { await Promise.allSettled([...open].map((client) => client.end())); });

/** Connects as soon as the server takes connections again. */
async function connect(url: string, name: string): Promise<pg.Client> {
  return eventually(async () => {
    const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('select 1');
    } catch {
      await client.end().catch(() => undefined);
      return null;
    }
    open.add(client);
    return client;
  }, 'the server takes connections', 30_000);
}

interface Attempt { plan: Outcome; batch: number; client: pg.Client; answer: Promise<Outcome | null> }

/** Plans that may run at once, each of a batch of rows of its own, previewed. */
async function plans(): Promise<Array<{ plan: Outcome; batch: number }>> {
  const agent = await connect(server.agentUrl, 'previews');
  const made = [];
  for (let n = 0; n < AT_ONCE; n++) {
    const plan = accepted(await previewUpdate(agent, 'stock', { amount: 2 }, 'batch = $1', [batch]));
    expect(plan.detail).toMatchObject({ status: 'previewed', affected_rows: ROWS });
    made.push({ plan, batch: batch++ });
  }
  await agent.end();
  return made;
}

async function start(made: Array<{ plan: Outcome; batch: number }>): Promise<Attempt[]> {
  const clients = await Promise.all(made.map((_, n) => connect(server.agentUrl, `executes ${n}`)));
  return made.map((one, n) => {
    const client = clients[n] ?? expect.fail();
    // No answer is what a crash gives.
    return { ...one, client, answer: execute(client, one.plan).catch(() => null) };
  });
}

/** Even rounds lose one backend, after which the server restarts itself; odd ones lose the server with all its backends. */
function kill(round: number, backends: number[]): void {
  if (round % 2 === 0) {
    process.kill(backends[round % backends.length] ?? expect.fail(), 'SIGKILL');
    return;
  }
  server.kill();
  for (const pid of backends) process.kill(pid, 'SIGKILL');
}

async function check(attempts: Attempt[], round: number): Promise<Array<'executed' | 'untouched'>> {
  const answers = await Promise.all(attempts.map((attempt) => attempt.answer));
  await Promise.allSettled(attempts.map((attempt) => attempt.client.end()));
  const admin = await connect(server.adminUrl, 'looks');
  const found: Array<'executed' | 'untouched'> = [];
  for (const [n, attempt] of attempts.entries()) {
    const { rows } = await admin.query<{ state: string; changed: number; events: string[] }>(`
      select q.state, (select count(*)::integer from stock where batch = $2 and amount = 2) as changed,
             (select array_agg(e.status order by e.seq) from countersign_data.event e where e.chain = q.token) as events
      from countersign_data.plan q where q.token = $1`, [attempt.plan.detail.plan_token, attempt.batch]);
    const row = rows[0] ?? expect.fail(`round ${round}: the plan is gone`);
    const executed = row.state === 'executed';
    expect([round, row]).toEqual([round, executed
      ? { state: 'executed', changed: ROWS, events: ['previewed', 'executing', 'executed'] } : { state: 'previewed', changed: 0, events: ['previewed'] }]);
    // Whoever was told that it is done can rely on it.
    if (answers[n]?.ok === true) expect([round, row.state]).toEqual([round, 'executed']);
    found.push(executed ? 'executed' : 'untouched');
  }
  expect((await admin.query('select * from countersign.verify_chain()')).rows).toEqual([]);
  await admin.end();
  return found;
}

test('twenty times, in the middle of the statement and around its commit', { timeout: 120_000 }, async () => {
  const warm = await start(await plans());
  const began = Date.now();
  for (const attempt of warm) expect(await attempt.answer).toMatchObject({ ok: true });
  const usual = Math.max(Date.now() - began, 10);
  await Promise.all(warm.map((attempt) => attempt.client.end()));
  const results: Array<'executed' | 'untouched'> = [];

  for (let round = 0; round < ROUNDS; round++) {
    const made = await plans();
    const admin = await connect(server.adminUrl, 'holds a row');
    const middle = round < ROUNDS / 2;
    if (middle) {
      // The last row of every batch is held, so that each execution has done a part and waits.
      await admin.query('begin');
      await admin.query('select from stock where id = any($1) for update', [made.map((one) => (one.batch + 1) * ROWS)]);
    }
    const attempts = await start(made);
    const watcher = await connect(server.adminUrl, 'watches');
    const victims = async (): Promise<Array<{ pid: number; waits: boolean }>> => (await watcher.query<{ pid: number; waits: boolean }>(
      'select pid, wait_event_type is not distinct from \'Lock\' as waits from pg_stat_activity where application_name ~ \'^executes\' order by application_name')).rows;
    let seen = await victims();
    if (middle) seen = await eventually(async () => { const now = await victims(); return now.length === AT_ONCE && now.every((one) => one.waits) && now; }, 'every execution waits for the held row');
    else await sleep(usual * 2 * (round - ROUNDS / 2) / (ROUNDS / 2));
    kill(round, seen.map((one) => one.pid));
    // Only now may the held row be let go: a backend that outlives the crash by a moment must not get it.
    const found = await check(attempts, round);
    await Promise.allSettled([admin.end(), watcher.end()]);
    if (middle) expect(found).toEqual(made.map(() => 'untouched'));
    results.push(...found);
  }
  expect(results).toHaveLength(AT_ONCE * ROUNDS);
  expect(new Set(results)).toEqual(new Set(['executed', 'untouched']));
});

test('what a crash left untouched can be executed afterwards, once', async () => {
  const agent = await connect(server.agentUrl, 'after all');
  const admin = await connect(server.adminUrl, 'looks');
  const { rows } = await admin.query<{ detail: Outcome['detail'] }>(
    'select jsonb_build_object(\'plan_token\', token, \'statement\', statement, \'params\', params) as detail from countersign_data.plan where state = \'previewed\'');
  expect(rows.length).toBeGreaterThanOrEqual(AT_ONCE * ROUNDS / 2);
  for (const { detail } of rows.slice(0, 10)) {
    const plan = { ok: true, code: null, message: '', hint: null, detail };
    expect(await execute(agent, plan)).toMatchObject({ ok: true, detail: { affected_rows: ROWS } });
    expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'PLAN_USED' });
  }
  expect((await admin.query('select * from countersign.verify_chain()')).rows).toEqual([]);
});
