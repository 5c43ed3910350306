import { z } from 'zod';
import { fence } from '../fence.js';
import { checkSelect } from '../parse.js';
import { readRows } from '../reader.js';
import { RESULT_BUDGET } from '../result.js';
import { fencedObject, params, reason } from './fields.js';
import { audited } from './audited-read.js';
import { defineTool, READS } from './tool.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

export const query = defineTool({
  name: 'query',
  title: 'Read rows',
  description:
    'Runs one SELECT (also VALUES, TABLE, WITH … SELECT) and returns its rows. It only reads: no INSERT, UPDATE, DELETE, no locks, no functions ' +
    'that act outside, and only tables you were given; describe_schema lists them. Put values into params as $1, $2, …. bigint and numeric come ' +
    'back as strings so that nothing is rounded. When truncated is true there are more rows: add ORDER BY and a WHERE, or aggregate, instead of ' +
    'paging through everything. To change rows use delete_rows, insert_rows or update_rows.',
  input: z.strictObject({
    statement: z.string().min(1).describe('One SELECT, for example: select id, status from orders where customer_id = $1 order by id'),
    params,
    limit: z.int().min(1).max(MAX_LIMIT).optional().describe(`Most rows to return; ${DEFAULT_LIMIT} when left out.`),
    reason,
  }),
  output: fencedObject({
    columns: z.array(z.looseObject({ name: z.string(), type: z.string() })),
    rows: z.array(z.record(z.string(), z.unknown())),
    row_count: z.number().describe('Rows in this answer.'),
    truncated: z.boolean().describe('True when the statement has more rows than these.'),
  }),
  annotations: READS,
  run: async (args, context) => {
    await checkSelect(args.statement);
    const read = { tool: 'query', statement: args.statement, params: args.params ?? [], reason: args.reason, callerId: context.callerId };
    return audited(context, read, async (connection) => {
      const { columns, rows, row_count, truncated } = await readRows(connection, {
        statement: read.statement,
        params: read.params,
        limit: args.limit ?? DEFAULT_LIMIT,
        budget: RESULT_BUDGET,
      });
      return { rows: row_count, content: fence({ row_count, truncated }, { columns, rows }) };
    });
  },
});
