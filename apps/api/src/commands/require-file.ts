import { access } from 'node:fs/promises';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { ConfigError, ROOT } from '../config.ts';

/**
 * Checks that a database file exists. Call it before opening the database, because opening would create the file.
 *
 * @throws {ConfigError} if the URL names a file that does not exist or cannot be reached
 */
export async function requireFile(url: string): Promise<void> {
  const file = sqlitePath(url, ROOT);
  if (file === null) return;
  try {
    await access(file);
  } catch (error) {
    const why = error instanceof Error && 'code' in error && error.code !== 'ENOENT' ? ` (${String(error.code)})` : '';
    throw new ConfigError(`there is no database at ${file}${why}`);
  }
}
