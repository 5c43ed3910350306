create or replace view countersign.policy as
select k.key,
       coalesce(case r.scope when 'schema' then 'schema:' || (select n.nspname from pg_namespace n where n.oid = r.scope_oid)
                             when 'table' then 'table:' || countersign_data.qualified_name(r.scope_oid)
                             else r.scope end, 'default') as scope,
       coalesce(r.value, k.default_value) as value,
       k.default_value,
       k.meaning
from countersign_data.policy_key k
left join countersign_data.policy_row r on r.key = k.key
order by k.key, r.scope, 2;
comment on view countersign.policy is 'Policy as set, by scope; the most specific wins. Changed by countersign.set_policy.';
