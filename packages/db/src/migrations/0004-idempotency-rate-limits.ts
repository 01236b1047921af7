import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Idempotency keys with the answers of their requests, and rate limits that processes share. */
export const idempotencyAndRateLimits: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('principal', 'text', (column) => column.notNull())
    .addColumn('key_digest', 'text', (column) => column.notNull())
    .addColumn('request_digest', 'text', (column) => column.notNull())
    .addColumn('claim', 'text', (column) => column.notNull())
    .addColumn('lease_expires_at', 'text', (column) => column.notNull())
    .addColumn('answer', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['tenant_id', 'principal', 'key_digest'])
    .execute();
  await db.schema.createIndex('idempotency_keys_by_expiry').on('idempotency_keys').columns(['expires_at']).execute();

  await db.schema
    .createTable('rate_limit_windows')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('policy', 'text', (column) => column.notNull())
    .addColumn('caller', 'text', (column) => column.notNull())
    .addColumn('window_start', 'text', (column) => column.notNull())
    .addColumn('reserved', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('rate_limit_windows_pk', ['tenant_id', 'policy', 'caller', 'window_start'])
    .execute();
  await db.schema
    .createIndex('rate_limit_windows_by_start')
    .on('rate_limit_windows')
    .columns(['window_start'])
    .execute();
}
