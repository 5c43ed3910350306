create or replace function countersign_data.members_of(p_group text)
returns setof oid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  -- as granted, direct or through others; pg_has_role would count every superuser
  with recursive member as (
    select m.member from pg_auth_members m where m.roleid = (select r.oid from pg_roles r where r.rolname = p_group)
    union
    select m.member from pg_auth_members m join member on m.roleid = member.member)
  select member from member
$$;
comment on function countersign_data.members_of(text) is 'Roles that are members of a group, as granted.';
