/** Values a host would rather not have on a screen: their shape, unless it said otherwise. */
import { parseExact } from './exact-json.js';
import type { PlanDetail, PlanLine } from './store.js';

/** `{ type, length }` of a value, and of its members. The same shape the audit trail keeps. */
export function shapeOf(value: unknown, depth = 4): unknown {
  if (value === null || value === undefined) return { type: 'null' };
  if (Array.isArray(value)) return { type: 'array', length: value.length };
  if (typeof value !== 'object') return { type: typeof value, length: String(value).length };
  if (depth === 0) return { type: 'object', length: Object.keys(value).length };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, depth - 1)]));
}

function parsed(payload: string): unknown {
  try {
    return parseExact(payload);
  } catch {
    return payload;
  }
}

/** A statement's values are what a human must see to decide; a host's payload is the host's to show. */
export function shownPayload(plan: PlanDetail, exposeRawPayload: boolean): PlanDetail {
  if (plan.kind !== 'host') return plan;
  const payload = parsed(plan.statement);
  return { ...plan, statement: '', payload: exposeRawPayload ? payload : shapeOf(payload), payload_is_shape: !exposeRawPayload };
}

export function shownLine(line: PlanLine, exposeRawPayload: boolean): PlanLine {
  return line.kind === 'host' && !exposeRawPayload ? { ...line, statement: '' } : line;
}
