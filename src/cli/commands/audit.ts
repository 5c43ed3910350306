import { createAuditor, type Row } from '../../client.js';
import { EXIT, JSON_OPTION, URL_OPTION, UsageError, wholeNumber, type Command } from '../command.js';
import { display, effectsTotal, grouped, records } from '../records.js';
import { table } from '../table.js';
import { createViews } from '../../views.js';

const MOST = 100_000;

/** The trail: one line an event. */
export const audit: Command = {
  usage: [
    'countersign audit [--limit N] [--plan TOKEN] [--json] [--url URL]',
    '',
    '--limit N     how many events, 20 unless told',
    '--plan TOKEN  every event of one plan, in full',
  ],
  options: { limit: { type: 'string' }, plan: { type: 'string' }, ...JSON_OPTION, ...URL_OPTION },
  words: [0, 0],
  async run({ io, flag, option, logins }) {
    const limit = wholeNumber('limit', option('limit'), 20, 1, MOST);
    const plan = option('plan');
    if (plan !== undefined && !/^[0-9a-f-]{8,36}$/i.test(plan)) throw new UsageError('--plan takes a plan token, or its first 8 characters or more');
    const rows = await logins.use('auditor', option('url'), (query) => createViews(query).auditLog(plan === undefined ? limit : MOST, plan));
    if (flag('json')) io.out(`${JSON.stringify(rows, null, 2)}\n`);
    else if (rows.length === 0) io.out('The trail has no such event.\n');
    else io.out(plan === undefined ? auditTable(rows, io.width) : records(rows, io.width));
    return EXIT.done;
  },
};

/** Whether anybody changed the trail behind Countersign's back. */
export const verify: Command = {
  usage: ['countersign verify [--json] [--url URL]'],
  options: { ...JSON_OPTION, ...URL_OPTION },
  words: [0, 0],
  async run({ io, flag, option, logins }) {
    const problems = await logins.use('auditor', option('url'), (query) => createAuditor(query).verifyChain());
    if (flag('json')) {
      io.out(`${JSON.stringify({ intact: problems.length === 0, problems }, null, 2)}\n`);
    } else if (problems.length === 0) {
      io.out('The audit trail is intact.\n');
    } else {
      io.out(table([{ title: 'chain' }, { title: 'event', align: 'right' }, { title: 'problem' }],
        problems.map(({ chain, seq, problem }) => [display(chain), display(seq), problem]), io.width));
      io.err('\nThe trail was changed by somebody with more rights than Countersign has.\n');
    }
    return problems.length === 0 ? EXIT.done : EXIT.refused;
  },
};

/** The trail as a table of 80 columns: when, what, with how many rows, by whom. A code says more than "refused". */
export function auditTable(rows: readonly Row[], width: number): string {
  const days = new Set(rows.map((row) => display(row['ts']).slice(0, 10)));
  const [day = ''] = days;
  // All on one day: then the day is the heading, and the times stay short.
  const time = days.size === 1 ? { title: day, from: 11 } : { title: 'time', from: 5 };
  return table(
    [{ title: time.title }, { title: 'tool' }, { title: 'what happened' }, { title: 'rows', align: 'right' }, { title: 'plan' }, { title: 'by' }],
    rows.map((row) => [
      display(row['ts']).slice(time.from, 19),
      display(row['tool']),
      row['status'] === 'failed' ? `failed ${display(row['code'])}` : display(row['code'] ?? row['status']),
      grouped(rowsOf(row)),
      display(row['plan_token']).slice(0, 8),
      display(row['session_user']),
    ]),
    width,
  );
}

/** Rows changed in all tables, cascades and triggers included, as the policy counts them; of a read, the rows it answered. */
function rowsOf(row: Row): string {
  return display(effectsTotal(row['effects']) ?? row['actual_rows'] ?? row['preview_rows']);
}
