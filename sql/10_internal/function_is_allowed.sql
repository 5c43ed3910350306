-- What agent SQL may call. In a WHERE of a write: immutable and stable functions of Postgres, less those that reach
-- outside, run SQL held in strings, or tell a preview from an execution. In a read the volatile ones of Postgres too
-- (it is READ ONLY and rolled back), and honest functions of the application and its extensions.
create or replace function countersign_data.function_is_allowed(p_function oid, p_for_write boolean)
returns boolean
language plpgsql stable
cost 1000  -- so that a plan never asks it for every function there is
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select exists (select from countersign_data.allowed_function f where f.function = p_function)
      or coalesce((
        select case
          -- an extension may have been put into pg_catalog, so its oid tells whether Postgres was born with a function
          when p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384 then
            (not p_for_write or p.provolatile <> 'v')
            -- input functions take any type by number: domain_in('x', 16500, -1) would run the checks of a type unnamed
            and not 'cstring'::regtype = any (p.proargtypes)
            -- sizes, definitions, backends, locks, files, statistics: only the harmless of pg_*
            and (p.proname !~ '^pg_' or p.proname in ('pg_typeof', 'pg_column_size', 'pg_size_pretty', 'pg_size_bytes',
                                                      'pg_collation_for', 'pg_char_to_encoding')
                 -- takes a type's name as text; harmless where no domain's check calls the application
                 or (p.proname = 'pg_input_is_valid' and not exists (
                       select from pg_constraint k join pg_depend d on d.classid = 'pg_constraint'::regclass and d.objid = k.oid
                       where k.contypid <> 0 and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass))))
            and p.proname !~ '(^|_)to_xml(schema)?(_|$)|^(query|cursor|table|schema|database)_to_xml'
            and p.proname !~ '^(lo_|loread|lowrite|txid_|dblink|brin_|gin_clean|binary_upgrade|inet_(client|server)_|has_|fmgr_|shobj_|obj_|col_description|currtid)'
            and p.proname not in ('ts_stat', 'set_config', 'current_setting', 'current_query', 'nextval', 'setval', 'currval', 'setseed',
                                  'lastval', 'row_security_active', 'current_schemas', 'suppress_redundant_updates_trigger', 'mxid_age')
            and not (p.proname = 'ts_rewrite' and p.pronargs = 2)
            and not (p.proname = 'age' and p.proargtypes[0] = 'xid'::regtype)  -- counts the transactions since
            and not (p_for_write and p.proname in ('version', 'clock_timestamp', 'timeofday', 'random'))
          when p_for_write or p.prosecdef or p.provolatile = 'v' then false
          else not exists (
            select from pg_depend d join pg_extension x on x.oid = d.refobjid
            where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
              and x.extname in ('dblink', 'tablefunc', 'xml2', 'adminpack', 'file_fdw', 'postgres_fdw', 'http', 'pg_net', 'pg_cron',
                                'pageinspect', 'lo', 'pg_background', 'plpython3u', 'plperlu', 'aws_lambda', 'aws_s3'))
            and exists (select from pg_language l where l.oid = p.prolang and (l.lanpltrusted or l.lanname in ('c', 'internal')))
        end
        from pg_proc p
        where p.oid = p_function), false));
end
$$;
comment on function countersign_data.function_is_allowed(oid, boolean) is 'Whether agent SQL may call a function: in a write''s WHERE, or in a read.';
