/** What the database measured, in a person's words: what happens, how much of it, and what is unusual about it. */
import type { Effect, Migration, PlanDetail, PlanLine } from './store.js';
import { grouped, plural } from './text.js';

/** Above it a plan is confirmed by typing a name, not by a button alone. */
const MANY_ROWS = 1_000;

export const SINGLE_NAMES = /^[A-Za-z_][A-Za-z0-9_$]*$/;

const VERBS: Readonly<Record<string, string>> = { delete: 'Delete', update: 'Update', insert: 'Insert' };
const JOINS: Readonly<Record<string, string>> = { delete: 'from', update: 'in', insert: 'into' };

/** A headline in two parts, since the second is a name of the database's and is shown as one. */
export interface Headline { text: string; name: string | null }

/** What a migration is about: the table it locks against everybody, else the first it makes. */
function objectOf(migration: Migration | undefined): string | null {
  const locked = migration?.locks.find(({ mode }) => mode === 'AccessExclusiveLock')?.table ?? migration?.locks[0]?.table;
  return locked ?? migration?.added.find((line) => line.startsWith('relation '))?.slice('relation '.length).split(' : ')[0] ?? null;
}

export function headline(plan: Pick<PlanLine, 'kind' | 'target' | 'affected_rows' | 'tool' | 'tag'> & { migration?: Migration }): Headline {
  if (plan.kind === 'migration') return { text: `Change the schema${plan.tag ? `: ${plan.tag}` : ''}`, name: objectOf(plan.migration) };
  if (plan.kind === 'host') return { text: 'Outside this database:', name: plan.tool };
  const verb = VERBS[plan.kind];
  if (verb === undefined) return { text: plan.tool, name: plan.target };
  return { text: `${verb} ${plural(plan.affected_rows, 'row')} ${JOINS[plan.kind] ?? 'of'}`, name: plan.target };
}

/** "13,200 of about 60,000 rows, 22 % of the table"; null when nobody knows how large it is. */
export function share({ kind, affected_rows: rows, table_rows: total }: Pick<PlanDetail, 'kind' | 'affected_rows' | 'table_rows'>): string | null {
  if (kind === 'insert' || kind === 'migration' || kind === 'host' || total === null || total < rows) return null;
  const percent = (rows / total) * 100;
  const shown = percent === 0 ? '0' : percent < 0.1 ? 'less than 0.1' : percent < 10 ? percent.toFixed(1) : String(Math.round(percent));
  return `${grouped(rows)} of about ${plural(total, 'row')}, ${shown} % of the table`;
}

export const rowsOf = (effect: Effect): number => Number(effect.inserted) + Number(effect.updated) + Number(effect.deleted);

/** Effects in tables the statement does not name: a cascade or a trigger made them. */
export function sideEffects(plan: Pick<PlanDetail, 'effects' | 'target'>): Effect[] {
  return plan.effects.filter((effect) => effect.table !== plan.target && rowsOf(effect) > 0);
}

export interface Alarm {
  level: 'danger' | 'warning';
  title: string;
  /** Our words. */
  text: string;
  /** Names of the database's, listed after them. */
  names: string[];
}

type Judge = (plan: PlanDetail) => Alarm | null;

const NAMED = 12;
const names = (list: readonly string[]): string[] => {
  const all = [...new Set(list)];
  return all.length > NAMED ? [...all.slice(0, NAMED), `and ${all.length - NAMED} more`] : all;
};

/** The largest loss first; one of unknown size may be larger than any. */
const losses = (migration: Migration): Migration['rows_lost_estimate'] =>
  [...migration.rows_lost_estimate].sort((a, b) => (b.rows ?? Number.POSITIVE_INFINITY) - (a.rows ?? Number.POSITIVE_INFINITY));

/** Removed whole: "relation public.orders : table". */
const removedRelations = (plan: PlanDetail): string[] =>
  (plan.migration?.removed ?? []).filter((line) => line.startsWith('relation ')).map((line) => line.slice('relation '.length).split(' : ')[0] ?? '');

function isWholeTable({ kind, whole_table: whole, affected_rows: rows, table_rows: total }: PlanDetail): boolean {
  if (kind !== 'delete' && kind !== 'update') return false;
  return whole === true || (rows > 1 && total !== null && rows >= total * 0.99);
}

