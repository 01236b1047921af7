import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { listAppliedMigrations } from '../src/applied-migrations.ts';
import { type Database, migrate } from '../src/database.ts';
import { temporaryDatabase } from './temporary-database.ts';

/** Back to the schema before 0041. */
async function revertLastMigrations(db: Database): Promise<void> {
  await sql`drop table observation_accounts`.execute(db);
  await sql`drop table telemetry_call_counts`.execute(db);
  await sql`drop index telemetry_calls_by_sender`.execute(db);
  await sql`alter table telemetry_calls drop column sender, drop column record_key, drop column counted_call`.execute(
    db,
  );
  await sql`create index telemetry_calls_by_time on telemetry_calls (tenant_id, first_seen_at)`.execute(db);
  await sql`alter table idempotency_keys drop column counted_for`.execute(db);
  await sql`delete from kysely_migration where name >= '0041'`.execute(db);
}

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
  const db = await temporaryDatabase();
  await revertLastMigrations(db);
  const before = await listAppliedMigrations(db);
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
  expect((await listAppliedMigrations(db)).length).toBe(before.length + 4);
});
