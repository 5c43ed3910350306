/**
 * A host as a process of its own: plans a mail, waits, begins, sends, confirms, and is killed at the point it is told.
 * Sending is a file of the plan's token, made exclusively: the ledger that lets each token's effect happen once.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlanStore } from '../../dist/index.js';

const [url, outbox, point, n, approvalRequired] = process.argv.slice(2);
const payload = { to: 'a@example.org', n: Number(n) };

/** As a machine that loses power: nothing is tidied up. */
function die(at) {
  if (at === point) process.kill(process.pid, 'SIGKILL');
}

/** Kills while a call is under way, at a moment nobody chose. */
function dieSoon(at) {
  if (at === point) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * 4);
}

const store = await PlanStore.open({ databaseUrl: url, max: 1 });
die('opened');
dieSoon('creating');
const { planToken } = await store.create(payload, { tool: 'send_mail', approvalRequired: approvalRequired === 'yes' });
process.stdout.write(`${planToken}\n`);
await new Promise((resolve) => { process.stdout.write('', resolve); });
die('created');
const decision = await store.waitForDecision(planToken);
die('decided');
if (decision.status !== 'approved' && decision.status !== 'previewed') throw new Error(decision.status);
dieSoon('beginning');
const begun = await store.beginExecute(planToken, payload);
if (!begun.ok) throw begun.error;
die('begun');
writeFileSync(join(outbox, planToken), JSON.stringify(payload), { flag: 'wx' });
die('sent');
dieSoon('confirming');
const confirmed = await store.confirmExecuted(planToken);
if (!confirmed.ok) throw confirmed.error;
die('confirmed');
process.kill(process.pid, 'SIGKILL');
