/** The page's own files: a few, read once. They hold no secret, so they are given without one. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WebResponse } from './http.js';

const TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['page.js', 'secret.js', 'view.js', 'live.js', 'decide.js'].map((file) => [file, 'text/javascript; charset=utf-8'])),
  'page.css': 'text/css; charset=utf-8', 'icon.svg': 'image/svg+xml',
};

/** The package's `src/approvals/assets`, from `src/approvals` as well as from `dist/approvals`. */
function assetsFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const beside = join(here, 'assets');
  return existsSync(beside) ? beside : join(here, '..', '..', 'src', 'approvals', 'assets');
}

let files: ReadonlyMap<string, WebResponse> | undefined;

/** The file of that name, or null. */
export function asset(name: string): WebResponse | null {
  files ??= new Map(Object.entries(TYPES).map(([file, type]) => [file, { status: 200, headers: { 'Content-Type': type }, body: readFileSync(join(assetsFolder(), file)) }]));
  return files.get(name) ?? null;
}
