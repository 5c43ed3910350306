/** What the global setup prepares and every test file is handed: where the server is, and who exists on it. */

export interface Fixture {
  /** Prefix of everything this run creates on the server, which may be shared. */
  run: string;
  adminUrl: string;
  /** Database with the backend installed (strict). */
  template: string;
  /** Password of every fixture login. */
  password: string;
  /** Major version of the server. */
  major: number;
}

/** The logins of every test database, and the groups each is a member of. */
export const LOGINS = {
  agent: ['countersign_agent'],
  /** A second agent, for questions of whose plan it is. */
  agent2: ['countersign_agent'],
  reader: ['countersign_reader'],
  alice: ['countersign_approver'],
  bob: ['countersign_approver'],
  auditor: ['countersign_auditor'],
  /** Owns the application's tables; countersign_migrator is a member of it. */
  owner: [],
  /** A login without any membership. */
  nobody: [],
} as const satisfies Record<string, readonly string[]>;

export type Login = keyof typeof LOGINS | 'admin';

/** The role name of a login; the cluster may be shared with other runs. */
export function loginRole(fixture: Fixture, login: string): string {
  return `${fixture.run}_${login}`;
}

export function withDatabase(url: string, database: string): string {
  const copy = new URL(url);
  copy.pathname = `/${database}`;
  return copy.href;
}

export function withLogin(url: string, user: string, password: string): string {
  const copy = new URL(url);
  copy.username = user;
  copy.password = password;
  return copy.href;
}
