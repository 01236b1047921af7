import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { type Config, ConfigError, ROOT } from '../config.ts';

type Place = Pick<Config, 'databaseUrl' | 'dataFolder'>;

/** The path of a file that belongs to a database: next to the database file, or in the data folder for a database on a server. */
export function pathBesideDatabase({ databaseUrl, dataFolder }: Place, suffix: string): string {
  const file = sqlitePath(databaseUrl, ROOT);
  if (file !== null) return `${file}.${suffix}`;
  const name = new URL(databaseUrl).pathname.slice(1).replaceAll(/[^\w.-]/g, '_');
  return join(dataFolder, `${name}.${suffix}`);
}

/** Creates the folder of such a file. Only the data folder may be missing, because opening a database file creates its folder. */
export async function makeFolderOf(path: string, { dataFolder }: Pick<Place, 'dataFolder'>): Promise<void> {
  if (path.startsWith(dataFolder)) await mkdir(dataFolder, { mode: 0o700, recursive: true });
}

/**
 * Runs `write`, and turns file errors into an explanation for the operator.
 *
 * @param what the beginning of the explanation: `<setting>: <what is written>`
 * @throws {ConfigError} if the file cannot be written, for instance in a read-only folder
 */
export async function explainUnwritable<T>(what: string, path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error;
    throw new ConfigError(`${what} cannot be written to ${path}: ${String(error.code)}`);
  }
}
