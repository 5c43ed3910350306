/*
 * All script there is. The server renders; this fetches with the secret, exchanges the parts that changed, keeps one live
 * stream for all tabs, and opens the two dialogs. No library, no build step.
 */
'use strict';

const KEY = 'countersign.secret';
const SETTLE_MS = 700;
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const channel = 'BroadcastChannel' in window ? new BroadcastChannel('countersign') : null;

/* ---- the secret: out of the address at once, into this tab's own storage ---- */

let secret = null;
let code = null;

function takeSecret() {
  const url = new URL(location.href);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const given = fragment.get('token') ?? url.searchParams.get('token');
  code = fragment.get('code');
  url.searchParams.delete('token');
  url.hash = '';
  if (given !== null || code !== null) history.replaceState(null, '', url.pathname + url.search);
  if (given) sessionStorage.setItem(KEY, given);
  secret = given || sessionStorage.getItem(KEY);
}

/** A code from the command line that started this browser: good for the secret, once. */
async function redeemCode() {
  const answer = await (await post('/api/redeem', { code })).json();
  if (answer.ok) keepSecret(answer.token);
}

/** Another tab of this page may have it already: a link opened in a new tab should not ask again. */
function askOtherTabs() {
  return new Promise((resolve) => {
    if (channel === null) return resolve(null);
    const stop = (found) => { channel.removeEventListener('message', hear); resolve(found); };
    const hear = ({ data }) => { if (data.kind === 'secret') stop(data.secret); };
    channel.addEventListener('message', hear);
    channel.postMessage({ kind: 'who has the secret' });
    setTimeout(stop, 250, null);
  });
}

