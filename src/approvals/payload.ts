/** Values a host would rather not have on a screen: their shape, unless it said otherwise. */
import type { PlanDetail } from './store.js';

/** `{ type, length }` of a value, and of its members. The same shape the audit trail keeps. */
export function shapeOf(value: unknown, depth = 4): unknown {
  if (value === null || value === undefined) return { type: 'null' };
  if (Array.isArray(value)) return { type: 'array', length: value.length };
  if (typeof value !== 'object') return { type: typeof value, length: String(value).length };
  if (depth === 0) return { type: 'object', length: Object.keys(value).length };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, depth - 1)]));
}

/** A statement's values are what a human must see to decide; a host's payload is the host's to show. */
export function shownPayload(plan: PlanDetail, exposeRawPayload: boolean): PlanDetail {
  if (plan.payload === undefined || exposeRawPayload) return plan;
  return { ...plan, payload: shapeOf(plan.payload) };
}
