import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Extends the index of the usage of a provider by the names, so that the usage of one observation is found without reading the rest. */
export const seriesOfNames: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('usage_series_by_provider').execute();
  await db.schema
    .createIndex('usage_series_by_provider')
    .on('usage_series')
    .columns(['tenant_id', 'provider_id', 'kind', 'name_key'])
    .execute();
}
