import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Calls that both spans and log records may report. The first report counts; later ones are recognised as duplicates. */
export const telemetryCalls: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('telemetry_calls')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('call_key', 'text', (column) => column.notNull())
    .addColumn('signal', 'text', (column) => column.notNull())
    .addColumn('first_seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('telemetry_calls_pk', ['tenant_id', 'sub_tenant_id', 'call_key'])
    .execute();
  await db.schema
    .createIndex('telemetry_calls_by_time')
    .on('telemetry_calls')
    .columns(['tenant_id', 'first_seen_at'])
    .execute();
  // Finds out whether log records reported calls at a place.
  await db.schema
    .createIndex('telemetry_calls_by_log')
    .on('telemetry_calls')
    .columns(['tenant_id', 'sub_tenant_id'])
    .where(sql.ref('signal'), '=', sql.lit('log'))
    .execute();
}
