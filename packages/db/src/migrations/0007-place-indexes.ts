import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Indexes for lists of one sub-tenant. They do not contain rows of whole tenants, and cost these nothing. */
export const placeIndexes: Migration = { up };

const LISTED = [
  'service_accounts',
  'credentials',
  'providers',
  'runtime_observations',
  'manifests',
  'gateways',
  'operator_tasks',
  'audit_events',
];

async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of LISTED) {
    await db.schema
      .createIndex(`${table}_by_place`)
      .on(table)
      .columns(['tenant_id', 'sub_tenant_id', 'created_at desc', 'id desc'])
      .where(sql.ref('sub_tenant_id'), '<>', sql.lit(''))
      .execute();
  }
}
