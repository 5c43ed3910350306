/** What a human reads before deciding: whole, true, within 80 columns, and unable to steer the terminal. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { hasPsql, psql } from '../harness/psql.js';
import { allow, createShop, setPolicy } from './application.js';
import { accepted, approve, execute, previewDelete, previewInsert, previewMigration, previewUpdate, reject, type Outcome } from './calls.js';

const db = await createTestDatabase();
const [agent, alice] = [db.as('agent'), db.as('alice')];

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  await setPolicy(db, 'approval_required_above_rows', '0');
  await db.as('owner').query('create table words (word text primary key, meaning text, more jsonb); create table "Two Words" ("the key" integer primary key, "a ""quoted"" column" text)');
  for (const table of ['words', '"Two Words"']) await allow(db, table);
});

interface Line { field: string; value: string }

async function shown(plan: Outcome): Promise<Line[]> {
  return (await alice.query<Line>('select * from countersign.show($1)', [plan.detail.plan_token])).rows;
}

const valueOf = (lines: Line[], field: string): string => lines.filter((line) => line.field === field).map((line) => line.value).join('\n');

/** Lines longer than 80 columns, as psql's default format would print them: ` field | value ` and a `+` at each break. */
function tooWide(lines: Line[]): string[] {
  const field = Math.max(...lines.map((line) => line.field.length));
  return lines.flatMap((line) => line.value.split('\n')).filter((value) => field + value.length + 5 > 80);
}

const ESCAPES = '\u001b[2J\u001b]0;owned\u0007 a\u0000'.replace('\u0000', '') + ' \u202eevil\u202c \u200bzero\u200b \ufeff \u2028line \u0085 \u00ad soft \u{e0041}tag';
// Everything that moves the cursor, turns the text around or is not seen.
const HOSTILE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/;

const LONG = 'a very long text without much in it '.repeat(60);
const PLANS: ReadonlyArray<[name: string, make: () => Promise<Outcome>]> = [
  ['a small delete', () => previewDelete(agent, 'customers', 'id = 1')],
  ['an update of many rows', () => previewUpdate(agent, 'orders', { status: 'closed', total: '12345678901.22'.slice(-8) }, 'customer_id < $1', [40])],
  ['a whole table', () => previewDelete(agent, 'customers', null, [], { all: true })],
  ['a long condition', () => previewDelete(agent, 'stock', Array.from({ length: 60 }, (_, n) => `id = ${n * 1000}`).join(' or '))],
  ['a condition without a space', () => previewDelete(agent, 'stock', `id=any('{${Array.from({ length: 90 }, (_, n) => n).join(',')}}')`)],
  ['many parameters', () => previewDelete(agent, 'stock', 'id = any($1)', [Array.from({ length: 300 }, (_, n) => n)])],
  ['a long reason', () => previewDelete(agent, 'stock', 'id = 3', [], { reason: LONG })],
  ['a reason of one word', () => previewDelete(agent, 'stock', 'id = 3', [], { reason: 'x'.repeat(700) })],
  ['a reason of three thousand lines', () => previewDelete(agent, 'stock', 'id = 3', [], { reason: '\n'.repeat(3000) + 'hidden below' })],
  ['hostile words', () => previewUpdate(agent, 'customers', { name: ESCAPES }, 'id = $1', [2], { reason: ESCAPES, callerId: ESCAPES })],
  ['hostile data', () => previewInsert(agent, 'words', ['word', 'meaning', 'more'], [[`${ESCAPES} key`, ESCAPES, { [ESCAPES]: ESCAPES }], ['k'.repeat(300), LONG, [LONG]]])],
  ['names that need quotes', () => previewInsert(agent, '"Two Words"', ['the key', 'a "quoted" column'], [[1, 'x']])],
  ['a migration', () => previewMigration(agent, `alter table orders add column ${'long_'.repeat(11)}name text not null default 'nothing to say', add check (total > -1)`)],
  ['a dropped table', () => previewMigration(agent, 'drop table customers cascade')],
];

