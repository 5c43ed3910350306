create or replace function countersign_data.columns_that_differ(p_row jsonb, p_other jsonb)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(jsonb_object_agg(r.key, r.value), '{}') from jsonb_each(nullif(p_row, 'null')) r where r.value is distinct from p_other->r.key);
end
$$;
comment on function countersign_data.columns_that_differ(jsonb, jsonb) is 'The part of a row image that another image does not share.';
