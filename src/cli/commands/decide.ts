import { createApprover, type Approver, type Outcome, type Settlement } from '../../client.js';
import { EXIT, JSON_OPTION, URL_OPTION, UsageError, type Command, type Context } from '../command.js';
import { demand } from '../failure.js';
import { safeText } from '../terminal.js';
import { planEssentials } from './show.js';

const CHANNEL = 'cli';

/** Lets a waiting plan run. */
export const approve: Command = {
  usage: [
    'countersign approve TOKEN [--note TEXT] [--yes] [--json] [--url URL]',
    '',
    'Shows the plan and asks, when there is somebody to ask; --yes does not ask.',
  ],
  options: { note: { type: 'string' }, yes: { type: 'boolean', short: 'y' }, ...JSON_OPTION, ...URL_OPTION },
  words: [1, 1],
  run: (context) =>
    decide(context, 'Approve this plan?', (approver, token) => approver.approve(token, context.option('note') ?? null, CHANNEL)),
};

/** Refuses a waiting plan for good. */
export const reject: Command = {
  usage: [
    'countersign reject TOKEN [--reason TEXT] [--yes] [--json] [--url URL]',
    '',
    'The agent is told the reason. The same statement waits for a human ever after.',
  ],
  options: { reason: { type: 'string' }, yes: { type: 'boolean', short: 'y' }, ...JSON_OPTION, ...URL_OPTION },
  words: [1, 1],
  run: (context) =>
    decide(context, 'Reject this plan for good?', (approver, token) => approver.reject(token, context.option('reason') ?? null, CHANNEL)),
};

/** Says how a host's plan that hangs in executing ended. */
export const settle: Command = {
  usage: [
    'countersign settle TOKEN done|not-done [--note TEXT] [--yes] [--json]',
    '                   [--url URL]',
    '',
    'Find out first whether it happened. done uses the plan up; not-done lets',
    'its host try again until it expires.',
  ],
  options: { note: { type: 'string' }, yes: { type: 'boolean', short: 'y' }, ...JSON_OPTION, ...URL_OPTION },
  words: [2, 2],
  run: (context) => {
    const how = settlement(context.words[1]);
    return decide(context, `Settle this plan as ${how}?`, (approver, token) => approver.settle(token, how, context.option('note') ?? null, CHANNEL));
  },
};

function settlement(word: string | undefined): Settlement {
  if (word === 'done' || word === 'not-done') return word;
  throw new UsageError(`a plan is settled as done or not-done, not ${JSON.stringify(word)}`);
}

async function decide(
  { io, words, flag, option, logins }: Context,
  question: string,
  verb: (approver: Approver, token: string) => Promise<Outcome>,
): Promise<number> {
  const token = words[0] ?? '';
  return logins.use('approver', option('url'), async (query) => {
    const approver = createApprover(query);
    if (io.interactive && !flag('yes')) {
      // A plan never changes once it is made, so what is shown here is what is decided.
      io.err(`${await planEssentials(approver, token, io.width)}\n`);
      const answer = await io.ask(`${question} [y/N] `);
      if (!/^y(es)?$/i.test(answer.trim())) {
        io.err('Nothing was decided.\n');
        return EXIT.refused;
      }
    }
    const outcome = await verb(approver, token);
    demand(outcome);
    io.out(flag('json') ? `${JSON.stringify(outcome, null, 2)}\n` : `${safeText(outcome.message ?? 'Done.')}\n`);
    return EXIT.done;
  });
}
