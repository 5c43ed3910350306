/** The hint is the next thing to do, for whoever reads it: an agent, a human at psql, at a terminal or on the page. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { accepted, approve, execute, outcomeOf, previewDelete, previewInsert, previewMigration, previewUpdate, reject, type Outcome } from './calls.js';

const db = await createTestDatabase();
const [admin, agent, alice, owner] = [db.as('admin'), db.as('agent'), db.as('alice'), db.as('owner')];

beforeAll(async () => {
  await owner.query(`
    create table person (id integer primary key, name text, ssn text, "Odd, name" text);
    create table secret (id integer primary key, token text);
    create table "Order" (id integer primary key);
    create table stock (id integer primary key, n integer not null);
    create view dear as select id from stock where n > 10;
    insert into person values (1, 'Ann', '1'); insert into secret values (1, 's3cr3t'); insert into stock select g, g from generate_series(1, 300) g`);
  await admin.query(`select countersign.allow('read', 'person', '{id,name}'), countersign.allow('write', 'person', '{name}'), countersign.allow('read', 'stock'), countersign.allow('write', 'stock')`);
});

describe('of a decision that a plan\'s state refuses', () => {
  const decide = (verb: 'approve' | 'reject', token: string, channel: string): Promise<Outcome> => outcomeOf(alice, `${verb}($1, 'x', $2)`, [token, channel]);

  test.each([
    ['psql', 'select * from countersign.pending; lists', (short: string) => `select * from countersign.show('${short}');`],
    ['cli', 'countersign pending lists', (short: string) => `countersign show ${short} tells`],
    ['page', 'The queue lists', () => 'its timeline tells'],
  ])('is in the words of %s', async (channel, list, show) => {
    for (const verb of ['approve', 'reject'] as const) {
      const unknown = await decide(verb, '00000000', channel);
      expect(unknown).toMatchObject({ code: 'UNKNOWN_TOKEN' });
      expect(unknown.hint).toMatch(list);
    }
    const id = { psql: 1, cli: 2, page: 3 }[channel];
    const plan = accepted(await previewUpdate(agent, 'stock', { n: 0 }, `id = ${id}`));
    accepted(await execute(agent, plan));
    const used = await decide('approve', plan.detail.plan_token, channel);
    expect(used.code).toBe('PLAN_USED');
    expect(used.hint).toContain(show(plan.detail.plan_token.slice(0, 8)));
  });

  test('asks nobody to preview who cannot', async () => {
    const expired = accepted(await previewDelete(agent, 'stock', 'id > 100'));
    await admin.query('update countersign_data.plan set expires_at = created_at + interval \'1 ms\' where token = $1', [expired.detail.plan_token]);
    const stale = accepted(await previewUpdate(agent, 'stock', { n: 1 }, 'id = 20'));
    await owner.query('update stock set n = 21 where id = 20');
    expect((await execute(agent, stale)).hint).toBe('Preview again; changed names the rows.');
    for (const plan of [expired, stale]) {
      for (const refused of [await approve(alice, plan), await reject(alice, plan)]) {
        expect(refused).toMatchObject({ ok: false, hint: 'Ask the agent to preview it again.' });
      }
    }
    expect(await approve(alice, expired)).toMatchObject({ code: 'PLAN_EXPIRED' });
    expect(await approve(alice, stale)).toMatchObject({ code: 'ROWSET_CHANGED' });
    expect(await execute(agent, expired)).toMatchObject({ code: 'PLAN_EXPIRED', hint: 'Preview again.' });

    const rejected = accepted(await previewDelete(agent, 'stock', 'id > 120'));
    accepted(await reject(alice, rejected));
    expect((await approve(alice, rejected)).hint).toMatch(/^Nothing to do\. Should it run after all, ask the agent/);
    expect((await execute(agent, rejected)).hint).toMatch(/^Do not repeat it\./);
  });
});

describe('NOT_READABLE names what', () => {
  const read = (statement: string): Promise<Outcome> => outcomeOf(agent, 'check_read($1, $2, $3::jsonb, null, null)', ['query', statement, '[]']);
  const partly = ' of public.person, which is not readable for agents.';
  const whole = /^The text reads public\.person whole, or a column of it by its place/;

  test.each([
    ['select ssn from person', `The text reads ssn${partly}`, 'countersign allow read public.person --columns id,name,ssn'],
    ['select p.id from person p where p.ssn = \'1\'', `The text reads ssn${partly}`, 'countersign allow read public.person --columns id,name,ssn'],
    ['select "Odd, name" from person', `The text reads Odd, name${partly}`, 'countersign allow read public.person --columns …'],
    ['select * from person', whole, 'countersign allow read public.person'],
    ['select c from person as p (a, b, c)', whole, 'countersign allow read public.person'],
    ['select p from person p', whole, 'countersign allow read public.person'],
    ['select * from secret', 'The text reads public.secret, which is not readable for agents.', 'countersign allow read public.secret'],
    ['select id from secret', 'The text reads public.secret, which is not readable for agents.', 'countersign allow read public.secret --columns id'],
    ['select 1 from "Order"', 'The text reads public."Order", which is not readable for agents.', 'countersign allow read \'public."Order"\''],
  ])('%s', async (statement, message, command) => {
    const refused = await read(statement);
    expect(refused.code).toBe('NOT_READABLE');
    expect(refused.message).toMatch(message);
    expect(refused.hint?.endsWith(`ask an administrator to run: ${command}`), refused.hint ?? '').toBe(true);
  });

  test('and never a hidden column that the text does not name', async () => {
    for (const statement of ['select * from person', 'select c from person as p (a, b, c)', 'select to_jsonb(p) from person p', 'select ssn from person', 'select d from person as p (a, b, c, d)']) {
      expect(JSON.stringify(await read(statement))).not.toMatch(statement.includes('ssn') ? /Odd/ : /ssn|Odd/);
    }
  });

  test('offers no grant on what is never for agents', async () => {
    for (const statement of ['select 1 from pg_authid', 'select token from countersign_data.plan']) {
      expect((await read(statement)).hint).not.toMatch(/countersign allow read (pg_|countersign)/);
    }
  });

  test('in a condition, and a table that is asked for', async () => {
    expect(await previewDelete(agent, 'stock', 'exists (select from person where ssn = \'1\')')).toMatchObject({ code: 'NOT_READABLE', message: `The text reads ssn${partly}` });
    expect((await outcomeOf(agent, 'describe_schema(null, $1, null, null)', ['secret'])).hint).toContain('ask an administrator to run: countersign allow read public.secret');
  });

  test('and the command makes it readable', async () => {
    await admin.query('begin; select countersign.allow(\'read\', \'public.secret\', \'{id}\'); commit');
    expect(await read('select id from secret')).toMatchObject({ ok: true });
    await admin.query('select countersign.revoke(\'read\', \'public.secret\')');
  });
});

test('NOT_WRITABLE names the command that keeps what may be written already', async () => {
  const column = await previewUpdate(agent, 'person', { ssn: '2' }, 'id = 1');
  expect(column).toMatchObject({ code: 'NOT_WRITABLE', message: 'Column ssn of public.person may not be written.' });
  expect(column.hint).toMatch(/ask an administrator to run: countersign allow write public\.person --columns name,ssn$/);
  expect((await previewDelete(agent, 'secret', 'id = 1')).hint).toMatch(/ask an administrator to run: countersign allow write public\.secret$/);
});

test('a drop that others depend on says what would drop them, too', async () => {
  for (const statement of ['drop table stock', 'alter table stock drop column n']) {
    const refused = await previewMigration(agent, statement);
    expect(refused).toMatchObject({ code: 'STATEMENT_FAILED', detail: { sqlstate: '2BP01' } });
    expect(refused.message).toMatch(/^cannot drop .* because other objects depend on it \(SQLSTATE 2BP01\)$/);
    expect(refused.hint).toContain('CASCADE');
    const cascade = accepted(await previewMigration(agent, `${statement} cascade`));
    expect(cascade.detail.migration.removed.join('\n')).toContain('public.dear');
  }
});

test('an option of another version is said to be one', async () => {
  const refused = await previewMigration(agent, 'create view odd with (nonsense = true) as select 1 as one');
  expect(refused).toMatchObject({ code: 'STATEMENT_FAILED', detail: { sqlstate: '22023' } });
  expect(refused.hint).toMatch(/^This server does not know that option/);
});

describe('a preview of nothing', () => {
  test('says so, and is a plan all the same', async () => {
    for (const preview of [await previewDelete(agent, 'stock', 'id = -1'), await previewUpdate(agent, 'stock', { n: 1 }, 'id = -1')]) {
      expect(preview).toMatchObject({ ok: true, detail: { status: 'previewed', affected_rows: 0, total_rows: 0 } });
      expect(preview.message).toMatch(/^No row matches: executing this changes nothing; check the condition\. Previewed; it may run now\./);
      expect(await execute(agent, preview)).toMatchObject({ ok: true, detail: { affected_rows: 0 } });
    }
    expect(accepted(await previewDelete(agent, 'stock', 'id = 30')).message).toMatch(/^Previewed/);
  });

  test('where a trigger keeps the rows, it does not say that none matches', async () => {
    await admin.query(`create table kept (id integer primary key); insert into kept values (1);
      create function keep() returns trigger language plpgsql as 'begin return null; end'; create trigger keep before insert or delete on kept for each row execute function keep()`);
    await admin.query('select countersign.allow(\'read\', \'kept\'), countersign.allow(\'write\', \'kept\')');
    for (const preview of [await previewDelete(agent, 'kept', 'id = 1'), await previewInsert(agent, 'kept', ['id'], [[2]])]) {
      expect(accepted(preview).message).toMatch(/^No row would be changed: none matches, or a trigger keeps it/);
    }
  });
});
