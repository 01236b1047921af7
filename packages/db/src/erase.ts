import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { TRUNCATE_LOG } from './dialects/sqlite-writer.ts';

/**
 * Removes what was overwritten or deleted from SQLite's write-ahead log: there, pages stay as they were before until the
 * log is used anew. The file itself holds nothing of it, since the connections have `secure_delete`. PostgreSQL keeps house
 * by itself (VACUUM, and its own log).
 *
 * @returns false where another connection still reads what the log holds: try again later
 */
export async function eraseFromLog(db: Database): Promise<boolean> {
  if (isPostgres(db)) return true;
  const { rows } = await sql<{ busy: number }>`${sql.raw(TRUNCATE_LOG)}`.execute(db);
  return rows[0]?.busy === 0;
}
