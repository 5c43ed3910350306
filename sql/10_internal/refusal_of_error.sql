create or replace function countersign_data.refusal_of_error(p_sqlstate text, p_message text)
returns countersign.outcome
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- a message of class 22 quotes the offending value, which may be another row's data; the quotes are those of the server's language
  v_message constant text := case when p_sqlstate like '22%' then regexp_replace(p_message, U&'["\00AB\00BB\201C-\201E\2018\2039\300C].*["\00AB\00BB\201C-\201F\2019\203A\300D]', '"…"') else p_message end;
  v_detail constant jsonb := jsonb_build_object('sqlstate', p_sqlstate);
begin
  return case
    when p_sqlstate = '42P01' then countersign_data.outcome_refused('UNKNOWN_TABLE', v_message, 'Call describe_schema for the tables there are.', v_detail)
    when p_sqlstate = '42703' then countersign_data.outcome_refused('UNKNOWN_COLUMN', v_message, 'Call describe_schema with this table for its columns.', v_detail)
    when p_sqlstate = '42501' then countersign_data.outcome_refused('NOT_READABLE', v_message, 'Call describe_schema to see what may be read and written; an administrator allows more: countersign allow read TABLE.', v_detail)
    when p_sqlstate = '25006' then countersign_data.outcome_refused('UNSAFE_FUNCTION', 'The condition tries to write: ' || v_message, 'A condition may only read.', v_detail)
    when p_sqlstate = '57014' then countersign_data.outcome_refused('STATEMENT_TIMEOUT', 'The statement ran longer than the policy allows and was stopped. Nothing was changed.', 'Narrow the condition, or make it use an index (explain_plan shows).', v_detail)
    when p_sqlstate in ('55P03', '40P01') then countersign_data.outcome_refused('LOCK_TIMEOUT', 'Another transaction holds the rows or the table. Nothing was changed.', 'Try again in a moment.', v_detail)
    when p_sqlstate in ('42P18', '42P02', '08P01') then countersign_data.outcome_refused('INVALID_ARGUMENTS', v_message, 'Number the parameters $1, $2, … without gaps and give a value for each.', v_detail)
    else countersign_data.outcome_refused('STATEMENT_FAILED', format('%s (SQLSTATE %s)', v_message, p_sqlstate),
      case left(p_sqlstate, 2)
        when '42' then 'Correct the statement; describe_schema shows names and types.'
        when '22' then 'A value does not fit its column''s type; describe_schema shows the types.'
        when '23' then 'A constraint of the table forbids the change; nothing was changed.'
        else 'Nothing was changed. Change the statement and preview again.' end, v_detail)
  end;
end
$$;
comment on function countersign_data.refusal_of_error(text, text) is 'The refusal for an error Postgres raised while agent SQL was resolved or run: its code, its primary message without row data, what to do.';
