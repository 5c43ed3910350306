import { deleteRows } from './delete-rows.js';
import { describeSchema } from './describe-schema.js';
import { executePlan } from './execute-plan.js';
import { explainPlan } from './explain-plan.js';
import { insertRows } from './insert-rows.js';
import { planStatus } from './plan-status.js';
import { query } from './query.js';
import { runMigration } from './run-migration.js';
import type { Tool } from './tool.js';
import { updateRows } from './update-rows.js';

/** Every tool, in the order clients list them. There is no tool that approves, and never will be. */
export const TOOLS: readonly Tool[] = [
  describeSchema,
  query,
  explainPlan,
  deleteRows,
  insertRows,
  updateRows,
  runMigration,
  executePlan,
  planStatus,
];
