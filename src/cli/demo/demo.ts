import type { ApprovalServer } from '../../approvals/start.js';
import { openApprovalPage } from '../approval-page.js';
import { auditTable } from '../commands/audit.js';
import { configFor } from '../commands/client-config.js';
import type { Io } from '../io.js';
import { grouped } from '../records.js';
import { ensureEmbedded, type EmbeddedDatabase } from '../../db/embedded.js';
import { connectFirst } from '../../db/connect.js';
import { startAgent, type Agent, type Answer, type Preview } from './agent.js';
import { signIn, type Human } from './human.js';
import { createNarrator, type Narrator } from './narrator.js';
import { runScript, type Waiting } from './script.js';
import { seedShop } from '../../demo/seed.js';

export interface DemoOptions {
  io: Io;
  seed: number;
  /** Lets a scripted human decide, so that the demo ends by itself. */
  yes: boolean;
  /** Port of the approval page; null for none. */
  pagePort: number | null;
  /** Folder of the embedded database; null for the user's own. */
  dataDir: string | null;
  node: string;
  /** Absolute path of dist/cli.js. */
  cli: string;
  /** Whether the environment names a database, which the demo leaves alone. */
  databaseConfigured: boolean;
  /** Ends the demo, as Ctrl-C does. */
  signal: AbortSignal;
}

const HUMAN = 'alice';

/** Everything at once on an embedded Postgres; resolves to the exit code. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const { io, dataDir, signal } = options;
  const tell = createNarrator({ out: io.out, width: io.width, bold: io.interactive && io.env['NO_COLOR'] === undefined });
  const closing: (() => Promise<void>)[] = [];
  const log = verbose(io) ? (line: string) => io.err(`${line}\n`) : () => undefined;
  try {
    tell.title('Countersign: an agent proposes, Postgres enforces, a human countersigns.');
    const database = await ensureEmbedded({ log, ...(dataDir === null ? {} : { dataDir }) });
    closing.push(() => database.stop());
    await prepare(database, options, tell);
    if (signal.aborted) return 0;
    const agent = await startAgent({ node: options.node, cli: options.cli, agentUrl: database.agentUrl, readerUrl: database.readerUrl, log });
    closing.push(() => agent.close());
    tell.facts([['server', `"${agent.serverName}" on stdio with ${agent.tools.length} tools, none of which approves`]]);
    const human = await signIn(database.approverUrl, HUMAN);
    closing.push(() => human.close());
    const page = await startPage(database, options, log);
    if (page !== null) closing.push(() => page.close());
    await untilAborted(signal, play(agent, human, database, page, options, tell));
    if (signal.aborted) io.out('\n');
    return 0;
  } finally {
    for (const close of closing.reverse()) await close().catch(() => undefined);
  }
}

/** The page, for a person; a scripted human needs none. Without it psql and the command line remain. */
async function startPage(database: EmbeddedDatabase, { yes, pagePort, dataDir, io }: DemoOptions, log: (line: string) => void): Promise<ApprovalServer | null> {
  if (yes || pagePort === null) return null;
  const config = { approvalLogin: 'token', approvalPort: pagePort, dataDir: dataDir ?? undefined } as const;
  return openApprovalPage({ address: database.approverUrl, config, env: io.env, log }).catch(() => null);
}

function verbose({ env }: Io): boolean {
  return env['COUNTERSIGN_LOG_LEVEL'] === 'debug';
}

/** Seeds the shop, or puts it back as it was before the last run. */
async function prepare(database: EmbeddedDatabase, { seed, databaseConfigured }: DemoOptions, tell: Narrator): Promise<void> {
  const started = Date.now();
  const client = await connectFirst(database.adminUrl, 'countersign demo seed');
  try {
    const { reason } = await seedShop(client, seed);
    const { rows } = await client.query<{ items: string }>('select count(*)::text as items from order_items');
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    const how = {
      'empty': `made in ${seconds} s`,
      'other seed': `made anew in ${seconds} s for another seed`,
      'tables changed': `put back in ${seconds} s after an earlier migration`,
      'rows changed': `put back in ${seconds} s after earlier changes`,
      'as seeded': 'unchanged since it was made',
    }[reason];
    tell.facts([
      ['database', `embedded Postgres on 127.0.0.1:${database.server.port}, for trying and developing`],
      ['kept in', database.server.dataDir],
      ['shop', `50,000 customers, 2,000 products, 60,000 orders, ${grouped(rows[0]?.items ?? '')} order items; seed ${seed}, ${how}`],
      ...(databaseConfigured ? [['note', 'A database is named in your environment. The demo does not touch it.'] as const] : []),
    ]);
  } finally {
    await client.end();
  }
}

async function play(agent: Agent, human: Human, database: EmbeddedDatabase, page: ApprovalServer | null, options: DemoOptions, tell: Narrator): Promise<void> {
  const waiting = await runScript(agent, tell);
  tell.step('Two plans wait, and the agent waits with them', 'execute_plan');
  const deletion = follow(agent, waiting.deletion, 'Deleting the test tenant\'s orders', tell);
  const migration = follow(agent, waiting.migration, 'Changing the schema', tell);
  const finished = Promise.all([deletion, migration]);
  // Awaited below; a server that dies meanwhile must not count as unhandled.
  finished.catch(() => undefined);
  if (options.yes) {
    await decideByScript(human, waiting, tell, deletion);
    await finished;
    await closeStory(human, tell);
    return;
  }
  explainDeciding(waiting, database, page, options, tell);
  await finished;
  await closeStory(human, tell);
  tell.say('\nThe database stays up for you to look around. Ctrl-C ends the demo.');
  await aborted(options.signal);
}

