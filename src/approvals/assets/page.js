/*
 * All script there is, in five small files. The server renders; this fetches with the secret, exchanges the parts that
 * changed (view.js), keeps one live stream for all tabs (live.js), and opens the two dialogs (decide.js). No library, no
 * build step.
 */
import { decide, openDialog, updateConfirm } from './decide.js';
import { startLive } from './live.js';
import { $, ask, askOtherTabs, channel, keepSecret, post, redeemCode, secret, takeSecret } from './secret.js';
import { go, isSettling, load, prepareTools } from './view.js';

document.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-nav]');
  if (link && event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    return void go(link.getAttribute('href'));
  }
  const button = event.target.closest('button');
  if (!button) return;
  if (button.dataset.open) { if (!isSettling() && event.detail < 2) openDialog(document.getElementById(button.dataset.open)); }
  else if (button.matches('.cancel')) button.closest('dialog').close();
  else if (button.matches('.confirm')) { if (event.detail < 2) void decide(button.closest('.form')); }
  else if (button.id === 'notify') void Notification.requestPermission().then(prepareTools);
  else if (button.id === 'sign-out') void signOut();
});

document.addEventListener('input', ({ target }) => {
  const form = target.closest?.('.form');
  if (form) updateConfirm(form);
});

addEventListener('popstate', () => void load(true));

/* ---- signing in and out ---- */

function revealSignIn() {
  const form = $('#sign-in');
  if (!form) return location.reload();
  form.classList.add('asked');
  $('input', form).focus();
}

async function signIn(form) {
  const problem = $('#problem');
  problem.textContent = '';
  if (form.dataset.mode === 'token') {
    const given = form.secret.value.trim();
    // The whole address may be pasted as well.
    keepSecret(/token=([^&\s]+)/.exec(given)?.[1] ?? given);
    form.secret.value = '';
    if ((await ask('/api/plans')).status !== 401) return start();
    keepSecret(null);
    problem.textContent = 'That is not the secret of this page.';
    return form.secret.focus();
  }
  const response = await post('/api/sign-in', { user: form.user.value, password: form.password.value });
  const answer = await response.json();
  form.password.value = '';
  if (!answer.ok) { problem.textContent = `${answer.message} ${answer.hint}`; return form.password.focus(); }
  keepSecret(answer.token);
  return start();
}

async function signOut() {
  await post('/api/sign-out', {}).catch(() => undefined);
  keepSecret(null);
  channel?.postMessage({ kind: 'sign out' });
  location.replace('/');
}

document.addEventListener('submit', (event) => {
  event.preventDefault();
  if (event.target.id === 'sign-in') signIn(event.target).catch(() => { $('#problem').textContent = 'No answer came. Try again.'; });
});

document.addEventListener('countersign:sign-in', revealSignIn);

/* ---- the start ---- */

async function start() {
  await redeemCode().catch(() => undefined);
  if (secret === null && document.documentElement.dataset.page === 'sign-in' && document.documentElement.dataset.mode === undefined) keepSecret(await askOtherTabs());
  if (secret === null && document.documentElement.dataset.mode !== 'open') return revealSignIn();
  await load(true);
  if (secret !== null || document.documentElement.dataset.mode === 'open') startLive();
}

takeSecret();
void start();
