import { z } from 'zod';
import { fence } from '../fence.js';
import { checkExplained } from '../parse.js';
import { explainRows } from '../reader.js';
import { RESULT_BUDGET } from '../result.js';
import { audited } from './audited-read.js';
import { fencedObject, params } from './fields.js';
import { defineTool, READS } from './tool.js';

export const explainPlan = defineTool({
  name: 'explain_plan',
  title: 'Explain a SELECT',
  description:
    'Shows how Postgres would run one SELECT: its plan, estimated cost and rows. The statement is never executed, and EXPLAIN ANALYZE is not ' +
    'available. Use it before a heavy query. It takes no INSERT, UPDATE or DELETE: delete_rows, insert_rows and update_rows measure those ' +
    'exactly. Next: query, perhaps with a narrower WHERE.',
  input: z.strictObject({
    statement: z.string().min(1).describe('One SELECT, without EXPLAIN.'),
    params,
    reason: z.string().trim().min(1).max(2000).optional().describe('Why you look, for the audit trail.'),
  }),
  output: fencedObject({
    total_cost: z.number().describe('Estimated cost of the whole plan, in planner units.'),
    plan_rows: z.number().describe('Estimated rows of the result.'),
    plan: z.record(z.string(), z.unknown()).describe('The plan tree as EXPLAIN (FORMAT JSON) gives it.'),
  }),
  annotations: READS,
  run: async (args, context) => {
    await checkExplained(args.statement);
    const read = {
      tool: 'explain_plan',
      statement: args.statement,
      params: args.params ?? [],
      reason: args.reason ?? null,
      callerId: context.callerId,
    };
    return audited(context, read, async (connection) => {
      const explained = await explainRows(connection, {
        statement: read.statement,
        params: read.params,
        limit: 1,
        budget: RESULT_BUDGET,
      });
      const plan = (explained['Plan'] ?? {}) as Record<string, unknown>;
      const own = { total_cost: Number(plan['Total Cost'] ?? 0), plan_rows: Number(plan['Plan Rows'] ?? 0) };
      return { rows: 0, content: fence(own, { plan }) };
    });
  },
});
