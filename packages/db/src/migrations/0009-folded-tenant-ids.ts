import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** An index of case-folded tenant ids. Without it, a look-up reads all tenants, and on Postgres conflicts with their writes. */
export const foldedTenantIds: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('tenants_by_folded_id').on('tenants').expression(sql`lower(id)`).execute();
}