/** Holds execute_plan until a human decided, then tells what came of it. */
async function follow(agent: Agent, plan: Preview, title: string, tell: Narrator): Promise<void> {
  const answer = await agent.execute(plan);
  const status = await agent.call('plan_status', { plan_token: plan.planToken });
  tell.say(`\n${title}:`);
  tell.facts([...decisionFacts(status), ...outcomeFacts(answer)]);
}

function decisionFacts(status: Answer): (readonly [string, string])[] {
  const decision = status.data['decision'] as { status?: unknown; by?: unknown; note?: unknown } | null | undefined;
  if (decision === null || decision === undefined) return [];
  const note = typeof decision.note === 'string' && decision.note !== '' ? `: ${decision.note}` : '';
  return [[String(decision.status), `by ${String(decision.by)}${note}`]];
}

function outcomeFacts(answer: Answer): (readonly [string, string])[] {
  if (!answer.ok) return [['refused', answer.code], ['because', answer.message], ['hint', answer.hint]];
  const { total_rows: total, duration_ms: duration } = answer.data;
  return [['executed', `${grouped(String(total))} rows in all, in ${String(duration)} ms`]];
}

/** Approves one and rejects the other, so that both are seen; one after the other, so that both can be followed. */
async function decideByScript(human: Human, { deletion, migration }: Waiting, tell: Narrator, deleted: Promise<void>): Promise<void> {
  tell.say(`A scripted human signs in to Postgres as ${human.name} and decides in SQL:`);
  tell.block('\n');
  const note = 'test data, QA agrees';
  tell.command(`select * from countersign.approve('${short(deletion)}', '${note}');`);
  await human.approve(deletion.planToken, note);
  await deleted;
  tell.say('\nThe held call went on by itself. Now the migration:');
  tell.block('\n');
  const reason = 'use a table of its own';
  tell.command(`select * from countersign.reject('${short(migration)}', '${reason}');`);
  await human.reject(migration.planToken, reason);
}

function explainDeciding({ deletion, migration }: Waiting, database: EmbeddedDatabase, page: ApprovalServer | null, options: DemoOptions, tell: Narrator): void {
  const cli = commandLine(options);
  const url = options.databaseConfigured ? ` --url '${database.approverUrl}'` : '';
  if (page !== null) {
    tell.say('Decide on the approval page. Open it with:');
    tell.block('\n');
    tell.command(page.url);
    tell.say('\nOr in a second terminal. With psql, signed in as the human alice:');
  } else {
    tell.say('Decide in a second terminal. With psql, signed in as the human alice:');
  }
  tell.block('\n');
  tell.command(`psql '${database.approverUrl}'`);
  tell.command('select * from countersign.pending \\gx');
  tell.command(`select * from countersign.show('${short(deletion)}');`);
  tell.command(`select * from countersign.approve('${short(deletion)}', 'looks right');`);
  tell.command(`select * from countersign.reject('${short(migration)}', 'not now');`);
  tell.say('\nOr with the command line:');
  tell.block('\n');
  for (const rest of ['pending', `show ${short(deletion)}`, `approve ${short(deletion)}`, `reject ${short(migration)} --reason 'not now'`]) {
    tell.command(`${cli} ${rest}${url}`);
  }
  tell.say('\nTo let Claude Desktop work on this database, put this into its claude_desktop_config.json (other clients: client-config):');
  tell.block('\n');
  const launch = { node: options.node, cli: options.cli, env: { COUNTERSIGN_DATA_DIR: database.server.dataDir } };
  tell.block(`${JSON.stringify(configFor('claude-desktop', launch), null, 2)}\n`);
  tell.say('\nWaiting for your decisions. Ctrl-C ends the demo.');
}

/** How to call the command line from where the user is. */
function commandLine({ cli, dataDir, io }: DemoOptions): string {
  const from = `${process.cwd()}/`;
  const path = cli.startsWith(from) ? cli.slice(from.length) : cli;
  const folder = dataDir !== null && io.env['COUNTERSIGN_DATA_DIR'] !== undefined ? `COUNTERSIGN_DATA_DIR='${dataDir}' ` : '';
  return `${folder}node ${path}`;
}

async function closeStory(human: Human, tell: Narrator): Promise<void> {
  tell.step('What the audit trail says', 'countersign audit');
  tell.block(auditTable(await human.trail(14), 77));
  tell.say('\nEvery path leaves its row: reads, previews, refusals, decisions and executions.');
}

function short({ planToken }: Preview): string {
  return planToken.slice(0, 8);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // The event is over when Ctrl-C came while the database was still starting.
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Waits for the work, or for Ctrl-C; work that is cut off may fail as it likes. */
async function untilAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  await Promise.race([work, aborted(signal)]);
}
