/** Grants are the design: role by object, tried on real connections, against literal tables. What is not listed is refused. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { OWN_SCHEMAS, accessOfLogin, accessOfRole } from './access.js';
import { allow, createShop } from './application.js';

const db = await createTestDatabase();

beforeAll(async () => {
  await createShop(db);
  await db.as('owner').query('create table payroll (id integer primary key, name text, salary integer); create sequence numbers');
  await allow(db, 'payroll', ['id', 'name']);
});

const LOGINS = {
  agent: [
    'execute countersign.adopt_host_plan', 'execute countersign.announce', 'execute countersign.begin_execute', 'execute countersign.check_read',
    'execute countersign.confirm_executed', 'execute countersign.confirm_failed', 'execute countersign.create_host_plan', 'execute countersign.describe_schema',
    'execute countersign.execute_plan', 'execute countersign.host_plans',
    'execute countersign.plan_state', 'execute countersign.plan_status', 'execute countersign.preflight', 'execute countersign.preview_delete',
    'execute countersign.preview_insert', 'execute countersign.preview_migration', 'execute countersign.preview_update',
    'execute countersign.record_read', 'execute countersign.record_refusal', 'execute countersign.session_defaults', 'execute countersign.sweep', 'execute countersign.version',
  ],
  reader: [],
  alice: [
    'execute countersign.announce', 'execute countersign.approve', 'execute countersign.plan_detail', 'execute countersign.plan_list', 'execute countersign.reject', 'execute countersign.settle', 'execute countersign.show', 'execute countersign.version',
    'select countersign.executing', 'select countersign.pending',
  ],
  auditor: ['execute countersign.verify_chain', 'execute countersign.version', 'select countersign.audit_log', 'select countersign.policy'],
  owner: [],
  nobody: [],
} as const;

describe('in Countersign\'s schemas', () => {
  test.each(Object.entries(LOGINS))('%s can do exactly what is listed', async (login, expected) => {
    expect(await accessOfLogin(db, login as keyof typeof LOGINS, OWN_SCHEMAS)).toEqual(expected);
  });

  test.each(['countersign_writer', 'countersign_migrator', 'countersign_reader'])('%s, which agent SQL runs as, can do nothing', async (role) => {
    expect(await accessOfRole(db, role, OWN_SCHEMAS)).toEqual([]);
  });

  test('countersign_analyst can create in the empty schema and nothing else', async () => {
    expect(await accessOfRole(db, 'countersign_analyst', OWN_SCHEMAS)).toEqual(['create in countersign_scratch']);
  });

  test('countersign_engine holds SELECT and INSERT on what is kept for ever, and UPDATE of a plan\'s state', async () => {
    const found = (await accessOfRole(db, 'countersign_engine', OWN_SCHEMAS)).filter((entry) => !entry.startsWith('execute countersign_data.') && !entry.startsWith('execute countersign.'));
    expect(found).toEqual([
      'execute countersign_exec.read_tag', 'execute countersign_exec.resolve', 'execute countersign_exec.run_ddl', 'execute countersign_exec.run_dml',
      'insert countersign_data.event', 'insert countersign_data.known_condition', 'insert countersign_data.plan', 'insert countersign_data.requester', 'insert countersign_data.tombstone',
      'lock countersign_data.known_condition', 'lock countersign_data.requester',
      'select countersign_data.allowed_function', 'select countersign_data.event', 'select countersign_data.known_condition', 'select countersign_data.plan',
      'select countersign_data.policy_key', 'select countersign_data.policy_row', 'select countersign_data.requester', 'select countersign_data.setting',
      'select countersign_data.tombstone', 'select countersign_data.transition',
      'update countersign_data.known_condition', 'update countersign_data.plan', 'update countersign_data.requester',
    ]);
    const { rows } = await db.as('admin').query(`select a.attname from pg_attribute a where a.attrelid = 'countersign_data.plan'::regclass and a.attnum > 0
      and has_column_privilege('countersign_engine', a.attrelid, a.attnum, 'UPDATE') order by 1`);
    expect(rows.map((row: { attname: string }) => row.attname)).toEqual(['expires_at', 'state', 'state_hash', 'state_seq']);
  });
});

const WRITE = ['delete', 'insert', 'lock', 'select', 'update'] as const;
const everything = (...tables: string[]): string[] => tables.flatMap((table) => WRITE.map((verb) => `${verb} ${table}`)).sort();

describe('in the application\'s schema', () => {
  const access = (login: keyof typeof LOGINS): Promise<string[]> => accessOfLogin(db, login, ['public']);

  test.each(['agent', 'alice', 'auditor', 'nobody'] as const)('%s can touch no table', async (login) => {
    // The trigger function is the application's, and PUBLIC's by its own choice; nobody can call it but as a trigger.
    expect(await access(login)).toEqual(['execute public.touch']);
  });

  test('the reader reads what is allowed, and nothing of secrets', async () => {
    expect(await access('reader')).toEqual(['execute public.touch', 'select customers', 'select order_items', 'select orders', 'select payroll', 'select stock']);
    const client = await db.connect('reader');
    await expect(client.query('select id, name from payroll')).resolves.toBeDefined();
    await expect(client.query('select salary from payroll')).rejects.toMatchObject({ code: '42501' });
    await client.end();
  });

  test('countersign_writer writes what is allowed, reads no column more than the reader, and owns nothing', async () => {
    expect(await accessOfRole(db, 'countersign_writer', ['public'])).toEqual([
      'execute public.touch', ...everything('customers', 'order_items', 'orders', 'stock'), 'insert payroll', 'select payroll', 'update payroll',
    ].sort());
    const { rows } = await db.as('admin').query(`select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'public'::regnamespace and has_column_privilege('countersign_writer', c.oid, a.attnum, 'SELECT')
        and not has_column_privilege('countersign_reader', c.oid, a.attnum, 'SELECT')`);
    expect(rows).toEqual([]);
  });

  test('countersign_analyst and countersign_engine can touch no table', async () => {
    for (const role of ['countersign_analyst', 'countersign_engine', 'countersign_owner']) expect(await accessOfRole(db, role, ['public'])).toEqual(['execute public.touch']);
  });

  test('countersign_migrator has the rights of the owner it belongs to', async () => {
    expect(await accessOfRole(db, 'countersign_migrator', ['public'])).toEqual([
      'create in public', 'draw numbers', 'draw order_items_id_seq', 'draw orders_id_seq', 'execute public.touch',
      ...everything('customers', 'order_items', 'orders', 'payroll', 'secrets', 'stock'),
    ].sort());
  });
});

describe('SET ROLE and SET SESSION AUTHORIZATION', () => {
  const groups = ['countersign_owner', 'countersign_engine', 'countersign_writer', 'countersign_migrator', 'countersign_analyst',
    'countersign_agent', 'countersign_reader', 'countersign_approver', 'countersign_auditor'] as const;
  const own: Record<keyof typeof LOGINS, string[]> = {
    agent: ['countersign_agent'], reader: ['countersign_reader'], alice: ['countersign_approver'], auditor: ['countersign_auditor'], owner: [], nobody: [],
  };

  test.each(Object.keys(LOGINS) as Array<keyof typeof LOGINS>)('%s becomes nobody but its own group', async (login) => {
    const client = await db.connect(login);
    const others = (Object.keys(LOGINS) as Array<keyof typeof LOGINS>).filter((other) => other !== login).map((other) => db.role(other));
    const become: string[] = [];
    for (const role of [...groups, ...others, db.role('admin')]) {
      for (const statement of [`set role "${role}"`, `set session authorization "${role}"`]) {
        await client.query(statement).then(() => become.push(role), (error: { code: string }) => expect(error.code).toBe('42501'));
        await client.query('reset role');
      }
    }
    expect(become).toEqual(own[login]);
    await client.end();
  });
});