function keepSecret(value) {
  secret = value;
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/* ---- asking the server ---- */

async function ask(path, options = {}) {
  const headers = { ...options.headers, ...(secret === null ? {} : { Authorization: `Bearer ${secret}` }) };
  return fetch(path, { ...options, headers, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' });
}

function post(path, body) {
  return ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}

/* ---- showing: whole pages by navigation, parts by comparison ---- */

let shown = new Map();
let settledAt = 0;
let loading = 0;
let lastWaiting = null;

const partsOf = (root) => $$('[data-part]', root);

function settle() {
  settledAt = performance.now() + SETTLE_MS;
  document.body.classList.add('settling');
  setTimeout(() => { if (performance.now() >= settledAt - 5) document.body.classList.remove('settling'); }, SETTLE_MS);
}

/** What the reader has open, typed and focused stays so. */
function carryOver(from, to) {
  for (const open of $$('details[open][id]', from)) to.querySelector(`#${open.id}`)?.setAttribute('open', '');
  for (const field of $$('textarea[id], input[id]:not([name=word])', from)) {
    const same = to.querySelector(`#${field.id}`);
    if (same) same.value = field.value;
  }
}

function exchangeParts(fresh) {
  const [before, after] = [partsOf($('#main')), partsOf(fresh)];
  const names = (parts) => parts.map((part) => part.dataset.part).join();
  if (names(before) !== names(after)) return false;
  before.forEach((old, index) => {
    const part = after[index];
    const text = part.outerHTML;
    if (shown.get(part.dataset.part) === text) return;
    shown.set(part.dataset.part, text);
    const focused = old.contains(document.activeElement) ? document.activeElement.id || document.activeElement.getAttribute('href') : null;
    if (part.dataset.part === 'decision') tellDecided(old, part);
    carryOver(old, part);
    old.replaceWith(part);
    if (focused) (document.getElementById(focused) ?? part.querySelector(`[href="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
    settle();
  });
  return true;
}

function showWhole(fresh, page, moved) {
  const main = $('#main');
  const top = fresh.ownerDocument.querySelector('header.top');
  document.documentElement.dataset.page = page.dataset.page;
  document.documentElement.dataset.mode = page.dataset.mode ?? '';
  if (!$('header.top') && top) $('#app').prepend(document.importNode(top, true));
  shown = new Map(partsOf(fresh).map((part) => [part.dataset.part, part.outerHTML]));
  const node = document.importNode(fresh, true);
  if (!moved) carryOver(main, node);
  main.replaceWith(node);
  if (moved) { scrollTo(0, 0); node.focus({ preventScroll: true }); }
  settle();
}

function show(text, moved) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  const fresh = $('#main', page);
  const app = $('#app', page);
  clockOffset = Date.parse(app.dataset.now.replace(' ', 'T')) - Date.now();
  document.title = page.title;
  if (app.dataset.waiting !== undefined) noteWaiting(Number(app.dataset.waiting));
  if (moved || !exchangeParts(fresh)) showWhole(fresh, page.documentElement, moved);
  tellTimes();
  prepareTools();
}

function showProblem({ message = 'This page could not be read.', hint = '' } = {}) {
  const main = document.createElement('main');
  main.id = 'main';
  main.tabIndex = -1;
  const box = document.createElement('div');
  box.className = 'empty';
  for (const [tag, words] of [['h1', message], ['p', hint]]) box.appendChild(Object.assign(document.createElement(tag), { textContent: words }));
  const back = Object.assign(document.createElement('a'), { href: '/', textContent: 'All plans' });
  back.dataset.nav = '';
  box.appendChild(back);
  main.appendChild(box);
  $('#main').replaceWith(main);
  shown = new Map();
}

/** Reads the page at the current address again. `moved`: the reader went there, so all of it is new. */
async function load(moved) {
  const turn = ++loading;
  const path = location.pathname + location.search;
  try {
    const response = await ask(path, { headers: { Accept: 'text/html' } });
    const text = await response.text();
    if (turn !== loading) return;
    if (response.status === 401) return signedOut();
    if (response.ok) { online(); return show(text, moved); }
    const problem = JSON.parse(text);
    if (response.status >= 500) { if (moved && !$('header.top')) showProblem(problem); return offline(problem.message); }
    showProblem(problem);
  } catch {
    if (turn === loading) offline('The Countersign process does not answer.');
  }
}

function go(href) {
  history.pushState(null, '', href);
  return load(true);
}

/* ---- not connected: say so, let nothing be decided on old facts, try again ---- */

let retry = null;
let retryMs = 500;

function offline(why) {
  const banner = $('#offline');
  const text = `Not connected: ${why} What you see may be out of date. Trying again…`;
  if (banner.textContent !== text) banner.textContent = text;
  banner.hidden = false;
  document.body.classList.add('offline');
  clearTimeout(retry);
  retry = setTimeout(load, retryMs, false);
  retryMs = Math.min(retryMs * 1.6, 5000);
}

function online() {
  clearTimeout(retry);
  retryMs = 500;
  $('#offline').hidden = true;
  $('#offline').textContent = '';
  document.body.classList.remove('offline');
}

function signedOut() {
  if (secret === null) return revealSignIn();
  keepSecret(null);
  location.reload();
}

/* ---- times, by the database's clock ---- */

let clockOffset = 0;

function span(seconds) {
  const [value, unit] = seconds < 90 ? [Math.round(seconds), 's'] : seconds < 5400 ? [Math.round(seconds / 60), 'min'] : seconds < 129600 ? [Math.round(seconds / 3600), 'h'] : [Math.round(seconds / 86400), 'days'];
  return `${value} ${unit}`;
}

function tellTimes() {
  const now = Date.now() + clockOffset;
  for (const time of $$('time[data-rel]')) {
    const seconds = (now - Date.parse(time.dateTime.replace(' ', 'T'))) / 1000;
    const words = {
      age: () => `waiting ${span(Math.max(seconds, 0))}`,
      ago: () => (seconds < 5 ? 'just now' : `${span(seconds)} ago`),
      left: () => (seconds >= 0 ? 'time is over' : `${span(-seconds)} left`),
    }[time.dataset.rel]();
    if (time.textContent !== words) time.textContent = words;
    if (time.dataset.rel === 'left') time.classList.toggle('soon', seconds > -300);
  }
}

/* ---- arrivals: title, spoken words, desktop notification ---- */

function announce(words) {
  const place = $('#announce');
  place.textContent = '';
  setTimeout(() => { place.textContent = words; }, 50);
}

function noteWaiting(waiting) {
  if (lastWaiting !== null && waiting > lastWaiting) {
    const words = waiting === 1 ? '1 plan waits for you' : `${waiting} plans wait for you`;
    announce(words);
    // No word of the agent's: a desktop notification is no place to judge it.
    if (document.hidden && 'Notification' in window && Notification.permission === 'granted') {
      const note = new Notification('Countersign', { body: words, tag: 'countersign', icon: '/assets/icon.svg' });
      note.onclick = () => { window.focus(); note.close(); };
    }
  }
  lastWaiting = waiting;
}

function tellDecided(old, fresh) {
  if (old.dataset.status === fresh.dataset.status) return;
  const words = fresh.querySelector('.standing')?.textContent ?? '';
  announce(`This plan has moved: ${words}`);
}

function prepareTools() {
  const button = $('#notify');
  if (button) button.hidden = !('Notification' in window) || Notification.permission !== 'default';
  liveState(liveNow);
}

/* ---- live: one stream for all tabs of this browser; the tab that holds the lock reads it and tells the others ---- */

let soon = null;
let liveNow = 'connecting';

function liveState(state) {
  liveNow = state;
  const mark = $('#live');
  if (!mark) return;
  mark.dataset.state = state;
  $('.live-text', mark).textContent = state;
}

/** A burst of changes is one reading, at most four a second. */
function changed() {
  if (document.documentElement.dataset.page === 'sign-in') return;
  soon ??= setTimeout(() => { soon = null; load(false); }, changed.last + 250 > performance.now() ? 250 : 0);
  changed.last = performance.now();
}
changed.last = -1000;

async function readStream() {
  const stop = new AbortController();
  let watchdog = setTimeout(() => stop.abort(), 40000);
  const response = await ask('/api/events', { signal: stop.signal, headers: { Accept: 'text/event-stream' } });
  if (response.status === 401) return signedOut();
  if (!response.ok) throw new Error('no stream');
  tellTabs('live', true);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    clearTimeout(watchdog);
    watchdog = setTimeout(() => stop.abort(), 40000);
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    // "open" too: what happened before it was not told.
    if (events.some((event) => event.startsWith('event: ') || event.includes('\nevent: '))) tellTabs('changed');
  }
}

function tellTabs(kind, value) {
  hearTab({ kind, value });
  channel?.postMessage({ kind, value });
}

function hearTab({ kind, value }) {
  if (kind === 'changed') changed();
  if (kind === 'live') liveState(value ? 'live' : 'reconnecting');
  if (kind === 'is it live' && liveNow === 'live') channel.postMessage({ kind: 'live', value: true });
  if (kind === 'sign out') { keepSecret(null); location.reload(); }
  if (kind === 'who has the secret' && secret !== null) channel.postMessage({ kind: 'secret', secret });
}

async function keepStream() {
  for (let wait = 300; ; wait = Math.min(wait * 1.6, 5000)) {
    const started = performance.now();
    await readStream().catch(() => undefined);
    if (secret === null) return;
    tellTabs('live', false);
    if (performance.now() - started > 10000) wait = 300;
    await new Promise((resolve) => setTimeout(resolve, wait));
    changed();
  }
}

function startLive() {
  if (startLive.started) return;
  startLive.started = true;
  channel?.addEventListener('message', ({ data }) => hearTab(data));
  if (navigator.locks === undefined || channel === null) void keepStream();
  else {
    void navigator.locks.request(`countersign live ${secret?.slice(-8)}`, keepStream);
    // Not the reader, perhaps: whoever is tells.
    channel.postMessage({ kind: 'is it live' });
  }
  // Expiry is no event: nobody decided anything.
  setInterval(() => { tellTimes(); if (!document.hidden) changed(); }, 15000);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) changed(); });
}

/* ---- deciding: a dialog, then its button; never one key, one click or a click on something that just moved ---- */

const isSettling = () => performance.now() < settledAt || document.body.classList.contains('offline');

function mayConfirm(form) {
  const word = $('[data-word]', form);
  const reason = $('textarea[required]', form);
  return performance.now() >= Number(form.dataset.readyAt) && !form.dataset.busy && (!word || word.value.trim() === word.dataset.word) && (!reason || reason.value.trim() !== '');
}

function updateConfirm(form) {
  $('.confirm', form).disabled = !mayConfirm(form);
}

function openDialog(dialog) {
  const form = $('.form', dialog);
  form.dataset.readyAt = String(performance.now() + SETTLE_MS);
  $('.problem', form).textContent = '';
  dialog.showModal();
  $('textarea', form).focus();
  updateConfirm(form);
  setTimeout(updateConfirm, SETTLE_MS + 20, form);
}

async function decide(form) {
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

/* ---- the start ---- */

async function start() {
  if (code !== null) await redeemCode().catch(() => undefined);
  code = null;
  if (secret === null && document.documentElement.dataset.page === 'sign-in' && document.documentElement.dataset.mode === undefined) keepSecret(await askOtherTabs());
  if (secret === null && document.documentElement.dataset.mode !== 'open') return revealSignIn();
  await load(true);
  if (secret !== null || document.documentElement.dataset.mode === 'open') startLive();
}

takeSecret();
void start();
