/** The measured facts of a plan: tables, rows, locks, triggers. */
import { rowsOf } from '../facts.js';
import { html, Html, type Piece } from '../html.js';
import { showValue } from '../statement.js';
import type { Change, Effect, Migration, PlanDetail } from '../store.js';
import { grouped, plural, visible } from '../text.js';
import { badge } from './layout.js';

const cell = (count: number): Html => html`<td class="count${Number(count) === 0 ? ' zero' : ''}">${grouped(count)}</td>`;

const VERBS = ['inserted', 'updated', 'deleted'] as const;
type Verb = (typeof VERBS)[number];

function effectRow(effect: Effect, target: string | null, verbs: readonly Verb[]): Html {
  return html`<tr${!effect.writable && html` class="outside"`}><th scope="row"><span class="name">${visible(effect.table, 'name')}</span> ${effect.table !== target && target !== null && badge('warning', 'by cascade or trigger')} ${!effect.writable && badge('danger', 'outside the allowlist')}</th>${verbs.map((verb) => cell(effect[verb]))}</tr>`;
}

function effectsTable(effects: readonly Effect[], target: string | null): Html {
  const total = (verb: Verb): number => effects.reduce((sum, effect) => sum + Number(effect[verb]), 0);
  // A column of zeros tells nothing, and on a phone it hides the one that does.
  const verbs = VERBS.filter((verb) => total(verb) > 0);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Rows by table"><table class="effects"><thead><tr><th scope="col">Table</th>${verbs.map((verb) => html`<th scope="col" class="count">${verb}</th>`)}</tr></thead>
<tbody>${effects.map((effect) => effectRow(effect, target, verbs))}</tbody>
${effects.length > 1 && html`<tfoot><tr><th scope="row">All tables</th>${verbs.map((verb) => cell(total(verb)))}</tr></tfoot>`}</table></div>`;
}

export function effectsPart(plan: PlanDetail): Html | null {
  const effects = plan.effects.filter((effect) => rowsOf(effect) > 0);
  if (effects.length === 0 && plan.kind === 'migration') return null;
  if (plan.kind === 'host') return hostEffects(plan);
  return html`<section data-part="effects" aria-labelledby="h-effects"><h2 id="h-effects">Effects <span class="aside">measured by running it and rolling it back</span></h2>
${effects.length === 0 ? html`<p class="note">No row changes.</p>` : effectsTable(effects, plan.target)}
${plan.undo !== null && html`<p class="note undo"><b>Undo:</b> ${plan.undo.kind === 'none' ? 'cannot be undone from here. ' : `${plan.undo.kind}. `}${visible(plan.undo.why)}</p>`}</section>`;
}

/** What no database can measure: the program's own count, said to be that. */
function hostEffects({ preview_count: count }: PlanDetail): Html {
  return html`<section data-part="effects" aria-labelledby="h-effects"><h2 id="h-effects">Effects <span class="aside">as the program counts them; nothing here can measure them</span></h2>
<p class="note">${typeof count === 'number' ? html`<b>${plural(count, 'thing')}</b> outside this database.` : 'The program gave no number.'}</p>
<p class="note undo"><b>Undo:</b> cannot be undone from here.</p></section>`;
}

function columnsOf(changes: readonly Change[]): string[] {
  return [...new Set(changes.flatMap(({ before, after }) => [...Object.keys(before ?? {}), ...Object.keys(after ?? {})]))].slice(0, 40);
}

const SHORT_VALUE = 36;
const LONG_VALUE = 200;

function valueCell(value: unknown, id: string): Piece {
  const text = typeof value === 'string' ? value : typeof value === 'object' && value !== null && !('digits' in value) ? JSON.stringify(value) : null;
  // Up to a timestamp's length a value stays on one line; the table scrolls rather than tearing it.
  if (text === null || text.length <= SHORT_VALUE) return html`<span class="short">${showValue(value)}</span>`;
  if (text.length <= LONG_VALUE) return html`<span class="medium">${showValue(value)}</span>`;
  return html`<span class="medium">${visible(text.slice(0, 80))}<span class="more">…</span></span><details id="${id}"><summary>Show all ${grouped(text.length)} characters</summary>${visible(text)}</details>`;
}

function changeRow(change: Change, columns: readonly string[], kind: string, row: number): Html {
  const { before, after, key } = change;
  const cells = columns.map((column, index) => {
    const id = `v-${row}-${index}`;
    if (kind !== 'update') return html`<td>${valueCell((before ?? after)?.[column], id)}</td>`;
    if (!(column in (after ?? {})) && !(column in (before ?? {}))) return html`<td class="same">unchanged</td>`;
    return html`<td class="change"><del>${valueCell(before?.[column], `${id}-b`)}</del><ins>${valueCell(after?.[column], `${id}-a`)}</ins></td>`;
  });
  return html`<tr>${kind === 'update' && html`<th scope="row">${key === null ? '' : visible(key)}</th>`}${cells}</tr>`;
}

export function changesPart(plan: PlanDetail): Html | null {
  if (plan.changes.length === 0) return null;
  const columns = columnsOf(plan.changes);
  const sample = plan.changes.length < plan.affected_rows ? html` <span class="aside">a sample: ${plan.changes.length} of ${grouped(plan.affected_rows)}</span>` : null;
  const verb = { delete: 'Rows deleted', insert: 'Rows inserted', update: 'Rows, before and after' }[plan.kind] ?? 'Rows';
  return html`<section data-part="changes" aria-labelledby="h-changes"><h2 id="h-changes">${verb}${sample}</h2>
<div class="scroll" tabindex="0" role="region" aria-label="${verb}"><table class="rows ${plan.kind}"><thead><tr>${plan.kind === 'update' && html`<th scope="col">row</th>`}${columns.map((column) => html`<th scope="col">${visible(column, 'name')}</th>`)}</tr></thead>
<tbody>${plan.changes.map((change, index) => changeRow(change, columns, plan.kind, index))}</tbody></table></div></section>`;
}

/** What a cascade takes, table by table, and what of it nobody can compare row by row. */
export function reachedPart({ reached = [], compared_by_count_only: counted = [] }: PlanDetail): Html | null {
  if (reached.length === 0 && counted.length === 0) return null;
  return html`<section data-part="reached" aria-labelledby="h-reached"><h2 id="h-reached">Rows that this reaches <span class="aside">in other tables, or deeper in this one</span></h2>
${reached.map(({ table, rows, sample_rows: sample }, index) => html`<details id="reached-${index}"><summary>${plural(rows, 'row')} of <span class="name">${visible(table, 'name')}</span> <span class="aside">${sample.length < rows ? `a sample of ${sample.length}` : 'all'}</span></summary>${rowsTable(sample, `r-${index}`, table)}</details>`)}
${counted.length > 0 && html`<p class="note">Not shown, and compared by their number only when it runs, since agents may not read them (an administrator: countersign allow read) or a trigger writes them: ${counted.map((table, index) => html`${index > 0 && ', '}<span class="name">${visible(table, 'name')}</span>`)}.</p>`}</section>`;
}

function rowsTable(rows: readonly Record<string, unknown>[], id: string, label: string): Html {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, 40);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Rows of ${visible(label)}"><table class="rows"><thead><tr>${columns.map((column) => html`<th scope="col">${visible(column, 'name')}</th>`)}</tr></thead>
<tbody>${rows.map((row, at) => html`<tr>${columns.map((column, index) => html`<td>${valueCell(row[column], `${id}-${at}-${index}`)}</td>`)}</tr>`)}</tbody></table></div>`;
}

