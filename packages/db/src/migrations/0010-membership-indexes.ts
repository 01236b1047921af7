import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Memberships of a tenant and of a sub-tenant are listed by an index that has all of their order; and who accepted one is
 * found without those that wait, of which anybody can offer many.
 */
export const membershipIndexes: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(`memberships_${name}`).on('memberships').columns(columns);
  await db.schema.dropIndex('memberships_by_time').execute();
  await index('by_time', ['tenant_id', 'created_at desc', 'user_id desc', 'sub_tenant_id desc']).execute();
  await index('by_place', ['tenant_id', 'sub_tenant_id', 'created_at desc', 'user_id desc'])
    .where(sql.ref('sub_tenant_id'), '<>', sql.lit(''))
    .execute();
  await index('accepted_by_place', ['tenant_id', 'sub_tenant_id', 'user_id'])
    .where(sql.ref('accepted_at'), 'is not', null)
    .execute();
}
