/** The backend as its catalogs describe it, in lines that read the same on every supported version. */
import type { TestDatabase } from '../harness/database.js';

const OWN = '^countersign(_data|_exec|_scratch)?$';

async function lines(db: TestDatabase, sql: string, values: unknown[] = []): Promise<string[]> {
  const { rows } = await db.as('admin').query<{ line: string }>(sql, values);
  return rows.map((row) => row.line).sort();
}

/** Schema-qualified functions: arguments with names, what they return, how they run and who owns them. */
export function functions(db: TestDatabase, schema: string): Promise<string[]> {
  return lines(db, `
    select format('%s(%s) returns %s | %s | %s | %s', p.oid::regproc, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
             case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
             case when p.prosecdef then 'definer' else 'invoker' end, pg_get_userbyid(p.proowner)) as line
    from pg_proc p where p.pronamespace = $1::regnamespace`, [schema]);
}

/** Every right that is granted on an object of Countersign, but for those of its owner. */
export function grants(db: TestDatabase): Promise<string[]> {
  return lines(db, `
    with own as (select n.oid, n.nspname from pg_namespace n where n.nspname ~ $1),
    acl as (
      select 'schema ' || n.nspname as object, n.nspowner as owner, a.* from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a where n.oid in (select oid from own)
      union all
      select case c.relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || c.oid::regclass, c.relowner, a.*
      from pg_class c, aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) a where c.relnamespace in (select oid from own) and c.relkind in ('r', 'v', 'S')
      union all
      select 'column ' || c.oid::regclass || '.' || t.attname, c.relowner, a.* from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a where c.relnamespace in (select oid from own)
      union all
      select 'function ' || p.oid::regprocedure, p.proowner, a.* from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where p.pronamespace in (select oid from own))
    select format('%s: %s to %s%s', object, string_agg(lower(privilege_type), ', ' order by privilege_type), case grantee when 0 then 'PUBLIC' else grantee::regrole::text end,
             case when bool_or(is_grantable) then ' with grant option' else '' end) as line
    from acl
    where grantee <> owner and not (object ~ '^function countersign_data\\.' and grantee = 'countersign_engine'::regrole)
    group by object, grantee`, [OWN]);
}

/** Tables with their columns, constraints, indexes and triggers; views with their columns. */
export function schema(db: TestDatabase): Promise<string[]> {
  return lines(db, `
    with rel as (select c.*, c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname ~ $1 and c.relname <> 'migration' and c.relname !~ '^migration_')
    select format('%s: %s%s, owner %s', name, case relkind when 'r' then 'table' when 'v' then 'view' when 'c' then 'type' when 'S' then 'sequence' end, case relpersistence when 'u' then ' unlogged' else '' end, pg_get_userbyid(relowner)) as line
    from rel where relkind in ('r', 'v', 'c', 'S')
    union all
    select format('%s.%s: %s%s%s%s', name, a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
      coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), case a.attidentity when 'a' then ' identity always' when 'd' then ' identity' else '' end)
    from rel join pg_attribute a on a.attrelid = rel.oid left join pg_attrdef d on d.adrelid = rel.oid and d.adnum = a.attnum where rel.relkind in ('r', 'v', 'c') and a.attnum > 0 and not a.attisdropped
    union all
    select format('%s constraint %s: %s', name, k.conname, pg_get_constraintdef(k.oid)) from rel join pg_constraint k on k.conrelid = rel.oid where k.contype <> 'n'
    union all
    select format('%s index: %s', t.relname, pg_get_indexdef(i.indexrelid)) from pg_index i join rel t on t.oid = i.indrelid where not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
    union all
    select format('%s trigger: %s', name, pg_get_triggerdef(t.oid)) from rel join pg_trigger t on t.tgrelid = rel.oid where not t.tgisinternal`, [OWN]);
}

/** Everything at once, bodies and comments included: for "nothing changed". */
export async function everything(db: TestDatabase): Promise<string[]> {
  const detailed = await lines(db, `
    select format('%s %s %s', p.oid::regprocedure, md5(pg_get_functiondef(p.oid)), obj_description(p.oid, 'pg_proc')) as line from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname ~ $1
    union all select format('%s %s %s', c.oid::regclass, case when c.relkind = 'v' then md5(pg_get_viewdef(c.oid)) end, obj_description(c.oid, 'pg_class')) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname ~ $1
    union all select format('%s %s %s', c.oid::regclass, d.objsubid, d.description) from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_description d on d.objoid = c.oid and d.objsubid > 0 where n.nspname ~ $1
    union all select format('transition %s', t) from countersign_data.transition t
    union all select format('key %s', k) from countersign_data.policy_key k
    union all select format('setting %s', s.search_path) from countersign_data.setting s
    union all select format('role %s %s', r.rolname, concat_ws(' ', r.rolcanlogin, r.rolinherit, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolbypassrls, r.rolreplication)) from pg_roles r where r.rolname ~ '^countersign_[a-z]+$'
    union all select format('member %s of %s', m.member::regrole, m.roleid::regrole) from pg_auth_members m where m.roleid::regrole::text ~ '^countersign_(owner|engine|writer|migrator|analyst)$'
    union all select format('system function %s %s', p.oid::regprocedure, p.proacl) from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.proacl is not null
    union all select format('database %s', d.datacl) from pg_database d where d.datname = current_database()`, [OWN]);
  const parts = await Promise.all([schema(db), grants(db), ...['countersign', 'countersign_data', 'countersign_exec', 'countersign_scratch'].map((name) => functions(db, name))]);
  return [...detailed, ...parts.flat()];
}
