/** Deciding: a human's own statement, under their own login, and nothing that calls it in their name. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { eventually } from '../harness/races.js';
import { createShop, eventsOf, one, setPolicy } from './application.js';
import { accepted, approve, execute, outcomeOf, planStatus, previewDelete, previewMigration, previewUpdate, reject, sqlstate, type Outcome } from './calls.js';

const db = await createTestDatabase();
const [admin, agent, alice, bob] = [db.as('admin'), db.as('agent'), db.as('alice'), db.as('bob')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
});

let at = 0;
const waiting = async (): Promise<Outcome> => accepted(await previewDelete(agent, 'stock', 'id between $1 and $2', [(at += 200) - 199, at]));

describe('a decision', () => {
  test('is made under the human\'s own login, with a note, and the agent is told', async () => {
    const plan = await waiting();
    expect(await approve(alice, plan, '  checked with billing ')).toMatchObject({
      ok: true, message: 'Approved. The agent may execute exactly what was previewed.', detail: { plan_token: plan.detail.plan_token, status: 'approved', decided_by: db.role('alice') },
    });
    expect((await planStatus(agent, plan)).detail).toMatchObject({ status: 'approved', decision: { status: 'approved', by: db.role('alice'), note: 'checked with billing' } });
    expect(await execute(agent, plan)).toMatchObject({ ok: true, detail: { approved_by: db.role('alice') } });
  });

  test('is found by a unique prefix of eight characters or more', async () => {
    const plan = await waiting();
    for (const prefix of [plan.detail.plan_token.slice(0, 7), plan.detail.plan_token.slice(1), `${plan.detail.plan_token}0`, '________', plan.detail.plan_token.slice(0, 8).toUpperCase() + '%']) {
      expect(await outcomeOf(alice, 'approve($1)', [prefix])).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN', hint: expect.stringContaining('countersign.pending') });
    }
    expect(await outcomeOf(alice, 'approve($1)', [plan.detail.plan_token.slice(0, 8)])).toMatchObject({ ok: true, detail: { plan_token: plan.detail.plan_token } });
    expect(await outcomeOf(alice, 'reject($1)', [plan.detail.plan_token.slice(0, 14)])).toMatchObject({ ok: true });
  });

  test('on a prefix that fits two plans is refused', async () => {
    const [first, second] = [await waiting(), await waiting()];
    const token = `${first.detail.plan_token.slice(0, 9)}0000-4000-8000-000000000000`;
    // Two tokens that begin alike do not happen by chance.
    await admin.query('set session_replication_role = replica; alter table countersign_data.plan drop constraint plan_state_is_an_event');
    await admin.query('update countersign_data.plan set token = $1 where token = $2', [token, second.detail.plan_token]);
    await admin.query('reset session_replication_role');
    expect(await outcomeOf(alice, 'approve($1)', [token.slice(0, 9)])).toMatchObject({ ok: false, code: 'UNKNOWN_TOKEN', message: 'Several plans begin with that.' });
    expect((await alice.query('select * from countersign.show($1)', [token.slice(0, 9)])).rows[0]).toMatchObject({ field: 'error' });
    expect(await outcomeOf(alice, 'approve($1)', [first.detail.plan_token])).toMatchObject({ ok: true });
    await admin.query('set session_replication_role = replica; delete from countersign_data.plan where token = \'' + token + '\'; reset session_replication_role');
    await admin.query('alter table countersign_data.plan add constraint plan_state_is_an_event foreign key (token, state_seq, state_hash, state) references countersign_data.event (chain, seq, hash, to_state)');
  });

  test('needs as many different people as the policy says, and names them', async () => {
    await setPolicy(db, 'required_approvals', '2', 'table:stock');
    const plan = await waiting();
    await setPolicy(db, 'required_approvals', null, 'table:stock');
    expect(plan.detail.approval).toMatchObject({ required: 2 });
    expect(await approve(alice, plan)).toMatchObject({ ok: true, message: 'Recorded: 1 of 2 approvals.', detail: { status: 'awaiting_approval' } });
    expect(await approve(alice, plan)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENTS' });
    expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'AWAITING_APPROVAL' });
    expect(await approve(bob, plan)).toMatchObject({ ok: true, detail: { status: 'approved' } });
    expect(await execute(agent, plan)).toMatchObject({ ok: true });
    expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['awaiting_approval', 'approved', 'refused INVALID_ARGUMENTS', 'refused AWAITING_APPROVAL', 'approved', 'executing', 'executed']);
  });

  test('by one of two can be outvoted: a rejection ends the plan', async () => {
    await setPolicy(db, 'required_approvals', '2');
    const plan = await waiting();
    await setPolicy(db, 'required_approvals', null);
    accepted(await approve(alice, plan));
    accepted(await reject(bob, plan, 'not this quarter'));
    expect(await execute(agent, plan)).toMatchObject({ ok: false, code: 'PLAN_REJECTED' });
  });

  test('in the last minute leaves the agent time to act on it', async () => {
    const plan = await waiting();
    await admin.query('update countersign_data.plan set expires_at = clock_timestamp() + interval \'5 seconds\' where token = $1', [plan.detail.plan_token]);
    accepted(await approve(alice, plan));
    expect(await one(db, 'select expires_at > clock_timestamp() + interval \'9 minutes\' from countersign_data.plan where token = $1', [plan.detail.plan_token])).toBe(true);
  });

  test('of a rejection is permanent: a tombstone names who, when and why, and outlives the plan', async () => {
    const plan = accepted(await previewUpdate(agent, 'customers', { segment: 'gone' }, 'id = 7'));
    accepted(await reject(alice, plan, 'narrow it to 2024'));
    await admin.query('set session_replication_role = replica; delete from countersign_data.plan where token = \'' + plan.detail.plan_token + '\'; reset session_replication_role');
    const again = accepted(await previewUpdate(db.as('agent2'), 'customers', { segment: 'gone' }, 'id = 7'));
    expect(again.detail).toMatchObject({ status: 'awaiting_approval', gate: [expect.stringContaining('narrow it to 2024')] });
    expect(accepted(await previewUpdate(agent, 'customers', { segment: 'gone' }, 'id = 8')).detail.status).toBe('previewed');
  });

  test('without a reason says so', async () => {
    const plan = await waiting();
    accepted(await reject(alice, plan, ' '));
    expect((await execute(agent, plan)).message).toContain('without giving a reason');
    expect((await planStatus(agent, plan)).detail.decision).toMatchObject({ status: 'rejected', note: null });
  });

  test('carries its channel, and a channel nobody knows is none', async () => {
    const [first, second] = [await waiting(), await waiting()];
    await outcomeOf(alice, 'approve($1, null, $2)', [first.detail.plan_token, 'cli']);
    await outcomeOf(alice, 'approve($1, null, $2)', [second.detail.plan_token, 'carrier pigeon']);
    expect(await one(db, 'select array_agg(channel order by id) from countersign_data.event where status = \'approved\' and plan_token = any($1)', [[first.detail.plan_token, second.detail.plan_token]])).toEqual(['cli', 'psql']);
  });
});

describe('a decision that is not the human\'s own statement is refused', () => {
  /** As an attacker with every right to plant things would: functions are owned by a superuser. */
  const plant = (sql: string) => admin.query(sql);

  test.each([
    ['a function', 'create or replace function public.helpful(t text) returns text language plpgsql as $$ begin return (countersign.approve(t, \'planted\')).code; end $$', 'select public.helpful($1)'],
    ['an SQL function that the planner could inline', 'create or replace function public.handy(t text) returns countersign.outcome language sql as $$ select countersign.approve(t, \'planted\') $$', 'select * from public.handy($1)'],
    ['a function named approve', 'create or replace function public.approve(t text) returns text language plpgsql as $$ begin return (countersign.approve(t, \'planted\')).code; end $$', 'select public.approve($1)'],
    ['a view', 'create or replace view public.overview as select (countersign.approve(q.token::text, \'planted\')).code, q.token from countersign_data.plan q', 'select code from public.overview where token = $1'],
    ['a view, in a statement that speaks of approving', 'create or replace view public.overview as select (countersign.approve(q.token::text, \'planted\')).code, q.token from countersign_data.plan q', 'select code from public.overview where token = $1 -- what did I approve?'],
  ])('%s', async (_name, planted, statement) => {
    await plant(planted);
    await plant('grant select on all tables in schema public to countersign_approver');
    const plan = await waiting();
    expect(await sqlstate(alice.query(statement, [plan.detail.plan_token]))).toBe('42501');
    expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['awaiting_approval']);
    await plant('revoke select on all tables in schema public from countersign_approver');
  });

  test('a trigger on a table that the human writes to', async () => {
    await plant('create table public.remark (plan text); grant insert on public.remark to countersign_approver');
    await plant('create function public.approve_on_remark() returns trigger language plpgsql as $$ begin perform countersign.approve(new.plan, \'planted\'); return null; end $$');
    await plant('create trigger approve after insert on public.remark for each row execute function public.approve_on_remark()');
    const plan = await waiting();
    expect(await sqlstate(alice.query('insert into public.remark values ($1) /* approve */', [plan.detail.plan_token]))).toBe('42501');
    await plant('create or replace view public.remarks as select plan from public.remark; create rule r as on insert to public.remarks do instead select countersign.approve(new.plan); grant insert on public.remarks to countersign_approver');
    expect(await sqlstate(alice.query('insert into public.remarks values ($1) /* approve */', [plan.detail.plan_token]))).toBe('42501');
    expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['awaiting_approval']);
  });

  test('a column default', async () => {
    await plant('create table public.vote (id integer, plan text, outcome text default (countersign.approve(current_setting(\'shop.plan\'), null)).code); grant insert on public.vote to countersign_approver');
    const plan = await waiting();
    const client = await db.connect('alice');
    await client.query('select set_config(\'shop.plan\', $1, false)', [plan.detail.plan_token]).catch(() => client.query(`set shop.plan = '${plan.detail.plan_token}'`));
    expect(await sqlstate(client.query('insert into public.vote (id) values (1)'))).toBe('42501');
    expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['awaiting_approval']);
    await client.end();
  });

  test('DO and CALL', async () => {
    await plant('grant usage on language plpgsql to countersign_approver');
    await plant('create procedure public.approve_all(t text) language plpgsql as $$ begin perform countersign.approve(t); end $$');
    const plan = await waiting();
    const token = plan.detail.plan_token;
    expect(await sqlstate(alice.query(`do $$ begin perform countersign.approve('${token}'); end $$`))).toBe('42501');
    expect(await sqlstate(alice.query(`call public.approve_all('${token}')`))).toBe('42501');
    expect(await eventsOf(db, token)).toEqual(['awaiting_approval']);
    await plant('revoke usage on language plpgsql from countersign_approver');
  });

  test('but psql\'s own ways of saying it are taken', async () => {
    for (const statement of ['select * from countersign.approve(\'TOKEN\')', 'SELECT Countersign.Approve (p_token => \'TOKEN\');', 'with x as (select countersign.approve(\'TOKEN\') as o) select (o).ok from x', '\n -- fine\nselect countersign."approve"(\'TOKEN\', \'ok\')\n;']) {
      const plan = await waiting();
      await alice.query(statement.replace('TOKEN', plan.detail.plan_token.slice(0, 8)));
      expect(await eventsOf(db, plan.detail.plan_token)).toEqual(['awaiting_approval', 'approved']);
    }
  });

  test('nor one taken on a frozen snapshot', async () => {
    const plan = await waiting();
    const client = await db.connect('alice');
    await client.query('begin isolation level repeatable read');
    expect(await sqlstate(approve(client, plan))).toBe('25000');
    await client.end();
  });
});

