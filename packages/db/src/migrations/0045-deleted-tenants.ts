import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** When a tenant was deleted, and when its data were erased. The row of a deleted tenant stays, so that its id is never used again. */
export const deletedTenants: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tenants').addColumn('deleted_at', 'text').execute();
  await db.schema.alterTable('tenants').addColumn('erased_at', 'text').execute();
  // Finds the few tenants whose data are not erased yet.
  await db.schema
    .createIndex('tenants_to_erase')
    .on('tenants')
    .columns(['deleted_at'])
    .where(sql<boolean>`deleted_at is not null and erased_at is null`)
    .execute();
}
