import { createApprover, type Approver } from '../../client.js';
import { CountersignError } from '../../errors.js';
import { EXIT, JSON_OPTION, URL_OPTION, type Command } from '../command.js';
import { shownFields } from '../table.js';

/** One plan in full. */
export const show: Command = {
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

/** One plan as the database lays it out for people; its last row, how to decide in psql, is left to psql. */
export async function planText(approver: Approver, token: string, width: number): Promise<string> {
  return layOut(await planFields(approver, token), width, (field) => field !== 'decide');
}

/** The part of a plan that a decision rests on, short enough to stay on the screen above the question. */
export async function planEssentials(approver: Approver, token: string, width: number): Promise<string> {
  const fields = await planFields(approver, token);
  const rows = fields.filter(({ field }) => field.startsWith('row ')).length;
  const more = rows === 0 ? '' : `${rows} of the rows: countersign show ${token}\n`;
  return layOut(fields, width, (field) => !field.startsWith('row ') && !['state', 'asked at', 'event', 'decide'].includes(field)) + more;
}

interface Field {
  field: string;
  value: string;
}

async function planFields(approver: Approver, token: string): Promise<Field[]> {
  const fields = await approver.show(token);
  if (fields.length === 0 || fields[0]?.field === 'error') throw unknownToken(token);
  return fields;
}

function layOut(fields: readonly Field[], width: number, keep: (field: string) => boolean): string {
  return shownFields(fields.filter(({ field }) => keep(field)).map(({ field, value }) => [field, value] as const), width);
}

function unknownToken(token: string): CountersignError {
  return new CountersignError('UNKNOWN_TOKEN', `there is no plan ${JSON.stringify(token)}`,
    'countersign pending lists the plans that wait; give the whole token, or its first 8 characters or more.');
}
