/** A human at a real browser, an agent in another process, and Postgres between them. */
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import type { Page as Tab } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSessions } from '../../src/approvals/sessions.js';
import { createDatabaseStore } from '../../src/approvals/database-store.js';
import { startApprovalServer } from '../../src/approvals/start.js';
import { createListener, planKey } from '../../src/db/notify.js';
import { createTestDatabase } from '../harness/database.js';
import { startOwnServer } from '../harness/own-server.js';
import { createShop, eventsOf, setPolicy } from '../sql/application.js';
import { accepted, approve, previewDelete, previewUpdate, type Outcome } from '../sql/calls.js';
import { ask, pageFor, SECRET, startPage, type Page } from '../approvals/page.js';
import { closeBrowser, noBrowser, openTab } from './browser.js';

const db = await createTestDatabase();
const agent = db.as('agent');
let page: Page;
let next = 0;

beforeAll(async () => {
  await createShop(db);
  await setPolicy(db, 'ungated_rows_per_hour', '1000000');
  await setPolicy(db, 'approval_required_above_rows', '0');
  page = await startPage(db);
});

afterAll(async () => { await closeBrowser(); await page?.stop(); });

const waiting = async (reason = 'because'): Promise<Outcome> => accepted(await previewDelete(agent, 'stock', `id = ${++next}`, [], { reason }));
const tokenOf = (plan: Outcome): string => plan.detail.plan_token;
const open = (path = '', options: Parameters<typeof openTab>[1] = {}) => openTab(`${page.address}${path}#token=${SECRET}`, options);
const live = (tab: Tab) => tab.waitForSelector('.live[data-state="live"]');
const settled = (tab: Tab) => tab.waitForSelector('body:not(.settling)');

async function openDialog(tab: Tab, verb: 'approve' | 'reject'): Promise<void> {
  await settled(tab);
  await tab.click(`[data-open=${verb}-dialog]`);
  await tab.waitForSelector(`#${verb}-dialog[open]`);
}

/** As a person does it: open the dialog, write, wait until the button is there, press it. */
async function decide(tab: Tab, verb: 'approve' | 'reject', words: string): Promise<void> {
  await openDialog(tab, verb);
  await tab.fill(`#${verb}-dialog textarea`, words);
  await tab.click(`#${verb}-dialog .confirm:enabled`);
}

