create or replace function countersign_data.preview_lock_timeout(p_relation oid)
returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  -- below deadlock_timeout, so that a preview that stands in production's way gives up before production is killed
  select least(countersign_data.policy_milliseconds('lock_timeout', p_relation),
               (select greatest(s.setting::bigint / 2, 1) from pg_settings s where s.name = 'deadlock_timeout'))::text || 'ms'
$$;
comment on function countersign_data.preview_lock_timeout(oid) is 'Longest wait of a preview for a lock.';