const LOCKS: Readonly<Record<string, string>> = {
  AccessExclusiveLock: 'nobody can read or write', ExclusiveLock: 'others can only read', ShareRowExclusiveLock: 'others cannot write', ShareLock: 'others cannot write',
  ShareUpdateExclusiveLock: 'others can read and write', RowExclusiveLock: 'others can read and write',
};

function lines(migration: Migration): Html {
  return html`<ul class="diff">${migration.removed.map((line) => html`<li class="minus"><span class="unseen">removed: </span>${visible(line, 'name')}</li>`)}${migration.added.map((line) => html`<li class="plus"><span class="unseen">added: </span>${visible(line, 'name')}</li>`)}</ul>`;
}

export function migrationPart({ migration }: PlanDetail): Html | null {
  if (migration === undefined) return null;
  const { locks, rewrites } = migration;
  return html`<section data-part="migration" aria-labelledby="h-migration"><h2 id="h-migration">What changes in the schema</h2>
${migration.removed.length + migration.added.length > 0 ? lines(migration) : html`<p class="note">Nothing that the catalogs show.</p>`}
<dl class="facts"><dt>Locks</dt><dd>${locks.length === 0 ? 'none on tables' : html`<ul class="plain">${locks.map(({ table, mode }) => html`<li><span class="name">${visible(table, 'name')}</span>: ${LOCKS[mode] ?? ''} <span class="aside">${visible(mode)}</span></li>`)}</ul>`}</dd>
<dt>Rewrites</dt><dd>${rewrites.length === 0 ? 'no table' : html`<ul class="plain">${rewrites.map(({ table, rows_estimate: rows }) => html`<li><span class="name">${visible(table, 'name')}</span>${rows !== null && `, about ${plural(rows, 'row')}`}</li>`)}</ul>`}</dd></dl></section>`;
}

export function triggersPart({ triggers }: PlanDetail): Html | null {
  if (triggers.length === 0) return null;
  return html`<section data-part="triggers" aria-labelledby="h-triggers"><h2 id="h-triggers">Triggers that fire</h2><ul class="plain">${triggers.map((trigger) => html`<li><span class="name">${visible(trigger.table, 'name')}</span>: ${visible(trigger.trigger, 'name')} calls <span class="name">${visible(trigger.function, 'name')}</span> ${trigger.may_reach_outside && badge('danger', 'may reach outside the database')}</li>`)}</ul></section>`;
}
