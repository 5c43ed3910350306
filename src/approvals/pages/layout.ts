/** The frame of every page. Parts marked data-part are compared and exchanged one by one when something changes. */
import type { Alarm } from '../facts.js';
import { html, Html, type Piece } from '../html.js';
import { visible } from '../text.js';

/** Who looks, and at what. */
export interface PageContext { login: string; database: string; mode: 'token' | 'database' | 'open' }

export interface PageParts {
  title: string;
  /** The database's clock, by which ages are told. */
  now: string;
  waiting?: number;
  /** Which page this is, for the style. */
  kind: 'queue' | 'plan' | 'sign-in';
  main: Html;
  context: PageContext | null;
}

function header({ login, database, mode }: PageContext): Html {
  return html`<header class="top"><a class="mark" href="/" data-nav>Countersign</a>
<p class="who"><span class="live" id="live" data-state="connecting" title="Live updates"><span class="dot"></span><span class="live-text">connecting</span></span>
<span class="on">${visible(database, 'name')}</span><span class="as">you decide as <b>${visible(login, 'name')}</b></span></p>
<p class="tools"><button type="button" class="quiet" id="notify" hidden>Notify me</button>${mode !== 'open' && html`<button type="button" class="quiet" id="sign-out">Sign out</button>`}</p></header>`;
}

/** A whole document. The script is ours, from a file; there is none inline. */
export function document({ title, now, waiting, kind, main, context }: PageParts): string {
  return `<!doctype html>\n${html`<html lang="en" data-page="${kind}"${context ? html` data-mode="${context.mode}"` : ''}>
<head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/page.css"><script type="module" src="/assets/page.js"></script></head>
<body><a class="skip" href="#main">Skip to the content</a>
<div id="app" data-now="${now}"${waiting === undefined ? '' : html` data-waiting="${waiting}"`}>${context && header(context)}
<div class="banner" id="offline" role="alert" hidden></div>
<main id="main" tabindex="-1">${main}</main></div>
<p id="announce" class="unseen" role="status" aria-live="polite"></p></body></html>`.text}\n`;
}

/** A moment, told as an age by the script ("3 min ago"); until then, and on hover, in full. */
export function moment(at: string, kind: 'age' | 'left' | 'ago'): Html {
  const text = `${at.slice(0, 16).replace('T', ' ')} UTC`;
  return html`<time datetime="${at}" data-rel="${kind}" title="${text}">${text}</time>`;
}

export function badge(tone: 'danger' | 'warning' | 'plain' | 'good' | 'accent', text: Piece): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

const TONES: Readonly<Record<string, 'danger' | 'warning' | 'plain' | 'good' | 'accent'>> = {
  awaiting_approval: 'accent', approved: 'good', executed: 'good', executing: 'accent', rejected: 'danger', failed: 'danger', stale: 'warning', expired: 'plain',
};

export function stateBadge(status: string, name: string): Html {
  return badge(TONES[status] ?? 'plain', name);
}

export function alarmShown({ level, title, text, names }: Alarm): Html {
  return html`<li class="alarm ${level}"><b class="alarm-title">${title}</b> <span>${text}</span>${names.length > 0 && html` <ul class="names">${names.map((name) => html`<li>${visible(name, 'name')}</li>`)}</ul>`}</li>`;
}
