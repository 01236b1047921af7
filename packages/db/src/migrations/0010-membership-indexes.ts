import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Indexes for lists of memberships of a tenant and of a sub-tenant, with all columns of their order. A partial index finds
 * accepted memberships without the pending ones, since anyone can create many of those.
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
