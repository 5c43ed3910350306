import { createAdmin, type AllowVerb, type Outcome } from '../../client.js';
import { commaList, EXIT, JSON_OPTION, URL_OPTION, UsageError, type Command, type Context } from '../command.js';
import { demand, printAdvice } from '../failure.js';
import { safeText } from '../terminal.js';

const VERBS: readonly AllowVerb[] = ['read', 'write', 'function'];

/** Puts tables or functions on the agent's allowlist. */
export const allow: Command = {
  usage: [
    'countersign allow read|write TABLE... [--columns a,b] [--json] [--url URL]',
    'countersign allow function NAME... [--json] [--url URL]',
    '',
    'TABLE may carry its schema. --columns limits the grant to columns of one table.',
  ],
  options: { columns: { type: 'string' }, ...JSON_OPTION, ...URL_OPTION },
  words: [2, 1000],
  run: (context) => change(context, 'allow'),
};

/** Takes them off again. */
export const revoke: Command = {
  usage: [
    'countersign revoke read|write TABLE... [--columns a,b] [--json] [--url URL]',
    'countersign revoke function NAME... [--json] [--url URL]',
  ],
  options: allow.options,
  words: [2, 1000],
  run: (context) => change(context, 'revoke'),
};

async function change({ io, words, flag, option, logins }: Context, action: 'allow' | 'revoke'): Promise<number> {
  const verb = VERBS.find((known) => known === words[0]);
  const names = words.slice(1);
  const columns = commaList('columns', option('columns'));
  if (verb === undefined) throw new UsageError(`${action} takes read, write or function, not ${JSON.stringify(words[0])}`);
  if (columns !== null && verb === 'function') throw new UsageError('--columns goes with read and write');
  if (columns !== null && names.length > 1) throw new UsageError('--columns goes with one table at a time');
  const outcomes: Outcome[] = [];
  await logins.use('admin', option('url'), async (query) => {
    const admin = createAdmin(query);
    for (const name of names) {
      const outcome = await admin[action](verb, name, columns);
      // Said at once, so that a refusal half-way leaves no doubt about what was done before it.
      if (outcome.ok && !flag('json')) io.out(`${safeText(outcome.message ?? `${action} ${verb} ${name}`)}\n`);
      demand(outcome);
      printAdvice(io, outcome);
      outcomes.push(outcome);
    }
  });
  if (flag('json')) io.out(`${JSON.stringify(outcomes, null, 2)}\n`);
  return EXIT.done;
}
