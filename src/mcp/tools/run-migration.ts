import { z } from 'zod';
import { checkMigration } from '../parse.js';
import { previewOutput, reason } from './fields.js';
import { answer, defineTool, PREVIEWS } from './tool.js';

export const runMigration = defineTool({
  name: 'run_migration',
  title: 'Preview a schema change',
  description:
    'Previews one schema change (CREATE, ALTER or DROP of tables, columns, indexes, constraints) and stores it as a plan. Nothing is changed ' +
    'yet: it is run, its locks, rewrites and dropped dependents are recorded, and it is rolled back. A human always decides. It does not run ' +
    'several statements, rows changes, functions, triggers, grants or CONCURRENTLY. Next: call execute_plan with plan_token, statement and ' +
    'params exactly as returned; it waits for the decision.',
  input: z.strictObject({
    statement: z.string().min(1).describe('One DDL statement, for example: alter table orders add column note text'),
    reason,
  }),
  output: previewOutput,
  annotations: PREVIEWS,
  run: async (args, { client, callerId }) => {
    await checkMigration(args.statement);
    return answer(await client.previewMigration({ statement: args.statement, reason: args.reason, callerId }));
  },
});
