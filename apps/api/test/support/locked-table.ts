import { openDatabase } from '@quartermaster/db/open-database.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';

/** Takes the lock that writers of a table need, as another process would. Returns a function that releases it. */
export async function lockTable(databaseUrl: string, table: string): Promise<() => Promise<void>> {
  const [taken, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = await openDatabase(databaseUrl, '/');
  const holding = other.transaction().execute(async (trx) => {
    // On SQLite a write transaction locks the whole database from its beginning.
    if (onPostgres()) await sql`lock table ${sql.table(table)} in exclusive mode`.execute(trx);
    taken.resolve();
    await released.promise;
  });
  await taken.promise;
  return async () => {
    released.resolve();
    await holding;
    await other.destroy();
  };
}
