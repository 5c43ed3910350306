-- A decision is a human's own statement, an execution an agent's own. A trigger, a default, a view or a function planted where an approver passes
-- must not decide in their name: the call must stand alone in its context, and it must stand in the statement the human
-- sent, since a view or a rule brings a call along without a context of its own.
create or replace function countersign_data.refuse_nested_call(p_context text, p_verb text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if strpos(p_context, E'\n') > 0 or current_query() !~* ('\mcountersign"?\s*\.\s*"?' || p_verb || '"?\s*\(') or current_query() ~* '^\s*(do|call)\M' then
    raise exception '% must be called directly, not from within a function, trigger or view', p_verb
      using errcode = 'insufficient_privilege', hint = format('Call it by itself: select * from countersign.%s(…);', p_verb);
  end if;
end
$$;
comment on function countersign_data.refuse_nested_call(text, text) is 'Raises unless a decision or execution was called by the session''s own statement.';
