-- A plan's state is worded for the agent. Whoever decides cannot preview, and reads another surface: what they do next.
create or replace function countersign_data.hint_for_human(p_code text, p_channel text, p_token text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case p_code
      when 'UNKNOWN_TOKEN' then w.pending || ' lists what waits. Give the whole token, or its first eight characters or more.'
      when 'PLAN_REJECTED' then 'Nothing to do. Should it run after all, ask the agent to preview it again: that plan waits for you.'
      when 'PLAN_USED' then 'Nothing more to do; ' || w.show || ' tells what it did.'
      when 'ALREADY_EXECUTING' then 'Wait a moment; ' || w.show || ' tells how it ended.'
      when 'NOT_EXECUTING' then 'Nothing was recorded. ' || w.show || ' tells what became of it.'
      when 'STATEMENT_FAILED' then 'Ask the agent to change the statement and preview it again.'
      when 'PLAN_EXPIRED' then 'Ask the agent to preview it again.'
      when 'ROWSET_CHANGED' then 'Ask the agent to preview it again.'
      when 'EFFECTS_CHANGED' then 'Ask the agent to preview it again.' end
  from (select case p_channel when 'cli' then 'countersign pending' when 'page' then 'The queue' else 'select * from countersign.pending;' end as pending,
               case p_channel when 'cli' then 'countersign show ' || left(p_token, 8) when 'page' then 'its timeline'
                    else format('select * from countersign.show(%L);', left(p_token, 8)) end as show) w
$$;
comment on function countersign_data.hint_for_human(text, text, text) is 'The next step of a human whose decision a plan''s state refuses, in the words of the channel; null when the agent''s will do.';
