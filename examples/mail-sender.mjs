/**
 * A mail sender behind plans: `npm run example`. It plans a mail, a human approves, it sends, and loses power before it can
 * say so. Started again it asks its ledger what happened, and no mail is sent twice.
 *
 * The ledger is the one thing a host must bring: a record of what was done, keyed on the plan token and written together with
 * the effect. Here it is a file for each mail, made exclusively; a mail provider takes the token as idempotency key.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlanStore } from 'countersign';

const say = (line) => console.log(line);
const ledger = (outbox, planToken) => join(outbox, `${planToken}.json`);

function openStore(outbox) {
  return PlanStore.open({
    embedded: true,
    callerId: 'mail sender',
    // Of other tools this sender knows nothing, and says so.
    reconcile: (plan) => (plan.tool !== 'send_mail' ? 'unknown' : existsSync(ledger(outbox, plan.planToken)) ? 'done' : 'not-done'),
  });
}

/** One mail, from the plan to the confirmation; without power after the given step. */
async function sendMail(outbox, mail, dieAfter) {
  const die = (step) => { if (step === dieAfter) process.kill(process.pid, 'SIGKILL'); };
  const store = await openStore(outbox);
  const plan = await store.create(mail, { tool: 'send_mail', reason: 'spring letter', previewCount: 1, alwaysRequireApproval: true });
  say(`  planned   ${plan.planToken}  ${plan.status}`);
  say(`  a human decides: ${plan.approval.cli}   (here a scripted one does)`);
  setTimeout(() => store.approve(plan.planToken, 'reads well'), 300);
  const decision = await store.waitForDecision(plan.planToken);
  say(`  decided   ${decision.status} by ${decision.by}: ${decision.note}`);

  const begun = await store.beginExecute(plan.planToken, mail);
  if (!begun.ok) throw begun.error;
  die('begin');
  writeFileSync(ledger(outbox, plan.planToken), JSON.stringify(mail), { flag: 'wx' });
  say('  sent');
  die('send');
  await store.confirmExecuted(plan.planToken, { actualCount: 1 });
  say('  confirmed');
  await store.close();
}

function inProcess(outbox, dieAfter) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), outbox, dieAfter], { stdio: 'inherit' });
  return new Promise((resolve) => { child.once('exit', (code, signal) => resolve(signal ?? code)); });
}

/** What the sender does first whenever it starts. */
async function restart(outbox, mail) {
  const store = await openStore(outbox);
  const [left] = await store.listExecuting();
  const report = await store.reconcileStuck({ olderThanMs: 0 });
  for (const token of report.done) say(`  reconciled ${token}: it was sent, so it is recorded as done`);
  for (const token of report.notDone) {
    say(`  reconciled ${token}: it was not sent, so it may be begun again`);
    const begun = await store.beginExecute(token, mail);
    if (!begun.ok) throw begun.error;
    writeFileSync(ledger(outbox, token), JSON.stringify(mail), { flag: 'wx' });
    await store.confirmExecuted(token, { actualCount: 1 });
    say('  sent and confirmed');
  }
  const again = await store.beginExecute(left.planToken, mail);
  say(`  begun once more: ${again.ok ? 'allowed' : again.error.code}`);
  await store.close();
}

const [outboxGiven, dieAfter] = process.argv.slice(2);
if (outboxGiven !== undefined) {
  await sendMail(outboxGiven, { to: 'ada@example.org', subject: 'Spring', after: dieAfter }, dieAfter);
} else {
  const outbox = mkdtempSync(join(tmpdir(), 'countersign-example-'));
  // The embedded server goes when its last user goes; this one stays while the others come and fall.
  const keeper = await openStore(outbox);
  try {
    for (const [step, what] of [['send', 'after sending, before saying so'], ['begin', 'after beginning, before sending']]) {
      say(`\nThe sender loses power ${what}.`);
      say(`  killed    ${await inProcess(outbox, step)}`);
      say('It is started again.');
      await restart(outbox, { to: 'ada@example.org', subject: 'Spring', after: step });
    }
    say(`\nMails in the outbox: ${readdirSync(outbox).length} of 2 planned.`);
  } finally {
    await keeper.close();
    rmSync(outbox, { recursive: true, force: true });
  }
}
