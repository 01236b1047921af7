import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The environments in which an observation was seen, as JSON. Those from before are not known. */
export const observationEnvironments: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('runtime_observations')
    .addColumn('environments', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute();
}