describe.skipIf(noBrowser !== null)('a human at the page', () => {
  test('sees a plan arrive: in the list, in the title and spoken', async () => {
    const { tab, context, problems } = await open();
    await live(tab);
    const before = Number(/^\((\d+)\)/.exec(await tab.title())?.[1] ?? 0);
    const plan = await waiting('a reason that has just arrived');
    await tab.getByText('a reason that has just arrived').waitFor({ timeout: 5_000 });
    expect(await tab.title()).toBe(`(${before + 1}) Countersign`);
    await expect.poll(() => tab.textContent('#announce')).toMatch(/waits? for you/);
    await tab.click(`a[href="/plans/${tokenOf(plan)}"]`);
    await tab.waitForSelector('.decision');
    await tab.goBack();
    await tab.waitForSelector('.plans');
    expect(problems).toEqual([]);
    await context.close();
  });

  test('finds the secret gone from the address at once, and in no history, referrer or cookie (H012, H020)', async () => {
    for (const url of [`${page.address}#token=${SECRET}`, `${page.address}?token=${SECRET}`]) {
      const { tab, context } = await openTab(url);
      await live(tab);
      expect(tab.url()).toBe(page.address);
      expect(await tab.evaluate('document.referrer')).toBe('');
      await tab.reload();
      await live(tab);
      const referrers: (string | undefined)[] = [];
      tab.on('request', (request) => referrers.push(request.headers()['referer']));
      const { detail } = await waiting();
      await tab.click(`a[href="/plans/${detail.plan_token}"]`);
      await tab.waitForSelector('.decision');
      expect(referrers.length).toBeGreaterThan(0);
      expect(referrers.filter(Boolean)).toEqual([]);
      expect(await context.cookies()).toEqual([]);
      const second = await context.newPage();
      await second.goto(page.address);
      await live(second);
      await context.close();
    }
  });

  test('approves, and an execute_plan held by another process goes on within milliseconds', async () => {
    const { tab, context } = await open();
    await live(tab);
    const plan = await waiting();
    // The agent's own process, as the MCP server waits: a listener, and the state read again when it wakes.
    const waiter = fork(new URL('waiter.mjs', import.meta.url), { env: { ...process.env, AGENT_URL: db.url('agent'), TOKEN: tokenOf(plan) } });
    const message = (kind: string) => new Promise<Record<string, number>>((resolve) => waiter.on('message', (value: Record<string, number>) => { if (kind in value) resolve(value); }));
    await message('ready');
    const woken = message('woken');
    await tab.goto(`${page.address}plans/${tokenOf(plan)}`);
    await decide(tab, 'approve', 'looks right');
    await tab.getByText('The agent may execute exactly this').waitFor();
    const { woken: at = 0, executed } = await woken;
    expect(executed).toBe(1);
    expect(at).toBeGreaterThan(0);
    await expect.poll(() => eventsOf(db, tokenOf(plan))).toEqual(['awaiting_approval', 'approved', 'executing', 'executed']);
    await tab.getByText('Executed', { exact: true }).first().waitFor();
    expect(await tab.locator('[data-open]').count()).toBe(0);
    await context.close();
  });

  test('rejects with a reason, which is asked for and reaches the agent', async () => {
    const plan = await waiting();
    const { tab, context } = await open(`plans/${tokenOf(plan)}`);
    await openDialog(tab, 'reject');
    await tab.waitForTimeout(800);
    expect(await tab.isDisabled('#reject-dialog .confirm')).toBe(true);
    await tab.fill('#reject-reason', 'narrow it to 2024');
    await tab.click('#reject-dialog .confirm:enabled');
    await tab.getByText('narrow it to 2024').first().waitFor();
    const { rows } = await agent.query('select (countersign.plan_status($1, null)).detail->\'decision\' as decision', [tokenOf(plan)]);
    expect(rows[0]).toMatchObject({ decision: { status: 'rejected', note: 'narrow it to 2024', channel: 'page' } });
    await context.close();
  });

  test('races another human: one wins, the other is told, and the buttons go (H026)', async () => {
    const plan = await waiting();
    const [first, second] = [await open(`plans/${tokenOf(plan)}`), await open(`plans/${tokenOf(plan)}`)];
    for (const { tab } of [first, second]) { await openDialog(tab, 'approve'); await tab.waitForSelector('#approve-dialog .confirm:enabled'); }
    await Promise.all([first.tab.click('#approve-dialog .confirm'), second.tab.click('#approve-dialog .confirm')]);
    for (const { tab } of [first, second]) {
      await tab.waitForSelector('.decision[data-status=approved]');
      expect(await tab.locator('[data-open=approve-dialog]').count()).toBe(0);
    }
    expect((await eventsOf(db, tokenOf(plan))).filter((event) => event === 'approved')).toHaveLength(1);
    await Promise.all([first.context.close(), second.context.close()]);
  });

  test('is told at once of a decision made by psql, also in an open dialog', async () => {
    const plan = await waiting();
    const { tab, context } = await open(`plans/${tokenOf(plan)}`);
    await live(tab);
    await openDialog(tab, 'approve');
    accepted(await approve(db.as('bob'), plan, 'decided in psql'));
    await tab.getByText('decided in psql').first().waitFor({ timeout: 5_000 });
    expect(await tab.locator('dialog[open]').count()).toBe(0);
    await expect.poll(() => tab.textContent('#announce')).toContain('This plan has moved');
    await context.close();
  });

  test('decides nothing by one stray key, one click or two quick ones, or before the buttons have settled', async () => {
    const plan = await waiting();
    const { tab, context } = await open(`plans/${tokenOf(plan)}`);
    await settled(tab);
    for (const key of ['Enter', 'Space', 'a', 'y', 'r', 'Control+Enter']) await tab.keyboard.press(key);
    await tab.dblclick('[data-open=approve-dialog]', { delay: 5 });
    await tab.waitForTimeout(100);
    if (await tab.locator('#approve-dialog[open]').count() === 0) await tab.click('[data-open=approve-dialog]');
    // Too early: the button is inert.
    expect(await tab.isDisabled('#approve-dialog .confirm')).toBe(true);
    await tab.waitForSelector('#approve-dialog .confirm:enabled');
    for (const key of ['Enter', 'Control+Enter']) await tab.keyboard.press(key);
    await tab.keyboard.press('Escape');
    expect(await eventsOf(db, tokenOf(plan))).toEqual(['awaiting_approval']);
    await context.close();
  });

  test('has to type the table\'s name for a whole table', async () => {
    const plan = accepted(await previewUpdate(agent, 'customers', { segment: 'x' }, null, [], { all: true }));
    const { tab, context } = await open(`plans/${tokenOf(plan)}`);
    await openDialog(tab, 'approve');
    await tab.waitForTimeout(800);
    expect(await tab.isDisabled('#approve-dialog .confirm')).toBe(true);
    await tab.fill('#approve-word', 'orders');
    expect(await tab.isDisabled('#approve-dialog .confirm')).toBe(true);
    await tab.fill('#approve-word', 'customers');
    await tab.keyboard.press('Enter');
    expect(await eventsOf(db, tokenOf(plan))).toEqual(['awaiting_approval']);
    await tab.click('#approve-dialog .confirm:enabled');
    await tab.waitForSelector('.decision[data-status=approved]');
    await context.close();
  });

  test('reaches every control by keyboard alone, and decides with it', async () => {
    const plan = await waiting();
    const { tab, context } = await open(`plans/${tokenOf(plan)}`);
    await settled(tab);
    await tab.focus('[data-open=approve-dialog]');
    await tab.keyboard.press('Enter');
    expect(await tab.evaluate('document.activeElement.id')).toBe('approve-note');
    await tab.keyboard.type('by keyboard');
    await tab.waitForSelector('#approve-dialog .confirm:enabled');
    for (let turn = 0; turn < 6 && !await tab.evaluate('document.activeElement.matches(".confirm")'); turn++) await tab.keyboard.press('Tab');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector('.decision[data-status=approved]');
    await context.close();
  });

  test('needs one live stream for many tabs, so that the last one can still decide (H018)', async () => {
    const plan = await waiting();
    const { tab, context } = await open();
    await live(tab);
    const tabs = [tab];
    for (let n = 0; n < 6; n++) { const more = await context.newPage(); await more.goto(page.address); await live(more); tabs.push(more); }
    const last = tabs.at(-1) as Tab;
    await last.goto(`${page.address}plans/${tokenOf(plan)}`);
    await decide(last, 'approve', 'from the seventh tab');
    await last.waitForSelector('.decision[data-status=approved]');
    await context.close();
  });
});

