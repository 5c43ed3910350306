create or replace function countersign_data.notice_of(p_token uuid, p_status text)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return json_build_object('plan', left(encode(sha256(convert_to(p_token::text, 'UTF8')), 'hex'), 12), 'status', p_status)::text;
end
$$;
comment on function countersign_data.notice_of(uuid, text) is 'Payload of a NOTIFY: a short id that is not the token, and a status.';
