import { z } from 'zod';
import { previewOutput, reason, table } from './fields.js';
import { answer, defineTool, PREVIEWS } from './tool.js';

/** What is wrong with the shape of an insert, or null. */
function shapeProblem({ columns, rows }: { columns: readonly string[]; rows: readonly (readonly unknown[])[] }): string | null {
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined) return `columns names "${twice}" twice`;
  const uneven = rows.findIndex((row) => row.length !== columns.length);
  return uneven === -1 ? null : `rows[${uneven}] has ${rows[uneven]?.length} values for ${columns.length} columns`;
}

export const insertRows = defineTool({
  name: 'insert_rows',
  title: 'Preview inserting rows',
  description:
    'Previews inserting rows and stores it as a plan. Nothing is stored yet: the insert is run, measured with what triggers add, and rolled ' +
    'back; sample_rows shows the rows as they would be stored, defaults included, so compare them with what you meant. It does not update ' +
    'rows that exist. Leave out columns that the database fills. Next: read effects and status, then call execute_plan with plan_token, ' +
    'statement and params exactly as returned. With status awaiting_approval a human decides first; execute_plan then waits for it.',
  input: z.strictObject({
    table,
    columns: z.array(z.string().min(1).max(200)).min(1).max(1600).describe('Column names, for example ["name", "price"].'),
    rows: z
      .array(z.array(z.unknown()))
      .min(1)
      .describe('One array a row, values in the order of columns. Integers beyond 2^53 and exact decimals as strings.'),
    reason,
  }).superRefine((args, context) => {
    const message = shapeProblem(args);
    if (message !== null) context.addIssue({ code: 'custom', message });
  }),
  output: previewOutput,
  annotations: PREVIEWS,
  limits: { values: 8 * 1024 * 1024 },
  run: async (args, { client, callerId }) =>
    answer(await client.previewInsert({ table: args.table, columns: args.columns, rows: args.rows, reason: args.reason, callerId })),
});
