import { openDatabase } from '@quartermaster/db/database.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';

/** Takes the lock that writing to a table needs, as another process would. Answers what gives it back. */
export async function lockTable(databaseUrl: string, table: string): Promise<() => Promise<void>> {
  const [taken, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = await openDatabase(databaseUrl, '/');
  const holding = other.transaction().execute(async (trx) => {
    // On SQLite each transaction has it from the beginning.
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
