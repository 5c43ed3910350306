create or replace function countersign_data.tool_name(p_tool text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  -- an agent's login must not write lines that look like a human's or an administrator's act
  select case when p_tool in ('approve', 'reject', 'settle', 'policy', 'install') then 'agent:' || p_tool else p_tool end
$$;
comment on function countersign_data.tool_name(text) is 'The tool of a read that an agent''s server reports; a refused call may name what it likes.';
