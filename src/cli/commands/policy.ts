import { createAdmin } from '../../client.js';
import { EXIT, JSON_OPTION, URL_OPTION, UsageError, type Command, type Context } from '../command.js';
import { demand, printAdvice } from '../failure.js';
import { display } from '../records.js';
import { table } from '../table.js';
import { safeText } from '../terminal.js';
import { createViews } from '../../views.js';

/** Thresholds and lifetimes: shows them, or sets one. */
export const policy: Command = {
  usage: [
    'countersign policy [--json] [--url URL]',
    'countersign policy set KEY VALUE [--table T | --schema S] [--json] [--url URL]',
    '',
    'The most specific setting wins: table, then schema, then the whole database.',
  ],
  options: { table: { type: 'string' }, schema: { type: 'string' }, ...JSON_OPTION, ...URL_OPTION },
  words: [0, 3],
  run: (context) => (context.words.length === 0 ? list(context) : set(context)),
};

async function list({ io, flag, option, logins }: Context): Promise<number> {
  if (option('table') !== undefined || option('schema') !== undefined) throw new UsageError('--table and --schema go with policy set');
  const rows = await logins.use('admin', option('url'), (query) => createViews(query).policy());
  if (flag('json')) {
    io.out(`${JSON.stringify(rows, null, 2)}\n`);
    return EXIT.done;
  }
  io.out(table(
    [{ title: 'key' }, { title: 'value', align: 'right' }, { title: 'scope' }, { title: 'meaning' }],
    rows.map((row) => [display(row['key']), display(row['value']), display(row['scope'] ?? 'database'), display(row['meaning'])]),
    io.width,
  ));
  return EXIT.done;
}

async function set({ io, words, flag, option, logins }: Context): Promise<number> {
  const [verb, key, value] = words;
  if (verb !== 'set') throw new UsageError(`policy knows "set", not ${JSON.stringify(verb)}`);
  if (key === undefined || value === undefined) throw new UsageError('policy set takes a key and a value');
  const scope = scopeOf(option('table'), option('schema'));
  const outcome = await logins.use('admin', option('url'), (query) => createAdmin(query).setPolicy(key, value, scope));
  demand(outcome);
  printAdvice(io, outcome);
  io.out(flag('json') ? `${JSON.stringify(outcome, null, 2)}\n` : `${safeText(outcome.message ?? 'Done.')}\n`);
  return EXIT.done;
}

function scopeOf(table: string | undefined, schema: string | undefined): string | null {
  if (table !== undefined && schema !== undefined) throw new UsageError('--table or --schema, not both');
  if (table !== undefined) return `table:${table}`;
  return schema === undefined ? null : `schema:${schema}`;
}
