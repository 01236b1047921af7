import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The calls and errors of an observation that each account reported, so that the corrections of an account take back only its own
 * calls. It starts empty: corrections of calls from before the migration take back nothing.
 */
export const observationAccounts: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('observation_accounts')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('observation_id', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('occurrences', 'integer', (column) => column.notNull())
    .addColumn('errors', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('observation_accounts_pk', ['tenant_id', 'observation_id', 'account'])
    .addForeignKeyConstraint(
      'observation_accounts_of_observation',
      ['tenant_id', 'observation_id'],
      'runtime_observations',
      ['tenant_id', 'id'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
}
