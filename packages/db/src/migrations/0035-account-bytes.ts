import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The stored bytes of each account's spans: a counter for each account, and who sent a trace. Bytes of traces from before belong
 * to no account.
 */
export const accountBytes: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('account_bytes')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('account_bytes_pk', ['tenant_id', 'account'])
    .execute();
  await db.schema
    .alterTable('traces')
    .addColumn('account', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema
    .createTable('trace_accounts')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('trace_accounts_pk', ['tenant_id', 'sub_tenant_id', 'trace_id', 'account'])
    .execute();
}
