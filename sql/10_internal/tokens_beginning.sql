create or replace function countersign_data.tokens_beginning(p_token text)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_token is null or length(p_token) not between 8 and 36 then
    return null;
  end if;
  -- filled up it must be a token: what has its hyphens elsewhere begins none
  return (
    select array_agg(x.token)
    from (select q.token from countersign_data.plan q
          where q.token between countersign_data.token_of(p_token || substr('00000000-0000-0000-0000-000000000000', length(p_token) + 1))
                            and countersign_data.token_of(p_token || substr('ffffffff-ffff-ffff-ffff-ffffffffffff', length(p_token) + 1))
          limit 2) x);
end
$$;
comment on function countersign_data.tokens_beginning(text) is 'The plans whose token begins with at least eight given characters: none, one, or two for "several".';
