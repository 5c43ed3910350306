/** Cases, or the part of a case, that the product cannot contain by nature. The README of the repository repeats them. */
import { NOT_CONTAINED as COSTS } from './costs.js';
import { NOT_CONTAINED_MIGRATIONS as MIGRATIONS } from './migrations.js';
import { NOT_CONTAINED as TOKENS } from './tokens.js';

const READS_AND_WRITES: Readonly<Record<string, string>> = {
  C001: 'What everybody may read in pg_catalog, whoever holds the reader\'s password may read: settings of databases and roles among it (install --strict takes those two views back). query refuses it; doctor names secrets in settings.',
  C018: 'A view without security_barrier shows by yes and no (a division by zero, a count) what its filter hides; the value itself is never printed. The view needs the option, or row security.',
  C021: 'A unique or foreign key tells that a value exists, in a row that policies hide too; which columns are involved is all that is said.',
  C022: 'Time tells: pg_sleep is refused, but a heavy expression over rows that the reader may read takes longer for some of them. It never reaches rows that the reader may not read.',
  R028: 'Until its time is over a read fills temporary files; temp_file_limit, which only a superuser may set, bounds them.',
  R050: 'A login may change its own password and the defaults of its own settings; query refuses it, psql with that password does not.',
  W051: 'A trigger that is there already and reaches outside the database (dblink, http, a foreign table) acts in the preview too. The preview names triggers that look like it.',
  W052: 'Sequences, WAL, transaction ids and dead rows are not taken back by the rollback of a preview.',
  W062: 'Rows that a trigger writes into a foreign table are in no counter of Postgres; as a target such a table is refused.',
};

/** id -> what is left of it, in one sentence. */
export const NOT_CONTAINED: Readonly<Record<string, string>> = {
  ...READS_AND_WRITES,
  ...Object.fromEntries(MIGRATIONS.map(({ id, why }) => [id, why])),
  ...TOKENS,
  ...COSTS,
};
