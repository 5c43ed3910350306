import { test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { createWorld } from './world.js';
import { BUMP } from './shop.js';
test('explore', async () => {
  const w = await createWorld(`${BUMP}
create function public.casting(text) returns integer language plpgsql volatile as 'begin return public.bump(); end';
create cast (text as integer) with function public.casting(text) as assignment;
create view public.seen as select id from public.secrets; alter view public.seen owner to <owner>; select countersign.allow('read','public.seen');
alter table public.orders add column "a.b" int;
create schema countersignatures authorization <owner>;
create table public.guarded (id int, t text); alter table public.guarded owner to <owner>; alter table public.guarded enable row level security; select countersign.allow('read','public.guarded');
create sequence public.inv; alter sequence public.inv owner to <owner>;
`);
  const out: string[] = [];
  for (const s of [
    "alter table orders add column n integer default lower('5')",
    "create or replace view seen as select id, token from secrets",
    'alter table orders drop column "a.b"',
    'create table countersignatures.x (id int)',
    'create view g as select * from guarded',
    "alter table secrets alter column token type regclass",
    "alter table secrets alter column token type tsquery using token::tsquery",
    "alter table secrets add check (token not like 's%')",
    "alter table secrets add check (token like 's%')",
    "alter table customers alter column email type text using ssn",
    "create index on secrets ((1/(ascii(token)-115)))",
    'alter sequence inv restart with 5',
    'alter sequence inv cache 50',
    'alter table orders set unlogged',
    'create view p as select id, email from customers',
    'create view p as select * from pg_stat_activity',
    'create view p as select * from pg_authid',
    'create view p as select * from information_schema.tables',
    'alter view seen disable rule "_RETURN"',
    'alter table seen disable rule "_RETURN"',
    'create temp table x (id int)',
    'create view p as select id from seen',
    'create table z (like secrets including all)',
    'explain analyze delete from orders',
    'select 1 into z',
    'create table z as select 1',
    'alter table orders add column note text default \'x\'; -- 1 stmt\n/* */',
    'create index on orders using hash (id) /* ; */;',
    'alter table orders cluster on orders_pkey',
    'alter table orders replica identity nothing',
    'create type r as range (subtype = int)',
    'create type q',
    'alter table all in tablespace pg_default set tablespace pg_global',
    'create unique index u on orders(customer_id)',
    "alter table orders alter column total type numeric(4,0)",
    "alter system set work_mem='8MB'",
    'create domain d as int check (bump() > 0)',
    'alter table orders alter column id add generated always as identity',
    'alter table secrets alter column token type int using bump()',
    "create table z (id int, check (id <> bump()))",
    'create table z (id int) with (oids)',
  ]) {
    const o = await w.sql('run_migration', { statement: s }).catch((e: Error) => ({ code: 'RAISED ' + e.message, detail: {}, message: '' }));
    const t = await w.tool('run_migration', { statement: s, reason: 'x' });
    out.push(`${s}\n   => ${o.code} / ${t.code} ${o.message} ${o.code ? '' : JSON.stringify((o.detail as any).migration)}`);
  }
  out.push(JSON.stringify(await w.admin('select last_value, is_called from calls')));
  writeFileSync('/tmp/x/out.txt', out.join('\n'));
  await w.close();
});
