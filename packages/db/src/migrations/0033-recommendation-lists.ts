import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Indexes for lists of recommendations of all providers: everywhere, in a tenant, and in a sub-tenant. */
export const recommendationLists: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, columns: string[]) =>
    db.schema
      .createIndex(name)
      .on('recommendations')
      .columns([...columns, 'created_at desc', 'id desc']);
  await index('recommendations_by_time', []).execute();
  await index('recommendations_by_tenant', ['tenant_id']).execute();
  await index('recommendations_by_place', ['tenant_id', 'sub_tenant_id'])
    .where(sql.ref('sub_tenant_id'), '<>', sql.lit(''))
    .execute();
}
