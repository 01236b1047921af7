import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Extends the index of a sub-tenant's traces by their whole sort order. Before, SQLite considered it equal to the index of the
 * whole tenant, and might choose either.
 */
export const tracePlaceOrder: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('traces_by_place').execute();
  await sql`
    create index traces_by_place on traces
      (tenant_id, sub_tenant_id, created_at desc, (trace_id || '/' || tenant_id || '/' || sub_tenant_id) desc)
    where sub_tenant_id <> ''`.execute(db);
}
