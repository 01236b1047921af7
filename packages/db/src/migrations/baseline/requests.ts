import { indexesOn, required, type Schema } from './schema.ts';

/** Idempotency keys with the answers of their requests (ADR 9), and rate limits that processes share. */
export async function createRequestTables(db: Schema): Promise<void> {
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('tenant_id', 'text', required)
    .addColumn('principal', 'text', required)
    .addColumn('key_digest', 'text', required)
    .addColumn('request_digest', 'text', required)
    .addColumn('claim', 'text', required)
    .addColumn('lease_expires_at', 'text', required)
    .addColumn('answer', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    .addColumn('counted_for', 'text')
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['tenant_id', 'principal', 'key_digest'])
    .execute();
  await indexesOn(db, 'idempotency_keys')('idempotency_keys_by_expiry', ['expires_at']);

  await db.schema
    .createTable('rate_limit_windows')
    .addColumn('tenant_id', 'text', required)
    .addColumn('policy', 'text', required)
    .addColumn('caller', 'text', required)
    .addColumn('window_start', 'text', required)
    .addColumn('reserved', 'integer', required)
    .addPrimaryKeyConstraint('rate_limit_windows_pk', ['tenant_id', 'policy', 'caller', 'window_start'])
    .execute();
  await indexesOn(db, 'rate_limit_windows')('rate_limit_windows_by_start', ['window_start']);
}
