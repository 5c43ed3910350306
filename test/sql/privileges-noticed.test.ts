/** The probes of the security tests are themselves tried: with a protection taken away they must see it. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { OWN_SCHEMAS, accessOfLogin, accessOfRole } from './access.js';
import { createShop } from './application.js';
import { accepted, approve, execute, previewDelete, previewInsert, sqlstate } from './calls.js';

// A database of its own, so that nothing that is torn down here is missed elsewhere.
const db = await createTestDatabase();
const admin = db.as('admin');

beforeAll(() => createShop(db));

/** Looks before, with the protection gone, and after it was put back. */
async function look<T>(probe: () => Promise<T>, takeAway: string, putBack: string): Promise<[before: T, without: T, after: T]> {
  const before = await probe();
  await admin.query(takeAway);
  let without: T;
  try {
    without = await probe();
  } finally {
    await admin.query(putBack);
  }
  return [before, without, await probe()];
}

const added = (before: string[], after: string[]): string[] => after.filter((entry) => !before.includes(entry));

describe('the access probe notices when', () => {
  const agentsSchema = 'grant usage on schema countersign_data to countersign_agent';
  const agentsSchemaBack = 'revoke usage on schema countersign_data from countersign_agent';
  const cases: ReadonlyArray<[string, Parameters<typeof accessOfLogin>[1], string, string, string[]]> = [
    ['PUBLIC may execute approve', 'agent', 'grant execute on function countersign.approve(text, text, text, text, text) to public',
      'revoke execute on function countersign.approve(text, text, text, text, text) from public', ['execute countersign.approve']],
    ['the agent may approve', 'agent', 'grant execute on function countersign.approve(text, text, text, text, text) to countersign_agent',
      'revoke execute on function countersign.approve(text, text, text, text, text) from countersign_agent', ['execute countersign.approve']],
    ['the agent may read events', 'agent', `${agentsSchema}; grant select on countersign_data.event to countersign_agent`,
      `${agentsSchemaBack}; revoke select on countersign_data.event from countersign_agent`, ['select countersign_data.event']],
    ['the agent may update one column of plans', 'agent', `${agentsSchema}; grant update (state) on countersign_data.plan to countersign_agent`,
      `${agentsSchemaBack}; revoke update (state) on countersign_data.plan from countersign_agent`, ['update countersign_data.plan']],
    ['the agent may run the writer\'s function', 'agent', 'grant usage on schema countersign_exec to countersign_agent; grant execute on function countersign_exec.run_ddl(text) to countersign_agent',
      'revoke usage on schema countersign_exec from countersign_agent; revoke execute on function countersign_exec.run_ddl(text) from countersign_agent', ['execute countersign_exec.run_ddl']],
    ['an approver may see the audit trail', 'alice', 'grant select on countersign.audit_log to countersign_approver',
      'revoke select on countersign.audit_log from countersign_approver', ['select countersign.audit_log']],
    ['everybody may create in the empty schema', 'nobody', 'grant usage, create on schema countersign_scratch to public',
      'revoke usage, create on schema countersign_scratch from public', ['create in countersign_scratch']],
  ];
  test.each(cases)('%s', async (_name, login, takeAway, putBack, expected) => {
    const [before, without, after] = await look(() => accessOfLogin(db, login, OWN_SCHEMAS), takeAway, putBack);
    expect(added(before, without)).toEqual(expected);
    expect(after).toEqual(before);
  });

  test('the agent may touch a table of the application', async () => {
    const [before, without, after] = await look(() => accessOfLogin(db, 'agent', ['public']), 'grant insert on secrets to countersign_agent', 'revoke insert on secrets from countersign_agent');
    expect(added(before, without)).toEqual(['insert secrets']);
    expect(after).toEqual(before);
  });

  test('the writer has USAGE where its function lives, and could then change it', async () => {
    const probe = async (): Promise<string> => {
      const client = await db.connect('admin');
      await client.query('set session authorization countersign_writer');
      await client.query('begin');
      const code = await sqlstate(client.query('alter function countersign_exec.run_dml(text, text[], text, text, jsonb, bigint, bytea, jsonb) security invoker'));
      await client.query('rollback');
      await client.end();
      return code;
    };
    expect(await look(probe, 'grant usage on schema countersign_exec to countersign_writer', 'revoke usage on schema countersign_exec from countersign_writer')).toEqual(['42501', 'ok', '42501']);
  });

  test('the engine may rewrite events', async () => {
    const [before, without] = await look(() => accessOfRole(db, 'countersign_engine', ['countersign_data']), 'grant update, delete on countersign_data.event to countersign_engine',
      'revoke update, delete on countersign_data.event from countersign_engine');
    expect(added(before, without)).toEqual(['delete countersign_data.event', 'lock countersign_data.event', 'update countersign_data.event']);
  });
});

