import { access } from 'node:fs/promises';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { ConfigError, ROOT } from '../config.ts';

/**
 * Before it is opened, since that would make it.
 *
 * @throws {ConfigError} where the URL names a file, and there is none
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
