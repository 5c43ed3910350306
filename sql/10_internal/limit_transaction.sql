-- A session may have set its own statement_timeout to any length, or change it while a statement runs, when that one's clock
-- is set already. What the caller cannot take back from inside is transaction_timeout; it ends the session, so it leaves the
-- session's own timeout two seconds to answer properly.
create or replace function countersign_data.limit_transaction(p_relation oid)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_own text;
  v_limit bigint;
begin
  if current_setting('server_version_num')::integer >= 170000 then
    v_own := current_setting('transaction_timeout');
    v_limit := countersign_data.policy_milliseconds('statement_timeout', p_relation) + 2000;
    if extract(epoch from v_own::interval) * 1000 not between 1 and v_limit then
      perform countersign_data.set_transaction_limit(v_limit || 'ms');
    end if;
  end if;
  return v_own;
end
$$;
comment on function countersign_data.limit_transaction(oid) is 'Gives the transaction the policy''s statement_timeout from now on, and answers what its limit was; before Postgres 17 there is none.';
