create or replace function countersign_data.refusal_of_payload(p_payload text)
returns countersign.outcome
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select countersign_data.outcome_refused('INVALID_ARGUMENTS',
    case when p_payload is null then 'There is no payload.'
         when octet_length(p_payload) > 8 * 1024 * 1024 then 'The payload is larger than 8 MiB.'
         else 'The payload is not JSON that can be kept exactly.' end,
    'Send one JSON value of at most 8 MiB, at most 128 levels deep, without \u0000, with numbers that a double holds exactly; send others as strings.')
$$;
comment on function countersign_data.refusal_of_payload(text) is 'The refusal for a payload that canonical_json does not take.';
