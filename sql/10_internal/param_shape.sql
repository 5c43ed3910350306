create or replace function countersign_data.param_shape(p_params jsonb)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- at most a hundred are listed: ten thousand rows of an insert must not make the trail as large as the data
  return (
    select case
      when p_params is null or jsonb_typeof(p_params) <> 'array' then '[]'::jsonb
      else coalesce((
        select jsonb_agg(jsonb_build_object('type', jsonb_typeof(e.value), 'length', length(e.value::text)) order by e.ordinality)
        from jsonb_array_elements(p_params) with ordinality as e
        where e.ordinality <= 100), '[]'::jsonb)
    end);
end
$$;
comment on function countersign_data.param_shape(jsonb) is 'Shape of the parameters for the audit trail: [{type, length}], never a value.';
