import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The address that a provider's secret is bound to, and the MAC of an audit event; the service fills them at its next
 * start. The request id that the caller sent, and whether a tenant audits reads.
 */
export const evidence: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('credentials').addColumn('bound_url', 'text').execute();
  await db.schema.alterTable('audit_events').addColumn('mac', 'text').execute();
  await db.schema.alterTable('audit_events').addColumn('caller_request_id', 'text').execute();
  await db.schema
    .alterTable('tenants')
    .addColumn('audit_reads', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}
