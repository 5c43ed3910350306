create or replace function countersign.session_defaults()
returns table (name text, value text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'search_path', (select 'pg_catalog, ' || string_agg(quote_ident(p), ', ') || ', pg_temp' from countersign_data.setting s, unnest(s.search_path) p)
  union all select 'statement_timeout', countersign_data.policy_milliseconds('statement_timeout', 0) || 'ms'
  union all select 'lock_timeout', countersign_data.policy_milliseconds('lock_timeout', 0) || 'ms'
  union all select 'idle_in_transaction_session_timeout', '30s'
  union all select 'timezone', 'UTC'
  union all select 'datestyle', 'ISO, YMD'
  union all select 'intervalstyle', 'iso_8601'
  union all select 'synchronous_commit', 'on'
$$;
comment on function countersign.session_defaults() is 'Agent: settings that a server gives its sessions. A function cannot limit the statement that called it, so timeouts are the session''s.';
