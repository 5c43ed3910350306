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
    decide(context, {
      question: 'Approve this plan?',
      ask: async () => context.option('note') ?? null,
      verb: (approver, token, note) => approver.approve(token, note, CHANNEL),
    }),
};

/** Refuses a waiting plan for good. */
export const reject: Command = {
  usage: [
    'countersign reject TOKEN --reason TEXT [--yes] [--json] [--url URL]',
    '',
    'The agent is told the reason; without --reason it is asked for, when there is',
    'somebody to ask. The same statement waits for a human ever after.',
  ],
  options: { reason: { type: 'string' }, yes: { type: 'boolean', short: 'y' }, ...JSON_OPTION, ...URL_OPTION },
  words: [1, 1],
  run: (context) =>
    decide(context, {
      question: 'Reject this plan for good?',
      ask: () => reasonOf(context),
      verb: (approver, token, reason) => approver.reject(token, reason, CHANNEL),
    }),
};

/** A rejection without a reason leaves the agent to guess what the human wanted instead. */
async function reasonOf({ io, option }: Context): Promise<string> {
  const given = option('reason') ?? (io.interactive ? await io.ask('Why? The agent will read it: ') : '');
  if (given.trim() === '') throw new UsageError('nothing was decided: give --reason TEXT; the agent will read the reason, and what to do instead');
  return given;
}

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
    return decide(context, {
      question: `Settle this plan as ${how}?`,
      ask: async () => context.option('note') ?? null,
      verb: (approver, token, note) => approver.settle(token, how, note, CHANNEL),
    });
  },
};

function settlement(word: string | undefined): Settlement {
  if (word === 'done' || word === 'not-done') return word;
  throw new UsageError(`a plan is settled as done or not-done, not ${JSON.stringify(word)}`);
}

interface Decision {
  question: string;
  /** What goes with the decision; asked for once the plan has been shown. */
  ask(): Promise<string | null>;
  verb(approver: Approver, token: string, words: string | null): Promise<Outcome>;
}

async function decide(
  { io, words, flag, option, logins }: Context,
  { question, ask, verb }: Decision,
): Promise<number> {
  const token = words[0] ?? '';
  // Nobody to ask: then it is refused before the database is.
  const ready = io.interactive ? null : await ask();
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
    const outcome = await verb(approver, token, io.interactive ? await ask() : ready);
    demand(outcome);
    io.out(flag('json') ? `${JSON.stringify(outcome, null, 2)}\n` : `${safeText(outcome.message ?? 'Done.')}\n`);
    return EXIT.done;
  });
}
