import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';

import { buildShop, shopChecksum, type SeedResult } from '../../src/demo/seed.js';
import { createTestDatabase } from '../harness/database.js';

/** Of every value of the four tables with seed 42: the same on every Postgres version and platform. */
const CHECKSUM_42 = 'bfc17406deef15f04774558648827693c26d6166af348ffb5773cbb77926532f';

let client: pg.Client;
let first: SeedResult;

beforeAll(async () => {
  client = await (await createTestDatabase({ backend: false })).connect('admin');
  first = await buildShop(client, 42);
}, 120_000);

async function value(statement: string): Promise<unknown> {
  const { rows } = await client.query<{ value: unknown }>(`select (${statement}) as value`);
  return rows[0]?.value;
}

describe('the seeded shop', () => {
  it.each([
    ['customers', 'select count(*)::int from customers', 50_000],
    ['products', 'select count(*)::int from products', 2_000],
    ['orders', 'select count(*)::int from orders', 60_000],
    ['order items with seed 42', 'select count(*)::int from order_items', 95_754],
    ['customers without a login since 2024', `select count(*)::int from customers where last_login < '2025-01-01'`, 40_000],
    ['customers of the test tenant', `select count(*)::int from customers where segment = 'test_tenant'`, 8],
    ['of them, inactive ones', `select count(*)::int from customers where segment = 'test_tenant' and last_login < '2025-01-01'`, 8],
    ['orders of the test tenant', `select count(*)::int from orders join customers c on c.id = customer_id where c.segment = 'test_tenant'`, 320],
    ['cancelled orders', `select count(*)::int from orders where status = 'cancelled'`, 13_200],
    ['cancelled orders of the test tenant', `select count(*)::int from orders join customers c on c.id = customer_id where c.segment = 'test_tenant' and status = 'cancelled'`, 0],
    ['different mail addresses', 'select count(distinct lower(email))::int from customers', 50_000],
    ['different product names', 'select count(distinct name)::int from products', 2_000],
    ['orders without items', 'select count(*)::int from orders where not exists (select from order_items where order_id = orders.id)', 0],
    ['most items of an order', 'select max(n)::int from (select count(*) as n from order_items group by order_id) as per_order', 4],
    ['orders whose total is not the sum of their items', 'select count(*)::int from orders where total <> (select sum(quantity * unit_price) from order_items where order_id = orders.id)', 0],
    ['orders placed before the customer signed up or after the last login', 'select count(*)::int from orders join customers c on c.id = customer_id where placed_at not between c.created_at and c.last_login', 0],
    ['mail addresses that could belong to somebody', `select count(*)::int from customers where email !~ '@(example\\.(com|org|net)|[a-z]+\\.(example|test))$'`, 0],
  ])('has the right number of %s', async (_, statement, expected) => {
    expect(await value(statement)).toBe(expected);
  });

  it('means the same rows by "before 2025" in every time zone', async () => {
    for (const zone of ['Pacific/Kiritimati', 'Etc/GMT+12', 'UTC']) {
      await client.query(`set timezone = '${zone}'`);
      expect(await value(`select count(*)::int from customers where last_login < '2025-01-01'`)).toBe(40_000);
    }
    await client.query('reset timezone');
  });

  it('belongs to shop_owner', async () => {
    expect(await value(`select array_agg(distinct tableowner::text) from pg_tables where schemaname = 'public'`)).toEqual(['shop_owner']);
  });

  it('cascades from customers to orders to items', async () => {
    expect(await value(`select array_agg(conrelid::regclass || ' ' || confdeltype::text order by conname) from pg_constraint where contype = 'f'`))
      .toEqual(['order_items c', 'order_items a', 'orders c']);
  });

  it('has an index for every foreign key, so that a cascade is quick', async () => {
    expect(await value(`select count(*)::int from pg_constraint f where contype = 'f' and not exists (
      select from pg_index i where i.indrelid = f.conrelid and i.indkey[0] = f.conkey[1])`)).toBe(0);
  });

  it('has a comment on every table and on every column but keys', async () => {
    expect(await value(`select array_agg(attrelid::regclass || '.' || attname) from pg_attribute a join pg_class c on c.oid = attrelid
      where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and col_description(attrelid, attnum) is null
        and attname not in ('id', 'name')`)).toBeNull();
    expect(await value(`select count(*)::int from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and obj_description(oid, 'pg_class') is null`)).toBe(0);
  });

  it('keeps updated_at by a trigger', async () => {
    await client.query('begin');
    await client.query('update customers set country = country where id = 1');
    expect(await value('select updated_at = now() from customers where id = 1')).toBe(true);
    await client.query('rollback');
  });

  it('continues its numbers after the seeded rows', async () => {
    await client.query('begin');
    const { rows } = await client.query<{ id: number }>(`insert into customers (email, name, segment, country) values ('new@example.com', 'New', 'vip', 'DE') returning id`);
    expect(rows[0]?.id).toBe(50_001);
    await client.query('rollback');
  });

  it('has statistics', async () => {
    expect(await value(`select array_agg(reltuples::int order by relname) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`))
      .toEqual([50_000, 95_754, 60_000, 2_000]);
  });
});

