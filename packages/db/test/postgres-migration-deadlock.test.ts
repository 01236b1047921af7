import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { expect, test } from 'vitest';
import { listAppliedMigrations } from '../src/applied-migrations.ts';
import type { Database } from '../src/database.ts';
import { migrate, MIGRATIONS } from '../src/migrate.ts';
import { temporaryDatabase } from './temporary-database.ts';

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

/** A version with a migration that locks three tables, one after the other. */
const LATER: Record<string, Migration> = {
  ...MIGRATIONS,
  '0002-colors': {
    async up(schema: Kysely<unknown>) {
      for (const table of ['tenants', 'telemetry_calls', 'idempotency_keys']) {
        await schema.schema.alterTable(table).addColumn('color', 'text').execute();
      }
    },
  },
};

test('regression: a migration that deadlocks with a write of the earlier release is repeated', async () => {
  const db = await temporaryDatabase();
  const holdsSecond = await db.startTransaction().execute();
  await lock(holdsSecond, 'telemetry_calls');
  const writer = await db.startTransaction().execute();
  // So that the server ends the migration and not this transaction.
  await sql`set local deadlock_timeout = '20s'`.execute(writer);
  await lock(writer, 'idempotency_keys');

  const migrated = migrate(db, LATER);
  await untilWaitingFor(db, 'telemetry_calls');
  // The migration holds this table, and will ask for the table that the writer holds.
  const written = lock(writer, 'tenants').then(() => writer.commit().execute());
  await untilWaitingFor(db, 'tenants');
  await holdsSecond.commit().execute();

  await Promise.all([migrated, written]);
  expect(await listAppliedMigrations(db)).toEqual(Object.keys(LATER));
});
