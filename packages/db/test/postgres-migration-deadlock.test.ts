import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { listAppliedMigrations } from '../src/applied-migrations.ts';
import { type Database, migrate, MIGRATIONS } from '../src/database.ts';
import { databaseBefore } from './temporary-database.ts';

/** Waits until a lock request for a table is waiting. */
async function untilWaitingFor(db: Database, table: string): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      select 1 from pg_locks where relation = ${table}::regclass and not granted`.execute(db);
    if (rows.length > 0) return;
    await sleep(5);
  }
}

function lock(trx: Database, table: string): Promise<unknown> {
  return sql`lock table ${sql.table(table)} in row exclusive mode`.execute(trx);
}

test('regression: a migration that deadlocks with a write of the earlier release is repeated', async () => {
  const db = await databaseBefore('0041-counted-answers');
  const holdsSecond = await db.startTransaction().execute();
  await lock(holdsSecond, 'telemetry_calls');
  const writer = await db.startTransaction().execute();
  // So that the server ends the migration and not this transaction.
  await sql`set local deadlock_timeout = '20s'`.execute(writer);
  await lock(writer, 'runtime_observations');

  const migrated = migrate(db);
  await untilWaitingFor(db, 'telemetry_calls');
  // The migration holds this table, and will ask for the table that the writer holds.
  const written = lock(writer, 'idempotency_keys').then(() => writer.commit().execute());
  await untilWaitingFor(db, 'idempotency_keys');
  await holdsSecond.commit().execute();

  await Promise.all([migrated, written]);
  expect(await listAppliedMigrations(db)).toEqual(Object.keys(MIGRATIONS));
});
