import { CountersignError } from '../errors.js';
import { isUnsafeFunction } from './unsafe-functions.js';

/**
 * Early, clear answers from the real parser. Never the boundary: grants, the read-only transaction and the checks in
 * SQL decide, and they decide the same whether or not these ran.
 */

type Node = Record<string, unknown>;

interface Parser {
  parseSync(text: string): unknown;
  loadModule(): Promise<void>;
}

let parser: Promise<Parser> | undefined;

/** The parser is WebAssembly and takes some 50 ms to load; nothing waits for it before a statement needs it. */
function loadParser(): Promise<Parser> {
  parser ??= import('libpg-query').then(async (module) => {
    await module.loadModule();
    return module;
  });
  return parser;
}

function syntaxError(message: string, position: number | undefined, hint: string): CountersignError {
  const place = position === undefined ? '' : ` (at byte ${position + 1})`;
  return new CountersignError('STATEMENT_FAILED', `${message}${place}`, hint, { sqlstate: '42601' });
}

async function parse(text: string, hint: string): Promise<Node[]> {
  const { parseSync } = await loadParser();
  let tree: { stmts?: { stmt?: Node }[] };
  try {
    tree = parseSync(text) as typeof tree;
  } catch (error) {
    const details = (error as { sqlDetails?: { message: string; cursorPosition: number } }).sqlDetails;
    throw syntaxError(details?.message ?? 'the statement cannot be parsed', details?.cursorPosition, hint);
  }
  return (tree.stmts ?? []).map(({ stmt }) => stmt ?? {});
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

/** Every [kind, body] pair of a tree, without recursion: statements may nest as deep as the parser allows. */
function* nodes(root: unknown): Generator<[kind: string, body: Node]> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const next = open.pop();
    if (!isNode(next)) continue;
    for (const [kind, body] of Object.entries(next)) {
      if (!isNode(body)) continue;
      open.push(body);
      yield [kind, body];
    }
  }
}

const WRITES: Readonly<Record<string, string>> = {
  InsertStmt: 'insert_rows',
  UpdateStmt: 'update_rows',
  DeleteStmt: 'delete_rows',
  MergeStmt: 'insert_rows, update_rows or delete_rows',
};

const ONLY_SELECT = 'Send one SELECT, VALUES, TABLE or WITH … SELECT. To change rows use insert_rows, update_rows or delete_rows.';

function notASelect(what: string, hint = ONLY_SELECT): CountersignError {
  return new CountersignError('NOT_A_SELECT', what, hint);
}

/** Statements that cannot run inside a read even where they start with SELECT or WITH. */
function refuseWritesWithin(statement: Node): void {
  for (const [kind, body] of nodes(statement)) {
    const tool = WRITES[kind];
    if (tool) throw notASelect('The statement changes rows.', `Use ${tool} to preview the change; query only reads.`);
    if (kind === 'intoClause') throw notASelect('SELECT INTO creates a table.', 'Leave INTO out; the rows come back in the answer.');
    if (kind === 'lockingClause') throw notASelect('FOR UPDATE and FOR SHARE lock rows.', 'Leave the locking clause out; a read needs no lock.');
    if (kind === 'FuncCall') refuseUnsafe(body);
  }
}

function refuseUnsafe(call: Node): void {
  const path = ((call['funcname'] as { String?: { sval?: string } }[] | undefined) ?? []).map((part) => part.String?.sval ?? '');
  if (!isUnsafeFunction(path)) return;
  throw new CountersignError(
    'UNSAFE_FUNCTION',
    `The function ${path.join('.')} acts outside a read.`,
    'Write the query without it. Read tables and views directly; describe_schema lists them.',
  );
}

function theOnly(statements: Node[]): [kind: string, body: Node] {
  if (statements.length > 1) {
    throw new CountersignError('MULTI_STATEMENT', `The text holds ${statements.length} statements.`, 'Send one statement a call.');
  }
  const [statement] = statements;
  const [pair] = Object.entries(statement ?? {});
  if (!pair) throw syntaxError('the text holds no statement', undefined, 'Send one statement.');
  return pair as [string, Node];
}

