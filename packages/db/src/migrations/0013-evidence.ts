import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The address that a provider's secret is bound to. The service fills it in at its next start. */
export const evidence: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('credentials').addColumn('bound_url', 'text').execute();
}
