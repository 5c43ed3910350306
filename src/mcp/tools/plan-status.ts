import { z } from 'zod';
import { fencedObject, planToken } from './fields.js';
import { answer, defineTool, READS } from './tool.js';

export const planStatus = defineTool({
  name: 'plan_status',
  title: 'Ask how a plan stands',
  description:
    'Says how a plan stands: its state, the decision and the note of the human, when it expires, and the outcome when it has run. Use it after ' +
    'a lost reply, or to look without waiting. It changes nothing and cannot approve. Next: execute_plan when the state is previewed or ' +
    'approved, a new preview when it is stale or expired; when a human rejected it, read the note and do not repeat the change as it was.',
  input: z.strictObject({ plan_token: planToken }),
  output: fencedObject({ plan_token: z.string(), status: z.string(), message: z.string() }),
  annotations: READS,
  run: async (args, { client, callerId }) => answer(await client.planStatus(args.plan_token, callerId)),
});
