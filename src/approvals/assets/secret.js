/* The secret of the page: where it comes from, where it is kept, and the requests it goes with. */

const KEY = 'countersign.secret';

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
export const channel = 'BroadcastChannel' in window ? new BroadcastChannel('countersign') : null;

/* ---- the secret: out of the address at once, into this tab's own storage ---- */

/** Null: nobody has shown it to this tab yet. */
export let secret = null;
let code = null;

export function takeSecret() {
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
export async function redeemCode() {
  if (code === null) return;
  const given = code;
  code = null;
  const answer = await (await post('/api/redeem', { code: given })).json();
  if (answer.ok) keepSecret(answer.token);
}

/** Another tab of this page may have it already: a link opened in a new tab should not ask again. */
export function askOtherTabs() {
  return new Promise((resolve) => {
    if (channel === null) return resolve(null);
    const stop = (found) => { channel.removeEventListener('message', hear); resolve(found); };
    const hear = ({ data }) => { if (data.kind === 'secret') stop(data.secret); };
    channel.addEventListener('message', hear);
    channel.postMessage({ kind: 'who has the secret' });
    setTimeout(stop, 250, null);
  });
}

export function keepSecret(value) {
  secret = value;
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/* ---- asking the server ---- */

export async function ask(path, options = {}) {
  const headers = { ...options.headers, ...(secret === null ? {} : { Authorization: `Bearer ${secret}` }) };
  return fetch(path, { ...options, headers, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' });
}

export function post(path, body) {
  return ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}