describe('seeding', () => {
  it('gives the same values for the same seed, on every version', () => {
    expect(first).toEqual({ seeded: true, reason: 'empty', checksum: CHECKSUM_42 });
  });

  it('does nothing when the shop is as seeded', async () => {
    expect(await buildShop(client, 42)).toEqual({ seeded: false, reason: 'as seeded', checksum: CHECKSUM_42 });
  });

  it('notices a changed value, puts it back, and keeps the tables and their grants', async () => {
    const table = await value(`select 'public.orders'::regclass::oid`);
    await client.query(`update orders set status = 'paid' where id = 1`);
    await client.query(`delete from orders where customer_id in (select id from customers where segment = 'test_tenant')`);
    expect(await buildShop(client, 42)).toEqual({ seeded: true, reason: 'rows changed', checksum: CHECKSUM_42 });
    expect(await value(`select 'public.orders'::regclass::oid`)).toBe(table);
  }, 60_000);

  it('notices a migration and puts the tables back', async () => {
    await client.query('alter table customers add column churn_risk numeric(4,3)');
    await client.query('drop table order_items');
    expect(await buildShop(client, 42)).toEqual({ seeded: true, reason: 'tables changed', checksum: CHECKSUM_42 });
  }, 60_000);

  it('gives other values for another seed, and the same counts', async () => {
    const other = await buildShop(client, 7);
    expect(other).toMatchObject({ seeded: true, reason: 'other seed' });
    expect(other.checksum).not.toBe(CHECKSUM_42);
    expect(await value(`select count(*)::int from orders where status = 'cancelled'`)).toBe(13_200);
    expect(await value(`select count(*)::int from orders join customers c on c.id = customer_id where c.segment = 'test_tenant'`)).toBe(320);
    expect(await value(`select count(*)::int from customers where last_login < '2025-01-01'`)).toBe(40_000);
  }, 60_000);

  it('does not depend on the settings of the session', async () => {
    await client.query(`set timezone = 'Asia/Kathmandu'; set datestyle = 'German'; set extra_float_digits = -3`);
    await buildShop(client, 42);
    expect(await shopChecksum(client)).toBe(CHECKSUM_42);
    await client.query('reset all');
  }, 60_000);

  it('refuses to touch tables that are not the demo\'s', async () => {
    const own = await (await createTestDatabase({ backend: false })).connect('admin');
    await own.query('create table orders (id integer); insert into orders values (1)');
    await expect(buildShop(own, 42)).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    expect((await own.query('select * from orders')).rows).toEqual([{ id: 1 }]);
  }, 60_000);
});
