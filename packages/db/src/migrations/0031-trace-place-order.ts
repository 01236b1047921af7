import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The index of a sub-tenant's traces has their whole order. Before, SQLite found it as good as the index of the whole tenant,
 * and took either one.
 */
export const tracePlaceOrder: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('traces_by_place').execute();
  await sql`
    create index traces_by_place on traces
      (tenant_id, sub_tenant_id, created_at desc, (trace_id || '/' || tenant_id || '/' || sub_tenant_id) desc)
    where sub_tenant_id <> ''`.execute(db);
}