/** Tries a statement as a superuser and takes it back. */
const attempt = (statement: string) => async (): Promise<string> => {
  const client = await db.connect('admin');
  await client.query('begin');
  const code = await sqlstate(client.query(statement));
  await client.query('rollback');
  await client.end();
  return code;
};

describe('the probe of a protection notices when', () => {
  test.each([
    ['the trigger that keeps events is gone', 'update countersign_data.event set reason = \'x\'', '42501',
      'alter table countersign_data.event disable trigger _00_event_is_append_only', 'alter table countersign_data.event enable trigger _00_event_is_append_only'],
    ['the trigger against TRUNCATE is gone', 'truncate countersign_data.tombstone', '42501',
      'alter table countersign_data.tombstone disable trigger _00_tombstone_is_not_truncated', 'alter table countersign_data.tombstone enable trigger _00_tombstone_is_not_truncated'],
    ['the trigger that keeps plans immutable is gone', 'update countersign_data.plan set total_rows = 0', '42501',
      'alter table countersign_data.plan disable trigger _10_plan_is_immutable', 'alter table countersign_data.plan enable trigger _10_plan_is_immutable'],
    ['the foreign key to the legal moves is gone', 'insert into countersign_data.event (from_state, to_state, status, channel) values (\'none\', \'none\', \'approved\', \'x\')', '23503',
      'alter table countersign_data.event drop constraint event_is_a_legal_move',
      'alter table countersign_data.event add constraint event_is_a_legal_move foreign key (from_state, to_state, status) references countersign_data.transition'],
    ['the foreign key from a plan to its event is gone', 'update countersign_data.plan set state = \'approved\'', '23503',
      'alter table countersign_data.plan drop constraint plan_state_is_an_event',
      'alter table countersign_data.plan add constraint plan_state_is_an_event foreign key (token, state_seq, state_hash, state) references countersign_data.event (chain, seq, hash, to_state)'],
  ])('%s', async (_name, statement, refused, takeAway, putBack) => {
    accepted(await previewInsert(db.as('agent'), 'stock', ['id', 'amount'], [[Math.floor(Math.random() * 1e9) + 1e6, 1]]));
    expect(await look(attempt(statement), takeAway, putBack)).toEqual([refused, 'ok', refused]);
  });

  test('the decision function no longer looks at who asks', async () => {
    const both = await bothRoles(db);
    const client = await db.connect('admin');
    await client.query(`set session authorization ${both}`);
    const waiting = accepted(await previewDelete(client, 'stock', 'id <= 150'));
    const { rows } = await admin.query<{ definition: string }>('select pg_get_functiondef(\'countersign_data.decide(text, text, text, text, text, text)\'::regprocedure) as definition');
    const definition = rows[0]?.definition ?? '';
    const weakened = definition.replace('v_plan.login = session_user or countersign_data.is_agent(session_user)', 'false');
    expect(weakened).not.toBe(definition);
    const codes: Array<string | null> = [(await approve(client, waiting)).code];
    await admin.query(weakened);
    codes.push((await approve(client, waiting)).code);
    await admin.query(definition);
    expect(codes).toEqual(['SELF_APPROVAL', null]);
    await client.end();
    await admin.query(`drop owned by ${both}; drop role ${both}`);
  });

  test('execution no longer compares with the preview', async () => {
    const { rows } = await admin.query<{ definition: string }>('select pg_get_functiondef(\'countersign_exec.run_dml(text, text[], text, text, jsonb, bigint, bytea, jsonb)\'::regprocedure) as definition');
    const definition = rows[0]?.definition ?? '';
    const weakened = definition.replace('digest = p_expected_digest and', '').replace('when digest <> p_expected_digest then', 'when false then');
    expect(weakened).not.toBe(definition);
    const stale = async (id: number): Promise<string | null> => {
      const preview = accepted(await previewDelete(db.as('agent'), 'stock', 'id = $1', [id]));
      await db.as('owner').query('update stock set amount = 99 where id = $1', [id]);
      return (await execute(db.as('agent'), preview)).code;
    };
    const codes = [await stale(20_001)];
    await admin.query(weakened);
    codes.push(await stale(20_002));
    await admin.query(definition);
    codes.push(await stale(20_003));
    expect(codes).toEqual(['ROWSET_CHANGED', null, 'ROWSET_CHANGED']);
  });
});

async function bothRoles(database: TestDatabase): Promise<string> {
  const role = `${database.role('agent')}_noticed`;
  await admin.query(`create role ${role} login in role countersign_agent, countersign_approver`);
  return role;
}
