import { createApprover, type Approver } from '../../client.js';
import { CountersignError } from '../../errors.js';
import { EXIT, JSON_OPTION, URL_OPTION, type Command } from '../command.js';
import { shownFields } from '../table.js';

/** One plan in full. */
export const show: Command = {
  name: 'show',
  summary: 'show one plan: statement, effects, rows before and after',
  usage: ['countersign show TOKEN [--json] [--url URL]'],
  options: { ...JSON_OPTION, ...URL_OPTION },
  words: [1, 1],
  async run({ io, words, flag, option, logins }) {
    const token = words[0] ?? '';
    const text = await logins.use('approver', option('url'), async (query) => {
      const approver = createApprover(query);
      if (!flag('json')) return planText(approver, token, io.width);
      const detail = await approver.planDetail(token);
      if (detail === null) throw unknownToken(token);
      return `${JSON.stringify(detail, null, 2)}\n`;
    });
    io.out(text);
    return EXIT.done;
  },
};

/** What a human reads before deciding, laid out by the database itself. Its last row, how to decide in psql, is left to psql. */
export async function planText(approver: Approver, token: string, width: number): Promise<string> {
  const rows = await approver.show(token);
  if (rows.length === 0 || rows[0]?.field === 'error') throw unknownToken(token);
  return shownFields(rows.filter(({ field }) => field !== 'decide').map(({ field, value }) => [field, value] as const), width);
}

function unknownToken(token: string): CountersignError {
  return new CountersignError('UNKNOWN_TOKEN', `there is no plan ${JSON.stringify(token)}`,
    'countersign pending lists the plans that wait; give the whole token, or its first 8 characters or more.');
}
