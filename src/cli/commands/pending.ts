import type { Row } from '../../client.js';
import { createViews } from '../../views.js';
import { EXIT, JSON_OPTION, URL_OPTION, type Command, type Context } from '../command.js';
import { records } from '../records.js';

/** What waits for a human. */
export const pending: Command = {
  usage: ['countersign pending [--json] [--url URL]'],
  options: { ...JSON_OPTION, ...URL_OPTION },
  words: [0, 0],
  run: (context) =>
    list(context, 'pending', {
      none: 'Nothing waits for a decision.',
      some: 'Next: countersign show PLAN, then countersign approve PLAN or reject PLAN.',
    }),
};

/** Host plans that began and were neither confirmed nor failed. */
export const executing: Command = {
  usage: ['countersign executing [--json] [--url URL]'],
  options: { ...JSON_OPTION, ...URL_OPTION },
  words: [0, 0],
  run: (context) =>
    list(context, 'executing', {
      none: 'No plan is stuck in execution.',
      some: 'A plan stays here until its host says how it ended, or you do: countersign settle PLAN done|not-done.',
    }),
};

async function list(
  { io, flag, option, logins }: Context,
  view: 'pending' | 'executing',
  words: { none: string; some: string },
): Promise<number> {
  const rows = await logins.use('approver', option('url'), (query): Promise<Row[]> => createViews(query)[view]());
  if (flag('json')) {
    io.out(`${JSON.stringify(rows, null, 2)}\n`);
  } else if (rows.length === 0) {
    io.out(`${words.none}\n`);
  } else {
    // The first 8 characters name a plan; the times are there as "waiting" and "time left".
    io.out(records(rows.map(({ plan_token: _token, requested_at: _requested, expires_at: _expires, ...rest }) => rest), io.width));
    io.err(`\n${words.some}\n`);
  }
  return EXIT.done;
}
