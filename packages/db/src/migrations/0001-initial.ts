import { type CreateTableBuilder, type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The schema of the first release. It is frozen; later changes are separate migrations. */
export const initial: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await table('tenants', ['id'])
    .addColumn('id', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('capture_content', 'integer', required)
    .addColumn('span_retention_days', 'integer')
    .$call(times)
    .execute();
  await db.schema.createIndex('tenants_by_time').on('tenants').columns(['created_at desc', 'id desc']).execute();

  await table('sub_tenants', ['tenant_id', 'id'])
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('id', 'text', required)
    .addColumn('created_at', 'text', required)
    .execute();

  await table('service_accounts', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('name', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('description', 'text')
    .addColumn('status', 'text', required)
    .addColumn('platform_administrator', 'integer', required)
    .addColumn('metadata', 'text', required)
    .addColumn('last_used_at', 'text')
    .addColumn('search_text', 'text', required)
    .$call(times)
    .execute();
  await listed('service_accounts');

  await table('service_account_metadata', ['tenant_id', 'key', 'value_digest', 'service_account_id'])
    .addColumn('tenant_id', 'text', required)
    .addColumn('service_account_id', 'text', required)
    .addColumn('key', 'text', required)
    .addColumn('value_digest', 'text', required)
    .addForeignKeyConstraint(
      'service_account_metadata_of_account',
      ['tenant_id', 'service_account_id'],
      'service_accounts',
      ['tenant_id', 'id'],
    )
    .execute();
  await index('service_account_metadata', 'by_account', ['tenant_id', 'service_account_id']).execute();

  await table('credentials', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text')
    .addColumn('owner_type', 'text', required)
    .addColumn('owner_id', 'text')
    .addColumn('prefix', 'text')
    .addColumn('scopes', 'text', required)
    .addColumn('digest', 'text')
    .addColumn('secret', 'text')
    .addColumn('public_key', 'text')
    .addColumn('expires_at', 'text')
    .addColumn('last_used_at', 'text')
    .addColumn('created_by', 'text')
    .addColumn('revoked_at', 'text')
    .addColumn('rotation_count', 'integer', required)
    .addColumn('replaced_by', 'text')
    .addColumn('search_text', 'text', required)
    .$call(times)
    .execute();
  await listed('credentials');
  await index('credentials', 'by_owner', ['tenant_id', 'owner_id', 'created_at desc', 'id desc']).execute();
  await index('credentials', 'signing_key_rotation', ['tenant_id', 'rotation_count'])
    .unique()
    .where(sql.ref('kind'), '=', 'signing_key')
    .execute();

  await table('users', ['id'])
    .addColumn('id', 'text', required)
    .addColumn('email', 'text')
    .addColumn('email_key', 'text', (column) => column.unique())
    .addColumn('display_name', 'text')
    .addColumn('status', 'text', required)
    .addColumn('platform_administrator', 'integer', required)
    .addColumn('terms', 'text', required)
    .addColumn('terms_accepted', 'integer', required)
    .addColumn('marketing_consent', 'text', required)
    .addColumn('source', 'text')
    .addColumn('locale', 'text')
    .addColumn('time_zone', 'text')
    .addColumn('metadata', 'text', required)
    .addColumn('last_seen_at', 'text')
    .$call(times)
    .execute();
  await index('users', 'by_time', ['created_at desc', 'id desc']).execute();

  await table('identities', ['issuer', 'subject'])
    .addColumn('issuer', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('user_id', 'text', (column) => column.notNull().unique().references('users.id'))
    .addColumn('created_at', 'text', required)
    .execute();

  await table('memberships', ['tenant_id', 'user_id', 'sub_tenant_id'])
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('sub_tenant_id', 'text', required)
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('email', 'text', required)
    .addColumn('role', 'text', required)
    .$call(times)
    .execute();
  await index('memberships', 'by_user', ['user_id']).execute();
  await index('memberships', 'by_time', ['tenant_id', 'created_at desc', 'user_id desc']).execute();

  await table('providers', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('name', 'text', required)
    .addColumn('name_key', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('description', 'text')
    .addColumn('kind', 'text', required)
    .addColumn('base_url', 'text')
    .addColumn('host', 'text')
    .addColumn('status', 'text', required)
    .addColumn('health', 'text', required)
    .addColumn('inventory_synced_at', 'text')
    .addColumn('metadata', 'text', required)
    .$call(times)
    .execute();
  await listed('providers');
  await index('providers', 'by_name', ['tenant_id', 'sub_tenant_id', 'name_key'])
    .unique()
    .where(sql.ref('status'), '<>', 'deleted')
    .execute();

  await table('inventory_items', ['tenant_id', 'id'])
    .$call(placed)
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
    .$call(times)
    .$call(ofProvider('inventory_items'))
    .execute();
  await index('inventory_items', 'by_name', ['tenant_id', 'provider_id', 'kind', 'name']).unique().execute();
  await index('inventory_items', 'by_id', ['id']).execute();
  await index('inventory_items', 'by_time', ['tenant_id', 'provider_id', 'created_at desc', 'id desc']).execute();

  await table('runtime_observations', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('provider_id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('unknown', 'integer', required)
    .addColumn('status', 'text', required)
    .addColumn('occurrences', 'integer', required)
    .addColumn('first_seen_at', 'text', required)
    .addColumn('last_seen_at', 'text', required)
    .addColumn('last_trace_id', 'text', required)
    .addColumn('last_span_id', 'text', required)
    .addColumn('evidence', 'text', required)
    .addColumn('risk', 'text', required)
    .addColumn('inventory_item_id', 'text')
    .addColumn('review', 'text')
    .$call(times)
    .$call(ofProvider('runtime_observations'))
    .execute();
  await listed('runtime_observations');
  await index('runtime_observations', 'by_name', ['tenant_id', 'provider_id', 'kind', 'name', 'sub_tenant_id'])
    .unique()
    .execute();
  await index('runtime_observations', 'by_provider', [
    'tenant_id',
    'provider_id',
    'created_at desc',
    'id desc',
  ]).execute();

  await table('recommendations', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('provider_id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('status', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('reason', 'text', required)
    .addColumn('change', 'text', required)
    .addColumn('applied_by', 'text')
    .addColumn('applied_at', 'text')
    .$call(times)
    .$call(ofProvider('recommendations'))
    .execute();
  await index('recommendations', 'by_id', ['id']).execute();
  await index('recommendations', 'by_provider', ['tenant_id', 'provider_id', 'created_at desc', 'id desc']).execute();
  await index('recommendations', 'open', ['tenant_id', 'provider_id', 'kind', 'subject'])
    .unique()
    .where(sql.ref('status'), '=', 'open')
    .execute();

  await table('recommendation_observations', ['tenant_id', 'recommendation_id', 'observation_id'])
    .addColumn('tenant_id', 'text', required)
    .addColumn('recommendation_id', 'text', required)
    .addColumn('observation_id', 'text', required)
    .addForeignKeyConstraint(
      'recommendation_observations_of_recommendation',
      ['tenant_id', 'recommendation_id'],
      'recommendations',
      ['tenant_id', 'id'],
    )
    .addForeignKeyConstraint(
      'recommendation_observations_of_observation',
      ['tenant_id', 'observation_id'],
      'runtime_observations',
      ['tenant_id', 'id'],
    )
    .execute();
  await index('recommendation_observations', 'by_observation', ['tenant_id', 'observation_id']).execute();

  await table('manifests', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('name', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('version', 'integer', required)
    .addColumn('status', 'text', required)
    .addColumn('digest', 'text', required)
    .addColumn('spec', 'text', required)
    .addColumn('created_by', 'text', required)
    .$call(times)
    .execute();
  await listed('manifests');
  await index('manifests', 'by_version', ['tenant_id', 'sub_tenant_id', 'kind', 'name', 'version']).unique().execute();

  await table('manifest_declarations', ['tenant_id', 'provider_key', 'kind', 'name', 'manifest_id'])
    .addColumn('tenant_id', 'text', required)
    .addColumn('sub_tenant_id', 'text', required)
    .addColumn('manifest_id', 'text', required)
    .addColumn('provider_key', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addForeignKeyConstraint('manifest_declarations_of_manifest', ['tenant_id', 'manifest_id'], 'manifests', [
      'tenant_id',
      'id',
    ])
    .execute();
  await index('manifest_declarations', 'by_manifest', ['tenant_id', 'manifest_id']).execute();

  await table('gateways', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('name', 'text', required)
    .addColumn('name_key', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('url', 'text')
    .addColumn('status', 'text', required)
    .addColumn('manifest_id', 'text')
    .addColumn('session_ttl_seconds', 'integer', required)
    .$call(times)
    .execute();
  await listed('gateways');
  await index('gateways', 'by_name', ['tenant_id', 'sub_tenant_id', 'name_key'])
    .unique()
    .where(sql.ref('status'), '<>', 'deleted')
    .execute();
  await index('gateways', 'by_manifest', ['tenant_id', 'manifest_id']).execute();

  await table('gateway_providers', ['tenant_id', 'gateway_id', 'provider_id'])
    .addColumn('tenant_id', 'text', required)
    .addColumn('gateway_id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('position', 'integer', required)
    .addForeignKeyConstraint('gateway_providers_of_gateway', ['tenant_id', 'gateway_id'], 'gateways', [
      'tenant_id',
      'id',
    ])
    .$call(ofProvider('gateway_providers'))
    .execute();
  await index('gateway_providers', 'by_provider', ['tenant_id', 'provider_id']).execute();

  await table('gateway_sessions', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('gateway_id', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('actor', 'text')
    .addColumn('opened_by', 'text', required)
    .addColumn('issued_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    .addColumn('revoked_at', 'text')
    .addColumn('gateway_url', 'text')
    .addColumn('grants', 'text', required)
    .addColumn('metadata', 'text', required)
    .$call(times)
    .addForeignKeyConstraint('gateway_sessions_of_gateway', ['tenant_id', 'gateway_id'], 'gateways', [
      'tenant_id',
      'id',
    ])
    .execute();
  await index('gateway_sessions', 'by_gateway', ['tenant_id', 'gateway_id', 'created_at desc', 'id desc']).execute();
  await index('gateway_sessions', 'by_subject', ['subject', 'tenant_id']).execute();
  await index('gateway_sessions', 'by_opener', ['opened_by', 'tenant_id']).execute();

  await table('operator_tasks', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('kind', 'text', required)
    .addColumn('status', 'text', required)
    .addColumn('title', 'text', required)
    .addColumn('subject_type', 'text', required)
    .addColumn('subject_id', 'text', required)
    .addColumn('assignee', 'text')
    .addColumn('priority', 'text', required)
    .addColumn('due_at', 'text')
    .addColumn('attempts', 'integer', required)
    .addColumn('last_error', 'text')
    .addColumn('completed_at', 'text')
    .$call(times)
    .execute();
  await listed('operator_tasks');
  await index('operator_tasks', 'unfinished', ['tenant_id', 'kind', 'subject_type', 'subject_id'])
    .unique()
    .where(sql.ref('status'), 'in', ['open', 'claimed', 'running'])
    .execute();

  await table('traces', ['tenant_id', 'sub_tenant_id', 'trace_id'])
    .addColumn('tenant_id', 'text', required)
    .addColumn('sub_tenant_id', 'text', required)
    .addColumn('trace_id', 'text', required)
    .addColumn('root_name', 'text')
    .addColumn('service_name', 'text')
    .addColumn('start_time', 'text', required)
    .addColumn('end_time', 'text', required)
    .addColumn('span_count', 'integer', required)
    .addColumn('error_count', 'integer', required)
    .$call(times)
    .execute();
  await index('traces', 'by_time', ['created_at desc', 'trace_id desc']).execute();
  await index('traces', 'by_tenant', ['tenant_id', 'created_at desc', 'trace_id desc']).execute();

  await table('spans', ['tenant_id', 'sub_tenant_id', 'trace_id', 'span_id'])
    .addColumn('tenant_id', 'text', required)
    .addColumn('sub_tenant_id', 'text', required)
    .addColumn('trace_id', 'text', required)
    .addColumn('span_id', 'text', required)
    .addColumn('start_time', 'text', required)
    .addColumn('document', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('received_from', 'text', required)
    .execute();
  await index('spans', 'by_trace', ['trace_id', 'start_time', 'span_id']).execute();

  await table('audit_events', ['tenant_id', 'id'])
    .$call(placed)
    .addColumn('created_at', 'text', required)
    .addColumn('actor_type', 'text', required)
    .addColumn('actor_id', 'text')
    .addColumn('actor_tenant_id', 'text')
    .addColumn('scheme', 'text')
    .addColumn('key_id', 'text')
    .addColumn('operation', 'text', required)
    .addColumn('target_type', 'text')
    .addColumn('target_id', 'text')
    .addColumn('outcome', 'text', required)
    .addColumn('reason', 'text')
    .addColumn('changed_fields', 'text', required)
    .addColumn('count', 'integer', required)
    .addColumn('request_id', 'text', required)
    .execute();
  await listed('audit_events');

  function table(name: string, primaryKey: string[]) {
    return db.schema.createTable(name).addPrimaryKeyConstraint(`${name}_key`, primaryKey as never[]);
  }

  function index(tableName: string, name: string, columns: string[]) {
    return db.schema.createIndex(`${tableName}_${name}`).on(tableName).columns(columns);
  }

  /** The indexes of every list: newest first within a tenant, newest first over all tenants, and by id. */
  async function listed(tableName: string): Promise<void> {
    await index(tableName, 'by_tenant', ['tenant_id', 'created_at desc', 'id desc']).execute();
    await index(tableName, 'by_time', ['created_at desc', 'id desc']).execute();
    await index(tableName, 'by_id', ['id']).execute();
  }
}

type Table = CreateTableBuilder<string, string>;

function required<Column extends { notNull(): Column }>(column: Column): Column {
  return column.notNull();
}

function placed(table: Table): Table {
  return table
    .addColumn('tenant_id', 'text', required)
    .addColumn('sub_tenant_id', 'text', required)
    .addColumn('id', 'text', required);
}

function times(table: Table): Table {
  return table.addColumn('created_at', 'text', required).addColumn('updated_at', 'text', required);
}

function ofProvider(name: string): (table: Table) => Table {
  return (table) =>
    table.addForeignKeyConstraint(`${name}_of_provider`, ['tenant_id', 'provider_id'], 'providers', [
      'tenant_id',
      'id',
    ]);
}
