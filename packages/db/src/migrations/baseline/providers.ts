import {
  addListIndexes,
  addPlace,
  addProviderReference,
  addTimes,
  indexesOn,
  required,
  type Schema,
  withDefault,
} from './schema.ts';

/** Providers, who uses them, and the models and tools that they offer. */
export async function createProviderTables(db: Schema): Promise<void> {
  await createProviders(db);
  await createInventory(db);
}

async function createProviders(db: Schema): Promise<void> {
  await db.schema
    .createTable('providers')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('name_key', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('description', 'text')
    .addColumn('kind', 'text', required)
    .addColumn('base_url', 'text')
    .addColumn('host', 'text')
    .addColumn('status', 'text', required)
    .addColumn('health', 'text', required)
    .addColumn('health_reason', 'text')
    .addColumn('unhealthy_since', 'text')
    .addColumn('inventory_synced_at', 'text')
    .addColumn('metadata', 'text', required)
    .$call(addTimes)
    .addColumn('sync_interval_seconds', 'integer')
    .addColumn('next_sync_at', 'text')
    .addColumn('aliases', 'text', withDefault('[]'))
    .addColumn('name_family', 'text', withDefault(''))
    // The account whose traffic the provider was discovered in, because each account has a share of the tenant's limit.
    .addColumn('discovered_by', 'text', withDefault(''))
    .addColumn('items_listed_at', 'text')
    .addColumn('new_items', 'text', withDefault('review'))
    .addColumn('headers', 'text', withDefault('[]'))
    // What syncs found out about an MCP server.
    .addColumn('mcp', 'text')
    .addPrimaryKeyConstraint('providers_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'providers');
  const providers = indexesOn(db, 'providers');
  await providers('providers_by_name', ['tenant_id', 'sub_tenant_id', 'name_key'], {
    unique: true,
    where: `status <> 'deleted'`,
  });
  // Finds the providers that are due for a sync, in all tenants.
  await providers('providers_by_next_sync', ['next_sync_at', 'id'], { where: 'next_sync_at is not null' });
  // Counts what a tenant uses of its limit. It is partial, so that deleted records cost nothing.
  await providers('providers_counted', ['tenant_id'], { where: `status <> 'deleted'` });
  // Each batch of spans looks providers up by host and by name family.
  await providers('providers_by_host', ['tenant_id', 'host'], { where: 'host is not null' });
  await providers('providers_by_family', ['tenant_id', 'name_family']);
  // Count the discovered providers of an account and of a sub-tenant, for their shares of the tenant's limit.
  await providers('providers_discovered_by', ['tenant_id', 'discovered_by'], { where: `status = 'discovered'` });
  await providers('providers_discovered_in', ['tenant_id', 'sub_tenant_id'], { where: `status = 'discovered'` });
  // Finds deleted providers that still have content, for retention.
  await providers('providers_to_erase', ['tenant_id', 'updated_at'], {
    where: `status = 'deleted' and (description is not null or metadata <> '{}')`,
  });

  // The case-folded aliases. The provider's row has them as written; this table makes them unique at a place and finds
  // providers by alias.
  await db.schema
    .createTable('provider_aliases')
    .$call(addPlace)
    .addColumn('alias_key', 'text', required)
    .addColumn('alias_family', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addPrimaryKeyConstraint('provider_aliases_pk', ['tenant_id', 'sub_tenant_id', 'alias_key'])
    .execute();
  const aliases = indexesOn(db, 'provider_aliases');
  await aliases('provider_aliases_by_provider', ['tenant_id', 'provider_id']);
  await aliases('provider_aliases_by_family', ['tenant_id', 'alias_family']);

  await db.schema
    .createTable('provider_uses')
    .addColumn('tenant_id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('account', 'text', required)
    .addColumn('first_used_at', 'text', required)
    .addPrimaryKeyConstraint('provider_uses_key', ['tenant_id', 'provider_id', 'account'])
    .$call(addProviderReference('provider_uses_of_provider'))
    .execute();
}

/**
 * Items have a key that all variants of a name share, and a family of names that one declaration may cover (ADR 6). Both are
 * computed in JavaScript, because SQL engines differ in case folding beyond ASCII.
 */
async function createInventory(db: Schema): Promise<void> {
  await db.schema
    .createTable('inventory_items')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('title', 'text')
    .addColumn('description', 'text')
    .addColumn('status', 'text', required)
    .addColumn('source', 'text', required)
    .addColumn('schema_digest', 'text')
    .addColumn('attributes', 'text', required)
    .addColumn('first_seen_at', 'text', required)
    .addColumn('last_seen_at', 'text', required)
    .$call(addTimes)
    .addColumn('name_key', 'text', withDefault(''))
    .addColumn('drift', 'text')
    .addColumn('name_family', 'text', withDefault(''))
    // A sync that finds the same items again writes one time to the provider, and nothing to its items.
    .addColumn('listed', 'integer', withDefault(0))
    .addColumn('renamed_from', 'text')
    .addPrimaryKeyConstraint('inventory_items_key', ['tenant_id', 'id'])
    .$call(addProviderReference('inventory_items_of_provider'))
    .execute();
  const index = indexesOn(db, 'inventory_items');
  await index('inventory_items_by_id', ['id']);
  await index('inventory_items_by_time', ['tenant_id', 'provider_id', 'created_at desc', 'id desc']);
  await index('inventory_items_by_name_key', ['tenant_id', 'provider_id', 'kind', 'name_key'], { unique: true });
  // Find the items that may cover a name: at one provider, and at all providers of a tenant.
  await index('inventory_items_by_family', ['tenant_id', 'provider_id', 'kind', 'name_family']);
  await index('inventory_items_of_family', ['tenant_id', 'kind', 'name_family']);
  await index('inventory_items_blocked', ['tenant_id', 'provider_id'], { where: `status = 'blocked'` });
}
