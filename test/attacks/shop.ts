/** The small shop that every attack starts from. Whatever an agent must never see holds the text `s3cr3t`. */

export const SECRET = 's3cr3t';

/** Made by the tables' owner. */
export const TABLES = `
create table public.customers (id integer primary key, email text not null, name text, balance numeric not null default 0, ssn text);
create table public.orders (id integer primary key, customer_id integer not null references public.customers on delete cascade,
  status text not null default 'open', total numeric not null default 0);
create table public.order_items (id integer primary key, order_id integer not null references public.orders on delete cascade, sku text, qty integer);
create table public.secrets (id integer primary key, token text);
insert into public.customers select n, 'user' || n || '@example.com', 'name' || n, n * 10, 's3cr3t-ssn-' || n from generate_series(1, 100) n;
insert into public.orders select n, 1 + n % 100, case when n % 3 = 0 then 'done' else 'open' end, n from generate_series(1, 300) n;
insert into public.order_items select n, 1 + n % 300, 'sku' || n % 7, n % 5 from generate_series(1, 900) n;
insert into public.secrets values (1, 's3cr3t-alpha'), (2, 's3cr3t-bravo')`;

/** Customers without their ssn and orders are readable and writable; items and secrets are not. Ten rows are many here. */
export const ALLOWLIST = `
select countersign.allow('read', 'public.customers', array['id', 'email', 'name', 'balance']);
select countersign.allow('read', 'public.orders');
select countersign.allow('write', 'public.customers');
select countersign.allow('write', 'public.orders');
select countersign.set_policy('approval_required_above_rows', '10');
select countersign.set_policy('hard_max_rows', '2000');
select countersign.set_policy('ungated_rows_per_hour', '100000')`;

/** Takes away everything that is not Countersign's. What an attack planted in public must not be called on the way. */
export const RESET = `
set local search_path = pg_catalog;
do $$
declare v_schema text;
begin
  for v_schema in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' and nspname !~ '^countersign' loop
    execute format('drop schema %I cascade', v_schema);
  end loop;
end $$;
create schema public; grant usage on schema public to public; grant usage, create on schema public to <owner>;
delete from countersign_data.policy_row; delete from countersign_data.allowed_function`;

/** A function that writes when called, whoever calls it, and remembers every call in a sequence, which no rollback undoes. */
export const BUMP = `
create table if not exists public.sink (n integer, who text);
create sequence if not exists public.calls;
create or replace function public.bump() returns integer language plpgsql security definer as
  $$begin perform nextval('public.calls'); insert into public.sink values (1, session_user); return 1; end$$;`;

/** Makes the statement that reads one value out of all rows of the application; compared before and after each attack. */
export const FINGERPRINT = `
select string_agg(format('select %L || md5(coalesce(string_agg(x::text, %L order by x::text), %L)) as f from %s x', c.oid::regclass || ' ', '|', '', c.oid::regclass), ' union all ' order by c.oid) as statement
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|countersign|information_schema)' and c.reltuples < 50000`;

/** A trigger with this body, on a table of the application. */
export const trigger = (table: string, when: string, body: string, rights = 'security definer'): string =>
  `create function public.planted() returns trigger language plpgsql ${rights} as $f$${body}$f$; create trigger planted ${when} on public.${table} for each row execute function public.planted()`;
