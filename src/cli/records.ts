import type { Row } from '../client.js';
import { shownFields } from './table.js';

/**
 * Rows of a view as blocks of name and value, for rows too wide for a table: every column that has something in it is
 * shown, whatever the view grows to have. The views have made agents' words safe already.
 */
export function records(rows: readonly Row[], width: number): string {
  return rows
    .map((row) =>
      shownFields(
        Object.entries(row)
          .filter(([, value]) => value !== null && value !== '')
          .map(([name, value]) => [name.replaceAll('_', ' '), display(value)] as const),
        width,
      ))
    .join('\n');
}

/** A value as people read it. */
export function display(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (isEffects(value)) return effectsText(value);
  if (Array.isArray(value) && value.every((member) => typeof member === 'string')) return value.join('\n');
  return JSON.stringify(value);
}

/** What a change does to one table. */
export interface Effect {
  table: string;
  inserted: number | string;
  updated: number | string;
  deleted: number | string;
  writable?: boolean;
}

/** `320 rows deleted in orders`, one line a table. */
export function effectsText(effects: readonly Effect[]): string {
  return effects
    .map((effect) => {
      const parts = (['inserted', 'updated', 'deleted'] as const)
        .filter((verb) => Number(effect[verb]) > 0)
        .map((verb) => `${grouped(effect[verb])} ${verb}`);
      const outside = effect.writable === false ? ' (not a table the agent may write)' : '';
      return `${effect.table}: ${parts.length === 0 ? 'nothing' : parts.join(', ')}${outside}`;
    })
    .join('\n');
}

/** Rows changed in all tables together; null when there are no effects to tell. */
export function effectsTotal(effects: unknown): number | null {
  if (!isEffects(effects)) return null;
  return effects.reduce((sum, { inserted, updated, deleted }) => sum + Number(inserted) + Number(updated) + Number(deleted), 0);
}

/** 13200 as `13,200`, in every locale. */
export function grouped(count: number | string): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

function isEffects(value: unknown): value is Effect[] {
  return Array.isArray(value) && value.length > 0 && value.every((member: unknown) =>
    typeof member === 'object' && member !== null && 'table' in member && 'inserted' in member && 'deleted' in member);
}
