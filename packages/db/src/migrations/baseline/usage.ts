import { addListIndexes, addPlace, addTimes, indexesOn, required, type Schema } from './schema.ts';

/**
 * Sums of calls by hour and day. A series is one combination of provider, kind, name, agent and account. The sums refer to it, so
 * that renaming a provider changes a few series and none of the sums.
 */
export async function createUsageTables(db: Schema): Promise<void> {
  await db.schema
    .createTable('usage_series')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('series_key', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('name_key', 'text', required)
    .addColumn('agent', 'text', required)
    .addColumn('account', 'text', required)
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('usage_series_pk', ['tenant_id', 'id'])
    .execute();
  const series = indexesOn(db, 'usage_series');
  // Not unique: after a provider is renamed, two series may have the same key. Queries add them up.
  await series('usage_series_by_key', ['tenant_id', 'series_key']);
  await series('usage_series_by_account', ['tenant_id', 'account']);
  // Counts the series of a sub-tenant, for its share of the tenant's limit.
  await series('usage_series_by_sub_tenant', ['tenant_id', 'sub_tenant_id']);
  // With the name, so that the usage of one observation is found without reading that of the whole provider.
  await series('usage_series_by_provider', ['tenant_id', 'provider_id', 'kind', 'name_key']);

  await db.schema
    .createTable('usage_rollups')
    .addColumn('tenant_id', 'text', required)
    .addColumn('series_id', 'text', required)
    .addColumn('period', 'text', required)
    .addColumn('start_time', 'text', required)
    .addColumn('calls', 'integer', required)
    .addColumn('errors', 'integer', required)
    .addColumn('input_tokens', 'integer', required)
    .addColumn('output_tokens', 'integer', required)
    // Parts of the input and of the output, which have prices of their own.
    .addColumn('cache_read_tokens', 'integer', required)
    .addColumn('cache_write_tokens', 'integer', required)
    .addColumn('reasoning_tokens', 'integer', required)
    // Microseconds, since whole numbers add up exactly.
    .addColumn('duration_us', 'integer', required)
    // Of its calls: milliseconds since 1970.
    .addColumn('first_at', 'integer', required)
    .addColumn('last_at', 'integer', required)
    .addPrimaryKeyConstraint('usage_rollups_pk', ['tenant_id', 'series_id', 'period', 'start_time'])
    .execute();
  // Finds the oldest rows, for retention.
  await indexesOn(db, 'usage_rollups')('usage_rollups_by_time', ['tenant_id', 'start_time']);

  // The channels that runs of agents named. Bounded for each agent and for each tenant.
  await db.schema
    .createTable('agent_channels')
    .$call(addPlace)
    .addColumn('agent', 'text', required)
    .addColumn('channel', 'text', required)
    .addColumn('first_seen_at', 'text', required)
    .addColumn('last_seen_at', 'text', required)
    .addPrimaryKeyConstraint('agent_channels_pk', ['tenant_id', 'sub_tenant_id', 'agent', 'channel'])
    .execute();
  // Finds the oldest rows, for retention.
  await indexesOn(db, 'agent_channels')('agent_channels_by_time', ['tenant_id', 'last_seen_at']);

  // Prices that a tenant or the platform set. Those of the platform have the tenant ''.
  await db.schema
    .createTable('prices')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('model_pattern', 'text', required)
    .addColumn('pattern_key', 'text', required)
    .addColumn('valid_from', 'text', required)
    // Millionths of a US dollar for a million tokens.
    .addColumn('input_price', 'integer', required)
    .addColumn('output_price', 'integer', required)
    .addColumn('cache_read_price', 'integer')
    .addColumn('cache_write_price', 'integer')
    .$call(addTimes)
    .addPrimaryKeyConstraint('prices_pk', ['tenant_id', 'id'])
    .execute();
  await indexesOn(db, 'prices')('prices_by_pattern', ['tenant_id', 'pattern_key', 'valid_from'], { unique: true });
  await addListIndexes(db, 'prices');
}
