import { addListIndexes, addPlace, addTimes, indexesOn, required, type Schema } from './schema.ts';

/** Service accounts, and the credentials of everybody: API keys, provider secrets and signing keys. */
export async function createAccountTables(db: Schema): Promise<void> {
  await createServiceAccounts(db);
  await createCredentials(db);
}

async function createServiceAccounts(db: Schema): Promise<void> {
  await db.schema
    .createTable('service_accounts')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('description', 'text')
    .addColumn('status', 'text', required)
    .addColumn('platform_administrator', 'integer', required)
    .addColumn('metadata', 'text', required)
    .addColumn('last_used_at', 'text')
    .addColumn('search_text', 'text', required)
    .$call(addTimes)
    .addPrimaryKeyConstraint('service_accounts_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'service_accounts');
  const accounts = indexesOn(db, 'service_accounts');
  // Counts what a tenant uses of its limit. It is partial, so that deleted records cost nothing.
  await accounts('service_accounts_counted', ['tenant_id'], { where: `status <> 'deleted'` });
  // Finds deleted accounts that still have content, for retention.
  await accounts('service_accounts_to_erase', ['tenant_id', 'updated_at'], {
    where: `status = 'deleted' and (description is not null or metadata <> '{}')`,
  });

  // A side table instead of JSON functions, which differ between the databases (ADR 3).
  await db.schema
    .createTable('service_account_metadata')
    .addColumn('tenant_id', 'text', required)
    .addColumn('service_account_id', 'text', required)
    .addColumn('key', 'text', required)
    // A digest, because a value may be longer than an index entry can be.
    .addColumn('value_digest', 'text', required)
    .addPrimaryKeyConstraint('service_account_metadata_key', ['tenant_id', 'key', 'value_digest', 'service_account_id'])
    .addForeignKeyConstraint(
      'service_account_metadata_of_account',
      ['tenant_id', 'service_account_id'],
      'service_accounts',
      ['tenant_id', 'id'],
    )
    .execute();
  const metadata = indexesOn(db, 'service_account_metadata');
  await metadata('service_account_metadata_by_account', ['tenant_id', 'service_account_id']);
}

/** A key records its creator, so that everything that derives from a key or a person can be found and ended together with it. */
async function createCredentials(db: Schema): Promise<void> {
  await db.schema
    .createTable('credentials')
    .$call(addPlace)
    .addColumn('id', 'text', required)
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
    .$call(addTimes)
    .addColumn('slot', 'text')
    .addColumn('header', 'text')
    .addColumn('scheme', 'text')
    .addColumn('created_by_key', 'text')
    // A provider's secret is bound to an address, so that it is not sent elsewhere after the base URL changes.
    .addColumn('bound_url', 'text')
    .addPrimaryKeyConstraint('credentials_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'credentials');
  const index = indexesOn(db, 'credentials');
  await index('credentials_by_owner', ['tenant_id', 'owner_id', 'created_at desc', 'id desc']);
  // If two processes rotate the signing key at once, one of them fails.
  await index('credentials_signing_key_rotation', ['tenant_id', 'rotation_count'], {
    unique: true,
    where: `kind = 'signing_key'`,
  });
  // A provider has at most one secret in each slot.
  await index('credentials_by_slot', ['tenant_id', 'owner_id', 'slot'], {
    unique: true,
    where: `kind = 'provider_secret' and revoked_at is null`,
  });
  // Finds credentials that expire soon: in all tenants, and in one.
  await index('credentials_by_expiry', ['expires_at', 'id'], { where: 'revoked_at is null' });
  await index('credentials_by_tenant_expiry', ['tenant_id', 'expires_at', 'id'], {
    where: 'revoked_at is null and expires_at is not null',
  });
  // Finds replaced secrets that are not erased yet.
  await index('credentials_former', ['revoked_at'], { where: 'secret is not null and revoked_at is not null' });
  await index('credentials_by_maker_key', ['created_by_key', 'tenant_id'], { where: 'created_by_key is not null' });
  await index('credentials_by_maker', ['created_by', 'tenant_id'], { where: 'created_by is not null' });
  await index('credentials_by_successor', ['replaced_by', 'tenant_id'], { where: 'replaced_by is not null' });
  // Counts the keys of a tenant. It is partial, so that revoked keys cost nothing.
  await index('credentials_counted', ['tenant_id', 'expires_at'], {
    where: `kind = 'api_key' and revoked_at is null`,
  });
}