/**
 * Checks the text of `query` or `explain_plan`: exactly one statement, and one that only reads.
 * @throws CountersignError MULTI_STATEMENT, NOT_A_SELECT, UNSAFE_FUNCTION or STATEMENT_FAILED
 */
export async function checkSelect(text: string): Promise<void> {
  const [kind, body] = theOnly(await parse(text, 'Correct the SELECT and call again.'));
  if (kind === 'ExplainStmt') {
    throw notASelect('The statement is an EXPLAIN.', 'Send the SELECT itself to explain_plan; it is explained and never executed.');
  }
  if (kind !== 'SelectStmt') {
    const tool = WRITES[kind];
    throw notASelect('The statement is not a SELECT.', tool ? `Use ${tool} to preview the change; its preview measures it exactly.` : ONLY_SELECT);
  }
  refuseWritesWithin({ SelectStmt: body });
}

/** As `checkSelect`, with the words for text that begins inside an EXPLAIN (`ANALYZE SELECT …`). */
export async function checkExplained(text: string): Promise<void> {
  if (/^[\s(]*(analy[sz]e|verbose)\b/i.test(text)) {
    throw notASelect('The text begins with an EXPLAIN option.', 'Send the SELECT itself; explain_plan adds EXPLAIN and never executes it.');
  }
  await checkSelect(text);
}

/** The parts a SELECT has when nothing but a WHERE follows `select 1`. */
const BARE_SELECT = new Set(['targetList', 'whereClause', 'limitOption', 'op']);

/**
 * Checks that a WHERE fragment is one expression. It is parsed as it is and inside parentheses: text that closes a
 * parenthesis it did not open, or goes on after the expression, fails one of the two.
 * @throws CountersignError MULTI_STATEMENT, UNSUPPORTED_STATEMENT, UNSAFE_FUNCTION or STATEMENT_FAILED
 */
export async function checkWhere(fragment: string): Promise<void> {
  const hint = 'Send one boolean expression without the word WHERE, for example: id = $1 and status = $2';
  for (const text of [`select 1 where ${fragment}\n`, `select 1 where (${fragment}\n)`]) {
    const [kind, body] = theOnly(await parse(text, hint));
    if (kind !== 'SelectStmt' || Object.keys(body).some((part) => !BARE_SELECT.has(part)) || !body['whereClause']) {
      throw new CountersignError('UNSUPPORTED_STATEMENT', 'where is more than one expression.', hint);
    }
    for (const [inner, call] of nodes(body)) {
      if (inner === 'FuncCall') refuseUnsafe(call);
      if (inner === 'intoClause' || inner === 'lockingClause' || WRITES[inner]) {
        throw new CountersignError('UNSUPPORTED_STATEMENT', 'A sub-select in where may only read.', 'Leave INTO, FOR UPDATE and changes out of it.');
      }
    }
  }
}

/** Statements agents try in run_migration that are never schema changes, with where to go instead. */
const NOT_A_MIGRATION: Readonly<Record<string, string>> = {
  SelectStmt: 'Use query to read.',
  InsertStmt: 'Use insert_rows.',
  UpdateStmt: 'Use update_rows.',
  DeleteStmt: 'Use delete_rows.',
  MergeStmt: 'Use insert_rows, update_rows or delete_rows.',
  TransactionStmt: 'Leave transaction commands out: every plan is its own transaction.',
  ExplainStmt: 'Use explain_plan for a SELECT.',
  DoStmt: 'Send one schema change, such as ALTER TABLE.',
  CallStmt: 'Send one schema change, such as ALTER TABLE.',
  CopyStmt: 'Use query to read and insert_rows to write.',
  VariableSetStmt: 'Settings and roles cannot be changed here; send one schema change.',
};

/**
 * Checks the text of `run_migration`: exactly one statement, and not one that belongs to another tool.
 * @throws CountersignError MULTI_STATEMENT, UNSUPPORTED_STATEMENT or STATEMENT_FAILED
 */
export async function checkMigration(text: string): Promise<void> {
  const [kind] = theOnly(await parse(text, 'Correct the statement and call again.'));
  const hint = NOT_A_MIGRATION[kind];
  if (hint) throw new CountersignError('UNSUPPORTED_STATEMENT', 'The statement is not a schema change.', hint);
}
