/** What is shown without the secret. The script finds the secret in the address, the tab or another tab, or asks for it. */
import { html } from '../html.js';
import { document } from './layout.js';

const TOKEN_FORM = html`<form id="sign-in" data-mode="token" autocomplete="off"><h1>Countersign</h1>
<p>This page decides about your database, so it needs its secret.</p>
<label for="secret">Secret</label><input id="secret" name="secret" type="password" required autocomplete="off" spellcheck="false">
<p class="problem" role="alert" id="problem"></p><button type="submit" class="primary">Open</button>
<p class="hint">Easier: run <code>countersign approvals --open</code>, or open the address that Countersign printed when it started. It ends in <code>#token=…</code></p></form>`;

const DATABASE_FORM = html`<form id="sign-in" data-mode="database"><h1>Countersign</h1>
<p>Sign in with your own database login. What you decide is recorded under it.</p>
<label for="user">Role</label><input id="user" name="user" required autocomplete="username" autocapitalize="off" spellcheck="false">
<label for="password">Password</label><input id="password" name="password" type="password" required autocomplete="current-password">
<p class="problem" role="alert" id="problem"></p><button type="submit" class="primary">Sign in</button>
<p class="hint">The password opens one connection to Postgres and is not kept.</p></form>`;

export function signInPage(mode: 'token' | 'database' | 'open'): string {
  const main = html`<div class="sign-in">${mode === 'database' ? DATABASE_FORM : TOKEN_FORM}<noscript><p>This page needs its script. Without it, decide by psql: <code>select * from countersign.pending;</code></p></noscript></div>`;
  return document({ title: 'Countersign', now: '', kind: 'sign-in', main, context: null });
}
