/** The page in both themes, at desk and phone width, with what plans there are: no accessibility violation, nothing cut off. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page as Tab } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../harness/database.js';
import { allow, createShop, setPolicy } from '../sql/application.js';
import { accepted, approve, execute, previewDelete, previewInsert, previewMigration, previewUpdate, reject } from '../sql/calls.js';
import { startPage, type Page } from '../approvals/page.js';
import { closeBrowser, noBrowser, openTab, picture } from './browser.js';

const db = await createTestDatabase();
const [agent, alice] = [db.as('agent'), db.as('alice')];
let page: Page;
const plans: Record<string, string> = {};

const HOSTILE = 'Approved by security on 2026-11-01. AFFECTED ROWS: 3 [x] safe \u202egnihton egnahc\u202c <img src=x onerror=alert(1)> р\u0430yp\u0430l zero\u200bwidth';

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  await setPolicy(db, 'approval_required_above_rows', '20');
  await setPolicy(db, 'required_approvals', '2', 'table:stock');
  const keep = async (name: string, made: ReturnType<typeof previewDelete>) => { plans[name] = accepted(await made).detail.plan_token; };
  const small = accepted(await previewUpdate(agent, 'customers', { segment: 'wholesale' }, 'id = $1', [7], { reason: 'customer asked for it' }));
  accepted(await execute(agent, small));
  const rejected = accepted(await previewDelete(agent, 'orders', 'customer_id between $1 and $2', [20, 60], { reason: 'duplicates of the import, says the ticket', callerId: 'claude-code' }));
  accepted(await reject(alice, rejected, 'Not all of these are duplicates. Narrow it to status = \'import\' and preview again.'));
  const done = accepted(await previewDelete(agent, 'order_items', 'order_id between 500 and 520', [], { reason: 'items of cancelled orders' }));
  plans['done'] = done.detail.plan_token;
  accepted(await approve(alice, done, 'checked with billing'));
  accepted(await execute(agent, done));
  await keep('delete', previewDelete(agent, 'orders', 'customer_id between $1 and $2', [20, 60], { reason: 'Duplicates of the import of 12 November; the ticket OPS-4711 lists them. I compared totals and dates of each with its twin before proposing this.', callerId: 'claude-code' }));
  await keep('update', previewUpdate(agent, 'stock', { amount: 0, note: 'sold out' }, 'id between $1 and $2', [1000, 1099], { reason: 'sold out at the supplier' }));
  await keep('hostile', previewUpdate(agent, 'customers', { name: 'раураl  \u202elive\u202c', segment: HOSTILE }, 'id < 40', [], { reason: HOSTILE.repeat(6), callerId: 'Countersign \u200b' }));
  await keep('migration', previewMigration(agent, 'alter table order_items drop column sku, alter column quantity type bigint, add column picked_at timestamptz'));
  await db.as('admin').query('select countersign.revoke(\'write\', \'order_items\')');
  await keep('whole', previewDelete(agent, 'customers', null, [], { all: true, reason: 'start over with a clean table' }));
  await keep('insert', previewInsert(agent, 'stock', ['id', 'amount', 'note'], Array.from({ length: 24 }, (_, n) => [90_000 + n, n * 1000, n % 3 ? `crate ${n}` : null]), { reason: 'new delivery' }));
  await allow(db, 'order_items');
  accepted(await approve(db.as('bob'), { detail: { plan_token: plans['update'] } } as never, 'fine with the warehouse'));
  page = await startPage(db);
});

afterAll(async () => { await closeBrowser(); await page?.stop(); });

// axe is slow: one light and one dark view, and not of every page, unless somebody wants the pictures.
const VIEWS = process.env['SCREENSHOTS'] ? [[1280, false], [1280, true], [390, false], [390, true]] as const : [[1280, false], [390, true]] as const;
const ANALYSED = new Set<string>(process.env['SCREENSHOTS'] ? [] : ['1280 queue', '1280 whole', '1280 hostile', '1280 sign-in', '390 queue', '390 whole']);
const NAMES = ['queue', 'delete', 'update', 'hostile', 'migration', 'whole', 'insert', 'done', 'sign-in'] as const;

async function violations(tab: Tab): Promise<string[]> {
  const found = await new AxeBuilder({ page: tab as never }).analyze();
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`);
}

describe.skipIf(noBrowser !== null).each(VIEWS)('at %i pixels, dark: %s', (width, dark) => {
  test.each(NAMES)('%s', async (name) => {
    const path = name === 'queue' || name === 'sign-in' ? '' : `plans/${plans[name]}`;
    const { tab, context, problems } = await openTab(`${page.address}${path}${name === 'sign-in' ? '' : page.url.slice(page.address.length)}`, { width, dark });
    try {
      await tab.waitForSelector(name === 'sign-in' ? '#sign-in.asked' : '.live[data-state="live"]');
      await tab.waitForSelector('body:not(.settling)');
      await picture(tab, `${name}-${width}-${dark ? 'dark' : 'light'}`);
      expect(await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
      if (ANALYSED.has(`${width} ${name}`)) expect(await violations(tab)).toEqual([]);
      expect(problems).toEqual([]);
      if (name === 'whole' || name === 'delete') {
        await tab.waitForTimeout(750);
        await tab.click(name === 'whole' ? '[data-open=approve-dialog]' : '[data-open=reject-dialog]');
        await tab.waitForTimeout(50);
        await picture(tab, `${name}-dialog-${width}-${dark ? 'dark' : 'light'}`);
        if (ANALYSED.has(`${width} ${name}`)) expect(await violations(tab)).toEqual([]);
      }
    } finally {
      await context.close();
    }
  });
});
