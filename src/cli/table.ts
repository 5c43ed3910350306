import { displayWidth, safeLine, safeNotation, safeText, wrap } from './terminal.js';

export interface Column {
  title: string;
  align?: 'left' | 'right';
}

const GAP = '  ';
const NARROWEST = 6;
const LONGEST_NAME = 20;

/**
 * A table for people: a heading, a rule, and rows whose long cells wrap inside their column, so that the whole is never
 * wider than `width`. Cells are made safe for a terminal here; callers pass raw text.
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width = 80): string {
  const cells = rows.map((row) => columns.map((_, at) => safeText(row[at] ?? '')));
  const widths = columnWidths(columns, cells, width);
  const head = line(columns.map((column) => column.title), columns, widths);
  const rule = widths.map((size) => '-'.repeat(size)).join(GAP);
  const body = cells.flatMap((row) => {
    const wrapped = row.map((cell, at) => wrap(cell, widths[at] ?? NARROWEST));
    const height = Math.max(...wrapped.map((lines) => lines.length));
    return Array.from({ length: height }, (_, at) => line(wrapped.map((lines) => lines[at] ?? ''), columns, widths));
  });
  return [head, rule, ...body].map((text) => `${text}\n`).join('');
}

type Pair = readonly [name: string, value: string];

/** Pairs of name and value, one below the other, values wrapped beside their names (which take `nameWidth` at least). */
export function fields(pairs: readonly Pair[], width = 80, { indent = 0, nameWidth = 0 } = {}): string {
  return layOut(pairs.map(([name, value]) => [safeLine(name), safeText(value)]), width, indent, nameWidth);
}

/**
 * As {@link fields}, for text the database has made safe already (`countersign.show`): its `\u{…}` is notation and
 * stays; anything unsafe that is left is still made visible.
 */
export function shownFields(pairs: readonly Pair[], width = 80): string {
  return layOut(pairs.map(([name, value]) => [safeLine(name), safeNotation(value.replace(/\n+$/, ''))]), width, 0, 0);
}

function layOut(shown: readonly Pair[], width: number, indent: number, least: number): string {
  // A name that is longer than this stands on a line of its own, so that values keep room.
  const nameWidth = Math.min(LONGEST_NAME, Math.max(least, ...shown.map(([name]) => displayWidth(name))));
  const margin = ' '.repeat(indent);
  const space = width - indent - nameWidth - GAP.length;
  return shown
    .flatMap(([name, value]) => {
      const above = displayWidth(name) > nameWidth ? wrap(name, width - indent) : [];
      const beside = wrap(value, space).map((text, at) => `${pad(at === 0 && above.length === 0 ? name : '', nameWidth, 'left')}${GAP}${text}`);
      return [...above, ...beside].map((text) => `${margin}${text}`.trimEnd());
    })
    .map((text) => `${text}\n`)
    .join('');
}

/** Takes the missing columns from the widest ones, so that short columns such as counts stay whole. */
function columnWidths(columns: readonly Column[], cells: readonly (readonly string[])[], width: number): number[] {
  const widths = columns.map((column, at) =>
    Math.max(displayWidth(column.title), ...cells.flatMap((row) => (row[at] ?? '').split('\n').map(displayWidth))));
  const space = width - GAP.length * (columns.length - 1);
  let excess = widths.reduce((sum, size) => sum + size, 0) - space;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) break;
    widths[widths.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

function line(texts: readonly string[], columns: readonly Column[], widths: readonly number[]): string {
  return texts.map((text, at) => pad(text, widths[at] ?? 0, columns[at]?.align ?? 'left')).join(GAP).trimEnd();
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'right' ? space + text : text + space;
}
