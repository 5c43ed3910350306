/**
 * What Countersign costs, through the real MCP server over stdio and through the library, beside the same work in plain SQL
 * through `pg`: each pair in turn on the same server in one run, so that a noisy machine hits both. Quote the ratios, not
 * the milliseconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { ensureEmbedded } from '../dist/db/embedded.js';
import { reportLifecycles } from './lifecycle.mjs';
import { compare, median, percentile } from './measure.mjs';
import { prepareTables } from './tables.mjs';
import { startTool, timeToFirstAnswer } from './tool.mjs';

const quick = process.argv.includes('--quick');
const rounds = (many) => (quick ? Math.max(3, Math.round(many / 10)) : many);

const dataDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
const database = await ensureEmbedded({ dataDir, database: 'bench' });
const admin = new pg.Client({ connectionString: database.adminUrl });
const plain = new pg.Client({ connectionString: database.ownerUrl });
await admin.connect();
await plain.connect();

const env = { COUNTERSIGN_DATABASE_URL: database.agentUrl, COUNTERSIGN_READER_URL: database.readerUrl };
let tool;
try {
  await prepareTables(admin, quick ? 100_000 : 1_000_000);
  tool = await startTool(env);
  await report();
  await reportHostPlans();
} finally {
  await tool?.close();
  await plain.end();
  await admin.end();
  await database.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function sql(text, values, end) {
  await plain.query('begin');
  const result = await plain.query(text, values);
  await plain.query(end);
  return result;
}

/** An update of `rows` rows, a range that moves with every round so that no round finds its rows changed already. */
function update(rows, round) {
  const from = 1 + (round * rows) % 20_000;
  return {
    arguments: { table: 'public.item', set: { note: `round ${round}` }, where: 'id between $1 and $2', params: [from, from + rows - 1], reason: 'bench' },
    text: 'update public.item set note = $3 where id between $1 and $2', values: [from, from + rows - 1, `round ${round}`],
  };
}

async function preview(rows, round) {
  const plan = await tool.call('update_rows', update(rows, round).arguments);
  if (plan.affected_rows !== rows) throw new Error(`previewed ${plan.affected_rows} rows, expected ${rows}`);
  return plan;
}

async function previewAndExecute(rows, round) {
  const { plan_token, statement, params } = await preview(rows, round);
  const done = await tool.call('execute_plan', { plan_token, statement, params });
  if (done.affected_rows !== rows) throw new Error(`executed ${done.affected_rows} rows, expected ${rows}`);
}

async function plainPreview(rows, round) {
  const { text, values } = update(rows, round);
  await sql(text, values, 'rollback');
}

async function plainBoth(rows, round) {
  const { text, values } = update(rows, round);
  await sql(text, values, 'rollback');
  await sql(text, values, 'commit');
}

async function report() {
  const { rows: [{ version }] } = await admin.query("select current_setting('server_version') as version");
  console.log(`Postgres ${version}, Node ${process.versions.node}, ${cpus().length} cores; medians of pairs run in turn`);
  console.log(`${'figure'.padEnd(38)} ${'countersign'.padStart(12)} ${'plain'.padStart(12)} ${'ratio'.padStart(8)}   aim`);
  const line = (name, { ours, theirs, ratio }, aim = '') =>
    console.log(`${name.padEnd(38)} ${`${ours.toFixed(2)} ms`.padStart(12)} ${`${theirs.toFixed(2)} ms`.padStart(12)} ${`${ratio.toFixed(2)}×`.padStart(8)}   ${aim}`);

  for (const [rows, many, aim] of [[1, 200, ''], [100, 60, ''], [10_000, 10, '≤ 1.6×']]) {
    line(`preview, ${rows} row(s)`, await compare(rounds(many), (round) => preview(rows, round), (round) => plainPreview(rows, round)), aim);
  }
  for (const [rows, many, aim] of [[1, 200, '≤ 3×'], [100, 60, ''], [10_000, 10, '']]) {
    line(`preview + execute, ${rows} row(s)`, await compare(rounds(many), (round) => previewAndExecute(rows, round), (round) => plainBoth(rows, round)), aim);
  }
  line('query, 100 rows', await compare(rounds(100),
    () => tool.call('query', { statement: 'select * from public.item where id <= $1', params: [100], reason: 'bench' }),
    () => sql('select * from public.item where id <= $1', [100], 'rollback')));
  await reportRefusal();
  await reportStart();
}

async function reportRefusal() {
  const dead = async () => Number((await admin.query("select pg_stat_force_next_flush(), n_dead_tup from pg_stat_user_tables where relname = 'big'")).rows[0].n_dead_tup);
  const size = async () => Number((await admin.query("select pg_relation_size('public.big') as size")).rows[0].size);
  const [deadBefore, sizeBefore] = [await dead(), await size()];
  const times = [];
  for (let round = 0; round < rounds(50); round += 1) {
    const started = performance.now();
    const code = await tool.refusal('update_rows', { table: 'public.big', set: { payload: 'y' }, where: 'k >= 0', reason: 'bench' });
    times.push(performance.now() - started);
    if (code !== 'HARD_MAX_ROWS_EXCEEDED') throw new Error(`expected HARD_MAX_ROWS_EXCEEDED, got ${code}`);
  }
  await new Promise((resolve) => setTimeout(resolve, 1500)); // the statistics of the server's sessions arrive once a second
  console.log(`${'over-cap refusal, 1,000,000 rows'.padEnd(38)} ${`${median(times).toFixed(2)} ms`.padStart(12)} ${''.padStart(12)} ${''.padStart(8)}   ≤ 20 ms (p95 ${percentile(times, 0.95).toFixed(1)} ms)`);
  console.log(`${'  dead tuples, bytes it left'.padEnd(38)} ${`${await dead() - deadBefore}, ${await size() - sizeBefore}`.padStart(12)} ${''.padStart(12)} ${''.padStart(8)}   0, 0`);
}

async function reportHostPlans() {
  const filled = await ensureEmbedded({ dataDir, database: 'bench_old_plans' });
  try {
    await reportLifecycles({ database, filled, quick, oldPlans: quick ? 100_000 : 1_000_000 });
  } finally {
    await filled.stop();
  }
}

async function reportStart() {
  const times = [];
  for (let round = 0; round < rounds(10); round += 1) times.push(await timeToFirstAnswer(env));
  console.log(`${'server start to first answer'.padEnd(38)} ${`${median(times).toFixed(0)} ms`.padStart(12)} ${''.padStart(12)} ${''.padStart(8)}   ≤ 500 ms`);
}
