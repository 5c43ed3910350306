/** The decision: its state, the two buttons, and the dialogs behind them. Nothing is decided by one click or one key. */
import { alarms, decisionsFor, headline, stateName, wordToType } from '../facts.js';
import { html, Html } from '../html.js';
import type { PlanDetail } from '../store.js';
import { visible } from '../text.js';
import { alarmShown, moment, type PageContext } from './layout.js';

function approvalsShown(plan: PlanDetail): Html | null {
  const required = plan.approval?.required ?? 1;
  if (required === 1 || plan.status === 'rejected') return null;
  return html`<p class="so-far"><b>${plan.approvals.length} of ${required}</b> approvals${plan.approvals.length < required && plan.status === 'awaiting_approval' && `; ${required - plan.approvals.length} more needed, from different people`}</p>
<ul class="plain approvers">${plan.approvals.map((approval) => html`<li><b>${visible(approval.by ?? '', 'name')}</b> ${moment(approval.at, 'ago')}${approval.note !== null && html` <q>${visible(approval.note.slice(0, 200))}</q>`}</li>`)}</ul>`;
}

/** How it stands once there is nothing to decide, or while there is. */
function standing(plan: PlanDetail): Html {
  const { status, decision } = plan;
  if (status === 'awaiting_approval') return html`<p class="standing">${moment(plan.requested_at, 'age')}, ${moment(plan.expires_at, 'left')}</p>`;
  const by = decision !== null && html` by <b>${visible(decision.by ?? '', 'name')}</b> (${decision.channel}), ${moment(decision.at, 'ago')}`;
  return html`<p class="standing">${(status === 'approved' || status === 'rejected') && html`${stateName(status)}${by}`}${status !== 'approved' && status !== 'rejected' && html`${stateName(status)}.${decision !== null && html` ${decision.status === 'approved' ? 'Approved' : 'Rejected'}${by}`}`}</p>
${decision !== null && decision.note !== null && html`<div class="quote">${visible(decision.note.slice(0, 600))}</div>`}
${status === 'approved' && html`<p class="note">The agent may execute exactly this, ${moment(plan.expires_at, 'left')}.</p>`}`;
}

function nameField(verb: string, context: PageContext): Html | null {
  // In one's own login the database knows the name.
  if (context.mode === 'database') return null;
  return html`<label for="${verb}-by">Your name <span class="optional">optional, recorded beside ${visible(context.login, 'name')}</span></label><input id="${verb}-by" name="by" maxlength="200" autocomplete="name" data-keep>`;
}

function summary(plan: PlanDetail): Html {
  const { text, name } = headline({ ...plan, tag: plan.migration?.tag ?? null });
  return html`<p class="recap">${text}${name !== null && html` <span class="name">${visible(name, 'name')}</span>`}</p>`;
}

/** What is unusual, once more where it is decided. */
function warnings(plan: PlanDetail): Html | null {
  const found = alarms(plan);
  return found.length === 0 ? null : html`<ul class="alarms" aria-label="What is unusual">${found.map(alarmShown)}</ul>`;
}

function approveDialog(plan: PlanDetail, context: PageContext): Html {
  const word = wordToType(plan);
  return html`<dialog id="approve-dialog" aria-labelledby="approve-title"${word !== null && html` class="grave"`}><div class="form" data-verb="approve" data-seen="${plan.seen}">
<h2 id="approve-title">Approve this plan?</h2>${summary(plan)}${warnings(plan)}<p class="note">The agent may then commit exactly what was previewed. If the data has changed by then, nothing is done.</p>
<label for="approve-note">Note <span class="optional">optional, the agent reads it</span></label><textarea id="approve-note" name="note" rows="2" maxlength="2000"></textarea>
${nameField('approve', context)}
${word !== null && html`<label for="approve-word">To confirm, type <b class="word">${word}</b></label><input id="approve-word" name="word" autocomplete="off" autocapitalize="off" spellcheck="false" data-word="${word}">`}
<p class="problem" role="alert"></p><p class="buttons"><button type="button" class="cancel">Cancel</button><button type="button" class="confirm primary" disabled>Approve</button></p></div></dialog>`;
}

function rejectDialog(plan: PlanDetail, context: PageContext): Html {
  return html`<dialog id="reject-dialog" aria-labelledby="reject-title"><div class="form" data-verb="reject" data-seen="${plan.seen}">
<h2 id="reject-title">Reject this plan?</h2>${summary(plan)}<p class="note">For good. The same statement will wait for a human ever after.</p>
<label for="reject-reason">Reason <span class="optional">the agent reads it: say what to do instead</span></label><textarea id="reject-reason" name="reason" rows="3" maxlength="2000" required aria-required="true"></textarea>
${nameField('reject', context)}
<p class="problem" role="alert"></p><p class="buttons"><button type="button" class="cancel">Cancel</button><button type="button" class="confirm danger" disabled>Reject</button></p></div></dialog>`;
}

function byPsql(plan: PlanDetail): Html {
  const short = plan.plan_token.slice(0, 8);
  return html`<details id="psql" class="psql"><summary>Decide by psql or terminal</summary>
<pre tabindex="0" aria-label="psql"><code>select * from countersign.show('${short}');
select * from countersign.approve('${short}', 'note');
select * from countersign.reject('${short}', 'reason');</code></pre>
<pre tabindex="0" aria-label="command line"><code>countersign show ${short}
countersign approve ${short}
countersign reject ${short} --reason '…'</code></pre></details>`;
}

/** Beside the facts on a wide screen, at the foot of a narrow one. Its own part: it is exchanged only when the state moves. */
export function decisionPart(plan: PlanDetail, context: PageContext): Html {
  const verbs = decisionsFor(plan.status);
  const mine = plan.approvals.some(({ by }) => by === context.login);
  return html`<aside class="decision" data-part="decision" data-status="${plan.status}" aria-label="Decision">
<h2>${plan.status === 'awaiting_approval' ? 'Your decision' : stateName(plan.status)}</h2>${standing(plan)}${approvalsShown(plan)}
${mine && plan.status === 'awaiting_approval' && html`<p class="note">You approved it already; somebody else has to as well.</p>`}
${verbs.length > 0 && html`<p class="buttons">${verbs.includes('approve') && !mine && html`<button type="button" class="primary" data-open="approve-dialog">Approve…</button>`}<button type="button" class="danger outline" data-open="reject-dialog">Reject…</button></p>
${verbs.includes('approve') && !mine && approveDialog(plan, context)}${rejectDialog(plan, context)}${byPsql(plan)}`}</aside>`;
}
