-- Columns that are null are left out, so that a later migration may add columns without changing old hashes.
create or replace function countersign_data.event_digest(p_event countersign_data.event)
returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
as $$
begin
  return sha256(convert_to((jsonb_strip_nulls(to_jsonb(p_event)) - 'hash')::text, 'UTF8'));
end
$$;
comment on function countersign_data.event_digest(countersign_data.event) is 'sha256 over an event as canonical JSON, previous hash included.';
