import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { ConfigError, ROOT } from '../config.ts';

/** Where files lie whose database is on a server. */
const DATA_FOLDER = join(ROOT, 'data');

/** The path of a file that belongs to a database: beside the database's own file, or in `data` where it is on a server. */
export function pathBesideDatabase(databaseUrl: string, suffix: string): string {
  const file = sqlitePath(databaseUrl, ROOT);
  if (file !== null) return `${file}.${suffix}`;
  const name = new URL(databaseUrl).pathname.slice(1).replaceAll(/[^\w.-]/g, '_');
  return join(DATA_FOLDER, `${name}.${suffix}`);
}

/** Makes the folder of such a file. Only `data` may be missing: a database has made its own folder. */
export async function makeFolderOf(path: string): Promise<void> {
  if (path.startsWith(DATA_FOLDER)) await mkdir(DATA_FOLDER, { mode: 0o700, recursive: true });
}

/**
 * Runs `write`, and explains its failures.
 *
 * @param what the beginning of the explanation: `<setting>: <what is written>`
 * @throws {ConfigError} where the file cannot be written: in a read-only folder, for instance
 */
export async function explainUnwritable<T>(what: string, path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error;
    throw new ConfigError(`${what} cannot be written to ${path}: ${String(error.code)}`);
  }
}
