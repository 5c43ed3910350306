create or replace function countersign_data.channel_of(p_channel text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_channel in ('psql', 'cli', 'page', 'elicit', 'dialog', 'folder', 'host') then p_channel else 'psql' end
$$;
comment on function countersign_data.channel_of(text) is 'The channel of a decision, as far as it is one that there is.';
