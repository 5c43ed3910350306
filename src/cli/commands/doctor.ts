import { BACKEND_VERSION, createClient, type Check, type Query } from '../../client.js';
import { EXIT, JSON_OPTION, type Command, type Context } from '../command.js';
import { failureOf } from '../failure.js';
import type { Logins, Who } from '../logins.js';
import { fields } from '../table.js';

const OLDEST_POSTGRES = 14;
const OLDEST_NODE = [20, 19] as const;
/** Beyond this, "expires in" read on this machine misleads; Postgres's clock decides anyhow. */
const CLOCK_TOLERANCE_MS = 2_000;

/** What each login must hold, and what would void a promise. Postgres enforces it; this only says so early. */
const DUTIES: Readonly<Partial<Record<Who, { must: readonly string[]; mustNot: readonly string[] }>>> = {
  agent: { must: ['countersign_agent'], mustNot: ['countersign_approver', 'countersign_writer', 'countersign_migrator', 'countersign_engine', 'countersign_owner'] },
  reader: { must: ['countersign_reader'], mustNot: ['countersign_approver', 'countersign_writer', 'countersign_migrator', 'countersign_engine', 'countersign_owner'] },
  approver: { must: ['countersign_approver'], mustNot: ['countersign_agent', 'countersign_writer', 'countersign_engine', 'countersign_owner'] },
};

/** Checks the whole set-up and says what to run. */
export const doctor: Command = {
  usage: ['countersign doctor [--json]', '', 'Exit code 1 when the server would not start, 3 when no database answers.'],
  options: JSON_OPTION,
  words: [0, 0],
  async run(context) {
    const { io, flag } = context;
    const { checks, reached } = await examine(context);
    if (flag('json')) io.out(`${JSON.stringify(checks, null, 2)}\n`);
    else io.out(report(checks, io.width));
    if (!reached) return EXIT.unreachable;
    return checks.some((check) => check.severity === 'fatal') ? EXIT.refused : EXIT.done;
  },
};

async function examine({ logins, config }: Context): Promise<{ checks: Check[]; reached: boolean }> {
  const checks: Check[] = [nodeVersion()];
  const names: Partial<Record<Who, string>> = {};
  for (const who of ['admin', 'agent', 'reader', 'approver'] as const) {
    const found = await examineLogin(logins, who);
    checks.push(...found.checks);
    if (found.login !== null) names[who] = found.login;
  }
  if (names.approver !== undefined || config.approvalLogin === 'database') checks.push(approvalPage(config));
  const reached = Object.keys(names).length > 0;
  const asked = names.agent !== undefined ? 'agent' : names.admin !== undefined ? 'admin' : null;
  if (asked !== null) checks.push(...await examineBackend(logins, asked, names.reader ?? null));
  return { checks, reached };
}

/** What nobody should find out later: who can open the page. */
function approvalPage({ approvalPage: on, approvalLogin }: Context['config']): Check {
  const message = !on ? 'off; people decide by psql or command line'
    : approvalLogin === 'database' ? 'each human signs in with their own database login'
      : 'opened by a secret in a file of this user; an agent with a shell of its own on this machine could read it (COUNTERSIGN_APPROVAL_LOGIN=database prevents that)';
  return { checkName: 'approval page', severity: 'ok', message, hint: '' };
}

async function examineLogin(logins: Logins, who: keyof typeof VARIABLES): Promise<{ checks: Check[]; login: string | null }> {
  if (!logins.embedded && logins.addresses[who] === null) {
    return { checks: [notChecked(who, logins)], login: null };
  }
  try {
    return await logins.use(who, undefined, async (query) => {
      const login = await loginFacts(query, who);
      return { checks: login.checks, login: login.name };
    });
  } catch (error) {
    const { message, hint } = failureOf(error).refusal;
    return { checks: [{ checkName: `${who} login`, severity: 'fatal', message, hint }], login: null };
  }
}

const NOT_CHECKED = 'not checked';
const VARIABLES = {
  agent: 'COUNTERSIGN_DATABASE_URL', reader: 'COUNTERSIGN_READER_URL', approver: 'COUNTERSIGN_APPROVER_URL', admin: 'COUNTERSIGN_ADMIN_URL',
} as const;

/** Nobody else's login stands in for one that is not there. Only one of the server's two is what stops the server. */
function notChecked(who: keyof typeof VARIABLES, { addresses }: Logins): Check {
  const needed = who === 'agent' || who === 'reader';
  const half = needed && (addresses.agent ?? addresses.reader) !== null;
  return {
    checkName: `${who} login`,
    severity: half ? 'fatal' : needed ? 'warning' : 'ok',
    message: `${NOT_CHECKED}: no ${who} login is configured (${VARIABLES[who]})`,
    hint: half ? `Set ${VARIABLES[who]}; the server needs both.` : needed ? `Set ${VARIABLES[who]} as for the server, and run this again.` : '',
  };
}

