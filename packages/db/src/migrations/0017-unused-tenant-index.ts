import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Nothing looks tenants up by their case-folded ids any more: the ids that users found end in random characters. */
export const unusedTenantIndex: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('tenants_by_folded_id').execute();
}