describe('NOTIFY', () => {
  test('wakes whoever waits with a short id that is not the token, and never rides with application data', async () => {
    const heard: string[] = [];
    const listener = await db.connect('alice');
    listener.on('notification', (message) => heard.push(`${message.channel} ${message.payload}`));
    await listener.query('listen countersign');
    const short = (outcome: Outcome): string => createHash('sha256').update(outcome.detail.plan_token).digest('hex').slice(0, 12);
    const said = (outcome: Outcome, status: string): string => `countersign ${JSON.stringify({ plan: short(outcome), status })}`;
    const hears = async (...expected: string[]): Promise<void> => {
      await eventually(async () => heard.length >= expected.length, `${expected.length} notifications`);
      await listener.query('select 1');
      expect(heard.splice(0).map((line) => line.replaceAll(' : ', ':').replaceAll(', ', ','))).toEqual(expected);
    };

    const plan = await waiting();
    await hears(said(plan, 'awaiting_approval'));
    accepted(await approve(alice, plan));
    await hears(said(plan, 'approved'));
    accepted(await execute(agent, plan));
    await agent.query('notify countersign, \'{"end":"of execution"}\'');
    await hears('countersign {"end":"of execution"}');
    await agent.query('select countersign.announce($1)', [plan.detail.plan_token]);
    await hears(said(plan, 'executed'));

    const other = accepted(await previewMigration(agent, 'create table heard (id integer)'));
    accepted(await reject(bob, other));
    await hears(said(other, 'awaiting_approval'), said(other, 'rejected'));
    // A small plan waits for nobody, so nobody is woken; nor does another login's token say anything.
    accepted(await execute(agent, accepted(await previewUpdate(agent, 'customers', { segment: 'x' }, 'id = 20'))));
    await db.as('agent2').query('select countersign.announce($1)', [plan.detail.plan_token]);
    await agent.query('notify countersign, \'{"end":"of all"}\'');
    await hears('countersign {"end":"of all"}');
    await listener.end();
  });

  test('a full queue does not keep an execution from committing', async () => {
    // What commits application data carries no notification: as Postgres counts them, none is pending.
    const client = await db.connect('agent');
    await client.query('listen countersign');
    const heard: unknown[] = [];
    client.on('notification', (message) => heard.push(message));
    await client.query('begin');
    accepted(await execute(client, accepted(await previewUpdate(client, 'customers', { segment: 'y' }, 'id = 21'))));
    await client.query('commit');
    await client.query('select 1');
    expect(heard).toEqual([]);
    await client.end();
  });
});