async function loginFacts(query: Query, who: Who): Promise<{ name: string; checks: Check[] }> {
  const before = Date.now();
  const [facts] = await query(
    `select session_user::text as name, current_database()::text as database, current_setting('server_version') as version,
            current_setting('server_version_num')::integer as number,
            extract(epoch from clock_timestamp())::float8::text as epoch,
            array(select rolname::text from pg_roles
                   where rolname like 'countersign\\_%' and pg_has_role(session_user, oid, 'member') and not r.rolsuper) as roles, r.rolsuper as superuser
       from pg_roles as r where r.rolname = session_user`);
  const name = String(facts?.['name']);
  const roles = (facts?.['roles'] ?? []) as string[];
  const checks: Check[] = [
    { checkName: `${who} login`, severity: 'ok', message: `${name} on database ${String(facts?.['database'])}${roles.length === 0 ? '' : `, member of ${roles.join(', ')}`}`, hint: '' },
    // Of a superuser the self-check says that it is no agent; a membership would mend nothing.
    ...(who === 'agent' && facts?.['superuser'] === true ? [] : dutyChecks(who, name, roles)),
  ];
  if (who === 'agent' || who === 'admin') {
    checks.push(postgresVersion(String(facts?.['version']), Number(facts?.['number'])));
    checks.push(clock(Number(facts?.['epoch']) * 1000, before, Date.now()));
  }
  return { name, checks };
}

function dutyChecks(who: Who, name: string, roles: readonly string[]): Check[] {
  const duties = DUTIES[who];
  if (duties === undefined) return [];
  return [
    ...duties.must.filter((role) => !roles.includes(role)).map((role): Check => ({
      checkName: `${who} role`, severity: 'fatal', message: `${name} is not a member of ${role}`, hint: `Run as an administrator: grant ${role} to ${name};`,
    })),
    ...duties.mustNot.filter((role) => roles.includes(role)).map((role): Check => ({
      checkName: `${who} role`, severity: 'fatal', message: `${name} is a member of ${role}, which voids the separation of duties`,
      hint: `Run as an administrator: revoke ${role} from ${name};`,
    })),
  ];
}

/** The one thing of the self-check that is about whoever asks, so an administrator's answer to it says nothing. */
const OF_WHO_ASKS = 'login is an agent';

async function examineBackend(logins: Logins, who: 'agent' | 'admin', reader: string | null): Promise<Check[]> {
  try {
    return await logins.use(who, undefined, async (query) => {
      const client = createClient(query);
      const checks = await client.preflight(reader, true);
      return [backendVersion(await client.version()), ...checks.filter(({ checkName }) => who === 'agent' || checkName !== OF_WHO_ASKS)];
    });
  } catch (error) {
    const { message, hint } = failureOf(error).refusal;
    return [{ checkName: 'backend', severity: 'fatal', message, hint }];
  }
}

function backendVersion(found: number): Check {
  const same = found === BACKEND_VERSION;
  const hint = found < BACKEND_VERSION ? 'Run: countersign install (COUNTERSIGN_ADMIN_URL names its login)' : 'Update the countersign package to the version that installed it.';
  return { checkName: 'backend', severity: same ? 'ok' : 'fatal', message: `version ${found}, this program speaks ${BACKEND_VERSION}`, hint: same ? '' : hint };
}

function nodeVersion(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const enough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return { checkName: 'node', severity: enough ? 'ok' : 'fatal', message: process.versions.node, hint: enough ? '' : `Install Node ${OLDEST_NODE.join('.')} or newer.` };
}

function postgresVersion(version: string, number: number): Check {
  const enough = number >= OLDEST_POSTGRES * 10_000;
  return { checkName: 'postgres', severity: enough ? 'ok' : 'fatal', message: version, hint: enough ? '' : `Countersign needs Postgres ${OLDEST_POSTGRES} or newer.` };
}

/** The database's clock against this machine's, which lay somewhere between `before` and `after`. */
function clock(database: number, before: number, after: number): Check {
  const difference = database < before ? database - before : database > after ? database - after : 0;
  const close = Math.abs(difference) <= CLOCK_TOLERANCE_MS;
  return {
    checkName: 'clock',
    severity: close ? 'ok' : 'warning',
    message: close ? 'this machine and the database agree' : `the database is ${Math.abs(difference / 1000).toFixed(1)} s ${difference > 0 ? 'ahead of' : 'behind'} this machine`,
    hint: close ? '' : 'Expiry follows the database\'s clock. Synchronise both (NTP), or times shown here mislead.',
  };
}

function report(checks: readonly Check[], width: number): string {
  const seen = new Set<string>();
  const lines = checks.filter(({ checkName, severity, message }) => {
    const key = `${checkName}\n${severity}\n${message}`;
    return !seen.has(key) && seen.add(key);
  });
  const body = fields(
    lines.map(({ checkName, severity, message, hint }) => {
      const what = message === 'ok' ? checkName : `${checkName}: ${message}`;
      return [severity, hint === '' || severity === 'ok' ? what : `${what}\n-> ${hint}`] as const;
    }),
    width,
  );
  const fatal = lines.filter(({ severity }) => severity === 'fatal').length;
  const warnings = lines.filter(({ severity }) => severity === 'warning').length;
  const verdict = fatal > 0
    ? `The server will not start: ${fatal} thing${fatal === 1 ? '' : 's'} to put right first.`
    : lines.some(({ severity, message }) => severity === 'warning' && message.startsWith(NOT_CHECKED)) ? 'Nothing stops the server so far; its logins were not all checked.'
    : warnings > 0 ? `The server will start. ${warnings} thing${warnings === 1 ? '' : 's'} to look at.` : 'All is well.';
  return `${body}\n${verdict}\n`;
}
