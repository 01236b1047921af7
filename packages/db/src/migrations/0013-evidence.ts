import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The address that a provider's secret is bound to, and the MAC of an audit event. The service fills in what is there. */
export const evidence: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('credentials').addColumn('bound_url', 'text').execute();
  await db.schema.alterTable('audit_events').addColumn('mac', 'text').execute();
}
