/** Stories without a setup share one shop: a database for each would take longer than all of them. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Attack, Story } from './attack.js';
import { playAttacks } from './runner.js';
import { ALLOWLIST } from './shop.js';
import { createWorld, type World } from './world.js';

/** Orders without their items: with them, each deletion would wait for a human. */
const SETUP = 'drop table public.order_items';

/** The orders and the policy as they were; plans and events of earlier stories stay, as they would. */
const RESET = `truncate public.orders; insert into public.orders select n, 1 + n % 100, case when n % 3 = 0 then 'done' else 'open' end, n from generate_series(1, 300) n;
  delete from countersign_data.policy_row; ${ALLOWLIST}`;

const shares = (row: Attack): row is Story => row.kind === 'story' && row.setup === undefined;

export function playTogether(name: string, rows: readonly Attack[]): void {
  playAttacks(name, rows.filter((row) => !shares(row)));
  describe(name, () => {
    let world: World | undefined;
    beforeAll(async () => { world = await createWorld(SETUP); });
    afterAll(async () => { await world?.close(); });
    for (const { ids, title, play, since } of rows.filter(shares)) {
      test([...ids, title].join(' '), async ({ skip }) => {
        const shop = world as World;
        skip(shop.db.major < (since?.major ?? 0), since?.why);
        shop.known = null;
        await shop.admin(RESET);
        await play(shop);
      });
    }
  });
}
