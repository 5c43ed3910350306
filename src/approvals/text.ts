/**
 * Words of an agent, or of the database, made safe to look at: they can neither look like the page's own, nor reorder it, nor
 * hide in it. What is not seen, or is not what it seems, is shown by its code point in a frame that text cannot imitate.
 */
import { html, Html, type Piece } from './html.js';

/** Controls, format and bidi characters, invisible letters, private use, every space but the space, and marks that pile up. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=[\p{Script=Latin}\p{Nd}\p{P}\s])\p{M}+|(?<=\p{M}{2})\p{M}+/u;
const WORD_CHARACTER = '[\\p{L}\\p{M}\\p{N}_]';
const LATIN = /\p{Script=Latin}/u;
/** Scripts with letters that look like Latin ones. */
const TWIN_SCRIPTS = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;
const WORDS_AND_UNSEEN = new RegExp(`(?<unseen>${UNSEEN.source})|(?<word>(?:(?!${UNSEEN.source})${WORD_CHARACTER})+)`, 'gu');
const EDGE_SPACE = /^ +| +$/g;

/** `name`: an identifier, in which no letter beyond ASCII is taken for granted. `prose`: anything else. */
export type TextKind = 'name' | 'prose';

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function chip(characters: string): Html {
  return html`${[...characters].map((character) => html`<span class="cp" title="A character that is not seen, or changes how others are">${codePoint(character)}</span>`)}`;
}

function isAsciiInDisguise(character: string): boolean {
  return character > '\u007f' && /^[\u0021-\u007e]+$/.test(character.normalize('NFKC'));
}

function isSuspect(character: string, word: string, kind: TextKind): boolean {
  if (character <= '\u007f') return false;
  if (kind === 'name' || isAsciiInDisguise(character)) return true;
  return TWIN_SCRIPTS.test(character) && LATIN.test(word);
}

function wordShown(word: string, kind: TextKind): Piece {
  if (/^[\u0000-\u007f]*$/.test(word)) return word;
  return [...word].map((character): Piece => (isSuspect(character, word, kind)
    ? html`<span class="twin" title="Not the letter it looks like">${character}<span class="cp">${codePoint(character)}</span></span>` : character));
}

/** Text as HTML, in full. Line breaks stay; the reader's style decides whether they show. */
export function visible(text: string, kind: TextKind = 'prose'): Html {
  const pieces: Piece[] = [];
  let last = 0;
  for (const match of text.matchAll(WORDS_AND_UNSEEN)) {
    pieces.push(text.slice(last, match.index));
    const { unseen, word } = match.groups ?? {};
    pieces.push(unseen === undefined ? wordShown(word ?? '', kind) : chip(unseen));
    last = match.index + match[0].length;
  }
  return html`${pieces}${text.slice(last)}`;
}

/** A value whose spaces at either end count, as in a cell. */
export function visibleValue(text: string): Html {
  const lead = /^ */.exec(text)?.[0] ?? '';
  const trail = text.length > lead.length ? (/ *$/.exec(text)?.[0] ?? '') : '';
  const spaces = (run: string): Piece => run !== '' && html`<span class="cp" title="Spaces">${run.length === 1 ? 'space' : `${run.length} spaces`}</span>`;
  return html`${spaces(lead)}${visible(text.replace(EDGE_SPACE, ''))}${spaces(trail)}`;
}

/** More than anybody reads; the page says where the rest is. */
const MOST = 100_000;

export interface CutOptions { characters: number; lines: number; kind?: TextKind }

/** Text that may be very long: its beginning, and the whole on demand. `id` keeps it open over a refresh. */
export function cutText(text: string, id: string, { characters, lines, kind = 'prose' }: CutOptions, show = (part: string): Html => visible(part, kind)): Html {
  const head = text.split('\n').slice(0, lines).join('\n').slice(0, characters);
  if (head.length === text.length) return html`<div class="text">${show(text)}</div>`;
  const whole = text.slice(0, MOST);
  const lineCount = text.split('\n').length;
  const size = lineCount > lines ? `${grouped(text.length)} characters in ${grouped(lineCount)} lines` : `${grouped(text.length)} characters`;
  return html`<div class="long"><div class="text head">${show(wholeCharacters(head))}<span class="more">…</span></div>
<details id="${id}"><summary>Show all ${size}</summary><div class="text">${show(wholeCharacters(whole))}</div>${text.length > MOST && html`<p class="note">Cut here. psql shows the rest.</p>`}</details></div>`;
}

/** A cut must not leave half of a character behind. */
function wholeCharacters(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}

/** One line of at most a length, for lists. */
export function oneLine(text: string, characters: number): Html {
  const line = text.replace(/\s+/g, ' ').trim();
  return html`${visible(wholeCharacters(line.slice(0, characters)))}${line.length > characters && html`<span class="more">…</span>`}`;
}

/** 13200 as `13,200`, in every locale. */
export function grouped(count: number | string | { toString(): string }): string {
  const [whole = '', ...rest] = String(count).split('.');
  return [whole.replace(/\B(?=(\d{3})+$)/g, ','), ...rest].join('.');
}

export function plural(count: number | string, noun: string): string {
  return `${grouped(count)} ${noun}${Number(count) === 1 ? '' : 's'}`;
}
