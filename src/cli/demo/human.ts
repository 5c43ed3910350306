import type pg from 'pg';

import { createApprover, type Row } from '../../client.js';
import { queryOf } from '../logins.js';
import { connectFirst } from '../../db/connect.js';
import { CountersignError } from '../../errors.js';
import { createViews } from '../../views.js';

/** A human at their own database login. The agent has nothing like it. */
export interface Human {
  name: string;
  approve(token: string, note: string): Promise<void>;
  reject(token: string, reason: string): Promise<void>;
  /** The newest events, oldest of them first. */
  trail(limit: number): Promise<Row[]>;
  close(): Promise<void>;
}

/** Signs in with the human's own login; decisions are the SQL functions a person would call in psql. */
export async function signIn(url: string, name: string): Promise<Human> {
  const client: pg.Client = await connectFirst(url, 'countersign demo human');
  const query = queryOf(client);
  const approver = createApprover(query);
  const decided = (outcome: Awaited<ReturnType<typeof approver.approve>>): void => {
    if (!outcome.ok) throw new CountersignError(outcome.code ?? 'INTERNAL_ERROR', outcome.message ?? 'the decision was refused', outcome.hint ?? '');
  };
  return {
    name,
    approve: async (token, note) => decided(await approver.approve(token, note, 'psql')),
    reject: async (token, reason) => decided(await approver.reject(token, reason, 'psql')),
    trail: (limit) => createViews(query).auditLog(limit),
    close: () => client.end(),
  };
}
