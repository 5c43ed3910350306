create or replace function countersign_data.preview_lock_timeout(p_relation oid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- below deadlock_timeout, so that a preview that stands in production's way gives up before production is killed
  return (
    select least(countersign_data.policy_milliseconds('lock_timeout', p_relation),
                 (extract(epoch from current_setting('deadlock_timeout')::interval) * 500)::bigint)::text || 'ms');
end
$$;
comment on function countersign_data.preview_lock_timeout(oid) is 'Longest wait of a preview for a lock.';
