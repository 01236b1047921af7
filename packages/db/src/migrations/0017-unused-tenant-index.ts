import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Drops the index of case-folded tenant ids. It is not used any more, since self-service ids end in random characters. */
export const unusedTenantIndex: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('tenants_by_folded_id').execute();
}
