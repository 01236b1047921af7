import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** How many records each service account sent, by instrumentation scope, and how many of them report a call. */
export const accountTelemetry: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('account_telemetry')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('service_account_id', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('spans', 'integer', (column) => column.notNull())
    .addColumn('log_records', 'integer', (column) => column.notNull())
    .addColumn('read_records', 'integer', (column) => column.notNull())
    .addColumn('first_received_at', 'text', (column) => column.notNull())
    .addColumn('last_received_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('account_telemetry_pk', ['tenant_id', 'service_account_id', 'scope'])
    .execute();
}
