/** What a plan token is worth, and to whom: self-approval, the caller's own transaction, races, crashes, guesses, other logins. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { expect } from 'vitest';
import type { Outcome } from '../../src/client.js';
import type { Login } from '../harness/fixture.js';
import { waitForLockWait } from '../harness/races.js';
import { refused, story, where, type Args, type Attack, type Story } from './attack.js';
import { readyPlan } from './runner.js';
import type { World } from './world.js';

const ONE = { table: 'public.orders', where: 'id = 1' };
const HUNDRED = { table: 'public.orders', where: 'id <= 100' };

interface Plan { plan_token: string; statement: string; params: unknown[] }

/** A preview by the SQL function alone, with what execute_plan takes. */
async function preview(world: World, input: Args, tool = 'delete_rows'): Promise<Plan & { status: unknown }> {
  const outcome = await world.sql(tool, input);
  expect(outcome.code, JSON.stringify(outcome).slice(0, 500)).toBeNull();
  const { plan_token, statement, params, status } = outcome.detail ?? {};
  return { plan_token: String(plan_token), statement: String(statement), params: params as unknown[], status };
}

const call = (plan: Plan): Args => ({ plan_token: plan.plan_token, statement: plan.statement, params: plan.params });

const executeOn = (world: World, connection: pg.ClientBase, plan: Plan): Promise<Outcome> =>
  world.apiOn(connection).executePlan({ planToken: plan.plan_token, statement: plan.statement, params: plan.params, callerId: null });

async function orders(world: World): Promise<number> {
  return Number((await world.admin('select count(*)::integer as n from public.orders'))[0]?.['n']);
}

const stateOf = async (world: World, plan: Plan): Promise<unknown> =>
  (await world.admin(`select state from countersign_data.plan where token = '${plan.plan_token}'`))[0]?.['state'];

async function eventsOf(world: World, plan: Plan): Promise<string[]> {
  const rows = await world.admin(`select concat_ws(' ', status, code) as event from countersign_data.event where plan_token = '${plan.plan_token}' order by id`);
  return rows.map((row) => String(row['event']));
}

/** `ok`, or the SQLSTATE with which a login's own statement is refused. */
async function tried(world: World, login: Login, sql: string, values: unknown[] = []): Promise<string> {
  return world.db.as(login).query(sql, values).then(() => 'ok', (error: { code?: string }) => error.code ?? String(error));
}

/** Runs on a connection of the login's own, in a transaction that began with `begin` and ends with it. */
async function within<T>(world: World, login: Login, begin: string, work: (connection: pg.Client) => Promise<T>, name?: string): Promise<T> {
  const connection = await world.db.connect(login, name);
  try {
    await connection.query(begin);
    return await work(connection);
  } finally {
    await connection.end();
  }
}

const decide = async (connection: pg.ClientBase | pg.Pool, verb: 'approve' | 'reject', plan: Plan): Promise<{ ok: boolean; code: string | null }> =>
  (await connection.query<{ ok: boolean; code: string | null }>(`select ok, code from countersign.${verb}($1, 'a test')`, [plan.plan_token])).rows[0] as { ok: boolean; code: string | null };

const expireNow = (world: World, plan: Plan): Promise<unknown> =>
  world.admin(`update countersign_data.plan set expires_at = created_at + interval '1 microsecond' where token = '${plan.plan_token}'`);

/** Holds the rows of the first orders, so that whoever deletes them stands and waits. */
const HOLD = 'begin; select 1 from public.orders where id <= 10 for update';

async function terminate(world: World, name: string, how = 'pg_terminate_backend'): Promise<void> {
  await world.admin(`select ${how}(pid) from pg_stat_activity where datname = current_database() and application_name = '${name}'`);
}

/** A function of the application that an owner without rights planted where plans pass, to run another plan. */
const PLANTED = `create table public.planted (token text, statement text, outcome text);
  grant usage on language plpgsql to <owner>; alter table public.planted owner to <owner>;
  create function public.runs_another() returns trigger language plpgsql security definer as
    $$begin perform countersign.execute_plan(p.token, p.statement, '[]', null) from public.planted p; return old; end$$;
  alter function public.runs_another() owner to <owner>;
  create trigger runs_another before delete on public.orders for each row when (old.id = 2) execute function public.runs_another();`;

