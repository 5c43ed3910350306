import { effectsText, grouped, type Effect } from '../records.js';
import { CountersignError } from '../../errors.js';
import { previewOf, type Agent, type Answer, type Preview } from './agent.js';
import type { Narrator } from './narrator.js';

/** The plans that are left waiting for a human. */
export interface Waiting {
  deletion: Preview;
  migration: Preview;
}

/** What the agent wants to do with the test tenant, word for word. */
const TEST_ORDERS = `customer_id in (select id from customers where segment = $1)`;

/** The scripted agent's run: everything up to the point where two plans wait. */
export async function runScript(agent: Agent, tell: Narrator): Promise<Waiting> {
  await lookAround(agent, tell);
  const customers = await askQuestions(agent, tell);
  await updateThree(agent, tell, customers);
  const deletion = await previewDeletion(agent, tell);
  await hitTheCap(agent, tell);
  const migration = await previewMigration(agent, tell);
  return { deletion, migration };
}

async function lookAround(agent: Agent, tell: Narrator): Promise<void> {
  tell.step('The agent looks around', 'describe_schema');
  const data = must(await agent.call('describe_schema', { reason: 'learn what is there' }));
  const tables = (data['tables'] ?? []) as { table: string; rows_estimate?: number; may_read: boolean; may_write: string[] }[];
  tell.facts(tables.map((table) => [
    table.table,
    `about ${grouped(table.rows_estimate ?? 0)} rows; may ${[...(table.may_read ? ['read'] : []), ...table.may_write].join(', ')}`,
  ] as const));
  tell.say('\nWhat it may do is Postgres grants. What is not granted is not there.');
}

async function askQuestions(agent: Agent, tell: Narrator): Promise<number[]> {
  tell.step('It asks questions', 'query');
  const inactive = must(await agent.call('query', {
    statement: 'select count(*) as inactive from customers where last_login < $1',
    params: ['2025-01-01T00:00:00Z'],
    reason: 'how many customers have not been back since 2024?',
  }));
  tell.facts([['asked', 'customers without a login since 2024'], ['answer', grouped(String(cells(inactive)[0]?.[0]))]]);
  const found = must(await agent.call('query', {
    statement: `select id, name, email from customers
                where segment = 'business' and marketing_opt_in order by last_login, id limit 3`,
    reason: 'the three that wrote to support and want no more newsletters',
  }));
  const rows = cells(found);
  tell.facts([['asked', 'the three who want no more newsletters'], ['answer', rows.map((row) => row.slice(1).map(String).join(', ')).join('\n')]]);
  tell.say('\nReads run on a login of their own, read-only, and are always rolled back.');
  return rows.map((row) => Number(row[0]));
}

/** Rows as lists of values, whether the tool gives them as lists or as objects. */
function cells(data: Record<string, unknown>): unknown[][] {
  return ((data['rows'] ?? []) as unknown[]).map((row) => (Array.isArray(row) ? (row as unknown[]) : Object.values(row as Record<string, unknown>)));
}

async function updateThree(agent: Agent, tell: Narrator, customers: number[]): Promise<void> {
  tell.step('It updates three rows', 'update_rows, execute_plan');
  const data = must(await agent.call('update_rows', {
    table: 'customers',
    set: { marketing_opt_in: false },
    where: 'id in ($1, $2, $3)',
    params: customers,
    reason: 'support tickets: unsubscribe',
  }));
  const preview = previewOf(data);
  describe(tell, data);
  const executed = must(await agent.execute(preview));
  tell.facts([['executed', `${grouped(String(executed['affected_rows']))} rows in ${String(executed['duration_ms'])} ms`]]);
  tell.say('\nThree rows are below the policy\'s threshold of 100, so the plan ran at once; exactly what was previewed, or it would have been rolled back.');
}

async function previewDeletion(agent: Agent, tell: Narrator): Promise<Preview> {
  tell.step('It wants to delete the test tenant\'s orders', 'delete_rows');
  const data = must(await agent.call('delete_rows', {
    table: 'orders',
    where: TEST_ORDERS,
    params: ['test_tenant'],
    reason: 'clean up what acceptance tests left behind',
  }));
  describe(tell, data);
  tell.say('\nPostgres ran the deletion for real in a subtransaction, counted, and rolled it back: deleting the orders takes their items along. The sum is above 100, so a human has to decide.');
  return previewOf(data);
}

async function hitTheCap(agent: Agent, tell: Narrator): Promise<void> {
  tell.step('It wants to delete all 13,200 cancelled orders', 'delete_rows');
  const answer = await agent.call('delete_rows', {
    table: 'orders',
    where: 'status = $1',
    params: ['cancelled'],
    reason: 'free some space',
  });
  if (answer.ok) throw unexpected('deleting 13,200 orders should have been refused');
  tell.facts([['refused', answer.code], ['because', answer.message], ['hint', answer.hint]]);
  tell.say('\nAbove the hard cap there is no token and nobody to ask. Counting stopped at the cap: no row was touched for this answer.');
}

async function previewMigration(agent: Agent, tell: Narrator): Promise<Preview> {
  tell.step('It wants to change the schema', 'run_migration');
  const data = must(await agent.call('run_migration', {
    statement: 'alter table customers add column churn_risk numeric(4,3)',
    reason: 'a place to keep the score of the new model',
  }));
  describe(tell, data);
  tell.say('\nA migration waits for a human whatever its size.');
  return previewOf(data);
}

/** A preview in a few lines: what would happen, and what the gate says. */
function describe(tell: Narrator, data: Record<string, unknown>): void {
  const effects = (data['effects'] ?? []) as Effect[];
  const gate = (data['gate'] ?? []) as string[];
  const migration = data['migration'] as Record<string, unknown> | undefined;
  tell.facts([
    ['statement', String(data['statement'])],
    ...(effects.length > 0 ? [['effects', effectsText(effects)] as const] : []),
    ...(migration === undefined ? [] : migrationFacts(migration)),
    ['status', String(data['status']) === 'awaiting_approval' ? 'awaiting_approval: a human decides' : 'previewed: may run now'],
    ...(gate.length > 0 ? [['why', gate.join('\n')] as const] : []),
    ['plan', String(data['plan_token'])],
  ]);
}

/** What a migration locks, rewrites, adds and removes; each line as the database words it. */
function migrationFacts(migration: Record<string, unknown>): (readonly [string, string])[] {
  const list = (name: string): Record<string, unknown>[] => (migration[name] ?? []) as Record<string, unknown>[];
  return ([
    ['locks', list('locks').map((lock) => `${String(lock['mode'])} on ${String(lock['table'])}`).join('\n')],
    ['rewrites', list('rewrites').map((rewrite) => String(rewrite['table'])).join('\n')],
    ['adds', ((migration['added'] ?? []) as string[]).join('\n')],
    ['removes', ((migration['removed'] ?? []) as string[]).join('\n')],
  ] as const).filter(([, text]) => text !== '');
}

function must(answer: Answer): Record<string, unknown> {
  if (answer.ok) return answer.data;
  throw unexpected(`${answer.code}: ${answer.message} ${answer.hint}`);
}

function unexpected(message: string): CountersignError {
  return new CountersignError('INTERNAL_ERROR', `the demo did not go as written: ${message}`, 'Run the demo again; countersign audit shows what happened.');
}
