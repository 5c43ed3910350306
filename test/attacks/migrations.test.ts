import { afterAll, beforeAll, describe, test } from 'vitest';
import { MIGRATIONS } from './migrations.js';
import { playAttacks } from './runner.js';
import { createWorld, type World } from './world.js';

playAttacks('migrations', MIGRATIONS.filter((row) => row.kind !== 'story'));

// One world for all: these stories bring their own setup, and none of them spoils the next.
describe('migrations', () => {
  let world: World;
  beforeAll(async () => { world = await createWorld(); });
  afterAll(() => world.close());
  for (const row of MIGRATIONS) {
    if (row.kind === 'story') test(`${row.ids.join(' ')} ${row.title}`, () => row.play(world));
  }
});