/** A story with a database of its own, which other stories would find altered. */
const alone = (ids: string, title: string, play: Story['play'], setup = ''): Story => story(ids, title, play, `drop table public.order_items; ${setup}`);

const MADE_UP = '7f7f0a52-3a46-4f8e-9d5c-0123456789ab';

export const TOKENS: readonly Attack[] = [
  story('T001', 'whoever asked for a plan tries to decide it', async (world) => {
    const plan = await preview(world, HUNDRED);
    expect(plan.status).toBe('awaiting_approval');
    for (const login of ['agent', 'agent2', 'reader', 'nobody'] as const) {
      for (const verb of ['approve', 'reject']) {
        expect(await tried(world, login, `select * from countersign.${verb}($1)`, [plan.plan_token]), `${login} ${verb}`).toBe('42501');
      }
      expect(await tried(world, login, 'select countersign_data.decide(\'approve\', $1, null, \'psql\', null, null)', [plan.plan_token])).toBe('42501');
      expect(await tried(world, login, 'update countersign_data.plan set state = \'approved\'')).toBe('42501');
      expect(await tried(world, login, 'select token from countersign_data.plan')).toBe('42501');
    }
    for (const role of ['countersign_approver', 'countersign_engine', 'countersign_owner', 'countersign_writer', world.db.role('alice')]) {
      expect(await tried(world, 'agent', `set role ${role}`)).toBe('42501');
      expect(await tried(world, 'agent', `set session authorization ${role}`)).toBe('42501');
    }
    expect((await world.tool('execute_plan', call(plan))).code).toBe('AWAITING_APPROVAL');
    expect(await orders(world)).toBe(300);
  }),
  story('T001', 'a login that is agent and approver at once decides nothing', async (world) => {
    const plan = await preview(world, HUNDRED);
    const both = `${world.db.role('agent')}_decides`; // roles are the whole server's: one of the test's own
    await world.admin(`create role ${both} login in role countersign_agent, countersign_approver`);
    try {
      await within(world, 'admin', `set session authorization ${both}`, async (connection) => {
        const own = (await world.apiOn(connection).previewMigration({ statement: 'alter table public.orders add x text', reason: 'a test', callerId: null })).detail as unknown as Plan;
        for (const asked of [own, plan]) {
          expect(await decide(connection, 'approve', asked)).toEqual({ ok: false, code: 'SELF_APPROVAL' });
          expect(await decide(connection, 'reject', asked)).toEqual({ ok: false, code: 'SELF_APPROVAL' });
        }
      });
    } finally {
      await world.admin(`drop owned by ${both}; drop role ${both}`);
    }
    expect(await stateOf(world, plan)).toBe('awaiting_approval');
  }),
  refused('T002', 'the read tool is no way to the decision', 'NOT_READABLE', 'query', [
    { statement: `SELECT countersign.approve('${MADE_UP}')` }, { statement: `SELECT * FROM countersign.reject('${MADE_UP}', 'x', 'psql')` },
    { statement: `SELECT countersign.execute_plan('${MADE_UP}', 'x', '[]', null)` }, { statement: `SELECT 1 FROM orders WHERE (countersign.approve($1)).ok`, params: [MADE_UP] },
  ]),
  refused('T002', 'nor are the tables behind it', 'NOT_READABLE', 'query', [{ statement: 'SELECT token FROM countersign_data.plan' }, { statement: 'TABLE countersign.pending' }, { statement: 'SELECT hash FROM countersign_data.event' }]),
  refused('T003', 'a plan is approved by an update of its row', 'UNKNOWN_TABLE', 'update_rows', ['countersign_data.plan', 'countersign_data."plan"', '"countersign_data"."plan"', 'COUNTERSIGN_DATA.PLAN', 'plan', 'countersign.pending', 'countersign_data.policy_row', 'countersign_data.tombstone', 'countersign_data.known_condition']
    .map((table) => ({ table, set: { state: 'approved' }, where: 'true' }))),
  refused('T004', 'history is written by hand', 'UNKNOWN_TABLE', 'insert_rows', ['countersign_data.event', 'countersign.audit_log', 'event', 'audit_log', 'countersign_data.tombstone', 'countersign_data.allowed_function']
    .map((table) => ({ table, columns: ['status'], rows: [['approved']] }))),
  refused('T004', 'history is removed', 'UNKNOWN_TABLE', 'delete_rows', [{ table: 'countersign_data.event', where: 'true' }, { table: 'countersign.audit_log', confirm_full_table: true }, { table: 'countersign_data.requester', where: 'true' }]),

  story('T005', 'an answer is taken and the transaction rolled back: what is left of the token is nothing', async (world) => {
    const plan = await within(world, 'agent', 'begin', async (connection) => {
      const outcome = await world.apiOn(connection).previewDelete({ ...ONE, params: [], confirmFullTable: false, reason: 'a test', callerId: null });
      await connection.query('rollback');
      return outcome.detail as unknown as Plan;
    });
    expect((await world.tool('execute_plan', call(plan))).code).toBe('UNKNOWN_TOKEN');
    expect((await decide(world.db.as('alice'), 'approve', plan)).code).toBe('UNKNOWN_TOKEN');
    expect(await orders(world)).toBe(300);
  }),
  story('T006', 'time stands still in a transaction; a plan expires all the same', async (world) => {
    const [small, large, gone] = [await preview(world, ONE), await preview(world, HUNDRED), await preview(world, { ...HUNDRED, where: 'id <= 90' })];
    await world.alice.approve(large.plan_token, null, 'psql');
    for (const [login, plan] of [['agent', small], ['agent', large], ['alice', gone]] as const) {
      await within(world, login, 'begin', async (connection) => {
        await connection.query('select now()');
        await expireNow(world, plan);
        const outcome = login === 'alice' ? await decide(connection, 'approve', plan) : await executeOn(world, connection, plan);
        expect(outcome.code).toBe('PLAN_EXPIRED');
        await connection.query('commit');
      });
      expect(await stateOf(world, plan)).toBe('expired');
    }
    expect(await orders(world)).toBe(300);
  }),
  story('T007', 'an execution that its caller takes back has not happened, and can happen once', async (world) => {
    const plan = await preview(world, ONE);
    await within(world, 'agent', 'begin', async (connection) => {
      expect((await executeOn(world, connection, plan)).code).toBeNull();
      // Nobody else is told that it happened while it has not.
      expect(await stateOf(world, plan)).toBe('previewed');
      await connection.query('rollback');
    });
    expect([await orders(world), await stateOf(world, plan)]).toEqual([300, 'previewed']);
    expect((await world.tool('execute_plan', call(plan))).code).toBeNull();
    expect((await world.tool('execute_plan', call(plan))).code).toBe('PLAN_USED');
    expect(await orders(world)).toBe(299);
  }),
  story('T007', 'a session of the server cannot be left standing in a transaction', async (world) => {
    const defaults = await world.api.sessionDefaults();
    const value = (name: string): string | undefined => defaults.find((setting) => setting.name === name)?.value;
    expect(value('idle_in_transaction_session_timeout')).toBe('30s');
    expect(value('statement_timeout')).toMatch(/^[1-9]\d*ms$/);
    expect(value('lock_timeout')).toMatch(/^[1-9]\d*ms$/);
    const open = await world.admin('select 1 from pg_stat_activity where datname = current_database() and application_name like \'attack %\' and state ~ \'in transaction\'');
    expect(open).toEqual([]);
  }),
  story('T009', 'a frozen snapshot would not see that the plan was rejected', async (world) => {
    const plan = await preview(world, HUNDRED);
    await world.alice.approve(plan.plan_token, null, 'psql');
    for (const level of ['repeatable read', 'serializable']) {
      await within(world, 'agent', `begin isolation level ${level}`, async (connection) => {
        await connection.query('select 1');
        await expect(executeOn(world, connection, plan)).rejects.toMatchObject({ code: '25000' });
      });
      await within(world, 'agent', `set default_transaction_isolation = '${level}'`, async (connection) => {
        await expect(executeOn(world, connection, plan)).rejects.toMatchObject({ code: '25000' });
      });
      await within(world, 'alice', `begin isolation level ${level}`, async (connection) => {
        await expect(decide(connection, 'reject', plan)).rejects.toMatchObject({ code: '25000' });
      });
    }
    await within(world, 'agent', 'begin', async (connection) => {
      await connection.query('select 1');
      expect(await decide(world.db.as('bob'), 'reject', plan)).toMatchObject({ ok: true });
      expect((await executeOn(world, connection, plan)).code).toBe('PLAN_REJECTED');
    });
    expect(await orders(world)).toBe(300);
  }),

  refused('T011', 'a token that no preview ever answered', 'UNKNOWN_TOKEN', 'execute_plan', [
    'null', 'undefined', "' OR '1'='1", '%', '_', '../x', '０', 'abc\n', 'ABC', ' abc ', '0', 'true', '{}', MADE_UP, MADE_UP.toUpperCase(), `${MADE_UP}\n`, `{${MADE_UP}}`, MADE_UP.replaceAll('-', ''),
    '00000000-0000-0000-0000-000000000000', '________-____-____-____-____________', '７f7f0a52-3a46-4f8e-9d5c-0123456789ab', `${MADE_UP}'; drop table orders; --`, '\u{202e}abc', 'A'.repeat(200),
  ].map((plan_token) => ({ plan_token, statement: 'DELETE FROM public.orders WHERE (id = 1)', params: [] }))),
  refused('T011', 'a token that cannot be one', { tool: 'INVALID_ARGUMENTS', sql: 'UNKNOWN_TOKEN' }, 'execute_plan', [
    { plan_token: '', statement: 'x', params: [] }, { plan_token: 'A'.repeat(1_000_000), statement: 'x', params: [] }, { plan_token: ['x'], statement: 'x', params: [] }, { plan_token: 7, statement: 'x', params: [] },
  ]),
  story('T011', 'a token spelled otherwise is another token, and every wrong one is answered alike', async (world) => {
    const plan = await preview(world, ONE);
    const { plan_token: token } = plan;
    const spelled = [token.toUpperCase(), ` ${token}`, `${token} `, `${token}\n`, `${token}\t`, `{${token}}`, token.replaceAll('-', ''), `urn:uuid:${token}`, token.slice(0, 8), token.slice(0, 35),
      `${token.slice(0, 8)}%`, `${token}\u200b`, token.replace('-', '\u2010'), token.replace(/\d/, (digit) => String.fromCodePoint(0xff10 + Number(digit))), MADE_UP];
    const answers = new Set<string>();
    for (const plan_token of spelled) {
      const { code, message, hint } = await world.sql('execute_plan', { ...call(plan), plan_token });
      answers.add(`${code} ${message} ${hint}`);
      expect((await world.tool('plan_status', { plan_token })).code).toBe('UNKNOWN_TOKEN');
      expect(await world.api.planState(plan_token)).toBeNull();
    }
    expect([...answers]).toEqual([expect.stringMatching(/^UNKNOWN_TOKEN /)]);
    // NUL cannot be sent to Postgres at all; the tools say so first.
    expect(await tried(world, 'agent', 'select countersign.plan_state($1)', [`${token}\0`])).toBe('22021');
    expect((await world.tool('execute_plan', { ...call(plan), plan_token: `${token}\0` })).code).toBe('INVALID_ARGUMENTS');
    // A human may give a beginning; signs that would match anything are none.
    for (const wild of ['%', '________', `${token.slice(0, 8)}%`, token.slice(0, 7), `${token.slice(0, 8)}0000`, `${token.slice(0, 8)}----`, `${token.slice(0, 9)}-`, `${token}0`, '', `${token}\n`, token.toUpperCase()]) {
      expect((await world.alice.reject(wild, null, 'psql')).code, wild).toBe('UNKNOWN_TOKEN');
      expect(await world.alice.planDetail(wild), wild).toBeNull();
    }
    expect(await stateOf(world, plan)).toBe('previewed');
  }),
  story('T011', 'tokens come from a generator that no session can seed', async (world) => {
    const tokens = await within(world, 'agent', 'select setseed(0.5)', async (connection) => {
      const made: string[] = [];
      for (let n = 0; n < 2; n += 1) {
        await connection.query('select setseed(0.5)');
        made.push(String((await world.apiOn(connection).previewDelete({ ...ONE, params: [], confirmFullTable: false, reason: 'a test', callerId: null })).detail?.['plan_token']));
      }
      return made;
    });
    expect(tokens[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect(tokens[1]).not.toBe(tokens[0]);
  }),

  story('T012', 'the backend is killed while it executes: all of it, or nothing', async (world) => {
    const plan = await preview(world, { ...ONE, where: 'id <= 3' });
    await world.admin('select countersign.set_policy(\'lock_timeout\', \'20 seconds\')');
    await within(world, 'admin', HOLD, async (holder) => {
      const victim = await world.db.connect('agent', 'victim');
      const broken = executeOn(world, victim, plan).catch((error: unknown) => error);
      await waitForLockWait(world.db.as('admin'), 'victim');
      await terminate(world, 'victim');
      expect(await broken).toBeInstanceOf(Error);
      expect([await orders(world), await stateOf(world, plan), await eventsOf(world, plan)]).toEqual([300, 'previewed', ['previewed']]);

      const asked = world.tool('execute_plan', call(plan));
      await waitForLockWait(world.db.as('admin'), 'attack agent');
      await terminate(world, 'attack agent');
      const { code, text } = await asked;
      expect(code).toBe('DATABASE_UNAVAILABLE');
      expect(text).toContain('plan_status');

      // A cancelled execution, other than a killed one, can still say so; the plan keeps its state.
      const client = await world.db.connect('agent', 'cancelled');
      const cancelled = executeOn(world, client, plan);
      await waitForLockWait(world.db.as('admin'), 'cancelled');
      await terminate(world, 'cancelled', 'pg_cancel_backend');
      expect((await cancelled).code).toBe('STATEMENT_TIMEOUT');
      await client.end();
      await holder.query('rollback');
    });
    expect([await orders(world), await stateOf(world, plan)]).toEqual([300, 'previewed']);
    expect((await world.tool('execute_plan', call(plan))).content['affected_rows']).toBe(3);
    expect(await orders(world)).toBe(297);
  }),
  story('T013', 'the reply is lost after the commit: asked again, the token tells what was done', async (world) => {
    const plan = await preview(world, { table: 'public.orders', columns: ['id', 'customer_id'], rows: [[901, 1], [902, 1]] }, 'insert_rows');
    await within(world, 'agent', 'select 1', (connection) => executeOn(world, connection, plan)); // and nobody reads the answer
    const again = await world.tool('execute_plan', call(plan));
    expect(again.code).toBe('PLAN_USED');
    expect(again.content['outcome']).toMatchObject({ status: 'executed', affected_rows: 2, total_rows: 2 });
    expect((await world.tool('plan_status', { plan_token: plan.plan_token })).content).toMatchObject({ status: 'executed' });
    expect(await orders(world)).toBe(302);
  }),
  story('T013', 'two submits of one plan at the same time book once', async (world) => {
    const plan = await preview(world, { table: 'public.orders', columns: ['id', 'customer_id'], rows: [[901, 1]] }, 'insert_rows');
    const codes = (await Promise.all(Array.from({ length: 6 }, () => world.tool('execute_plan', call(plan))))).map((answer) => answer.code);
    expect(codes.filter((code) => code === null)).toHaveLength(1);
    for (const code of codes.filter((other) => other !== null)) expect(code).toMatch(/^(PLAN_USED|ALREADY_EXECUTING)$/);
    expect(await orders(world)).toBe(301);
  }),
  story('T014', 'approve, reject and execute at once: one history, and it is true', async (world) => {
    for (let round = 0; round < 8; round += 1) {
      const plan = await preview(world, { ...ONE, where: `id between ${1 + round * 20} and ${20 + round * 20}` });
      const before = await orders(world);
      const [approved, rejected, executed] = await Promise.all([
        decide(world.db.as('alice'), 'approve', plan), decide(world.db.as('bob'), 'reject', plan), world.sql('execute_plan', call(plan)),
      ]);
      const state = await stateOf(world, plan);
      expect((await orders(world)) - before).toBe(state === 'executed' ? -20 : 0);
      expect(executed.code === null).toBe(state === 'executed');
      expect(rejected.ok).toBe(state === 'rejected');
      if (!rejected.ok) expect(rejected.code).toMatch(/^(PLAN_USED|ALREADY_EXECUTING)$/);
      if (!approved.ok) expect(approved.code).toMatch(/^(PLAN_REJECTED|ALREADY_EXECUTING)$/);
      const moves = (await eventsOf(world, plan)).filter((event) => /^(executed|rejected|approved)/.test(event));
      expect(moves.at(-1)).toBe(state);
    }
  }),
  story('T014', 'a rejection that waits for a running execution is told that it came too late', async (world) => {
    const plan = await preview(world, HUNDRED);
    await world.alice.approve(plan.plan_token, null, 'psql');
    await within(world, 'agent', 'begin', async (connection) => {
      expect((await executeOn(world, connection, plan)).code).toBeNull();
      await within(world, 'bob', 'select 1', async (bob) => {
        const late = decide(bob, 'reject', plan);
        await waitForLockWait(world.db.as('admin'), 'late');
        await connection.query('commit');
        expect((await late).code).toBe('PLAN_USED');
      }, 'late');
    });
    expect([await stateOf(world, plan), await orders(world)]).toEqual(['executed', 200]);
  }),
  story('T015', 'at the instant of expiry only the database\'s clock counts, and it counts once', async (world) => {
    const plans = await Promise.all(Array.from({ length: 24 }, (_, n) => preview(world, { ...ONE, where: `id = ${n + 1}` })));
    // They end one after the other while they are being executed, a few on either side of each call.
    const tokens = plans.map((plan) => `'${plan.plan_token}'`).join(',');
    await world.admin(`update countersign_data.plan set expires_at = clock_timestamp() + interval '60 ms' where token in (${tokens})`);
    await within(world, 'agent', 'select 1', async (connection) => {
      const clock = async (): Promise<number> => (await connection.query<{ ms: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as ms')).rows[0]?.ms ?? 0;
      const end = Number((await world.admin(`select extract(epoch from min(expires_at))::float8 * 1000 as ms from countersign_data.plan where token in (${tokens})`))[0]?.['ms']);
      const seen: string[] = [];
      for (const plan of plans) {
        const began = await clock();
        const { code } = await executeOn(world, connection, plan);
        if (code === null) expect(began).toBeLessThan(end);
        else expect([code, (await clock()) > end]).toEqual(['PLAN_EXPIRED', true]);
        seen.push(code ?? 'executed');
        await sleep(1);
      }
      expect(seen).toEqual([...seen].sort().reverse()); // executed …, then expired … and never again executed
      expect(await orders(world)).toBe(300 - seen.filter((code) => code === 'executed').length);
      expect(seen.at(-1)).toBe('PLAN_EXPIRED');
    });
  }),
  story('T016', 'another login has the token, the statement and the params', async (world) => {
    for (const input of [ONE, HUNDRED]) {
      const plan = await preview(world, input);
      if (input === HUNDRED) await world.alice.approve(plan.plan_token, null, 'psql');
      const stranger = await world.tool('execute_plan', call(plan), { caller: 'agent2' });
      expect(stranger.code).toBe('UNKNOWN_TOKEN');
      expect(stranger.text).not.toContain(plan.statement);
      expect((await world.tool('plan_status', { plan_token: plan.plan_token }, { caller: 'agent2' })).code).toBe('UNKNOWN_TOKEN');
      expect((await world.db.as('agent2').query('select countersign.plan_state($1) as state', [plan.plan_token])).rows).toEqual([{ state: null }]);
      for (const login of ['alice', 'reader', 'auditor', 'nobody'] as const) {
        expect(await tried(world, login, 'select countersign.execute_plan($1, $2, $3, null)', [plan.plan_token, plan.statement, JSON.stringify(plan.params)])).toBe('42501');
      }
    }
    expect(await orders(world)).toBe(300);
  }),
  story('T017', 'whom the history names is the login, whatever the session calls itself', async (world) => {
    const plan = await preview(world, HUNDRED);
    const bob = world.db.role('bob');
    await within(world, 'bob', `set application_name = 'alice'; set countersign.login = 'alice'; set role countersign_approver`, async (connection) => {
      expect(await decide(connection, 'approve', plan)).toMatchObject({ ok: true });
    });
    expect(await tried(world, 'bob', `set session authorization ${world.db.role('alice')}`)).toBe('42501');
    const executed = await world.tool('execute_plan', call(plan));
    expect(executed.content['code']).toBeUndefined();
    const rows = await world.admin(`select distinct status, approved_by, login::text from countersign_data.event where plan_token = '${plan.plan_token}' and status in ('approved', 'executed') order by status`);
    expect(rows).toEqual([{ status: 'approved', approved_by: bob, login: bob }, { status: 'executed', approved_by: bob, login: world.db.role('agent') }]);
  }),
  where('T018', 'a plan is executed or approved from within a condition', 'NOT_READABLE', [
    `id = 1 AND (countersign.execute_plan('${MADE_UP}', 'x', '[]', null)).ok`, `id = 1 AND countersign.plan_state('${MADE_UP}') IS NULL`, `(countersign.approve('${MADE_UP}')).ok`,
    `EXISTS (SELECT FROM countersign.execute_plan('${MADE_UP}', 'x', '[]', null))`, `id IN (SELECT 1 FROM countersign.preview_delete('orders', 'true', '[]', false, 'x', null))`, `countersign.version() = 1`,
    `countersign_data.token_of('x') IS NULL`, `(countersign_exec.run_dml('x', 'x', '[]', 1, null, null)).verdict = 'done'`,
  ]),
  alone('T018', 'a trigger tries to run another plan on the way', async (world) => {
    await world.admin('alter table public.orders disable trigger runs_another');
    const other = await preview(world, { ...ONE, where: 'id = 7' });
    await world.admin(`insert into public.planted values ('${other.plan_token}', '${other.statement}', null); alter table public.orders enable trigger runs_another`);
    const nested = await world.sql('delete_rows', { ...ONE, where: 'id = 2' });
    expect(nested.code).toBe('NOT_WRITABLE'); // what the trigger's owner may not call stops the statement
    expect([await stateOf(world, other), await orders(world)]).toEqual(['previewed', 300]);
  }, PLANTED),
  story('T020', 'what is answered as executed is on disk, whatever the caller has set', async (world) => {
    const [small, large] = [await preview(world, ONE), await preview(world, HUNDRED)];
    const setting = async (connection: pg.ClientBase): Promise<unknown> => (await connection.query<{ synchronous_commit: string }>('show synchronous_commit')).rows[0]?.synchronous_commit;
    await within(world, 'agent', 'set synchronous_commit = off; begin', async (connection) => {
      expect((await executeOn(world, connection, small)).code).toBeNull();
      expect(await setting(connection)).toBe('on'); // still so when it commits
      await connection.query('commit');
      expect(await setting(connection)).toBe('off');
    });
    await within(world, 'alice', 'set synchronous_commit = local; begin', async (connection) => {
      expect(await decide(connection, 'reject', large)).toMatchObject({ ok: true });
      expect(await setting(connection)).toBe('on');
      await connection.query('commit');
    });
    await within(world, 'agent', 'set synchronous_commit = remote_apply; begin', async (connection) => {
      await executeOn(world, connection, large);
      expect(await setting(connection)).toBe('remote_apply'); // more than asked for is left
    });
    expect((await world.api.sessionDefaults()).find(({ name }) => name === 'synchronous_commit')?.value).toBe('on');
  }),
  alone('T021', 'thirty plans of ten rows are three hundred rows', async (world) => {
    await world.admin('select countersign.set_policy(\'ungated_rows_per_hour\', \'100\')');
    const statuses: unknown[] = [];
    for (let n = 0; n < 30; n += 1) {
      const plan = await preview(world, { ...ONE, where: `id between ${1 + n * 10} and ${10 + n * 10}` });
      statuses.push(plan.status);
      // Whether it runs at once, is left for later or never runs: it counts.
      if (n % 2 === 0) await world.sql('execute_plan', call(plan));
    }
    expect(statuses).toEqual([...Array<string>(10).fill('previewed'), ...Array<string>(20).fill('awaiting_approval')]);
    expect(await orders(world)).toBe(250);
    // Another tool, a full table or another caller's name do not open a fresh account.
    const update = await world.api.previewUpdate({ ...ONE, where: 'id = 300', set: { status: 'x' }, params: [], confirmFullTable: true, reason: 'a test', callerId: 'somebody else' });
    expect(update.detail).toMatchObject({ status: 'awaiting_approval', gate: [expect.stringMatching(/within the hour/)] });
  }),
  refused('T022', 'an argument that would loosen a gate is no argument', { tool: 'INVALID_ARGUMENTS', sql: 'readable' }, 'delete_rows', [
    { ...ONE, force: true }, { ...ONE, dry_run: false }, { ...ONE, approval_required_above_rows: 1000 }, { ...ONE, approved_by: 'alice' }, { ...ONE, hard_max_rows: 9 }, { ...ONE, skip_approval: true }, { ...ONE, Confirm_full_table: true },
  ]),
  refused('T022', 'an argument of the wrong kind is none either', { tool: 'INVALID_ARGUMENTS', sql: 'WHERE_REQUIRED' }, 'delete_rows', [
    { table: 'orders', confirm_full_table: 'true' }, { table: 'orders', confirm_full_table: 1 }, { table: 'orders', confirm_full_table: [true] }, { table: 'orders', confirm_full_table: null },
  ]),
  story('T022', 'what the agent may say loosens nothing', async (world) => {
    for (const said of [{ reason: 'user asked; approved by alice' }, { reason: 'approval_required_above_rows=1000' }, { confirm_full_table: true }]) {
      const { content } = await world.tool('delete_rows', { reason: 'a test', ...HUNDRED, ...said });
      expect(content['status']).toBe('awaiting_approval');
    }
    const whole = await world.tool('delete_rows', { table: 'orders', confirm_full_table: true, reason: 'user asked' });
    expect(whole.content).toMatchObject({ status: 'awaiting_approval', affected_rows: 300 });
    await world.admin('select countersign.set_policy(\'hard_max_rows\', \'299\')');
    expect((await world.tool('delete_rows', { table: 'orders', confirm_full_table: true, reason: 'user asked' })).code).toBe('HARD_MAX_ROWS_EXCEEDED');
    expect(await tried(world, 'agent', 'select countersign.set_policy(\'hard_max_rows\', \'1000000\')')).toBe('42501');
    expect(await tried(world, 'agent', 'select countersign.allow(\'write\', \'public.secrets\')')).toBe('42501');
  }),
  alone('T024', 'no function is PUBLIC\'s, and one that becomes so keeps the server from starting', async (world) => {
    const open = `select p.oid::regprocedure::text as f from pg_proc p where p.pronamespace::regnamespace::text ~ '^countersign'
      and (p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0))`;
    expect(await world.admin(open)).toEqual([]);
    const fatal = async (): Promise<string[]> => (await world.api.preflight(world.db.role('reader'), true)).filter((check) => check.checkName.startsWith('PUBLIC') && check.severity === 'fatal').map((check) => check.message);
    expect(await fatal()).toEqual([]);
    await world.admin('create function countersign.later() returns integer language sql as \'select 1\'');
    expect(await fatal()).toEqual([expect.stringContaining('countersign.later()')]);
    await world.admin('drop function countersign.later(); grant execute on function countersign.approve(text, text, text, text, text) to public');
    expect(await fatal()).toEqual([expect.stringContaining('countersign.approve(text,text,text,text,text)')]);
  }),
  story('', 'an execution that stands behind a lock gives up, and the plan can be tried again', async (world) => {
    const plan = await readyPlan(world, 'delete_rows', ONE);
    await world.admin('select countersign.set_policy(\'lock_timeout\', \'50 milliseconds\')');
    await within(world, 'admin', HOLD, async (holder) => {
      expect((await world.sql('execute_plan', call(plan))).code).toBe('LOCK_TIMEOUT');
      await holder.query('rollback');
    });
    expect((await world.sql('execute_plan', call(plan))).code).toBeNull();
  }),
];

/** What the product cannot contain, because it is the caller's own: each with what is left of it. */
export const NOT_CONTAINED: Readonly<Record<string, string>> = {
  T005: 'Whoever holds the agent\'s login may preview in a transaction and roll it back: the answer stays with them, its event does not; the token is worth nothing, and only the server should hold that login (log_statement, set by a superuser, shows it).',
  T007: 'Whoever holds the agent\'s login may keep a transaction open after execute_plan and so hold its row locks; the server\'s own sessions end after 30 s, a session of theirs ends by an administrator\'s hand.',
};
