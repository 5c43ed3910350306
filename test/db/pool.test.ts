import { afterAll, describe, expect, test } from 'vitest';
import { CountersignError } from '../../src/errors.js';
import { createCallPool, type CallPool, type CallPoolOptions } from '../../src/db/pool.js';
import { createTestDatabase } from '../harness/database.js';
import { withDatabase } from '../harness/fixture.js';
import { startOwnServer } from '../harness/own-server.js';
import { eventually } from '../harness/races.js';

const db = await createTestDatabase();
const pools: CallPool[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

function open(options: Partial<CallPoolOptions> = {}): CallPool {
  const pool = createCallPool({ url: db.url('agent'), applicationName: 'pool test', ...options });
  pools.push(pool);
  return pool;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'no error', (error: CountersignError) => error.code);
}

describe('a session', () => {
  test('gets what countersign.session_defaults() lists', async () => {
    const pool = open();
    const settings = await pool.sessionDefaults();
    expect(settings.map(({ name }) => name)).toContain('statement_timeout');
    const shown = await pool.run(async (client) => (await client.query<{ path: string; loss: string; name: string }>(
      'select current_setting(\'search_path\') as path, current_setting(\'client_connection_check_interval\') as loss, current_setting(\'application_name\') as name')).rows[0]);
    expect(shown).toEqual({ path: settings.find(({ name }) => name === 'search_path')?.value, loss: '1s', name: 'pool test' });
  });

  test('carries nothing from one call to the next', async () => {
    const pool = open({ url: db.url('admin'), max: 1, defaults: [{ name: 'search_path', value: 'public, "Odd ""Name", pg_temp' }, { name: 'statement_timeout', value: '5s' }] });
    const look = (): Promise<unknown> => pool.run(async (client) => (await client.query(`
      select current_setting('search_path') as path, current_setting('statement_timeout') as timeout, current_setting('datestyle') as style, session_user = current_user as self,
        (select count(*)::integer from pg_prepared_statements) + (select count(*)::integer from pg_cursors) as prepared,
        (select count(*)::integer from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
        (select count(*)::integer from pg_class where relname = 'left_over') as tables, (select count(*)::integer from pg_listening_channels()) as channels`)).rows[0]);
    const before = await look();
    await pool.run((client) => client.query(`
      set search_path = evil; set datestyle = german; set statement_timeout = 0; prepare left_over as select 1; create temp table left_over (a integer);
      declare left_cursor cursor with hold for select 1; select pg_advisory_lock(7); listen left_over; set role ${db.role('nobody')}; begin; select 1`));
    expect(await look()).toEqual(before);
    expect(before).toMatchObject({ path: 'public, "Odd ""Name", pg_temp', timeout: '5s', prepared: 0, locks: 0, tables: 0, channels: 0, self: true });
  });

  test('an aborted transaction does not reach the next call', async () => {
    const pool = open({ max: 1, defaults: [] });
    expect(await codeOf(pool.run(async (client) => { await client.query('begin'); await client.query('select 1/0'); }))).toBe('22012');
    expect(await codeOf(pool.run((client) => client.query('select 1')))).toBe('no error');
  });
});

describe('a call', () => {
  test('that the database does not end in time is cut off, and its statement with it', async () => {
    const pool = open({ url: db.url('admin'), defaults: [{ name: 'statement_timeout', value: '0' }] });
    expect(await codeOf(pool.run((client) => client.query('select pg_sleep(61)'), { limitMs: 10 }))).toBe('STATEMENT_TIMEOUT');
    await eventually(async () => (await db.as('admin').query('select from pg_stat_activity where query like \'%sleep(61)%\' and pid <> pg_backend_pid() and state = \'active\'')).rowCount === 0, 'the statement ends');
  });

  test('is cut off when its caller gives up', async () => {
    const pool = open({ url: db.url('admin'), defaults: [] });
    const abort = new AbortController();
    const call = pool.run((client) => client.query('select pg_sleep(62)'), { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('given up')), 50);
    await expect(call).rejects.toThrow('given up');
  });

  test('waits in line when all connections are lent, and 64 of them use no more than allowed', async () => {
    const pool = open({ max: 3, url: db.url('admin'), defaults: [] });
    const pids = await Promise.all(Array.from({ length: 64 }, () => pool.run(async (client) => (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid)));
    expect(new Set(pids).size).toBeLessThanOrEqual(3);
  });

  test('survives the loss of every idle connection', async () => {
    const pool = open({ defaults: [] });
    await pool.run((client) => client.query('select 1'));
    await db.as('admin').query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'pool test\'');
    await eventually(async () => await codeOf(pool.run((client) => client.query('select 1'))) === 'no error', 'a new connection');
  });
});

describe('no database', () => {
  const refused: Array<[string, () => string]> = [
    ['a port where nobody listens', () => 'postgresql://a:b@127.0.0.1:1/x'],
    ['a host that does not exist', () => 'postgresql://a:b@nowhere.invalid/x'],
    ['a wrong password', () => db.url('agent').replace(/:[^:@]+@/, ':wrong@')],
    ['a database that does not exist', () => withDatabase(db.url('agent'), 'no_such_database')],
    ['a server without encryption, encryption required', () => `${db.url('agent')}?sslmode=require`],
  ];
  test.each(refused)('%s is DATABASE_UNAVAILABLE with a hint', async (_, url) => {
    const error = await open({ url: url() }).run((client) => client.query('select 1')).catch((reason: CountersignError) => reason);
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', hint: expect.stringMatching(/\w/) as string });
    expect(JSON.stringify(error)).not.toContain('wrong@');
  });

  test('a login that is no agent is told what to run', async () => {
    const error = await open({ url: db.url('nobody') }).run(async () => undefined).catch((reason: CountersignError) => reason);
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', hint: expect.stringContaining('countersign_agent') as string });
  });

  test('of several hosts the first that answers is used', async () => {
    const pool = open({ url: db.url('agent').replace('@', '@127.0.0.1:1,') });
    expect(await codeOf(pool.run((client) => client.query('select 1')))).toBe('no error');
  });

  test('special characters of a password arrive', async () => {
    const password = 'p@s#s/w:o?rd %41 ü';
    await db.as('admin').query(`create role ${db.role('nobody')}_odd login password '${password}'`);
    const url = new URL(db.url('nobody'));
    url.username += '_odd';
    const pool = open({ url: url.href.replace(/:[^:@]+@/, `:${encodeURIComponent(password)}@`), defaults: [] });
    expect(await codeOf(pool.run((client) => client.query('select 1')))).toBe('no error');
    await pool.end();
    pools.splice(pools.indexOf(pool), 1);
    await db.as('admin').query(`drop role ${db.role('nobody')}_odd`);
  });

  test('a server killed under a running call gives DATABASE_UNAVAILABLE, and the same pool works when it is back', async () => {
    const server = await startOwnServer();
    const pool = open({ url: server.adminUrl, defaults: [] });
    const call = codeOf(pool.run(async (client) => { const sleeping = client.query('select pg_sleep(30)'); server.kill(); await sleeping; }));
    expect(await call).toBe('DATABASE_UNAVAILABLE');
    await eventually(async () => await codeOf(pool.run((client) => client.query('select 1'))) === 'no error', 'recovery', 20_000);
    await pool.end();
    pools.splice(pools.indexOf(pool), 1);
  });
});
