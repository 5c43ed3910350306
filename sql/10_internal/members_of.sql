create or replace function countersign_data.members_of(p_group text)
returns setof oid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  -- as granted, direct or through others; pg_has_role would count every superuser. Since 16 whoever creates a role gets a
  -- membership that gives none of its rights, only their administration: that one does not count.
  with recursive effective as (
    select m.roleid, m.member from pg_auth_members m
    -- before 16 a login may make others members of itself: that makes nobody an agent, or an agent could disqualify every human
    where m.grantor <> m.roleid and (coalesce((to_jsonb(m)->>'inherit_option')::boolean, true) or coalesce((to_jsonb(m)->>'set_option')::boolean, true))
  ), member as (
    select m.member from effective m where m.roleid = (select r.oid from pg_roles r where r.rolname = p_group)
    union
    select m.member from effective m join member on m.roleid = member.member)
  select member from member
$$;
comment on function countersign_data.members_of(text) is 'Roles that are members of a group, as granted.';
