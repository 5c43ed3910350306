import { z } from 'zod';
import type { ExecutePlan, Outcome } from '../../client.js';
import { isUnavailable } from '../../db/pool.js';
import { CountersignError } from '../../errors.js';
import { refusalOf } from '../result.js';
import { fencedObject, planToken } from './fields.js';
import { answer, defineTool, type Answer, type ToolContext } from './tool.js';

const UNKNOWN_OUTCOME = 'Call plan_status with this plan_token: it says whether the plan was executed. A plan runs at most once, so calling execute_plan again is safe too.';

/** How often a wait tells its caller that it goes on. */
const TICK_MS = 3000;

/** One attempt. What a lost connection did is not known here, and is never guessed. */
async function attempt({ client }: ToolContext, plan: ExecutePlan): Promise<Outcome> {
  try {
    return await client.executePlan(plan);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    throw new CountersignError('DATABASE_UNAVAILABLE', 'The connection to the database was lost before it answered.', UNKNOWN_OUTCOME);
  }
}

/** Waits while the plan waits. True when it no longer does; false when the time is over or the caller has gone. */
async function decided(context: ToolContext, plan: ExecutePlan, started: number, since: number): Promise<boolean> {
  const { client, listener, signal, holdMs } = context;
  for (let mark = since; ; ) {
    const elapsed = performance.now() - started;
    if (elapsed >= holdMs || signal.aborted) return false;
    context.progress(elapsed, holdMs, 'Waiting for a human to approve or reject the plan.');
    await listener.waitFor(plan.planToken, { signal, timeoutMs: Math.min(TICK_MS, holdMs - elapsed), since: mark }).catch(() => {});
    if (signal.aborted) return false;
    mark = listener.mark();
    // A database that is away for a moment does not end the wait; the plan is still there when it is back.
    const state = await client.planState(plan.planToken).catch(() => 'awaiting_approval');
    if (state !== 'awaiting_approval') return true;
  }
}

async function executeOrHold(context: ToolContext, plan: ExecutePlan): Promise<Answer> {
  const started = performance.now();
  for (;;) {
    const mark = context.listener.mark();
    const outcome = await attempt(context, plan);
    if (outcome.code !== 'AWAITING_APPROVAL') return answer(outcome);
    if (!(await decided(context, plan, started, mark))) return { refused: refusalOf(outcome) };
  }
}

export const executePlan = defineTool({
  name: 'execute_plan',
  title: 'Execute a previewed plan',
  description:
    'Commits exactly what was previewed. Pass plan_token, statement and params as the preview returned them; nothing else is run. If the plan ' +
    'waits for a human, the call waits too and then answers AWAITING_APPROVAL: call it again to go on waiting, or do something else and come ' +
    'back. You cannot approve. If rows changed since the preview it refuses (ROWSET_CHANGED, EFFECTS_CHANGED): preview again. A plan runs once; ' +
    'a second call answers PLAN_USED with the recorded outcome. PLAN_REJECTED is a human saying no: read the note, do not retry the same change.',
  input: z.strictObject({
    plan_token: planToken,
    statement: z.string().min(1).describe('The statement of the preview, unchanged.'),
    params: z.array(z.unknown()).describe('The params of the preview, unchanged; [] when it had none.'),
  }),
  output: fencedObject({
    plan_token: z.string(),
    status: z.string().describe('executed'),
    affected_rows: z.number(),
    total_rows: z.number(),
    executed_at: z.string(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  // It takes back what a preview gave out: an insert's values, and a statement longer than what an agent may write.
  limits: { text: 1024 * 1024, values: 16 * 1024 * 1024, params: Number.POSITIVE_INFINITY },
  run: async (args, context) => {
    const plan = { planToken: args.plan_token, statement: args.statement, params: args.params, callerId: context.callerId };
    const done = await executeOrHold(context, plan);
    // After the commit and outside of it: a full notification queue must not undo an execution.
    if ('content' in done) context.client.announce(args.plan_token).catch(() => {});
    return done;
  },
});