describe.each(PLANS)('%s', (_name, make) => {
  test('fits an 80-column terminal and holds nothing that steers it', async () => {
    const plan = accepted(await make());
    const lines = await shown(plan);
    expect(tooWide(lines)).toEqual([]);
    expect(lines.filter((line) => HOSTILE.test(line.field + line.value))).toEqual([]);
    expect(lines[0]).toEqual({ field: 'plan', value: plan.detail.plan_token });
    expect(valueOf(lines, 'decide')).toBe(`select * from countersign.approve('${plan.detail.plan_token.slice(0, 8)}', 'note');\nselect * from countersign.reject('${plan.detail.plan_token.slice(0, 8)}', 'reason');`);
  });

  test.runIf(hasPsql)('prints so in psql', async () => {
    const plan = accepted(await make());
    const script = `select * from countersign.show('${plan.detail.plan_token.slice(0, 8)}');\n\\x\nselect * from countersign.pending where plan_token = '${plan.detail.plan_token}';`;
    const { stdout, stderr, code } = await psql(db.url('alice'), script, ['-v', 'ON_ERROR_STOP=1'], { COLUMNS: '80' });
    expect([stderr, code]).toEqual(['', 0]);
    expect(stdout).toContain(plan.detail.plan_token);
    expect(stdout.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    expect(HOSTILE.test(stdout)).toBe(false);
  });
});

describe('show', () => {
  test('tells the facts first and the agent\'s words last, marked as unverified', async () => {
    const plan = accepted(await previewDelete(agent, 'customers', 'id = $1', [5], { reason: 'approved by the board, just click', callerId: 'claude' }));
    const lines = await shown(plan);
    expect([...new Set(lines.map((line) => line.field))]).toEqual([
      'plan', 'state', 'target', 'rows', 'effect', 'why it waits', 'statement', 'params', 'row', 'reaches', 'triggers', 'undo', 'asked by', 'agent says', 'asked at', 'expires at', 'event', 'decide',
    ].filter((field) => lines.some((line) => line.field === field)));
    expect(valueOf(lines, 'state')).toBe('awaiting_approval');
    expect(valueOf(lines, 'rows')).toBe('1 in public.customers, 10 in all tables');
    expect(valueOf(lines, 'effect')).toBe('public.order_items: 0 inserted, 0 updated, 6 deleted\npublic.orders: 0 inserted, 0 updated, 3 deleted\npublic.customers: 0 inserted, 0 updated, 1 deleted');
    expect(valueOf(lines, 'statement')).toBe('DELETE FROM public.customers WHERE (id = $1)');
    expect(valueOf(lines, 'params')).toBe('[5]');
    expect(valueOf(lines, 'agent says')).toBe('(unverified) approved by the board, just click');
    expect(valueOf(lines, 'asked by')).toBe(`${db.role('agent')} / claude`);
    expect(valueOf(lines, 'row')).toContain('"name": "customer 5"');
  });

  test('shouts when the whole table is meant and when the allowlist is left', async () => {
    expect(valueOf(await shown(accepted(await previewUpdate(agent, 'customers', { segment: 'b' }, null, [], { all: true }))), 'target')).toContain('WHOLE TABLE');
    await db.as('admin').query('select countersign.revoke(\'write\', \'order_items\')');
    const lines = await shown(accepted(await previewDelete(agent, 'customers', 'id = 6')));
    await allow(db, 'order_items');
    expect(valueOf(lines, 'effect')).toContain('public.order_items: 0 inserted, 0 updated, 6 deleted\n(OUTSIDE THE ALLOWLIST)');
  });

  test('shows what an update changes, before and after, and only that', async () => {
    const lines = await shown(accepted(await previewUpdate(agent, 'orders', { status: 'closed' }, 'id = 9')));
    expect(valueOf(lines, 'row')).toBe('id=9\n- {"status": "open"}\n+ {"status": "closed"}');
  });

  test('tells the locks, rewrites and losses of a migration', async () => {
    const lines = await shown(accepted(await previewMigration(agent, 'alter table order_items drop column sku, alter column quantity type bigint')));
    expect(valueOf(lines, 'locks')).toContain('AccessExclusiveLock on public.order_items');
    expect(valueOf(lines, 'rewrites')).toContain('public.order_items (about 1200 rows)');
    expect(valueOf(lines, 'rows lost')).toContain('public.order_items.sku: about 1200');
    expect(valueOf(lines, 'removed')).toContain('- column public.order_items.sku : text not null');
    expect(valueOf(lines, 'added')).toContain('+ column public.order_items.quantity : bigint not null\ndefault 1');
  });

  test('says so where it cuts something short, and never cuts the statement', async () => {
    const where = `id = any($1) or note = '${'n'.repeat(3000)}'`;
    const lines = await shown(accepted(await previewDelete(agent, 'stock', where, [Array.from({ length: 900 }, (_, n) => n)], { reason: 'r'.repeat(600) })));
    expect(valueOf(lines, 'statement').replaceAll('\n', '')).toContain('n'.repeat(3000));
    expect(valueOf(lines, 'params').replaceAll('\n', ' ')).toMatch(/ … \(4392 characters\)$/);
    expect(valueOf(lines, 'agent says').replaceAll('\n', ' ')).toMatch(/r … \(600 characters\)$/);
  });

  test('keeps the timeline: what happened, who did it, what they said', async () => {
    const plan = accepted(await previewDelete(agent, 'stock', 'id = 77'));
    await execute(agent, plan);
    accepted(await approve(alice, plan, `checked ${ESCAPES}`));
    accepted(await reject(db.as('bob'), plan, 'on second thoughts'));
    const events = (await shown(plan)).filter((line) => line.field === 'event').map((line) => line.value.slice(20).replaceAll('\n', ' '));
    expect(events).toHaveLength(4);
    expect(events[1]).toMatch(/^refused AWAITING_APPROVAL /);
    expect(events[2]).toContain(`approved ${db.role('alice')} checked \\u{1B}[2J`);
    expect(events[3]).toBe(`rejected ${db.role('bob')} on second thoughts`);
    expect(valueOf(await shown(plan), 'decide')).toBe('');
  });

  test('answers a token that is none with what to do', async () => {
    for (const token of ['', '123', 'zzzzzzzz', '00000000', '\' or true --']) {
      expect((await alice.query('select * from countersign.show($1)', [token])).rows).toEqual([
        { field: 'error', value: expect.stringMatching(/^UNKNOWN_TOKEN/) }, { field: 'hint', value: 'select * from countersign.pending;' }]);
    }
    expect((await alice.query('select countersign.plan_detail(null) as plan')).rows).toEqual([{ plan: null }]);
  });
});

test('pending lists what waits, oldest first, with all that names it; what is decided or expired is gone', async () => {
  const listed = async (): Promise<string[]> => (await alice.query<{ plan_token: string }>('select plan_token from countersign.pending')).rows.map((row) => row.plan_token);
  const before = await listed();
  const plans = [accepted(await previewDelete(agent, 'stock', 'id = 81', [], { reason: 'tidy up' })), accepted(await previewDelete(db.as('agent2'), 'stock', 'id = 82')), accepted(await previewDelete(agent, 'stock', 'id = 83'))];
  const tokens = plans.map((plan) => plan.detail.plan_token);
  expect((await listed()).slice(before.length)).toEqual(tokens);
  const { rows } = await alice.query('select * from countersign.pending where plan_token = $1', [tokens[0]]);
  expect(rows[0]).toMatchObject({ plan: tokens[0]?.slice(0, 8), tool: 'delete_rows', rows: '1', requested_by: db.role('agent'), statement: 'DELETE FROM public.stock WHERE (id = 81)', agent_says: 'tidy up', why_it_waits: expect.stringContaining('more than 0') });
  accepted(await approve(alice, plans[0] ?? expect.fail()));
  accepted(await reject(alice, plans[1] ?? expect.fail()));
  await db.as('admin').query('update countersign_data.plan set expires_at = created_at + interval \'1 microsecond\' where token = $1', [tokens[2]]);
  expect(await listed()).toEqual(before);
  expect((await alice.query('select * from countersign.executing')).rows).toEqual([]);
});
