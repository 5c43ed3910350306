import { z } from 'zod';
import { checkCondition } from './condition.js';
import { confirmFullTable, params, previewOutput, reason, table, where } from './fields.js';
import { answer, defineTool, PREVIEWS } from './tool.js';

export const updateRows = defineTool({
  name: 'update_rows',
  title: 'Preview updating rows',
  description:
    'Previews setting columns to values and stores it as a plan. Nothing is changed yet: the change is run, measured with what triggers ' +
    'add, and rolled back; changes shows rows before and after. set takes values, not SQL expressions. Refused without where unless ' +
    'confirm_full_table is true, and above the hard limit of rows. Next: read effects and status, then call execute_plan with plan_token, ' +
    'statement and params exactly as returned. With status awaiting_approval a human decides first; execute_plan then waits for it.',
  input: z.strictObject({
    table,
    set: z
      .record(z.string(), z.unknown())
      .refine((set) => Object.keys(set).length > 0, 'name at least one column with its new value')
      .describe('Column name to new value, for example {"status": "closed", "note": null}.'),
    where,
    params: params.describe('Values for $1, $2, … in where, in order. Integers beyond 2^53 and exact decimals as strings.'),
    confirm_full_table: confirmFullTable,
    reason,
  }),
  output: previewOutput,
  annotations: PREVIEWS,
  run: async (args, { client, callerId }) =>
    answer(
      await client.previewUpdate({
        table: args.table,
        set: args.set,
        where: await checkCondition(args.where),
        params: args.params ?? [],
        confirmFullTable: args.confirm_full_table ?? false,
        reason: args.reason,
        callerId,
      }),
    ),
});
