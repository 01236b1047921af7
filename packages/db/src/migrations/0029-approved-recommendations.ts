import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Whether `apply` without ids may apply an open recommendation, because it grants nothing new or is based on an approved
 * observation. An index finds these, however many others are open. A recommendation to adopt a provider always counts as
 * applicable, since a provider has at most one.
 */
export const approvedRecommendations: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('recommendations')
    .addColumn('is_applicable', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`
    update recommendations set is_applicable = 1
    where status = 'open' and (
      kind not in ('register_item', 'accept_drift')
      or exists (
        select 1 from recommendation_observations as link
        join runtime_observations as observation
          on observation.tenant_id = link.tenant_id and observation.id = link.observation_id
        where link.tenant_id = recommendations.tenant_id and link.recommendation_id = recommendations.id
          and observation.status = 'approved'))`.execute(db);
  await db.schema
    .createIndex('recommendations_to_apply')
    .on('recommendations')
    .columns(['tenant_id', 'provider_id', 'is_applicable', 'created_at', 'id'])
    .where(sql.ref('status'), '=', 'open')
    .execute();
}
