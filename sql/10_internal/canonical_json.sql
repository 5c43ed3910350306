create or replace function countersign_data.canonical_json(p_text text)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_text is null or octet_length(p_text) > 8 * 1024 * 1024 then
    return null;
  end if;
  return countersign_data.canonical_value(p_text::jsonb, 1);
exception when data_exception or program_limit_exceeded then
  -- no JSON, a NUL, a number out of range, nested too deeply
  return null;
end
$$;
comment on function countersign_data.canonical_json(text) is 'JSON as RFC 8785 writes it; null for what is no JSON, larger than 8 MiB, nested deeper than 128, or not to be held exactly.';
