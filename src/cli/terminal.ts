/**
 * What may not reach a terminal as it is: control characters (escape sequences move the cursor or answer for the
 * reader), bidirectional marks and other format characters (they reorder or hide text), invisible letters, spaces
 * that only look like a space, private-use glyphs, and a backslash that would imitate this very notation.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|\\(?=u\{)/gu;

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const COMBINING = /\p{M}/u;

function visible(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

/** Text from the database made safe for one line of a terminal: what could deceive is shown as `\u{…}`. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, visible);
}

const layout: Readonly<Record<string, string>> = { '\n': '\n', '\t': '    ' };

/** As {@link safeLine}, but line breaks stay line breaks and tabs become spaces. */
export function safeText(text: string): string {
  return text.replace(UNSAFE, (character) => layout[character] ?? visible(character));
}

/** As {@link safeText}, for text in which `\u{…}` already is this notation. */
export function safeNotation(text: string): string {
  return text.replace(UNSAFE, (character) => layout[character] ?? (character === '\\' ? character : visible(character)));
}

/** Columns a text takes in a terminal. Expects text that {@link safeLine} made safe. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (COMBINING.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/** Breaks text into lines of at most `width` columns, at spaces where possible, keeping its own line breaks. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, Math.max(width, 1)));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let rest = line;
  while (displayWidth(rest) > width) {
    const cut = cutAt(rest, fit(rest, width));
    lines.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  if (rest !== '' || lines.length === 0) lines.push(rest);
  return lines;
}

/** Where to break: at a space, else after an underscore or comma (codes, lists), else inside the word. */
function cutAt(text: string, fitting: string): number {
  if (text[fitting.length] === ' ') return fitting.length;
  // A break in the first third would leave a ragged stub.
  const least = fitting.length / 3;
  const space = fitting.lastIndexOf(' ');
  if (space > least) return space;
  const joint = Math.max(fitting.lastIndexOf('_'), fitting.lastIndexOf(',')) + 1;
  return joint > least ? joint : fitting.length;
}

/** The longest beginning of `text` that fits into `width` columns; at least one character, so that loops end. */
function fit(text: string, width: number): string {
  let taken = '';
  let used = 0;
  for (const character of text) {
    const step = displayWidth(character);
    if (used + step > width && taken !== '') break;
    taken += character;
    used += step;
  }
  return taken;
}
