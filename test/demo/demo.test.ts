import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connectFirst } from '../../src/db/connect.js';
import { ensureEmbedded } from '../../src/db/embedded.js';
import { packageRoot } from '../../src/db/install.js';

const CLI = join(packageRoot(), 'dist', 'cli.js');

interface Run {
  child: ChildProcess;
  output(): string;
  errors(): string;
  /** Resolves once the output matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<number | null>;
}

let dataDir: string;

/** The real program, as `npm start` starts it. A database named in the environment must not matter to the demo. */
function run(args: string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', COUNTERSIGN_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(output);
      if (match !== null) return match;
      const more = new Promise((resolve) => child.stdout.once('data', resolve));
      if (await Promise.race([more, ended.then(() => 'ended')]) === 'ended') throw new Error(`it ended without ${String(pattern)}:\n${output}${errors}`);
    }
  };
  return { child, output: () => output, errors: () => errors, until, ended };
}

async function inShop<T>(statement: string): Promise<T[]> {
  const database = await ensureEmbedded({ dataDir });
  const client = await connectFirst(database.adminUrl, 'demo test');
  try {
    return (await client.query(statement)).rows as T[];
  } finally {
    await client.end();
    await database.stop();
  }
}

beforeAll(() => {
  if (!existsSync(CLI)) throw new Error('dist/cli.js is not there: build first (npm run build)');
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-demo-'));
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe('demo --yes', () => {
  it.each([['the first time'], ['again, on what the last run changed']])('tells the whole story and ends by itself, %s', async () => {
    const demo = run(['demo', '--yes'], { DATABASE_URL: 'postgresql://somebody@127.0.0.1:1/else' });
    expect([await demo.ended, demo.errors()]).toEqual([0, '']);
    const story = demo.output();
    for (const line of [
      /public\.customers +about 50,000 rows; may read, insert, update, delete/,
      /public\.products +about 2,000 rows; may read$/m,
      /answer +40,000/,
      /effects +public\.customers: 3 updated/,
      /executed +3 rows in \d+ ms/,
      /public\.orders: 320 deleted/,
      /public\.order_items: 494 deleted/,
      /It changes 814 rows/,
      /refused +HARD_MAX_ROWS_EXCEEDED/,
      /status +awaiting_approval: a human decides/,
      /approved +by alice: test data, QA agrees/,
      /executed +814 rows in all/,
      /rejected +by alice: use a table of its own/,
      /refused +PLAN_REJECTED/,
      /execute_plan +executed +814/,
    ]) expect(story).toMatch(line);
    expect(Math.max(...story.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(await inShop(`select count(*)::int as orders, count(*) filter (where status = 'cancelled')::int as cancelled from orders`))
      .toEqual([{ orders: 59_680, cancelled: 13_200 }]);
  }, 120_000);

  it('leaves an intact trail in which only the human decided', async () => {
    expect(await inShop('select * from countersign.verify_chain()')).toEqual([]);
    expect(await inShop(`select distinct status, "session_user" from countersign.audit_log where status in ('approved', 'rejected') order by 1`))
      .toEqual([{ status: 'approved', session_user: 'alice' }, { status: 'rejected', session_user: 'alice' }]);
  }, 60_000);
});

describe('demo', () => {
  it('waits for decisions from another terminal, goes on with each, and ends cleanly at Ctrl-C', async () => {
    const demo = run(['demo', '--seed', '7']);
    await demo.until(/Waiting for your decisions/);
    expect(demo.output()).toMatch(/psql 'postgresql:\/\/alice:[^']+@127\.0\.0\.1:\d+\/shop'/);
    expect(demo.output()).toContain(`"COUNTERSIGN_DATA_DIR": "${dataDir}"`);
    const [, deletion = ''] = await demo.until(/countersign\.approve\('([0-9a-f]{8})'/);
    const [, migration = ''] = await demo.until(/countersign\.reject\('([0-9a-f]{8})'/);
    expect(await run(['approve', migration, '--note', 'fine']).ended).toBe(0);
    await demo.until(/Changing the schema:\n +approved +by alice: fine\n +executed/);
    expect(await run(['reject', deletion, '--reason', 'keep them']).ended).toBe(0);
    await demo.until(/rejected +by alice: keep them/);
    await demo.until(/Ctrl-C ends the demo\.\s+$/);
    demo.child.kill('SIGINT');
    expect([await demo.ended, demo.errors()]).toEqual([0, '']);
    expect(await inShop(`select count(*)::int as columns from pg_attribute where attrelid = 'customers'::regclass and attname = 'churn_risk'`)).toEqual([{ columns: 1 }]);
  }, 120_000);

  it('puts the shop back after a migration, exactly', async () => {
    const demo = run(['demo', '--yes']);
    expect([await demo.ended, demo.errors()]).toEqual([0, '']);
    expect(demo.output()).toMatch(/put back in [\d.]+ s\s+after an earlier migration/);
    expect(demo.output()).toContain('It changes 814 rows');
  }, 120_000);
});
