import { z } from 'zod';
import type { Client, Outcome } from '../../client.js';
import type { PlanListener } from '../../db/notify.js';
import type { CallPool } from '../../db/pool.js';
import type { Refusal } from '../../errors.js';
import { fence } from '../fence.js';
import type { Limits } from '../guard.js';
import { refusalOf, withinBudget } from '../result.js';

export type Json = Record<string, unknown>;

/** What a tool may use while it answers one call. */
export interface ToolContext {
  client: Client;
  callerId: string | null;
  reader: CallPool;
  listener: PlanListener;
  holdMs: number;
  /** Aborted when the caller cancels or goes away. */
  signal: AbortSignal;
  /** Tells the caller that the call is alive; nothing happens when it did not ask for progress. */
  progress(elapsedMs: number, totalMs: number, message: string): void;
  log(line: string): void;
}

/**
 * How a call ended. A refusal returned here has left its event already; one that is thrown as a CountersignError
 * has not, and is recorded by the dispatcher.
 */
export type Answer = { content: Json } | { refused: Refusal & Json };

export interface ToolAnnotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  name: string;
  title: string;
  /** Written for a model: when to use it, what it will not do, what comes next. */
  description: string;
  input: Input;
  output: z.ZodObject;
  annotations: ToolAnnotations;
  limits?: Partial<Limits>;
  run(args: z.output<Input>, context: ToolContext): Promise<Answer>;
}

/** Ties the type of `run` to the schema, then forgets it, so that a registry can hold every tool. */
export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Tool {
  return tool as unknown as Tool;
}

export const READS: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** A preview stores a plan and changes no data. */
export const PREVIEWS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };

/** Fields that Countersign itself writes; everything else in a result is data and goes behind the fence. */
const OWN_FIELDS = new Set([
  'plan_token', 'status', 'message', 'tool', 'affected_rows', 'total_rows', 'requested_at', 'executed_at', 'expires_at',
  'duration_ms', 'gate', 'approval', 'undo',
]);

/** A successful detail of the database as the content of a result: fenced, and within the byte budget. */
export function present(detail: Json): Json {
  const entries = Object.entries(withinBudget(detail));
  return fence(
    Object.fromEntries(entries.filter(([name]) => OWN_FIELDS.has(name))),
    Object.fromEntries(entries.filter(([name]) => !OWN_FIELDS.has(name))),
  );
}

/** An outcome of the database as the answer of a tool. */
export function answer(outcome: Outcome): Answer {
  if (!outcome.ok) return { refused: refusalOf(outcome) };
  return { content: present({ message: outcome.message ?? '', ...outcome.detail }) };
}
