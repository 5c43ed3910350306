import { z } from 'zod';
import { fencedObject } from './fields.js';
import { answer, defineTool, READS } from './tool.js';

export const describeSchema = defineTool({
  name: 'describe_schema',
  title: 'Describe the schema',
  description:
    'Lists the tables and views of the database, with their size and whether you may read or write each. Call it first, without ' +
    'arguments. With table it gives the full detail of one: columns, types, defaults, keys, foreign keys both ways, indexes, comments. ' +
    'It never shows rows; use query for those. Next: query to look at data, or delete_rows, insert_rows, update_rows to preview a change.',
  input: z.strictObject({
    schema: z.string().min(1).max(200).optional().describe('Only this schema. All schemas of the application when left out.'),
    table: z.string().min(1).max(300).optional().describe('Full detail of this table or view, for example "orders" or "sales.orders".'),
    reason: z.string().trim().min(1).max(2000).optional().describe('Why you look, for the audit trail.'),
  }),
  output: fencedObject({}),
  annotations: READS,
  run: async (args, { client, callerId }) =>
    answer(
      await client.describeSchema({
        schema: args.schema ?? null,
        table: args.table ?? null,
        reason: args.reason ?? null,
        callerId,
      }),
    ),
});
