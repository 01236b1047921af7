import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Extends the index that finds the recommendations of an observation by what it finds. Before, SQLite preferred the primary key,
 * which has all columns, and read all links of the tenant.
 */
export const linksOfObservations: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('recommendation_observations_by_observation').execute();
  await db.schema
    .createIndex('recommendation_observations_by_observation')
    .on('recommendation_observations')
    .columns(['tenant_id', 'observation_id', 'recommendation_id'])
    .execute();
}
