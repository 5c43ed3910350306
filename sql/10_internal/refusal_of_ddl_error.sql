create or replace function countersign_data.refusal_of_ddl_error(p_sqlstate text, p_message text)
returns countersign.outcome
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_sqlstate = '42501' then countersign_data.outcome_refused('NOT_WRITABLE', p_message,
      'An administrator must make countersign_migrator a member of the role that owns the table or schema: grant <owner> to countersign_migrator.', jsonb_build_object('sqlstate', p_sqlstate))
    when p_sqlstate = '0A000' then countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', p_message,
      'Postgres cannot do this as things stand. Take away first what depends on it (a view of the column, for instance), or ask an administrator.', jsonb_build_object('sqlstate', p_sqlstate))
    when p_sqlstate = '2BP01' then countersign_data.outcome_refused('STATEMENT_FAILED', format('%s (SQLSTATE %s)', p_message, p_sqlstate),
      'Other objects depend on it. Drop those first; or add CASCADE, which drops them too: the preview then names each, and a human decides.', jsonb_build_object('sqlstate', p_sqlstate))
    when p_sqlstate = '22023' then countersign_data.outcome_refused('STATEMENT_FAILED', format('%s (SQLSTATE %s)', p_message, p_sqlstate),
      'This server does not know that option or its value (security_invoker, for instance, came with Postgres 15). Leave it out.', jsonb_build_object('sqlstate', p_sqlstate))
    when p_sqlstate in ('25001', '55P04') then countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', p_message,
      'What cannot run inside a transaction cannot be previewed (CONCURRENTLY, for instance). Use the form without it, or ask an administrator.', jsonb_build_object('sqlstate', p_sqlstate))
    else countersign_data.refusal_of_error(p_sqlstate, p_message)
  end
$$;
comment on function countersign_data.refusal_of_ddl_error(text, text) is 'The refusal for an error of a migration.';
