import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Calls that several signals may tell of, spans and log records: the first one counts, the others are recognised. */
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
  // Tells whether log records told of calls in a place.
  await db.schema
    .createIndex('telemetry_calls_by_log')
    .on('telemetry_calls')
    .columns(['tenant_id', 'sub_tenant_id'])
    .where(sql.ref('signal'), '=', sql.lit('log'))
    .execute();
}
