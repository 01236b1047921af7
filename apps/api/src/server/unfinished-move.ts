import type { Database } from '@quartermaster/db/database.ts';
import { findUnfinishedMove } from '@quartermaster/db/database-move.ts';
import { ConfigError } from '../config.ts';

/**
 * Writes to the target of an unfinished move would look like differences when the move is resumed.
 *
 * @throws {ConfigError} if the database is such a target
 */
export async function requireNoUnfinishedMove(db: Database): Promise<void> {
  const origin = await findUnfinishedMove(db);
  if (origin === null) return;
  const what = `the database holds an unfinished move from ${origin}`;
  throw new ConfigError(`DATABASE_URL: ${what}: run npm run migrate-database to its end, or empty this database`);
}
