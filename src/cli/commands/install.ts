import { BACKEND_VERSION, createAdmin } from '../../client.js';
import { install as installBackend } from '../../db/install.js';
import { commaList, EXIT, type Command } from '../command.js';
import { safeText } from '../terminal.js';

/** Puts the backend into a database, or brings it up to date. */
export const install: Command = {
  usage: [
    'countersign install [--admin-url URL] [--strict] [--search-path a,b]',
    '',
    '--admin-url URL    login of an administrator (default: COUNTERSIGN_ADMIN_URL)',
    '--strict           also take from PUBLIC what an owner may take (TEMP, CREATE)',
    '--search-path a,b  where unqualified table names are looked up; default public',
    '',
    'Safe to run again at any time.',
  ],
  options: { 'admin-url': { type: 'string' }, url: { type: 'string' }, strict: { type: 'boolean' }, 'search-path': { type: 'string' } },
  words: [0, 0],
  async run({ io, flag, option, logins }) {
    const schemas = commaList('search-path', option('search-path'));
    const url = await logins.address('admin', option('admin-url') ?? option('url'));
    // No log of its own: the warnings come back with the result.
    const { migrations, warnings } = await installBackend(url, { strict: flag('strict') });
    for (const warning of warnings) io.err(`warning: ${safeText(warning)}\n`);
    if (schemas !== null) {
      await logins.use('admin', url, (query) => createAdmin(query).setSearchPath(schemas));
      // The functions that run agents' statements have the path pinned when they are created.
      await installBackend(url, { strict: flag('strict') });
    }
    const done = migrations.length === 0 ? 'was up to date; its functions were applied again' : `ran ${migrations.join(', ')}`;
    io.out(`Countersign's backend, version ${BACKEND_VERSION}, is installed. It ${done}.\n`);
    if (!logins.embedded) io.err(NEXT);
    return EXIT.done;
  },
};

const NEXT = `
Next, as the administrator, once:
  create role my_agent  login password '...' in role countersign_agent;
  create role my_reader login password '...' in role countersign_reader;
  create role ann login password '...' in role countersign_approver, countersign_auditor;
  countersign allow read TABLE...     and    countersign allow write TABLE...
Then set COUNTERSIGN_DATABASE_URL and COUNTERSIGN_READER_URL and run countersign doctor.
`;
