/** One element of a Postgres array as it is printed: text, NULL, or a nested array. */
export type ArrayElement = string | null | ArrayElement[];

/** Reads the text form of a Postgres array, as `array_out` writes it: `{1,NULL,"a \"b\"",{x}}`, bounds `[0:1]=` ignored. */
export function parseArrayLiteral(literal: string, delimiter = ','): ArrayElement[] {
  const start = literal.indexOf('{');
  const root: ArrayElement[] = [];
  const open: ArrayElement[][] = [root];
  let at = start + 1;
  const current = (): ArrayElement[] => open.at(-1) as ArrayElement[];
  while (at < literal.length) {
    const sign = literal[at];
    if (sign === '{') {
      const nested: ArrayElement[] = [];
      current().push(nested);
      open.push(nested);
      at += 1;
    } else if (sign === '}') {
      open.pop();
      at += 1;
      if (open.length === 0) break;
    } else if (sign === delimiter) {
      at += 1;
    } else if (sign === '"') {
      const [text, next] = quotedElement(literal, at + 1);
      current().push(text);
      at = next;
    } else {
      let end = at;
      while (end < literal.length && literal[end] !== delimiter && literal[end] !== '}') end += 1;
      const text = literal.slice(at, end);
      // array_out quotes the text NULL when it is a value, so a bare one is the null.
      current().push(text === 'NULL' ? null : text);
      at = end;
    }
  }
  return root;
}

function quotedElement(literal: string, start: number): [text: string, next: number] {
  let text = '';
  let at = start;
  while (at < literal.length && literal[at] !== '"') {
    if (literal[at] === '\\') at += 1;
    text += literal[at] ?? '';
    at += 1;
  }
  return [text, at + 1];
}

/** Writes a JSON array the way `array_in` reads it. Objects become JSON text. */
export function toArrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(toArrayElement).join(',')}}`;
}

function toArrayElement(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) return toArrayLiteral(value);
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
