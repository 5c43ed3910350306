/* What is shown: pages as the server renders them, exchanged part by part; how old it is, and whether it is still so. */

import { $, $$, ask, keepSecret, secret } from './secret.js';

export const SETTLE_MS = 700;

/* ---- showing: whole pages by navigation, parts by comparison ---- */

let shown = new Map();
let settledAt = 0;
let loading = 0;
let lastWaiting = null;

const partsOf = (root) => $$('[data-part]', root);

function settle() {
  settledAt = performance.now() + SETTLE_MS;
  const openers = document.querySelectorAll('[data-open]');
  document.body.classList.add('settling');
  for (const opener of openers) opener.setAttribute('aria-disabled', 'true');
  setTimeout(() => {
    if (performance.now() < settledAt - 5) return;
    document.body.classList.remove('settling');
    for (const opener of openers) opener.removeAttribute('aria-disabled');
  }, SETTLE_MS);
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
export async function load(moved) {
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

export function go(href) {
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

export function signedOut() {
  if (secret === null) return void document.dispatchEvent(new Event('countersign:sign-in'));
  keepSecret(null);
  location.reload();
}

/* ---- times, by the database's clock ---- */

let clockOffset = 0;

function span(seconds) {
  const [value, unit] = seconds < 90 ? [Math.round(seconds), 's'] : seconds < 5400 ? [Math.round(seconds / 60), 'min'] : seconds < 129600 ? [Math.round(seconds / 3600), 'h'] : [Math.round(seconds / 86400), 'days'];
  return `${value} ${unit}`;
}

export function tellTimes() {
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

export function announce(words) {
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

export function prepareTools() {
  const button = $('#notify');
  if (button) button.hidden = !('Notification' in window) || Notification.permission !== 'default';
  document.dispatchEvent(new Event('countersign:shown'));
}

/** Just now something moved under the cursor, or what is shown may be old: nothing is to be decided. */
export const isSettling = () => performance.now() < settledAt || document.body.classList.contains('offline');
