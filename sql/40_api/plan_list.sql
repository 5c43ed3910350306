-- A page of a list, by keyset: p_after is the token of the last plan of the page before. The index gives the order, so that
-- ten thousand waiting plans cost no more than fifty.
create or replace function countersign.plan_list(p_list text default 'waiting', p_after text default null, p_limit integer default 50)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set quote_all_identifiers = off
set jit = off
as $$
declare
  v_tokens uuid[];
  -- a value, and not the function, which no index condition takes
  v_now constant timestamptz := clock_timestamp();
  v_size constant integer := least(greatest(coalesce(p_limit, 50), 1), 200);
  v_token constant uuid := coalesce(countersign_data.token_of(p_after), case when p_list = 'history' then 'ffffffff-ffff-ffff-ffff-ffffffffffff' else '00000000-0000-0000-0000-000000000000' end::uuid);
  v_time constant timestamptz := coalesce((select q.created_at from countersign_data.plan q where q.token = v_token), case when p_list = 'history' then 'infinity' else '-infinity' end::timestamptz);
begin
  case p_list
    when 'waiting' then
      v_tokens := array(
        select q.token from countersign_data.plan q
        where q.state = 'awaiting_approval' and q.expires_at > v_now and (q.created_at, q.token) > (v_time, v_token)
        order by q.created_at, q.token limit v_size + 1);
    when 'executing' then
      v_tokens := array(
        select q.token from countersign_data.plan q where q.state = 'executing' and (q.created_at, q.token) > (v_time, v_token)
        order by q.created_at, q.token limit v_size + 1);
    when 'history' then
      -- a plan that expired while it waited, and that nobody has met since, is history too
      v_tokens := array(
        select x.token from (
          (select q.created_at, q.token from countersign_data.plan q
           where q.state not in ('awaiting_approval', 'executing') and (q.created_at, q.token) < (v_time, v_token)
           order by q.created_at desc, q.token desc limit v_size + 1)
          union all
          (select q.created_at, q.token from countersign_data.plan q
           where q.state = 'awaiting_approval' and q.expires_at <= v_now and (q.created_at, q.token) < (v_time, v_token)
           order by q.created_at desc, q.token desc limit v_size + 1)) x
        order by x.created_at desc, x.token desc limit v_size + 1);
    else
      return null;
  end case;
  return jsonb_build_object(
    'list', p_list, 'now', v_now,
    'plans', countersign_data.plans_listed(v_tokens[1:v_size]),
    'next', case when cardinality(v_tokens) > v_size then v_tokens[v_size] end,
    'waiting', (select count(*) from countersign_data.plan q where q.state = 'awaiting_approval' and q.expires_at > v_now),
    'executing', (select count(*) from countersign_data.plan q where q.state = 'executing'));
end
$$;
comment on function countersign.plan_list(text, text, integer) is
  'Approver: a page of waiting (oldest first), executing or history (newest first) as JSON, and how many wait; null for another list. For the page.';
