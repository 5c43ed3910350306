/**
 * Functions of pg_catalog that reach outside a read: files, large objects, other sessions, SQL held in strings,
 * settings, sequences, replication. Naming them here only makes the answer early and clear: the database resolves what
 * a statement really calls (operators, casts and views hide calls from a parse tree) and decides for itself.
 */
const UNSAFE_NAMES = new Set([
  'query_to_xml', 'query_to_xmlschema', 'query_to_xml_and_xmlschema', 'table_to_xml', 'table_to_xmlschema',
  'table_to_xml_and_xmlschema', 'schema_to_xml', 'schema_to_xmlschema', 'schema_to_xml_and_xmlschema',
  'database_to_xml', 'database_to_xmlschema', 'database_to_xml_and_xmlschema', 'cursor_to_xml', 'cursor_to_xmlschema',
  'ts_stat', 'set_config', 'nextval', 'setval', 'pg_notify', 'pg_read_file', 'pg_read_binary_file', 'pg_stat_file',
  'pg_terminate_backend', 'pg_cancel_backend', 'pg_reload_conf', 'pg_rotate_logfile', 'pg_promote', 'pg_switch_wal',
  'pg_create_restore_point', 'pg_export_snapshot', 'pg_logical_emit_message', 'pg_create_physical_replication_slot',
  'pg_create_logical_replication_slot', 'pg_drop_replication_slot', 'pg_import_system_collations',
  'loread', 'lowrite',
]);

const UNSAFE_PREFIXES = ['lo_', 'pg_ls_', 'pg_advisory_', 'pg_try_advisory_', 'pg_stat_reset', 'pg_replication_'];

/** True for a function of pg_catalog, by name, that no read may call. */
export function isUnsafeFunction(path: readonly string[]): boolean {
  const name = path.at(-1) ?? '';
  const schema = path.length > 1 ? path.at(-2) : undefined;
  if (schema !== undefined && schema !== 'pg_catalog') return false;
  return UNSAFE_NAMES.has(name) || UNSAFE_PREFIXES.some((prefix) => name.startsWith(prefix));
}
