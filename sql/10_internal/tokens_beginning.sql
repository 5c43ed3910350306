create or replace function countersign_data.tokens_beginning(p_token text)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first uuid;
  v_last uuid;
begin
  if p_token is null or length(p_token) not between 8 and 36 then
    return '{}';
  elsif length(p_token) = 36 then
    v_first := countersign_data.token_of(p_token);
    return array(select q.token from countersign_data.plan q where q.token = v_first);
  end if;
  -- filled up it must be a token: what has its hyphens elsewhere begins none
  v_first := countersign_data.token_of(p_token || substr('00000000-0000-0000-0000-000000000000', length(p_token) + 1));
  v_last := countersign_data.token_of(p_token || substr('ffffffff-ffff-ffff-ffff-ffffffffffff', length(p_token) + 1));
  return array(select q.token from countersign_data.plan q where q.token between v_first and v_last limit 2);
end
$$;
comment on function countersign_data.tokens_beginning(text) is 'The plans whose token begins so, from eight characters on: none, one, or two of several.';
