import { checkWhere } from '../parse.js';

/** A WHERE argument, checked; null when there is none, which the database then judges. */
export async function checkCondition(where: string | undefined): Promise<string | null> {
  if (where === undefined || where.trim() === '') return null;
  await checkWhere(where);
  return where;
}
