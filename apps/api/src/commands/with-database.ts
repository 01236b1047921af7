import { requireSchema } from '@quartermaster/db/migrate.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { requireNoUnfinishedMove } from '@quartermaster/db/database-move.ts';
import { ROOT, readDatabaseUrl, readSecretKeys } from '../config.ts';
import { openSecretBox } from '../server/secret-key.ts';
import type { Services } from '../platform/services.ts';
import { requireFile } from './require-file.ts';
import type { Invocation } from './run-command.ts';

/**
 * Opens the database that DATABASE_URL names with its secret key, runs `work`, and closes it.
 *
 * @throws {ConfigError} if there is no database; {DatabaseUnfitError} if it has another schema, or is the target of an unfinished move
 */
export async function withDatabase<T>(
  environment: Invocation['environment'],
  work: (services: Pick<Services, 'db' | 'now' | 'secrets'>) => Promise<T>,
): Promise<T> {
  const url = readDatabaseUrl(environment);
  await requireFile(url);
  const db = await openDatabase(url, ROOT);
  try {
    await requireSchema(db);
    await requireNoUnfinishedMove(db);
    const now = () => new Date();
    const secrets = await openSecretBox(db, readSecretKeys(environment), now);
    return await work({ db, now, secrets });
  } finally {
    await db.destroy();
  }
}
