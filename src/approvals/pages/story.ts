/** What has been: this plan's events, and what became of the same statement before. */
import { stateName } from '../facts.js';
import { html, Html } from '../html.js';
import type { PlanDetail, TimelineEvent } from '../store.js';
import { cutText, plural, visible } from '../text.js';
import { moment, stateBadge } from './layout.js';

const NOTE = { characters: 300, lines: 4 };

const HAPPENED: Readonly<Record<string, string>> = {
  awaiting_approval: 'previewed it; it waits for a human', previewed: 'previewed it', approved: 'approved', rejected: 'rejected', executing: 'began to execute', executed: 'executed it',
  failed: 'tried to execute it, which failed', stale: 'tried to execute it, but the data had changed', expired: 'met it after its time was over', undone: 'undid it', refused: 'was refused', hard_cap_refused: 'was refused',
};

function eventShown(event: TimelineEvent, index: number): Html {
  const { status, code, by, reported_by: reported, channel, note, at, rows } = event;
  // An agent that asks again while a human thinks is no trouble.
  const waits = code === 'AWAITING_APPROVAL';
  return html`<li class="event ${waits ? 'awaiting_approval' : status}"><span class="what"><b>${visible(by, 'name')}</b> ${waits ? 'asked to execute it; it waits for a human' : HAPPENED[status] ?? status}${code !== null && !waits && html` <code>${code}</code>`}${status === 'executed' && rows !== null && `, ${plural(rows, 'row')}`}</span>
<span class="aside">${moment(at, 'ago')}, via ${channel}${reported !== null && html`, as <q>${visible(reported)}</q> (self-reported)`}</span>
${note !== null && html`<div class="quote">${cutText(note, `event-${index}`, NOTE)}</div>`}</li>`;
}

export function timelinePart({ timeline }: PlanDetail): Html {
  return html`<section data-part="timeline" aria-labelledby="h-timeline"><h2 id="h-timeline">Timeline</h2><ol class="timeline">${timeline.map(eventShown)}</ol></section>`;
}

export function earlierPart({ earlier }: PlanDetail): Html | null {
  if (earlier.length === 0) return null;
  return html`<section data-part="earlier" aria-labelledby="h-earlier"><h2 id="h-earlier">The same statement before</h2><ul class="earlier">${earlier.map((plan, index) => html`<li>${stateBadge(plan.status, stateName(plan.status))} <a href="/plans/${plan.plan_token}" data-nav>plan ${plan.plan_token.slice(0, 8)}</a> <span class="aside">${moment(plan.at, 'ago')}${plan.by !== null && html` by <b>${visible(plan.by, 'name')}</b>`}</span>
${plan.note !== null && html`<div class="quote">${cutText(plan.note, `earlier-${index}`, NOTE)}</div>`}</li>`)}</ul></section>`;
}
