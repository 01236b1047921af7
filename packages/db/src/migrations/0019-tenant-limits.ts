import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The limits of tenants, and the counters and indexes for their usage. Stored bytes are recorded as changes and added up later. A
 * single counter would make all writes of a tenant wait for each other.
 */
export const tenantLimits: Migration = { up };

/** The estimated size of a span that was stored before bytes were counted. */
const ESTIMATED_BYTES_PER_SPAN = 1000;

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tenant_limits')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('resource', 'text', (column) => column.notNull())
    .addColumn('most', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('tenant_limits_pk', ['tenant_id', 'resource'])
    .execute();
  await db.schema
    .createTable('stored_bytes')
    .addColumn('tenant_id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('stored_bytes_changes')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('stored_bytes_changes_pk', ['tenant_id', 'id'])
    .execute();
  await db.schema
    .alterTable('traces')
    .addColumn('stored_bytes', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update traces set stored_bytes = span_count * ${sql.lit(ESTIMATED_BYTES_PER_SPAN)}`.execute(db);
  await sql`insert into stored_bytes (tenant_id, bytes) select tenant_id, sum(stored_bytes) from traces group by tenant_id`.execute(
    db,
  );
  // Partial indexes, so that ended records cost nothing, however many there are.
  const index = (table: string, columns: string[]) =>
    db.schema.createIndex(`${table}_counted`).on(table).columns(columns);
  await index('service_accounts', ['tenant_id']).where(sql.ref('status'), '<>', sql.lit('deleted')).execute();
  await index('providers', ['tenant_id']).where(sql.ref('status'), '<>', sql.lit('deleted')).execute();
  await index('gateways', ['tenant_id']).where(sql.ref('status'), '<>', sql.lit('deleted')).execute();
  await index('gateway_sessions', ['tenant_id', 'expires_at']).where(sql.ref('revoked_at'), 'is', null).execute();
  await sql`create index credentials_counted on credentials (tenant_id, expires_at)
    where kind = 'api_key' and revoked_at is null`.execute(db);
}
