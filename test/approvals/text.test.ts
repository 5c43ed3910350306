/** Words of an agent or of the database can neither deceive nor hide. In brackets the cases of the attack list. */
import { describe, expect, test } from 'vitest';
import { parseExact } from '../../src/approvals/exact-json.js';
import { alarms, headline, share, wordToType } from '../../src/approvals/facts.js';
import { escapeHtml, html } from '../../src/approvals/html.js';
import { showStatement, showValue } from '../../src/approvals/statement.js';
import type { PlanDetail } from '../../src/approvals/store.js';
import { cutText, grouped, oneLine, visible, visibleValue } from '../../src/approvals/text.js';

/** What a person reads: the text without tags. */
const read = (piece: { text: string }): string => piece.text.replace(/<[^>]*>/g, '').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', '\'').replaceAll('&amp;', '&');

describe('html', () => {
  test('escapes whatever is not Html itself (H009)', () => {
    expect(html`<p title="${'"><script>'}">${['<b>', html`<i>`, null, false, 3]}</p>`.text).toBe('<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;<i>3</p>');
    expect(escapeHtml('<>&"\'')).toBe('&lt;&gt;&amp;&quot;&#39;');
  });
});

describe('characters that deceive are shown by their code point', () => {
  test.each([
    ['a right-to-left override (U002)', 'id = 1 \u202e live \u202c', ['U+202E', 'U+202C']], ['isolates (U002)', 'a\u2066b\u2069', ['U+2066', 'U+2069']], ['a zero-width space (U004)', 'orders\u200b', ['U+200B']],
    ['a no-break space (U004)', '\u00a0orders', ['U+00A0']], ['a byte order mark', '\ufefforders', ['U+FEFF']], ['escape sequences (U001)', '\u001b[2K\r', ['U+001B', 'U+000D']], ['a tag character', 'x\u{e0041}', ['U+E0041']],
    ['a Hangul filler', '\u3164', ['U+3164']], ['a variation selector', 'x\ufe0f', ['U+FE0F']], ['a braille blank', 'a\u2800b', ['U+2800']], ['private use', '\ue000', ['U+E000']], ['a line separator', 'a\u2028b', ['U+2028']],
    ['a combining mark on a Latin letter (U015)', 'e\u0301', ['U+0301']], ['half a look-alike word (U003)', '\u043erders', ['U+043E']], ['fullwidth letters', '\uff4frders', ['U+FF4F']], ['mathematical letters', '\u{1d428}rders', ['U+1D428']],
  ])('%s', (_name, text, points) => {
    const shown = visible(text);
    for (const point of points) expect(shown.text).toContain(`<span class="cp"`) , expect(read(shown)).toContain(point);
    expect(shown.text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069\u00a0\ufeff]/);
  });

  test('and in a name every letter beyond ASCII is (U003)', () => {
    expect(read(visible('\u0441\u043e\u0441\u043e', 'name'))).toContain('U+0441');
    expect(read(visible('caf\u00e9', 'name'))).toContain('U+00E9');
  });

  test('but honest words of other languages are left alone', () => {
    for (const words of ['Привет, мир', 'Ελληνικά', 'naïve café', '日本語', 'שלום', 'हिन्दी में', 'ไทย']) expect(visible(words).text).toBe(words);
  });

  test('and spaces at the edge of a value are counted (U015)', () => {
    expect(read(visibleValue('x '))).toBe('xspace');
    expect(read(visibleValue('  x'))).toBe('2 spacesx');
    expect(read(showValue(''))).toBe('empty text');
    expect(showValue(null).text).not.toBe(showValue('NULL').text);
  });

  test('by something text cannot imitate', () => {
    expect(visible('<span class="cp">U+202E</span>').text).not.toContain('<span');
  });
});

