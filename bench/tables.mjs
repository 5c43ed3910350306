/** The tables that are measured on: `item`, 40,000 rows with an index beside the key, and `big` with `rows` rows. */
export async function prepareTables(admin, rows) {
  await admin.query(`
    create table public.item (id integer primary key, k integer, note text, price numeric(12, 2), updated_at timestamptz default now());
    insert into public.item select g, g % 1000, 'note ' || g, g * 1.5, now() from generate_series(1, 40000) g;
    create index item_k on public.item (k);
    create table public.big (id integer primary key, k integer, payload text);
    insert into public.big select g, g % 1000, repeat('x', 100) from generate_series(1, ${Number(rows)}) g;
    create index big_k on public.big (k);
    alter table public.item owner to shop_owner;
    alter table public.big owner to shop_owner;`);
  await admin.query('vacuum analyze public.item');
  await admin.query('vacuum analyze public.big');
  // what is measured is the cost of the way, so nothing may wait for a human here
  for (const call of ["allow('read', 'item')", "allow('write', 'item')", "allow('read', 'big')", "allow('write', 'big')",
    "set_policy('approval_required_above_rows', '10000')", "set_policy('ungated_rows_per_hour', '1000000000')"]) {
    const { rows: [outcome] } = await admin.query(`select * from countersign.${call}`);
    if (!outcome.ok) throw new Error(outcome.message);
  }
}
