/** The page over a store: a host's plans, shown as far as the host lets them be, and decided there. */
import { expect, test } from 'vitest';
import { PlanStore, startApprovalServer, type PlanDetail } from '../../src/index.js';
import { ask, post, SECRET } from '../approvals/page.js';
import { createTestDatabase } from '../harness/database.js';

const db = await createTestDatabase();
interface Mail { to: string; text: string }
const MAIL: Mail = { to: 'secret@example.com', text: 'The contract is attached.' };

test('a host starts the page over its store; a decision there reaches whoever waits', async () => {
  const store = await PlanStore.open<Mail>({ databaseUrl: db.url('agent'), approverUrl: db.url('alice') });
  const decided: string[] = [];
  const page = await startApprovalServer(store, {
    port: 0, authToken: SECRET, exposeRawPayload: true,
    renderPlan: (plan: PlanDetail) => ({ facts: [{ label: 'To', value: (plan.payload as Mail).to }] }),
    onDecision: ({ verb, decidedBy }) => { decided.push(`${verb} ${decidedBy}`); throw new Error('a callback changes nothing'); },
  });
  try {
    const { planToken } = await store.create(MAIL, { tool: 'send_mail', reason: 'promised', previewCount: 1, approvalRequired: true, extra: { campaign: 'spring' } });
    const waiting = store.waitForDecision(planToken, { timeoutMs: 20_000 });
    const queue = await ask(page, '/', { headers: { Accept: 'text/html' } });
    expect(queue.text).toContain('Outside this database:');
    const shown = await ask(page, `/plans/${planToken}`, { headers: { Accept: 'text/html' } });
    for (const words of ['send_mail', 'secret@example.com', 'The contract is attached.', '1 thing', 'spring', 'Its host asks for a human']) expect(shown.text).toContain(words);
    const { plan } = (await ask(page, `/api/plans/${planToken}`)).json as { plan: PlanDetail };
    const started = performance.now();
    expect(await post(page, `/api/plans/${planToken}/approve`, { approvedBy: 'Ann', note: 'go', seen: plan.seen })).toMatchObject({ status: 200 });
    expect(await waiting).toMatchObject({ status: 'approved', note: 'go' });
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(decided).toEqual(['approve Ann']);
    expect(await store.beginExecute(planToken, MAIL)).toMatchObject({ ok: true });
  } finally {
    await page.close();
    await store.close();
  }
});

test('payloads are shown as their shape unless the host says otherwise, in every answer', async () => {
  const store = await PlanStore.open<Mail>({ databaseUrl: db.url('agent'), approverUrl: db.url('alice') });
  const page = await startApprovalServer(store, { port: 0, authToken: SECRET });
  try {
    const { planToken } = await store.create(MAIL, { tool: 'send_mail', approvalRequired: true });
    for (const path of ['/', `/plans/${planToken}`, '/api/plans', `/api/plans/${planToken}`]) {
      const answer = await ask(page, path, { headers: { Accept: 'text/html' } });
      expect(answer.status, path).toBe(200);
      expect(answer.text, path).not.toMatch(/secret@example|contract is attached/);
    }
    expect((await ask(page, `/api/plans/${planToken}`)).json).toMatchObject({ plan: { payload: { to: { type: 'string', length: 18 } }, payload_is_shape: true } });
  } finally {
    await page.close();
    await store.close();
  }
});

test('a store without an approver has no page, and says what to do', async () => {
  const store = await PlanStore.open({ databaseUrl: db.url('agent') });
  await expect(startApprovalServer(store, { port: 0 })).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE', hint: expect.stringContaining('approverUrl') });
  await store.close();
});
