-- p_decided_by: who the surface says decided; recorded beside session_user, never instead of it. p_seen: what plan_detail
-- called `seen`; a decision on something that has moved since is refused.
create or replace function countersign.approve(p_token text, p_note text default null, p_channel text default 'psql', p_decided_by text default null, p_seen text default null)
returns countersign.outcome
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
set jit = off
as $$
declare
  v_context text;
begin
  get diagnostics v_context = pg_context;
  perform countersign_data.refuse_nested_call(v_context, 'approve');
  return countersign_data.decide('approve', p_token, p_note, p_channel, p_decided_by, p_seen);
end
$$;
comment on function countersign.approve(text, text, text, text, text) is 'Approver: lets a waiting plan run. Refused for the login that asked for it.';
