/**
 * A host plan's life (create, approve, begin, confirm) beside the same four writes as plain pairs: a row of a trail and the
 * row of a plan, in one transaction. Slices of each in turn, so that a noisy machine hits both.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { PlanStore } from '../dist/index.js';
import { median } from './measure.mjs';

const PLAIN = `
  create table public.plain_plan (token uuid primary key, payload text not null, state text not null, reason text, created_at timestamptz not null default now(), expires_at timestamptz not null);
  create table public.plain_event (id bigint generated always as identity primary key, ts timestamptz not null default now(), token uuid not null, status text not null, by_login name not null default session_user, shape jsonb);
  create index on public.plain_event (token); create index on public.plain_event (ts);
  create index on public.plain_plan (created_at) where state in ('awaiting_approval', 'executing');
  alter table public.plain_plan owner to shop_owner; alter table public.plain_event owner to shop_owner;`;

let count = 0;
const payload = () => ({ to: 'customer@example.org', subject: 'Your order', body: 'It is on its way.', order: ++count });

async function lifecycle(store) {
  const what = payload();
  const { planToken } = await store.create(what, { tool: 'send_mail', reason: 'bench', approvalRequired: true });
  for (const result of [await store.approve(planToken), await store.beginExecute(planToken, what), await store.confirmExecuted(planToken)]) {
    if (!result.ok) throw result.error;
  }
}

async function plainLifecycle(pool) {
  const token = randomUUID();
  for (const state of ['awaiting_approval', 'approved', 'executing', 'executed']) {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query('insert into public.plain_event (token, status, shape) values ($1, $2, $3)', [token, state, '[{"type": "object", "length": 100}]']);
      if (state === 'awaiting_approval') {
        await client.query("insert into public.plain_plan (token, payload, state, reason, expires_at) values ($1, $2, $3, 'bench', now() + interval '1 day')", [token, JSON.stringify(payload()), state]);
      } else {
        await client.query('update public.plain_plan set state = $2 where token = $1', [token, state]);
      }
      await client.query('commit');
    } finally {
      client.release();
    }
  }
}

/** Lifecycles a second of so many clients, for a while. */
async function slice(clients, ms, one) {
  const started = performance.now();
  let done = 0;
  await Promise.all(Array.from({ length: clients }, async () => {
    while (performance.now() - started < ms) {
      await one();
      done += 1;
    }
  }));
  return done / ((performance.now() - started) / 1000);
}

async function inTurn(clients, ms, rounds, ours, theirs) {
  const [a, b, ratios] = [[], [], []];
  for (let round = 0; round <= rounds; round += 1) {
    const x = await slice(clients, round === 0 ? ms / 4 : ms, ours);
    const y = await slice(clients, round === 0 ? ms / 4 : ms, theirs);
    if (round === 0) continue; // warms up
    a.push(x);
    b.push(y);
    ratios.push(x / y);
  }
  return { ours: median(a), theirs: median(b), ratio: median(ratios) };
}

/** Plans that are over, as rows that were there before: `many` of them, with the last event of each. */
async function fillWithOldPlans(admin, many) {
  await admin.query(`
    set session_replication_role = replica;
    create temporary table old as select gen_random_uuid() as token, now() - g * interval '1 second' as ts from generate_series(1, ${Number(many)}) g;
    insert into countersign_data.event (ts, chain, seq, plan_token, from_state, to_state, status, channel, tool, login, hash)
      select ts, token, 1, token, 'new', 'executed', 'executed', 'host', 'send_mail', 'shop_agent', sha256(token::text::bytea) from old;
    insert into countersign_data.plan (token, kind, tool, login, statement, fingerprint, affected_rows, total_rows, effects, shown, gate, required_approvals, created_at, state, state_seq, state_hash, expires_at)
      select token, 'host', 'send_mail', 'shop_agent', '{"to":"customer@example.org"}', sha256(token::text::bytea), 1, 1, '{}', '{"kind": "host"}', '{}', 1, ts, 'executed', 1, sha256(token::text::bytea), ts + interval '10 minutes' from old;
    reset session_replication_role`);
  await admin.query('vacuum analyze countersign_data.plan');
  await admin.query('vacuum analyze countersign_data.event');
}

async function openStore(database) {
  return PlanStore.open({ databaseUrl: database.agentUrl, approverUrl: database.approverUrl, max: 16 });
}

/** Prints the figures. `database` is empty, `filled` gets `oldPlans` plans first; both on one server. */
export async function reportLifecycles({ database, filled, quick, oldPlans }) {
  const admin = new pg.Client({ connectionString: database.adminUrl });
  const filledAdmin = new pg.Client({ connectionString: filled.adminUrl });
  const plain = new pg.Pool({ connectionString: database.ownerUrl, max: 16 });
  await Promise.all([admin.connect(), filledAdmin.connect()]);
  const [store, old] = [await openStore(database), await openStore(filled)];
  const [ms, rounds] = quick ? [500, 3] : [2_000, 7];
  const print = (name, { ours, theirs, ratio }, unit, aim) => console.log(`${name.padEnd(38)} ${`${ours.toFixed(0)}${unit}`.padStart(12)} ${`${theirs.toFixed(0)}${unit}`.padStart(12)} ${`${ratio.toFixed(2)}×`.padStart(8)}   ${aim}`);
  try {
    await admin.query(PLAIN);
    for (const clients of [1, 16]) {
      print(`host plan lifecycles, ${clients} client(s)`, await inTurn(clients, ms, rounds, () => lifecycle(store), () => plainLifecycle(plain)), ' /s', '≥ 0.7×');
    }
    await fillWithOldPlans(filledAdmin, oldPlans);
    for (const clients of [1, 16]) {
      const { ours, theirs } = await inTurn(clients, ms, rounds, () => lifecycle(old), () => lifecycle(store));
      // as time, where the others are work per time: with the old plans over without them
      print(`  time with ${oldPlans.toLocaleString('en')} old, ${clients} client(s)`, { ours: 1e6 / ours, theirs: 1e6 / theirs, ratio: theirs / ours }, ' µs', '≤ 1.2×');
    }
  } finally {
    await Promise.all([store.close(), old.close(), plain.end(), admin.end(), filledAdmin.end()]);
  }
}
