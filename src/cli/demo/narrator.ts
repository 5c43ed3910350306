import { fields } from '../table.js';
import { safeText, wrap } from '../terminal.js';

/** Tells the demo's story in calm paragraphs of at most 80 columns. */
export interface Narrator {
  title(text: string): void;
  /** A numbered step, with the tool it uses at the right. */
  step(title: string, tool: string): void;
  /** A paragraph. */
  say(text: string): void;
  /** Names and values, one below the other. */
  facts(pairs: readonly (readonly [name: string, value: string])[]): void;
  /** A finished block of text, such as a table. */
  block(text: string): void;
  /** A line to copy: never wrapped, so that it stays one line in the clipboard. */
  command(line: string): void;
}

const MARGIN = '   ';
const WIDEST = 80;
/** Of "statement": blocks that follow each other line up. */
const NAME_WIDTH = 9;

export interface NarratorOptions {
  out(text: string): void;
  /** Columns of the terminal; more than 80 are not used. */
  width: number;
  /** Whether headings may be bold. */
  bold: boolean;
}

export function createNarrator({ out, width, bold }: NarratorOptions): Narrator {
  const columns = Math.min(width, WIDEST);
  const heading = (text: string): string => (bold ? `\u001b[1m${text}\u001b[22m` : text);
  let steps = 0;
  return {
    title(text) {
      out(`\n${wrap(text, columns).map(heading).join('\n')}\n\n`);
    },
    step(title, tool) {
      steps += 1;
      const left = `${steps}. ${title}`;
      const gap = ' '.repeat(Math.max(2, columns - left.length - tool.length));
      out(`\n${heading(left)}${gap}${tool}\n\n`);
    },
    say(text) {
      out(`${wrap(safeText(text), columns - MARGIN.length).map((line) => `${MARGIN}${line}`.trimEnd()).join('\n')}\n`);
    },
    facts(pairs) {
      out(fields(pairs, columns, { indent: MARGIN.length, nameWidth: NAME_WIDTH }));
    },
    block(text) {
      out(text.split('\n').map((line) => (line === '' ? '' : `${MARGIN}${line}`)).join('\n'));
    },
    command(line) {
      out(`${MARGIN}  ${safeText(line)}\n`);
    },
  };
}
