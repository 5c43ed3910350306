/** One plan: what the database measured first, what the agent says after, and the decision beside it. */
import { alarms, headline, share, sideEffects, rowsOf, stateName } from '../facts.js';
import { html, Html } from '../html.js';
import type { RenderedPlan } from '../app.js';
import { showStatement, showValue } from '../statement.js';
import type { PlanDetail } from '../store.js';
import { cutText, grouped, plural, visible } from '../text.js';
import { decisionPart } from './decide.js';
import { changesPart, effectsPart, migrationPart, reachedPart, triggersPart } from './facts-parts.js';
import { alarmShown, document, moment, stateBadge, type PageContext } from './layout.js';
import { earlierPart, timelinePart } from './story.js';

const LONG = { characters: 4_000, lines: 40 };
const REASON = { characters: 500, lines: 8 };

function headPart(plan: PlanDetail, rendered: RenderedPlan): Html {
  const { text, name } = headline({ ...plan, tag: plan.migration?.tag ?? null });
  const side = sideEffects(plan);
  const sideRows = side.reduce((sum, effect) => sum + rowsOf(effect), 0);
  const found = alarms(plan);
  const grave = found.some(({ level }) => level === 'danger');
  // Afterwards the table is another one, and the share would be wrong.
  const facts = [plan.outcome === null && share(plan), sideRows > 0 && `${plural(sideRows, 'more row')} in ${plural(side.length, 'other table')}, by cascade or trigger`].filter((fact) => typeof fact === 'string');
  return html`<div class="head${grave ? ' grave' : ''}" data-part="head"><p class="crumb"><a href="/" data-nav>All plans</a> <span class="token">plan ${plan.plan_token.slice(0, 8)}</span> ${stateBadge(plan.status, stateName(plan.status))}</p>
<h1>${rendered.title === undefined ? text : visible(rendered.title)}${name !== null && html` <span class="name">${visible(name, 'name')}</span>`}</h1>
${facts.length > 0 && html`<p class="sub">${facts.map((fact, index) => html`${index > 0 && html`<span class="sep">·</span>`}<span>${fact}</span>`)}</p>`}
${found.length > 0 && html`<ul class="alarms" aria-label="What is unusual">${found.map(alarmShown)}</ul>`}</div>`;
}

async function statementPart(plan: PlanDetail): Promise<Html> {
  const params = Array.isArray(plan.params) ? plan.params as unknown[] : [];
  const rows = plan.kind === 'insert';
  const { shown, lines, laidOut } = await showStatement(plan.statement, rows ? null : params);
  const long = lines > LONG.lines;
  return html`<section data-part="statement" aria-labelledby="h-statement"><h2 id="h-statement">Statement</h2>
${long && html`<p class="note">${plural(lines, 'line')}. Scroll to the end before you decide.</p>`}
<pre class="sql" tabindex="0" aria-label="The statement"><code>${shown}</code></pre>
${!rows && params.length > 0 && html`<details id="params"><summary>${plural(params.length, 'parameter')}</summary><ol class="params">${params.slice(0, 200).map((value, index) => html`<li><span class="place">$${index + 1}</span> <span class="text">${showValue(value)}</span></li>`)}</ol>${params.length > 200 && html`<p class="note">The first 200. psql shows the rest.</p>`}</details>`}
${laidOut && html`<details id="raw"><summary>As it will run, character for character</summary><pre class="sql raw" tabindex="0" aria-label="The statement as it will run"><code>${visible(plan.statement)}</code></pre></details>`}</section>`;
}

/** The agent's words, after the facts: quoted, on one line, marked as what they are. */
function reasonPart(plan: PlanDetail): Html {
  const reason = (plan.reason ?? '').replace(/\s+/g, ' ').trim();
  return html`<section class="agent" data-part="reason" aria-labelledby="h-reason"><h2 id="h-reason">The agent says <span class="unverified">unverified</span></h2>
${reason === '' ? html`<p class="note">Nothing.</p>` : html`<blockquote>${cutText(reason, 'reason-all', REASON)}</blockquote>`}
<p class="note">Asked by the login <b>${visible(plan.requested_by, 'name')}</b>${plan.caller_id !== null && html`, which calls itself <q>${visible(plan.caller_id)}</q>`}, ${moment(plan.requested_at, 'ago')}.</p></section>`;
}

const PAYLOAD_SHOWN = 20_000;

function hostPart({ facts = [] }: RenderedPlan, plan: PlanDetail): Html | null {
  if (facts.length === 0 && plan.kind !== 'host') return null;
  const extra = plan.extra === null || plan.extra === undefined ? '' : JSON.stringify(plan.extra, null, 2);
  return html`<section data-part="host" aria-labelledby="h-host"><h2 id="h-host">What the program would do</h2>
${facts.length > 0 && html`<dl class="facts">${facts.slice(0, 50).map(({ label, value }, index) => html`<dt>${visible(String(label))}</dt><dd>${cutText(String(value), `host-${index}`, REASON)}</dd>`)}</dl>`}
${plan.payload !== undefined && payloadShown(plan)}
${extra !== '' && html`<details id="extra"><summary>What it adds</summary><pre class="sql" tabindex="0" aria-label="What the program adds"><code>${visible(extra.slice(0, PAYLOAD_SHOWN))}</code></pre></details>`}</section>`;
}

function payloadShown(plan: PlanDetail): Html {
  const text = JSON.stringify(plan.payload, null, 2);
  return html`${plan.payload_is_shape === true && html`<p class="note">The program keeps the values to itself here: this is their shape. psql shows them: <code>select * from countersign.show('${plan.plan_token.slice(0, 8)}');</code></p>`}
${text.length > PAYLOAD_SHOWN && html`<p class="note">The first ${grouped(PAYLOAD_SHOWN)} of ${grouped(text.length)} characters. psql shows the rest.</p>`}
<pre class="sql" tabindex="0" aria-label="Payload"><code>${visible(text.slice(0, PAYLOAD_SHOWN))}</code></pre>`;
}

function gatePart({ gate }: PlanDetail): Html | null {
  if (gate.length === 0) return null;
  return html`<section data-part="gate" aria-labelledby="h-gate"><h2 id="h-gate">Why a human decides</h2><ul class="plain">${gate.map((reason) => html`<li>${visible(reason.replace(/\b\d{4,}(?= rows?\b)/g, grouped))}</li>`)}</ul></section>`;
}

export async function planPage(plan: PlanDetail, rendered: RenderedPlan, context: PageContext): Promise<string> {
  const main = html`<div class="plan-page" data-plan="${plan.plan_token}">${headPart(plan, rendered)}
<div class="columns"><div class="story">${effectsPart(plan)}${plan.kind === 'host' ? hostPart(rendered, plan) : await statementPart(plan)}${migrationPart(plan)}${changesPart(plan)}${reachedPart(plan)}${triggersPart(plan)}${plan.kind !== 'host' && hostPart(rendered, plan)}${gatePart(plan)}${reasonPart(plan)}${earlierPart(plan)}${timelinePart(plan)}</div>
${decisionPart(plan, context)}</div></div>`;
  const { text, name } = headline({ ...plan, tag: plan.migration?.tag ?? null });
  // A title is plain text outside the page's control of what is seen: only plain names go there.
  const title = `${text}${name !== null && /^[\w.]{1,80}$/.test(name) ? ` ${name}` : ''} · Countersign`;
  return document({ title, now: plan.now, kind: 'plan', main, context });
}
