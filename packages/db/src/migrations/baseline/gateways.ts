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

/** Gateways, their sessions, and what the sessions grant. */
export async function createGatewayTables(db: Schema): Promise<void> {
  await createGateways(db);
  await createSessions(db);
  await createGrants(db);
  await createDecisions(db);
}

async function createGateways(db: Schema): Promise<void> {
  await db.schema
    .createTable('gateways')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('name_key', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('url', 'text')
    .addColumn('status', 'text', required)
    .addColumn('manifest_id', 'text')
    .addColumn('session_ttl_seconds', 'integer', required)
    .addColumn('enforcement', 'text', withDefault('observe'))
    .addColumn('mcp_proxy', 'text', withDefault('off'))
    .$call(addTimes)
    .addPrimaryKeyConstraint('gateways_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'gateways');
  const gateways = indexesOn(db, 'gateways');
  await gateways('gateways_by_name', ['tenant_id', 'sub_tenant_id', 'name_key'], {
    unique: true,
    where: `status <> 'deleted'`,
  });
  await gateways('gateways_by_manifest', ['tenant_id', 'manifest_id']);
  // Counts what a tenant uses of its limit. It is partial, so that deleted records cost nothing.
  await gateways('gateways_counted', ['tenant_id'], { where: `status <> 'deleted'` });

  await db.schema
    .createTable('gateway_providers')
    .addColumn('tenant_id', 'text', required)
    .addColumn('gateway_id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('position', 'integer', required)
    .addPrimaryKeyConstraint('gateway_providers_key', ['tenant_id', 'gateway_id', 'provider_id'])
    .addForeignKeyConstraint('gateway_providers_of_gateway', ['tenant_id', 'gateway_id'], 'gateways', [
      'tenant_id',
      'id',
    ])
    .$call(addProviderReference('gateway_providers_of_provider'))
    .execute();
  await indexesOn(db, 'gateway_providers')('gateway_providers_by_provider', ['tenant_id', 'provider_id']);
}

async function createSessions(db: Schema): Promise<void> {
  await db.schema
    .createTable('gateway_sessions')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('gateway_id', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('actor', 'text')
    .addColumn('opened_by', 'text', required)
    .addColumn('issued_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    .addColumn('revoked_at', 'text')
    .addColumn('gateway_url', 'text')
    .addColumn('metadata', 'text', required)
    .$call(addTimes)
    .addColumn('revoked_reason', 'text')
    .addColumn('opened_by_key', 'text')
    .addColumn('grants_digest', 'text', withDefault(''))
    .addColumn('item_count', 'integer', withDefault(0))
    .addColumn('provider_ids', 'text')
    .addPrimaryKeyConstraint('gateway_sessions_key', ['tenant_id', 'id'])
    .addForeignKeyConstraint('gateway_sessions_of_gateway', ['tenant_id', 'gateway_id'], 'gateways', [
      'tenant_id',
      'id',
    ])
    .execute();
  const index = indexesOn(db, 'gateway_sessions');
  await index('gateway_sessions_by_gateway', ['tenant_id', 'gateway_id', 'created_at desc', 'id desc']);
  // Find the sessions of a subject, of a person and of a key, which are ended together with them. The tenant is last, because a
  // person or a key may have sessions in other tenants.
  await index('gateway_sessions_by_subject', ['subject', 'tenant_id']);
  await index('gateway_sessions_by_opener', ['opened_by', 'tenant_id']);
  await index('gateway_sessions_by_opener_key', ['opened_by_key', 'tenant_id'], { where: 'opened_by_key is not null' });
  // Counts the open sessions of a subject.
  await index('gateway_sessions_open', ['tenant_id', 'gateway_id', 'subject', 'expires_at'], {
    where: 'revoked_at is null',
  });
  // Finds the sessions whose retention time is over.
  await index('gateway_sessions_by_expiry', ['tenant_id', 'expires_at']);
  // Counts the open sessions of a tenant. It is partial, so that revoked sessions cost nothing.
  await index('gateway_sessions_counted', ['tenant_id', 'expires_at'], { where: 'revoked_at is null' });
}

/**
 * Sessions share their grants: each set of items of a provider is stored once. A copy in each session would take much more space,
 * and ending the sessions of a blocked item would read all copies. An index finds those sessions instead.
 */
async function createGrants(db: Schema): Promise<void> {
  await db.schema
    .createTable('gateway_grants')
    .addColumn('tenant_id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('digest', 'text', required)
    .addColumn('items', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('item_count', 'integer', required)
    .addPrimaryKeyConstraint('gateway_grants_pk', ['tenant_id', 'provider_id', 'digest'])
    .execute();

  await db.schema
    .createTable('gateway_grant_items')
    .addColumn('tenant_id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('item_key', 'text', required)
    .addColumn('digest', 'text', required)
    .addPrimaryKeyConstraint('gateway_grant_items_pk', ['tenant_id', 'provider_id', 'item_key', 'digest'])
    .execute();
  // The provider must not come first: SQLite would use this index for item look-ups instead of the primary key.
  const items = indexesOn(db, 'gateway_grant_items');
  await items('gateway_grant_items_by_grants', ['tenant_id', 'digest', 'provider_id']);

  await db.schema
    .createTable('gateway_session_grants')
    .addColumn('tenant_id', 'text', required)
    .addColumn('session_id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('provider_name', 'text', required)
    .addColumn('digest', 'text', required)
    .addColumn('position', 'integer', required)
    .addPrimaryKeyConstraint('gateway_session_grants_pk', ['tenant_id', 'session_id', 'position'])
    .execute();
  const grants = indexesOn(db, 'gateway_session_grants');
  await grants('gateway_session_grants_by_grants', ['tenant_id', 'provider_id', 'digest', 'session_id']);
}

/** How many decisions were asked for. Decisions themselves are not stored. */
async function createDecisions(db: Schema): Promise<void> {
  await db.schema
    .createTable('decision_counts')
    .$call(addPlace)
    .addColumn('hour', 'text', required)
    .addColumn('gateway_id', 'text', required)
    // '' if the gateway lists no such provider.
    .addColumn('provider_id', 'text', required)
    .addColumn('account', 'text', required)
    .addColumn('point', 'text', required)
    .addColumn('mode', 'text', required)
    .addColumn('outcome', 'text', required)
    .addColumn('decisions', 'integer', required)
    .addColumn('last_at', 'text', required)
    .addPrimaryKeyConstraint('decision_counts_pk', [
      'tenant_id',
      'hour',
      'gateway_id',
      'provider_id',
      'account',
      'point',
      'mode',
      'outcome',
    ])
    .execute();

  await db.schema
    .createTable('gateway_session_decisions')
    .addColumn('tenant_id', 'text', required)
    .addColumn('session_id', 'text', required)
    .addColumn('allowed', 'integer', required)
    .addColumn('denied', 'integer', required)
    .addColumn('last_at', 'text', required)
    .addPrimaryKeyConstraint('gateway_session_decisions_pk', ['tenant_id', 'session_id'])
    .addForeignKeyConstraint(
      'gateway_session_decisions_of_session',
      ['tenant_id', 'session_id'],
      'gateway_sessions',
      ['tenant_id', 'id'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();

  // The batches of counts that were added, so that a batch whose commit may have failed can be sent again.
  await db.schema
    .createTable('decision_batches')
    .addColumn('tenant_id', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('decision_batches_pk', ['tenant_id', 'id'])
    .execute();
  await indexesOn(db, 'decision_batches')('decision_batches_by_time', ['created_at']);
}