describe.skipIf(noBrowser !== null)('a hostile page or plan', () => {
  test('text of an agent renders inert: no script, no request, no element of its own (H009)', async () => {
    const words = '<img src=x onerror="fetch(\'/api/plans\')"><script>window.owned=1</script></q></blockquote><button class="confirm" data-open="approve-dialog">OK</button>\u202egnp\u202c';
    const plan = accepted(await previewUpdate(agent, 'customers', { name: words, segment: '</td></table><h1>Approved</h1>' }, 'id = 9', [], { reason: words, callerId: '"><svg onload=alert(1)>' }));
    const { tab, context, problems } = await open(`plans/${tokenOf(plan)}`);
    await live(tab);
    expect(await tab.evaluate('[window.owned, document.querySelectorAll("img, svg, iframe, h1, .story button, .story script").length]')).toEqual([undefined, 1]);
    expect(await tab.textContent('blockquote')).toContain('<script>window.owned=1</script>');
    expect(await tab.content()).not.toMatch(/[\u202a-\u202e]/);
    expect(problems).toEqual([]);
    await context.close();
  });

  test('a site of somebody else can neither frame the page, read it, post to it, nor reach it by another name (H002, H003, H010)', async () => {
    const plan = await waiting();
    const evil = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(`<iframe src="${page.address}"></iframe>
      <form method=POST enctype=text/plain action="${page.address}api/plans/${tokenOf(plan)}/approve"><input name='{"note":"' value='"}'></form>`));
    await new Promise<void>((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
    const { tab, context } = await openTab(`http://127.0.0.1:${(evil.address() as { port: number }).port}/`);
    await tab.waitForTimeout(200);
    expect(await tab.frames()[1]?.evaluate('document.body.innerText').catch(() => '')).not.toMatch(/wait|Countersign|Secret/);
    expect(await tab.evaluate(`fetch('${page.address}api/plans?token=${SECRET}').then(() => 'read', () => 'refused')`)).toBe('refused');
    expect(await tab.evaluate(`fetch('${page.address}api/plans/${tokenOf(plan)}/approve', { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: '{}' }).then(() => 'sent', () => 'refused')`)).toMatch(/sent|refused/);
    await Promise.all([tab.waitForNavigation(), tab.evaluate('document.forms[0].submit()')]);
    expect(await tab.textContent('body')).toContain('FORBIDDEN');
    expect(await eventsOf(db, tokenOf(plan))).toEqual(['awaiting_approval']);
    await context.close();
    evil.close();
  });
});

describe.skipIf(noBrowser !== null)('signing in as oneself', () => {
  test('with role and password; the decision is under that name', async () => {
    const own = await pageFor(db, { sessions: createSessions(db.url('agent')) });
    const plan = await waiting();
    const { tab, context } = await openTab(`${own.address}plans/${tokenOf(plan)}`);
    await tab.waitForSelector('#sign-in.asked');
    await tab.fill('#user', db.role('bob'));
    await tab.fill('#password', 'wrong');
    await tab.click('button[type=submit]');
    await tab.getByText('did not accept').waitFor();
    await tab.fill('#password', new URL(db.url('bob')).password);
    await tab.click('button[type=submit]');
    await decide(tab, 'approve', 'as bob');
    await tab.waitForSelector('.decision[data-status=approved]');
    expect(await tab.locator('#approve-by').count()).toBe(0);
    const { rows } = await db.as('auditor').query('select "session_user" from countersign.audit_log where plan_token = $1 order by id desc limit 1', [tokenOf(plan)]);
    expect(rows).toEqual([{ session_user: db.role('bob') }]);
    await tab.click('#sign-out');
    await tab.waitForSelector('#sign-in.asked');
    await context.close();
  });
});

describe.skipIf(noBrowser !== null)('when Postgres goes away', () => {
  test('the open page says so, lets nothing be decided, and recovers without a reload', async () => {
    const own = await startOwnServer();
    const store = createDatabaseStore({ url: own.approverUrl });
    const server = await startApprovalServer(store, { port: 0 });
    const { tab, context } = await openTab(server.url);
    await live(tab);
    await tab.evaluate('window.sameDocument = true');
    // The server is back within a second or so, and a slow machine may look away for as long: so what was said is kept.
    await tab.evaluate('new MutationObserver(() => { if (!document.querySelector("#offline").hidden) window.saidSo = document.querySelector("#offline").textContent; }).observe(document.querySelector("#offline"), { attributes: true, childList: true })');
    own.kill();
    await expect.poll(() => tab.evaluate('window.saidSo'), { timeout: 20_000 }).toMatch(/^Not connected: /);
    await tab.waitForSelector('#offline', { state: 'hidden', timeout: 20_000 });
    expect(await tab.evaluate('window.sameDocument')).toBe(true);
    await tab.getByText('Nothing waits for you.').waitFor();
    await context.close();
    await server.close();
    await store.close();
  });
});

describe('from NOTIFY to wake', () => {
  const percentiles = (times: number[]): [p50: number, p95: number] => {
    times.sort((a, b) => a - b);
    return [times[Math.floor(times.length * 0.5)] ?? 0, times[Math.floor(times.length * 0.95)] ?? 0];
  };

  test('a waiting process learns of a decision: p50 within 10 ms', async () => {
    const listener = createListener(db.url('agent'));
    await new Promise<void>((resolve) => { listener.on('connected', resolve); });
    const notifier = await db.connect('alice');
    const [bare, whole]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < 60; turn++) {
      const token = tokenOf(await waiting());
      for (const [times, act] of [
        [bare, () => notifier.query(`notify countersign, '{"plan":"${planKey(token)}","status":"approved"}'`)],
        [whole, () => ask(page, `/api/plans/${token}/approve`, { method: 'POST', body: '{}' })],
      ] as const) {
        const woken = listener.waitFor(token, { since: listener.mark() });
        const started = performance.now();
        const acted = act();
        await woken;
        times.push(performance.now() - started);
        await acted;
      }
    }
    await listener.close();
    const [[p50, p95], [page50, page95]] = [percentiles(bare), percentiles(whole)];
    process.stderr.write(`[page] NOTIFY to wake: p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms; POST approve to wake: p50 ${page50.toFixed(2)} ms, p95 ${page95.toFixed(2)} ms\n`);
    expect(p50).toBeLessThanOrEqual(10);
  });
});