describe('length', () => {
  test('long text is cut and shown whole on demand, and a reason is one line (U005, U007)', () => {
    const shown = cutText(`start ${'x'.repeat(10_000)} tail`, 'id', { characters: 500, lines: 8 });
    expect(shown.text).toContain('Show all 10,011 characters');
    expect(shown.text).toContain('tail');
    expect(cutText('\n'.repeat(3000) + 'hidden', 'id', { characters: 500, lines: 8 }).text).toContain('in 3,001 lines');
    expect(read(oneLine('Approved by security.\nAFFECTED ROWS: 3\n[x] safe', 500))).toBe('Approved by security. AFFECTED ROWS: 3 [x] safe');
  });

  test('a cut never leaves half a character', () => {
    expect(oneLine('ab\u{1f600}', 3).text).not.toMatch(/\p{Surrogate}/u);
  });

  test('a page of hostile text takes milliseconds, not minutes', () => {
    const started = performance.now();
    for (const text of ['\u202e'.repeat(20_000), 'e\u0301'.repeat(20_000), 'aо'.repeat(20_000), ' '.repeat(50_000) + 'x', '\u0301'.repeat(20_000)]) visible(text);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('a statement', () => {
  test('is laid out without a changed token, its parameters in place', async () => {
    const { shown, laidOut } = await showStatement('DELETE FROM public.orders WHERE (id = $1 and status = $2)', [9, 'open']);
    expect(laidOut).toBe(true);
    expect(read(shown)).toMatch(/^DELETE FROM public\.orders\nWHERE\n\s+\(\s*id = \$19\s+and status = \$2'open'\s*\)$/);
    expect(shown.text).toContain('<span class="keyword">DELETE</span>');
  });

  test('padded with lines or spaces ends where a reader looks (U005)', async () => {
    const { shown, lines } = await showStatement(`DELETE FROM t WHERE (id = 1${'\n'.repeat(3000)}${' '.repeat(5000)} OR true)`, []);
    expect(lines).toBeLessThan(10);
    expect(read(shown)).toMatch(/OR true/);
  });

  test('marks comments as nothing that Postgres reads (U006)', async () => {
    const { shown } = await showStatement('ALTER TABLE t ADD c text /* verified by the DBA team, 3 rows */', []);
    expect(shown.text).toMatch(/<span class="comment" title="A comment\. Postgres does not read it\.">\/\* verified/);
  });

  test('that no scanner reads is shown raw', async () => {
    expect((await showStatement('DELETE \'', [])).laidOut).toBe(false);
    expect(read((await showStatement('SELECT "a<b>" \\! rm', [])).shown)).toContain('<b>');
  });

  test('shows names that are not what they seem (U003, U004)', async () => {
    expect(read((await showStatement('DELETE FROM public."оrders"', [])).shown)).toContain('U+043E');
    expect(read((await showStatement('DELETE FROM "orders\u200b"', [])).shown)).toContain('U+200B');
  });
});

describe('numbers', () => {
  test('are grouped and lose no digit', () => {
    expect([grouped(13_200), grouped(999), grouped('9007199254740993'), grouped(1234.5678)]).toEqual(['13,200', '999', '9,007,199,254,740,993', '1,234.5678']);
    const parsed = parseExact('{"a": 9007199254740993, "b": 1.10, "c": "9007199254740993", "d": [1, -0.5, 1e400], "e": "\\"12345678901234567890"}') as Record<string, unknown>;
    expect(JSON.stringify(parsed)).toBe('{"a":"9007199254740993","b":"1.10","c":"9007199254740993","d":[1,-0.5,"1e400"],"e":"\\"12345678901234567890"}');
    expect(showValue(parsed['a']).text).toContain('class="number"');
    expect(showValue(parsed['c']).text).not.toContain('class="number"');
  });
});

describe('facts before words (U012)', () => {
  const plan = (changes: Partial<PlanDetail>): PlanDetail => ({
    plan_token: '0123abcd-0000-4000-8000-000000000000', kind: 'delete', tool: 'delete_rows', target: 'public.orders', status: 'awaiting_approval', affected_rows: 1, total_rows: 1, whole_table: false, columns: null,
    statement: '', reason: null, requested_by: 'agent', caller_id: null, requested_at: '', expires_at: '', decision: null, params: [], gate: [], effects: [{ table: 'public.orders', inserted: 0, updated: 0, deleted: 1, writable: true }],
    changes: [], triggers: [], undo: null, table_rows: 1000, approval: null, approvals: [], timeline: [], earlier: [], outcome: null, now: '', seen: '', ...changes,
  });
  const titles = (changes: Partial<PlanDetail>): string[] => alarms(plan(changes)).map(({ title }) => title);
  const migration = { tag: 'DROP TABLE', locks: [], rewrites: [], added: [], removed: ['relation public.orders : table'], rows_lost_estimate: [{ object: 'public.orders', rows: 5 }] };

  test('three rows alarm nobody', () => {
    expect([headline({ ...plan({ affected_rows: 3 }), tag: null }), titles({}), wordToType(plan({}))]).toEqual([{ text: 'Delete 3 rows from', name: 'public.orders' }, [], null]);
  });

  test.each<[string, Partial<PlanDetail>, string[], string | null]>([
    ['no condition', { whole_table: true }, ['The whole table'], 'orders'],
    ['a condition that holds for every row', { affected_rows: 1000, total_rows: 1000 }, ['The whole table'], 'orders'],
    ['many rows', { affected_rows: 5000, total_rows: 5000, table_rows: 900_000 }, [], 'orders'],
    ['one row and a cascade outside the allowlist', { effects: [{ table: 'public.a', inserted: 0, updated: 0, deleted: 12, writable: false }] }, ['Outside the allowlist'], null],
    ['a dropped table', { kind: 'migration', target: null, migration }, ['Data is lost'], 'orders'],
    ['a dropped column', { kind: 'migration', target: null, migration: { ...migration, removed: ['column public.orders.note : text'], rows_lost_estimate: [{ object: 'public.orders.note', rows: null }] } }, ['Data is lost'], 'orders'],
    ['a rewrite', { kind: 'migration', target: null, migration: { ...migration, removed: [], rows_lost_estimate: [], rewrites: [{ table: 'public.orders', rows_estimate: 9, bytes: 1 }] } }, ['A table is rewritten'], 'orders'],
    ['a trigger that may reach outside', { triggers: [{ table: 't', trigger: 'x', function: 'f', may_reach_outside: true }] }, ['A trigger may reach outside the database'], null],
    ['a table whose name is not what it seems', { whole_table: true, target: 'public."оrders"' }, ['The whole table'], '0123abcd'],
    ['a rejection before', { earlier: [{ plan_token: '', status: 'rejected', at: '', by: 'x', note: null, requested_by: null }] }, ['Rejected before'], null],
  ])('%s looks different', (_name, changes, expected, word) => {
    expect([titles(changes), wordToType(plan(changes))]).toEqual([expected, word]);
  });

  test('how much of the table, as far as anybody knows', () => {
    expect(share(plan({ affected_rows: 13_200, table_rows: 60_000 }))).toBe('13,200 of about 60,000 rows, 22 % of the table');
    expect([share(plan({ table_rows: null })), share(plan({ affected_rows: 2000 }))]).toEqual([null, null]);
  });
});
