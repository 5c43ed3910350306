/** The usage example of the documentation is compiled as a user's project would, and run; so is the example. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { eventually } from '../harness/races.js';
import { eventsOf } from '../sql/application.js';

const db = await createTestDatabase();
const root = fileURLToPath(new URL('../../', import.meta.url));
const project = mkdtempSync(join(tmpdir(), 'countersign-docs-'));
afterAll(() => { rmSync(project, { recursive: true, force: true }); });

test('the usage example compiles strictly against the package\'s types, and does what it says', async () => {
  const [example] = [...readFileSync(join(root, 'docs/plan-store.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(root, join(project, 'node_modules/countersign'));
  symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'));
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  writeFileSync(join(project, 'usage.ts'), example ?? '');
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({
    compilerOptions: { target: 'es2023', module: 'nodenext', strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noUnusedLocals: true, types: ['node'], outDir: '.' }, files: ['usage.ts'] }));
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project]).catch((error: { stdout: string }) => expect.fail(error.stdout));

  const run = promisify(execFile)(process.execPath, [join(project, 'usage.js')], { env: { ...process.env, COUNTERSIGN_DATABASE_URL: db.url('agent') } });
  const token = await eventually(async () => {
    const { rows } = await db.as('alice').query<{ plan_token: string }>('select plan_token from countersign.pending where tool = \'refund\'');
    return rows[0]?.plan_token;
  }, 'the example asks for a refund', 20_000);
  await db.as('alice').query('select * from countersign.approve($1)', [token]);
  expect((await run).stdout).toBe(`a human decides: countersign approve ${token.slice(0, 8)}\n`);
  expect(await eventsOf(db, token)).toEqual(['awaiting_approval', 'approved', 'executing', 'executed']);
}, 60_000);

test('the mail sender that loses power sends every mail once', async () => {
  const home = mkdtempSync(join(tmpdir(), 'countersign-docs-home-'));
  const child = spawn(process.execPath, [join(root, 'examples/mail-sender.mjs')], { env: { ...process.env, HOME: home, XDG_DATA_HOME: home }, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text; });
  const code = await new Promise((resolve) => { child.once('close', resolve); });
  rmSync(home, { recursive: true, force: true });
  expect([code, output.match(/killed {4}SIGKILL/g)?.length]).toEqual([0, 2]);
  expect(output).toMatch(/it was sent, so it is recorded as done/);
  expect(output).toMatch(/it was not sent, so it may be begun again\n {2}sent and confirmed/);
  expect(output.match(/begun once more: PLAN_USED/g)).toHaveLength(2);
  expect(output).toMatch(/Mails in the outbox: 2 of 2 planned\./);
}, 60_000);
