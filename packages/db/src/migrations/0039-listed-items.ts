import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Whether the last sync found an item. Those from before are marked by the next sync. */
export const listedItems: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('inventory_items')
    .addColumn('listed', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}