const JUDGES: readonly Judge[] = [
  (plan) => (isWholeTable(plan) ? {
    level: 'danger', title: 'The whole table',
    text: plan.whole_table === true ? `There is no condition: every row is ${plan.kind === 'delete' ? 'deleted' : 'updated'}.` : 'The condition holds for every row, or nearly every one.',
    names: plan.target === null ? [] : [plan.target],
  } : null),
  (plan) => (plan.migration && plan.migration.rows_lost_estimate.length > 0 ? {
    level: 'danger', title: 'Data is lost', text: 'What is dropped takes its data with it:',
    names: names(losses(plan.migration).map(({ object, rows }) => `${object} (${rows === null ? 'unknown number of rows' : `about ${plural(rows, 'row')}`})`)),
  } : null),
  (plan) => (removedRelations(plan).length > 0 && plan.migration?.rows_lost_estimate.length === 0 ? {
    level: 'danger', title: 'Something is dropped', text: 'These are gone afterwards:', names: names(removedRelations(plan)),
  } : null),
  (plan) => (plan.migration && plan.migration.rewrites.length > 0 ? {
    level: 'danger', title: 'A table is rewritten', text: 'It is locked, against reading too, for as long as that takes:',
    names: names(plan.migration.rewrites.map(({ table, rows_estimate: rows }) => `${table}${rows === null ? '' : ` (about ${plural(rows, 'row')})`}`)),
  } : null),
  (plan) => {
    const outside = plan.effects.filter((effect) => !effect.writable && rowsOf(effect) > 0);
    return outside.length > 0 ? {
      level: 'danger', title: 'Outside the allowlist', text: 'A cascade or a trigger reaches tables the agent may not write:', names: names(outside.map(({ table }) => table)),
    } : null;
  },
  (plan) => {
    const reaching = plan.triggers.filter((trigger) => trigger.may_reach_outside);
    return reaching.length > 0 ? {
      level: 'danger', title: 'A trigger may reach outside the database', text: 'It did so already, when the change was previewed:', names: names(reaching.map((trigger) => `${trigger.table} ${trigger.trigger}`)),
    } : null;
  },
  (plan) => ((plan.migration?.owned_by_migrator ?? []).length > 0 ? {
    level: 'warning', title: 'Nobody else\'s at first', text: 'What this makes belongs to countersign_migrator: the application\'s own role cannot use it until an administrator runs alter table … owner to …:',
    names: names(plan.migration?.owned_by_migrator ?? []),
  } : null),
  (plan) => {
    const rejected = plan.earlier.find(({ status }) => status === 'rejected');
    return rejected ? { level: 'warning', title: 'Rejected before', text: rejected.note === null ? 'A human rejected exactly this statement, without a reason.' : `A human rejected exactly this statement: “${rejected.note.slice(0, 300)}”`, names: [] } : null;
  },
];

/** What is not as usual about a plan, the worst first. */
export function alarms(plan: PlanDetail): Alarm[] {
  return JUDGES.map((judge) => judge(plan)).filter((alarm): alarm is Alarm => alarm !== null);
}

/**
 * What has to be typed before this plan can be approved here, or null when a button is enough. The page's own care for
 * its reader: whether the plan may run is decided in SQL, which does not ask for it.
 */
export function wordToType(plan: PlanDetail): string | null {
  const { migration } = plan;
  const drops = migration !== undefined && (migration.rows_lost_estimate.length > 0 || migration.rewrites.length > 0 || removedRelations(plan).length > 0);
  if (!isWholeTable(plan) && !drops && plan.total_rows <= MANY_ROWS) return null;
  const name = plan.target ?? (migration === undefined ? undefined : losses(migration)[0]?.object) ?? migration?.rewrites[0]?.table ?? removedRelations(plan)[0] ?? '';
  const parts = name.split('.');
  // Of schema.table the table; of schema.table.column, which a dropped column is, the table as well.
  const word = plan.target === null && parts.length > 2 ? parts[1] : parts.at(-1);
  // A name that is hard to type, or looks like another, asks for the plan instead.
  return word !== undefined && SINGLE_NAMES.test(word) ? word : plan.plan_token.slice(0, 8);
}

const STATES: Readonly<Record<string, string>> = {
  awaiting_approval: 'Waits for a human', previewed: 'May run without a human', approved: 'Approved', executing: 'Executing', executed: 'Executed', failed: 'Failed',
  rejected: 'Rejected', expired: 'Expired', stale: 'Out of date', undone: 'Undone',
};

export function stateName(status: string): string {
  return STATES[status] ?? status;
}

/** The verbs that a state leaves to a human. */
export function decisionsFor(status: string): readonly ('approve' | 'reject')[] {
  if (status === 'awaiting_approval') return ['approve', 'reject'];
  return status === 'approved' || status === 'previewed' ? ['reject'] : [];
}
