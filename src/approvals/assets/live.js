import { $, ask, channel, keepSecret, secret } from './secret.js';
import { load, signedOut, tellTimes } from './view.js';

/* ---- live: one stream for all tabs of this browser; the tab that holds the lock reads it and tells the others ---- */

let soon = null;
let liveNow = 'connecting';

document.addEventListener('countersign:shown', () => liveState(liveNow));

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

export function startLive() {
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
