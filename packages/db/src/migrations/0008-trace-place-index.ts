import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** An index for lists of one sub-tenant's traces. */
export const tracePlaceIndex: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('traces_by_place')
    .on('traces')
    .columns(['tenant_id', 'sub_tenant_id', 'created_at desc', 'trace_id desc'])
    .where(sql.ref('sub_tenant_id'), '<>', sql.lit(''))
    .execute();
}
