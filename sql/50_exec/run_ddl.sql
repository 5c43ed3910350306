-- The one function that runs an agent's DDL. Owned by countersign_migrator, a member of the roles that own application
-- tables and of nothing else. The engine has made sure that the text is one statement of a permitted kind, measures
-- around the call and rolls back; here it only runs.
create or replace function countersign_exec.run_ddl(p_statement text)
returns void
language plpgsql
security definer
set search_path = public, pg_temp  -- replaced by the configured path, see 80_owners.sql (pg_catalog comes first by itself)
set standard_conforming_strings = on
set transform_null_equals = off
set row_security = on
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set intervalstyle = 'postgres'
set bytea_output = 'hex'
set extra_float_digits = 1
set xmlbinary = base64
set array_nulls = on
set default_text_search_config = 'pg_catalog.simple'
set default_tablespace = ''
set client_min_messages = error
as $$
begin
  execute p_statement;
  set constraints all immediate;
end
$$;
comment on function countersign_exec.run_ddl(text) is 'Runs one DDL statement as countersign_migrator. Only the engine may call it, and only within a subtransaction it controls.';
