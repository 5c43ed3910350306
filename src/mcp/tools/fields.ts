import { z } from 'zod';

/** Arguments and result fields that several tools share, so that one name means one thing everywhere. */

export const reason = z
  .string()
  .trim()
  .min(1)
  .max(2000)
  .describe('Why this is done, in one sentence for the human who may have to approve it and for the audit trail.');

export const params = z
  .array(z.unknown())
  .optional()
  .describe('Values for $1, $2, … in order. Integers beyond 2^53 and exact decimals as strings.');

export const table = z
  .string()
  .min(1)
  .max(300)
  .describe('The table, with its schema where needed: "orders" or "sales.orders". Quote mixed-case names: "Sales"."Order".');

export const where = z
  .string()
  .optional()
  .describe('The condition without the word WHERE, as one expression with $1, $2, … for values: "status = $1 and created_at < $2".');

export const confirmFullTable = z
  .boolean()
  .optional()
  .describe('Set true only when every row of the table is meant and where is left out on purpose. It loosens no limit.');

export const planToken = z.string().min(1).max(200).describe('The plan_token of the preview.');

const effect = z.looseObject({
  table: z.string(),
  inserted: z.number(),
  updated: z.number(),
  deleted: z.number(),
});

const fenced = {
  fence: z.looseObject({ nonce: z.string(), note: z.string() }).describe('Where data from the database begins.'),
  fence_end: z.string().describe('Where it ends: the same nonce.'),
};

/** An object result behind the fence; what the database adds is let through. */
export function fencedObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject({ ...shape, ...fenced });
}

/** What every preview gives back. */
export const previewOutput = fencedObject({
  plan_token: z.string().describe('Pass this to execute_plan or plan_status.'),
  status: z.string().describe('previewed: execute_plan may run it now. awaiting_approval: a human decides first.'),
  message: z.string().describe('What was found, and what to do next.'),
  statement: z.string().describe('Exactly what will run; pass it back to execute_plan unchanged.'),
  params: z.array(z.unknown()).describe('Pass these back to execute_plan unchanged.'),
  affected_rows: z.number().nullable().describe('Rows of the target table.'),
  total_rows: z.number().nullable().describe('Rows of all tables, cascades and triggers included; limits count these.'),
  effects: z.array(effect).describe('Measured changes of each table.'),
  expires_at: z.string(),
});
