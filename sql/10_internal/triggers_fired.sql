create or replace function countersign_data.triggers_fired(p_effects jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'table', countersign_data.qualified_name(t.tgrelid), 'trigger', t.tgname, 'function', p.oid::regproc::text,
        -- a hint for the human, by no means proof: such a trigger acted during the preview already
        'may_reach_outside', not l.lanpltrusted and l.lanname not in ('c', 'internal') or p.prosrc ~* 'dblink|http|pg_net|pg_notify|\mcopy\M.*\mprogram\M')
      order by t.tgrelid, t.tgname), '[]')
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_language l on l.oid = p.prolang
    where not t.tgisinternal and t.tgenabled <> 'D'
      and t.tgrelid in (select e.key::oid from jsonb_each(p_effects) e)
      and ((t.tgtype::integer & 4) > 0 and (p_effects->t.tgrelid::text->>0)::bigint > 0
        or (t.tgtype::integer & 16) > 0 and (p_effects->t.tgrelid::text->>1)::bigint > 0
        or (t.tgtype::integer & 8) > 0 and (p_effects->t.tgrelid::text->>2)::bigint > 0));
end
$$;
comment on function countersign_data.triggers_fired(jsonb) is 'The application''s triggers that the measured effects fired.';
