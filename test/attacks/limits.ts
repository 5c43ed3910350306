/** Reads that would never end, or whose answer nobody could hold. */
import { expect } from 'vitest';
import { story, type Attack } from './attack.js';
import type { World } from './world.js';

const IMPATIENT = "select countersign.set_policy('statement_timeout', '250 milliseconds')";

/** However a read ends, it ends soon, with an answer, and the next one is served. */
async function endsSoon(world: World, statement: string): Promise<string | null> {
  const started = performance.now();
  const { code, text } = await world.tool('query', { statement, reason: 'a test' });
  // The limit of the session, two seconds of grace before the connection is cut, and a slow machine.
  expect(performance.now() - started, statement).toBeLessThan(6000);
  expect(text.length).toBeLessThan(3 * 1024 * 1024);
  expect((await world.tool('query', { statement: 'SELECT 1 AS one', reason: 'a test' })).content['rows']).toEqual([{ one: 1 }]);
  return code;
}

export const LIMITS: readonly Attack[] = [
  story('R028 R029', 'a read without an end is stopped by the session\'s limit', async (world) => {
    const endless = [
      'SELECT count(*) FROM generate_series(1,1000000000000::bigint) g', 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r',
      'SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e', 'SELECT array_agg(g) FROM generate_series(1,500000000) g',
      "SELECT sum(length(md5(n::text))) FROM generate_series(1, 1000000000) n",
    ];
    for (const statement of endless) expect(await endsSoon(world, statement), statement).toBe('STATEMENT_TIMEOUT');
    // The temporary files are gone with the statement.
    await expect.poll(async () => (await world.admin('select count(*)::integer as n from pg_ls_tmpdir()'))[0]?.['n'], { timeout: 5000 }).toBe(0);
  }, IMPATIENT),
  story('R053', 'arithmetic, patterns, documents and joins that explode', async (world) => {
    const codes: Record<string, string | null> = {};
    for (const statement of [
      'SELECT factorial(200000)', "SELECT repeat('a',30000) ~ '(a*)*b\\\\1'", 'SELECT 2::numeric ^ 100000 ^ 2',
      "SELECT xpath('//x', ('<x>'||repeat('<y/>',5000000)||'</x>')::xml)", "SELECT to_tsvector(repeat('lorem ipsum ',80000))",
      "SELECT repeat('a',2000)||'b' ~ '(a|b)*(\\1)*c'", "SELECT jsonb_object_agg(n, repeat('x', 1000)) FROM generate_series(1, 10000000) n",
    ]) codes[statement] = await endsSoon(world, statement);
    expect([...new Set(Object.values(codes))].every((code) => code === null || ['STATEMENT_TIMEOUT', 'STATEMENT_FAILED'].includes(code)), JSON.stringify(codes)).toBe(true);
    expect((await world.tool('query', { statement: 'SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d', reason: 'a test' })).code).toBe('NOT_READABLE');
  }, IMPATIENT),
  story('R030 R032', 'one value of hundreds of megabytes, or many rows of one, take nobody down', async (world) => {
    for (const statement of ["SELECT repeat('x', 600000000)", "SELECT string_agg(repeat('x',1000000),'') FROM generate_series(1,1100)"]) {
      expect(['STATEMENT_FAILED', 'STATEMENT_TIMEOUT']).toContain(await endsSoon(world, statement));
    }
    expect(await endsSoon(world, "SELECT repeat('x', 2000000), n FROM generate_series(1, 50) n")).toBe('STATEMENT_FAILED');
    // Rows that fit are given, and the answer says that there are more.
    const many = await world.tool('query', { statement: "SELECT n, repeat('x', 100000) AS x FROM generate_series(1, 5000) n", limit: 5000, reason: 'a test' });
    expect(many.content).toMatchObject({ truncated: true });
    expect(many.text.length).toBeLessThan(3 * 1024 * 1024);
  }, "select countersign.set_policy('statement_timeout', '1 second')"),
];
