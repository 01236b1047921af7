import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { TRUNCATE_LOG } from './dialects/sqlite-writer.ts';

/**
 * Truncates SQLite's write-ahead log, so that deleted and overwritten data are really gone. The log keeps old pages until
 * they are reused. The database file itself needs no such step, since the connections set `secure_delete`. PostgreSQL overwrites
 * both by itself (VACUUM, and recycling of its log).
 *
 * @returns false if another connection still reads from the log: try again later
 */
export async function truncateWriteAheadLog(db: Database): Promise<boolean> {
  if (isPostgres(db)) return true;
  const { rows } = await sql<{ busy: number }>`${sql.raw(TRUNCATE_LOG)}`.execute(db);
  return rows[0]?.busy === 0;
}
