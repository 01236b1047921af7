import type { Database } from '@quartermaster/db/database.ts';
import { unfinishedMove } from '@quartermaster/db/database-move.ts';
import { ConfigError } from '../config.ts';

/** What was written to a half-finished target would look like a difference to the move that goes on. */
export async function refuseUnfinishedMove(db: Database): Promise<void> {
  const origin = await unfinishedMove(db);
  if (origin === null) return;
  const what = `the database holds an unfinished move from ${origin}`;
  throw new ConfigError(`DATABASE_URL: ${what}: run npm run migrate-database to its end, or empty this database`);
}
