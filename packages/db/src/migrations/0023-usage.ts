import type { CreateTableBuilder, Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Usage: sums of calls by hour and day. A series is one combination of provider, kind, name, agent and account; the sums
 * refer to it, so that renaming a provider changes a few series and none of the sums.
 */
export const usage: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  const text = (table: string, columns: readonly string[]) =>
    columns.reduce<CreateTableBuilder<string, string>>(
      (builder, column) => builder.addColumn(column, 'text', (definition) => definition.notNull()),
      db.schema.createTable(table),
    );
  const sums = ['calls', 'errors', 'input_tokens', 'output_tokens', 'duration_us'];
  await text('usage_series', ['tenant_id', 'sub_tenant_id', 'id', 'series_key', 'provider_id', 'kind', 'name'])
    .addColumn('name_key', 'text', (column) => column.notNull())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_series_pk', ['tenant_id', 'id'])
    .execute();
  // Not unique: after a provider is renamed, two series may have the same key. Queries add them up.
  await db.schema.createIndex('usage_series_by_key').on('usage_series').columns(['tenant_id', 'series_key']).execute();
  await db.schema.createIndex('usage_series_by_account').on('usage_series').columns(['tenant_id', 'account']).execute();
  // Without the name, which may be longer than an index entry can be.
  await db.schema
    .createIndex('usage_series_by_provider')
    .on('usage_series')
    .columns(['tenant_id', 'provider_id', 'kind'])
    .execute();
  const rollups = text('usage_rollups', ['tenant_id', 'series_id', 'period', 'start_time']);
  await sums
    .reduce((builder, column) => builder.addColumn(column, 'integer', (definition) => definition.notNull()), rollups)
    .addPrimaryKeyConstraint('usage_rollups_pk', ['tenant_id', 'series_id', 'period', 'start_time'])
    .execute();
  // Finds the oldest rows for retention.
  await db.schema
    .createIndex('usage_rollups_by_time')
    .on('usage_rollups')
    .columns(['tenant_id', 'start_time'])
    .execute();
  await db.schema
    .alterTable('tenants')
    .addColumn('usage_retention_days', 'integer', (column) => column.notNull().defaultTo(400))
    .execute();
}
