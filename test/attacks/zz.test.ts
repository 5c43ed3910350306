import { test } from 'vitest';
import { createWorld } from './world.js';
test('x', async () => {
  for (let i = 0; i < 4; i++) { const t = Date.now(); const w = await createWorld('select 1'); const t1 = Date.now(); await w.tool('query', { statement: 'select 1', reason: 'x' }); const t2 = Date.now(); await w.close(); console.error(t1 - t, t2 - t1, Date.now() - t2); }
});
