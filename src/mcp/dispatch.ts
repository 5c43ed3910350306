import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { CountersignError } from '../errors.js';
import { fromFunction } from './database-error.js';
import { DEFAULT_LIMITS, guardArguments } from './guard.js';
import type { RefusalLog } from './refusal-log.js';
import { refusal, success } from './result.js';
import type { Json, Tool, ToolContext } from './tools/tool.js';

export interface Call {
  name: string;
  args: Json;
  /** What the raw message showed and the arguments no longer do. */
  hiddenProblem: string | null;
}

export interface Dispatch {
  tools: ReadonlyMap<string, Tool>;
  refusals: RefusalLog;
  /** Resolves once the database has passed its checks; rejects with DATABASE_UNAVAILABLE while it cannot be asked. */
  ready(): Promise<void>;
  /** Address of the approval page, without any secret; null when there is none. */
  approvalPage(): string | null;
  log(line: string): void;
}

function invalid(message: string, hint: string): CountersignError {
  return new CountersignError('INVALID_ARGUMENTS', message, hint);
}

function signature(tool: Tool): string {
  const names = Object.entries(tool.input.shape as Record<string, z.ZodType>).map(([name, field]) =>
    field.safeParse(undefined).success ? `${name}?` : name,
  );
  return `${tool.name} takes ${names.join(', ')}`;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown argument ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`;
  return `${issue.path.map(String).join('.') || 'arguments'}: ${issue.message}`;
}

function parseArguments(tool: Tool, args: Json): Json {
  const parsed = tool.input.safeParse(args);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 5).map(describeIssue);
  throw invalid(`${issues.join('; ')}.`, `${signature(tool)}. Correct the call and send it again.`);
}

function checkHidden(problem: string | null): void {
  if (problem === null) return;
  const hint = problem.startsWith('the number')
    ? 'Send the number as a string, for example "9007199254740993"; Postgres reads it exactly.'
    : 'Correct the arguments and call again.';
  throw invalid(`${problem[0]?.toUpperCase()}${problem.slice(1)}.`, hint);
}

/** Anything thrown, as the refusal an agent may see. What nobody foresaw is logged, and shown without its inside. */
function asRefusal(error: unknown, log: (line: string) => void): CountersignError {
  const known = fromFunction(error);
  if (known instanceof CountersignError) return known;
  log(`Unexpected: ${known instanceof Error ? (known.stack ?? known.message) : String(known)}`);
  return new CountersignError(
    'INTERNAL_ERROR',
    'Something went wrong inside Countersign.',
    'Call plan_status if a plan was being executed. Otherwise try again, and tell the operator if it stays: the server log has the cause.',
  );
}

/** The database knows how to decide by psql and command line; where the page is, only this process knows. */
function withPage(content: Json, address: string | null): Json {
  const { approval, plan_token: token } = content;
  if (address === null || typeof approval !== 'object' || approval === null || typeof token !== 'string') return content;
  return { ...content, approval: { ...approval, page: `${address}plans/${token}` } };
}

/** Answers one tool call: guard, schema, database checks, tool. Every end of it is a result, and every refusal an event. */
export async function callTool(dispatch: Dispatch, call: Call, context: ToolContext): Promise<CallToolResult> {
  let valuesAreSound = false;
  try {
    const tool = dispatch.tools.get(call.name);
    checkHidden(call.hiddenProblem);
    guardArguments(call.args, { ...DEFAULT_LIMITS, ...tool?.limits });
    valuesAreSound = true;
    if (!tool) {
      throw invalid(`There is no tool ${JSON.stringify(call.name.slice(0, 100))}.`, `The tools are ${[...dispatch.tools.keys()].join(', ')}. None of them approves: a human does that elsewhere.`);
    }
    const args = parseArguments(tool, call.args);
    await dispatch.ready();
    const answer = await tool.run(args, context);
    void dispatch.refusals.flush();
    return 'refused' in answer ? refusal(answer.refused) : success(withPage(answer.content, dispatch.approvalPage()));
  } catch (error) {
    const refused = asRefusal(error, dispatch.log);
    await dispatch.refusals.record(call.name, refused, call.args, valuesAreSound);
    return refusal(refused.toJSON());
  }
}
