import { $, post } from './secret.js';
import { announce, isSettling, load, SETTLE_MS, signedOut } from './view.js';

/* ---- deciding: a dialog, then its button; never one key, one click or a click on something that just moved ---- */

function mayConfirm(form) {
  const word = $('[data-word]', form);
  const reason = $('textarea[required]', form);
  return performance.now() >= Number(form.dataset.readyAt) && !form.dataset.busy && (!word || word.value.trim() === word.dataset.word) && (!reason || reason.value.trim() !== '');
}

export function updateConfirm(form) {
  $('.confirm', form).disabled = !mayConfirm(form);
}

export function openDialog(dialog) {
  const form = $('.form', dialog);
  form.dataset.readyAt = String(performance.now() + SETTLE_MS);
  $('.problem', form).textContent = '';
  dialog.showModal();
  $('textarea', form).focus();
  updateConfirm(form);
  setTimeout(updateConfirm, SETTLE_MS + 20, form);
}

export async function decide(form) {
  if (isSettling() || !mayConfirm(form)) return;
  const verb = form.dataset.verb;
  const value = (name) => $(`[name=${name}]`, form)?.value.trim() || undefined;
  const body = verb === 'approve' ? { note: value('note'), approvedBy: value('by'), seen: form.dataset.seen } : { reason: value('reason'), rejectedBy: value('by'), seen: form.dataset.seen };
  form.dataset.busy = 'yes';
  updateConfirm(form);
  try {
    const response = await post(`/api/plans/${location.pathname.split('/')[2]}/${verb}`, body);
    const answer = await response.json();
    if (response.status === 401) return signedOut();
    if (!answer.ok) { $('.problem', form).textContent = `${answer.message} ${answer.hint}`; announce(answer.message); }
    else { form.closest('dialog').close(); announce(answer.message); }
  } catch {
    $('.problem', form).textContent = 'No answer came. Whether it was recorded, this page shows once it is connected again.';
  }
  delete form.dataset.busy;
  updateConfirm(form);
  await load(false);
}
