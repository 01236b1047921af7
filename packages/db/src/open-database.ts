import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import type { Database } from './database.ts';
import { isPostgresUrl, sqlitePath } from './database-url.ts';
import { postgresDialect } from './dialects/postgres.ts';
import { sqliteDialect } from './dialects/sqlite.ts';
import { DatabaseUnavailableError } from './errors.ts';
import type { Tables } from './tables.ts';

/** The default size of a process's pool of Postgres connections. */
const POOL_SIZE = 10;

/**
 * Opens a database.
 *
 * @param url `sqlite:<path>` or `postgres://...`. A missing SQLite file and its folder are created, but no folder above it.
 * @param root the folder that a relative path is relative to
 * @throws {DatabaseUnavailableError} if the folder cannot be created
 */
export async function openDatabase(url: string, root: string, { poolSize = POOL_SIZE } = {}): Promise<Database> {
  if (isPostgresUrl(url)) return new Kysely<Tables>({ dialect: postgresDialect({ url, poolSize }) });
  const path = sqlitePath(url, root);
  if (path === null) throw new Error('DATABASE_URL should be sqlite:<path> or postgres://...');
  await makeFolder(dirname(path));
  return new Kysely<Tables>({ dialect: sqliteDialect(path) });
}

/**
 * Creates one folder, not its parents: a mistyped path would be created as well, and in some file systems a recursive mkdir of
 * Node never returns.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    // If the path exists but is not a folder, opening the file fails.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new DatabaseUnavailableError({ cause: error });
    }
  }
}
