/** What is visible from outside, frozen: whoever changes a line of these files changes a promise. Update them on purpose, with -u. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { functions, grants, schema } from './catalog.js';

const db = await createTestDatabase();

const text = (lines: string[]): string => `${lines.join('\n')}\n`;

test('the functions people and programs call keep their signatures', async () => {
  await expect(text(await functions(db, 'countersign'))).toMatchFileSnapshot('functions.txt');
});

test('the functions that touch agent SQL keep theirs, and their owners', async () => {
  expect((await functions(db, 'countersign_exec')).map((line) => line.replace(/\(.*\) returns .*? \|/, ' |'))).toEqual([
    'countersign_exec.read_tag | volatile | definer | countersign_analyst',
    'countersign_exec.resolve | volatile | definer | countersign_analyst',
    'countersign_exec.run_ddl | volatile | definer | countersign_migrator',
    'countersign_exec.run_dml | volatile | definer | countersign_writer',
  ]);
});

test('the grants are those of 90_grants.sql and no other', async () => {
  await expect(text(await grants(db))).toMatchFileSnapshot('grants.txt');
});

test('the tables are history: columns, constraints, indexes and triggers change by a migration only', async () => {
  await expect(text(await schema(db))).toMatchFileSnapshot('schema.txt');
});

test('outcome is what every API call answers', async () => {
  const { rows } = await db.as('admin').query('select attname || \' \' || format_type(atttypid, atttypmod) as field from pg_attribute where attrelid = \'countersign.outcome\'::regclass order by attnum');
  expect(rows.map((row: { field: string }) => row.field)).toEqual(['ok boolean', 'code text', 'message text', 'hint text', 'detail jsonb']);
});

test('the audit log has the columns that were promised, in order', async () => {
  const { rows } = await db.as('auditor').query('select attname from pg_attribute where attrelid = \'countersign.audit_log\'::regclass and attnum > 0 order by attnum');
  expect(rows.map((row: { attname: string }) => row.attname)).toEqual([
    'id', 'ts', 'tool', 'reason', 'statement', 'params_redacted', 'preview_rows', 'actual_rows', 'plan_token', 'approved_by', 'status', 'code', 'channel', 'session_user', 'caller_id', 'duration_ms', 'effects', 'note', 'hash', 'reported_by']);
});

test('the backend has version 1', async () => {
  expect((await db.as('agent').query('select countersign.version() as version')).rows).toEqual([{ version: 1 }]);
  expect(readFileSync(new URL('../../src/client.ts', import.meta.url), 'utf8')).toMatch(/BACKEND_VERSION = 1\b/);
});

test('the states and the moves between them', async () => {
  const { rows } = await db.as('admin').query('select from_state || \' -> \' || to_state || \' by \' || status as move from countersign_data.transition where status not in (\'refused\', \'hard_cap_refused\') order by 1');
  expect(rows.map((row: { move: string }) => row.move)).toEqual([
    'approved -> executing by executing', 'approved -> expired by expired', 'approved -> rejected by rejected', 'approved -> stale by stale', 'awaiting_approval -> approved by approved',
    'awaiting_approval -> awaiting_approval by approved', 'awaiting_approval -> expired by expired', 'awaiting_approval -> rejected by rejected', 'awaiting_approval -> stale by stale',
    'executed -> undone by undone', 'executing -> executed by executed', 'executing -> failed by failed', 'failed -> executing by executing', 'failed -> expired by expired', 'failed -> rejected by rejected', 'new -> awaiting_approval by awaiting_approval',
    'new -> previewed by previewed', 'none -> none by policy', 'none -> none by read', 'previewed -> executing by executing', 'previewed -> expired by expired', 'previewed -> rejected by rejected', 'previewed -> stale by stale',
  ]);
});
