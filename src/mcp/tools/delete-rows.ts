import { z } from 'zod';
import { confirmFullTable, params, previewOutput, reason, table, where } from './fields.js';
import { checkCondition } from './condition.js';
import { answer, defineTool, PREVIEWS } from './tool.js';

export const deleteRows = defineTool({
  name: 'delete_rows',
  title: 'Preview deleting rows',
  description:
    'Previews deleting rows and stores it as a plan. Nothing is deleted yet: the change is run, measured with everything it cascades to, ' +
    'and rolled back. Use it whenever rows should go; query cannot delete. Refused without where unless confirm_full_table is true, and ' +
    'above the hard limit of rows. Next: read effects and status, then call execute_plan with plan_token, statement and params exactly as ' +
    'returned. With status awaiting_approval a human decides first; execute_plan then waits for the decision.',
  input: z.strictObject({ table, where, params, confirm_full_table: confirmFullTable, reason }),
  output: previewOutput,
  annotations: PREVIEWS,
  run: async (args, { client, callerId }) =>
    answer(
      await client.previewDelete({
        table: args.table,
        where: await checkCondition(args.where),
        params: args.params ?? [],
        confirmFullTable: args.confirm_full_table ?? false,
        reason: args.reason,
        callerId,
      }),
    ),
});
