/** Imports run one way. A file may import from its own part and from those before it in this list, and from nothing after. */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));
const ORDER = ['errors', 'address', 'config', 'db', 'client', 'views', 'approvals', 'plan-store', 'mcp', 'demo', 'cli', 'index'];

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const partOf = (file: string): string => (file.split('/')[0] ?? '').replace(/\.(ts|js)$/, '');

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/(?:from|import\()\s*'(\.[^']*)'/g)].map((match) => relative(SRC, resolve(SRC, dirname(file), match[1] ?? '')));
}

test('every file belongs to a part of the list', () => {
  expect([...new Set(files.map(partOf))].filter((part) => !ORDER.includes(part))).toEqual([]);
});

test('no file imports from a part after its own', () => {
  const breaches = files.flatMap((file) => importsOf(file)
    .filter((target) => ORDER.indexOf(partOf(target)) > ORDER.indexOf(partOf(file)))
    .map((target) => `${file} -> ${target}`));
  expect(breaches).toEqual([]);
});
