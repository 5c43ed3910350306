create or replace view countersign.audit_log as
select e.id, e.ts, countersign_data.visible_text(e.tool) as tool, countersign_data.visible_text(e.reason) as reason, countersign_data.visible_text(e.statement) as statement,
       e.params_redacted, e.preview_rows, e.actual_rows, e.plan_token, e.approved_by, e.status, e.code, e.channel,
       e.login as session_user, countersign_data.visible_text(e.caller_id) as caller_id, e.duration_ms, e.effects,
       countersign_data.visible_text(e.note) as note, encode(e.hash, 'hex') as hash,
       countersign_data.visible_text(e.reported_by) as reported_by
from countersign_data.event e;
comment on view countersign.audit_log is 'Auditor: one row an event: transitions, refusals, reads, policy changes. Parameters as shape only; reported_by is a surface''s word, approved_by the database identity.';
