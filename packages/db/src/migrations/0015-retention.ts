import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * A retention time for ended records of a tenant, with indexes that find them; an index of the open recommendations of a subject;
 * and the items that a provider had when a recommendation was applied.
 */
export const retention: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tenants').addColumn('record_retention_days', 'integer').execute();
  await db.schema.alterTable('recommendations').addColumn('items_before', 'text').execute();
  const index = (table: string, name: string, columns: string[]) =>
    db.schema.createIndex(`${table}_${name}`).on(table).columns(columns);
  await index('recommendations', 'open_by_subject', ['tenant_id', 'provider_id', 'subject'])
    .where(sql.ref('status'), '=', 'open')
    .execute();
  await index('recommendations', 'closed', ['tenant_id', 'updated_at'])
    .where(sql.ref('status'), '<>', 'open')
    .execute();
  await index('operator_tasks', 'completed', ['tenant_id', 'completed_at'])
    .where(sql.ref('completed_at'), 'is not', null)
    .execute();
  await index('gateway_sessions', 'by_expiry', ['tenant_id', 'expires_at']).execute();
}
