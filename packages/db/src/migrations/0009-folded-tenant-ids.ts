import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Whether a tenant is called alike is asked by an index: otherwise every tenant is read, and on Postgres awaited. */
export const foldedTenantIds: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('tenants_by_folded_id').on('tenants').expression(sql`lower(id)`).execute();
}
