import { BACKEND_VERSION, createClient, queryThrough, type Check } from '../client.js';
import { isUnavailable } from '../db/pool.js';
import { CountersignError } from '../errors.js';
import { sqlstateOf } from './database-error.js';
import type { ServerDependencies } from './dependencies.js';

/** The checks before the first answer. They run once; a database that is away postpones them. */
export interface StartupCheck {
  /** Resolves when the checks have passed. Rejects with DATABASE_UNAVAILABLE when they cannot be made, or failed. */
  ready(): Promise<void>;
  /** Resolves, with the lines to print, when a check says that this server must not run here. */
  fatal: Promise<string[]>;
}

const installHint = (command: string): string => `Run countersign install as an administrator, then start again: ${command}`;

function versionCheck(version: number, installCommand: string): Check {
  const hint = version > BACKEND_VERSION ? 'Update this package: the backend in the database is newer.' : installHint(installCommand);
  const message = `The backend in the database has version ${version}, this server needs ${BACKEND_VERSION}.`;
  return { checkName: 'backend version', severity: 'fatal', message, hint };
}

const AGENT = 'agent login';

/** The SQLSTATE with which a database that was reached refused; null when none was. */
function refusedWith(error: unknown): string | null {
  if (!(error instanceof CountersignError)) return isUnavailable(error) ? null : sqlstateOf(error);
  return typeof error.detail['sqlstate'] === 'string' ? error.detail['sqlstate'] : null;
}

/** What a first contact that fails means: nothing yet when the database is away, else a reason not to start. */
function failureCheck(checkName: string, error: unknown, installCommand: string): Check {
  const sqlstate = refusedWith(error);
  const message = error instanceof Error ? error.message : String(error);
  if (sqlstate === '3F000' || sqlstate === '42883') {
    return { checkName, severity: 'fatal', message: `No backend of this version is in this database. ${message}.`, hint: installHint(installCommand) };
  }
  if (sqlstate === '42501' && checkName === AGENT) {
    return { checkName, severity: 'fatal', message: `${message}.`, hint: 'Run as an administrator: grant countersign_agent to the login of COUNTERSIGN_DATABASE_URL.' };
  }
  const hint = error instanceof CountersignError ? error.hint : 'Run "countersign doctor" for the details.';
  return { checkName, severity: 'fatal', message, hint };
}

async function runChecks({ agent, reader, readerRole, installCommand }: ServerDependencies): Promise<Check[]> {
  const client = createClient(queryThrough(agent));
  // The reader is only asked whether it can log in; its first connection is then there for the first query.
  const readerAnswers = reader.run(async (connection) => void (await connection.query('select 1')));
  // A backend of another version is asked nothing more: it may not know the question.
  const checked = client.version().then(async (version) =>
    (version === BACKEND_VERSION ? client.preflight(readerRole, false) : [versionCheck(version, installCommand)]));
  const [agentSide, readerSide] = await Promise.allSettled([checked, readerAnswers]);
  for (const [name, side] of [[AGENT, agentSide], ['reader login', readerSide]] as const) {
    if (side.status === 'rejected' && isUnavailable(side.reason) && refusedWith(side.reason) === null) throw side.reason;
    if (side.status === 'rejected') return [failureCheck(name, side.reason, installCommand)];
  }
  return agentSide.status === 'fulfilled' ? agentSide.value : [];
}

function printed({ checkName, severity, message, hint }: Check): string {
  return `${severity}: ${checkName}: ${message} ${hint}`.trim();
}

/** Makes the checks when first asked, and again with each call until the database could be reached. */
export function createStartupCheck(dependencies: ServerDependencies): StartupCheck {
  let refuse: (lines: string[]) => void = () => {};
  const fatal = new Promise<string[]>((resolve) => {
    refuse = resolve;
  });
  let checking: Promise<void> | null = null;

  const check = async (): Promise<void> => {
    const checks = await runChecks(dependencies);
    const reasons = checks.filter(({ severity }) => severity === 'fatal');
    if (reasons.length === 0) return;
    refuse(reasons.map(printed));
    throw new CountersignError(
      'DATABASE_UNAVAILABLE',
      `Countersign does not serve this database: ${reasons.map(({ message }) => message).join(' ')}`,
      reasons[0]?.hint ?? '',
    );
  };
  return {
    fatal,
    ready() {
      checking ??= check().catch((error: unknown) => {
        checking = null;
        throw error;
      });
      return checking;
    },
  };
}
