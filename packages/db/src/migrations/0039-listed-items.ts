import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Whether the last sync found an item, and the time of that sync in the provider. An earlier release, which runs beside this one
 * during an upgrade, writes neither. Items from before are marked by the next sync.
 */
export const listedItems: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('inventory_items')
    .addColumn('listed', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('providers').addColumn('items_listed_at', 'text').execute();
}
