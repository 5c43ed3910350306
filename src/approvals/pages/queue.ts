/** The lists: what waits, what is being executed, what has been. */
import { decisionsFor, headline, stateName } from '../facts.js';
import { html, Html } from '../html.js';
import type { ListName, PlanLine, PlanList } from '../store.js';
import { grouped, oneLine, plural, visible } from '../text.js';
import { badge, document, moment, stateBadge, type PageContext } from './layout.js';

const SIDE = (line: PlanLine): number => Math.max(0, Number(line.total_rows) - Number(line.affected_rows));

function marks(line: PlanLine): Html {
  return html`${line.whole_table === true && badge('danger', 'Whole table')}${line.kind === 'migration' && badge('warning', 'Schema change')}${line.outside === true && badge('danger', 'Outside the allowlist')}${
    line.kind !== 'migration' && line.kind !== 'host' && SIDE(line) > 0 && badge('warning', `+ ${plural(SIDE(line), 'row')} elsewhere`)}${
    line.status === 'awaiting_approval' && line.required > 1 && badge('plain', `${line.approved} of ${line.required} approved`)}`;
}

function title(line: PlanLine): Html {
  const { text, name } = headline(line);
  return html`${text}${name !== null && html` <span class="name">${visible(name, 'name')}</span>`}`;
}

function words(line: PlanLine): Html {
  return html`${line.statement !== '' && html`<span class="statement">${oneLine(line.statement, 160)}</span>`}
${line.reason !== null && html`<span class="says"><span class="label">agent says</span> <q>${oneLine(line.reason, 160)}</q></span>`}`;
}

function waitingLine(line: PlanLine): Html {
  return html`<li class="plan${line.whole_table === true || line.outside === true ? ' grave' : ''}"><a href="/plans/${line.plan_token}" data-nav>
<span class="title">${title(line)}</span><span class="marks">${marks(line)}</span>${words(line)}
<span class="meta"><span>${moment(line.requested_at, 'age')}</span><span class="left">${moment(line.expires_at, 'left')}</span><span>by ${visible(line.requested_by, 'name')}</span></span></a></li>`;
}

function pastLine(line: PlanLine): Html {
  const { decision } = line;
  return html`<li class="plan past"><a href="/plans/${line.plan_token}" data-nav>
<span class="title">${title(line)}</span><span class="marks">${stateBadge(line.status, stateName(line.status))}</span>
<span class="says">${decision === null ? html`<span class="label">${decisionsFor(line.status).length > 0 ? 'within the limits' : 'no human decided'}</span>`
    : html`<span class="label">${visible(decision.by ?? '', 'name')} ${decision.status}</span>${decision.note !== null && html` <q>${oneLine(decision.note, 160)}</q>`}`}</span>
<span class="meta"><span>${moment(line.requested_at, 'ago')}</span></span></a></li>`;
}

const EMPTY = html`<div class="empty"><p><b>Nothing waits for you.</b></p><p>When an agent proposes a change that needs a human, it appears here by itself.</p></div>`;

const HEADINGS: Readonly<Record<ListName, string>> = { waiting: 'Waiting for a human', executing: 'Being executed', history: 'History' };

function more(list: PlanList): Html | null {
  if (list.next === null) return null;
  const label = list.list === 'history' ? 'Older plans' : `Next ${list.list === 'waiting' ? `of ${grouped(list.waiting)} waiting plans` : 'plans'}`;
  return html`<p class="pager"><a href="/?list=${list.list}&amp;after=${list.next}" data-nav rel="next">${label}</a></p>`;
}

function section(list: PlanList, heading: boolean): Html | null {
  const { list: name, plans } = list;
  if (plans.length === 0 && name !== 'waiting') return null;
  const line = name === 'history' ? pastLine : waitingLine;
  return html`<section data-part="${name}" aria-labelledby="h-${name}">
<h2 id="h-${name}"${!heading && html` class="unseen"`}>${HEADINGS[name]}</h2>
${plans.length === 0 ? EMPTY : html`<ol class="plans">${plans.map(line)}</ol>`}${more(list)}</section>`;
}

function count(waiting: number): string {
  return waiting === 0 ? 'Nothing waits' : waiting === 1 ? '1 plan waits for you' : `${grouped(waiting)} plans wait for you`;
}

/** @param only one list alone (a further page of it), or null for all three */
export function queuePage(lists: readonly PlanList[], only: ListName | null, further: boolean, context: PageContext): string {
  const [first] = lists;
  const waiting = first?.waiting ?? 0;
  const heading = only === null ? count(waiting) : HEADINGS[only];
  const main = html`<div class="queue"><div class="head" data-part="head">${only !== null && html`<p class="crumb"><a href="/" data-nav>All plans</a></p>`}<h1>${heading}</h1>${further && html`<p class="sub">Continued.</p>`}</div>
${lists.map((list) => section(list, only === null && list.list !== 'waiting'))}</div>`;
  return document({ title: `${waiting > 0 ? `(${waiting}) ` : ''}Countersign`, now: first?.now ?? '', waiting, kind: 'queue', main, context });
}
