import { addTimes, indexesOn, required, type Schema, withDefault } from './schema.ts';

/** Tenants, their members, their limits, and what they use of them. */
export async function createTenantTables(db: Schema): Promise<void> {
  await createTenants(db);
  await createMemberships(db);
  await createLimits(db);
}

async function createTenants(db: Schema): Promise<void> {
  await db.schema
    .createTable('tenants')
    .addColumn('id', 'text', required)
    .addColumn('display_name', 'text')
    .addColumn('capture_content', 'integer', required)
    .addColumn('span_retention_days', 'integer')
    .$call(addTimes)
    // Kept up to date with each write, because counting a tenant's observations would read all of them.
    .addColumn('observation_count', 'integer', withDefault(0))
    .addColumn('founder_id', 'text', (column) => column.references('users.id'))
    .addColumn('audit_reads', 'integer', withDefault(0))
    .addColumn('record_retention_days', 'integer')
    // Survive the erasure of the founder, so that deleting an account does not let its owner found a second tenant.
    .addColumn('founder_digest', 'text')
    .addColumn('founder_sealed', 'text')
    .addColumn('usage_retention_days', 'integer', withDefault(400))
    // The row of a deleted tenant stays, so that its id is never used again.
    .addColumn('deleted_at', 'text')
    .addColumn('erased_at', 'text')
    .addPrimaryKeyConstraint('tenants_key', ['id'])
    .execute();
  const index = indexesOn(db, 'tenants');
  await index('tenants_by_time', ['created_at desc', 'id desc']);
  // Each user founds at most one tenant.
  await index('tenants_by_founder', ['founder_id'], { unique: true, where: 'founder_id is not null' });
  await index('tenants_by_founder_digest', ['founder_digest'], { unique: true, where: 'founder_digest is not null' });
  // Finds the few tenants whose data are not erased yet.
  await index('tenants_to_erase', ['deleted_at'], { where: 'deleted_at is not null and erased_at is null' });

  await db.schema
    .createTable('sub_tenants')
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('id', 'text', required)
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('sub_tenants_key', ['tenant_id', 'id'])
    .execute();
}

/**
 * Memberships record the inviter and the last one who changed the role after it was accepted, each with the key, so that what a
 * leaked key or a former colleague gave to others can be found and ended.
 */
async function createMemberships(db: Schema): Promise<void> {
  await db.schema
    .createTable('memberships')
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('sub_tenant_id', 'text', required)
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('email', 'text', required)
    .addColumn('role', 'text', required)
    .$call(addTimes)
    // Null while the membership is pending: it grants nothing until the user accepts (ADR 7).
    .addColumn('accepted_at', 'text')
    .addColumn('invited_by', 'text')
    .addColumn('invited_by_key', 'text')
    .addColumn('expires_at', 'text')
    .addColumn('role_granted_by', 'text')
    .addColumn('role_granted_by_key', 'text')
    .addColumn('suspended_at', 'text')
    .addColumn('suspended_by', 'text')
    .addPrimaryKeyConstraint('memberships_key', ['tenant_id', 'user_id', 'sub_tenant_id'])
    .execute();
  const index = indexesOn(db, 'memberships');
  await index('memberships_by_user', ['user_id']);
  // Partial indexes find accepted memberships without reading pending ones, since anyone can create many of those.
  await index('memberships_accepted', ['user_id'], { where: 'accepted_at is not null' });
  // Lists, with all columns of their sort order.
  await index('memberships_by_time', ['tenant_id', 'created_at desc', 'user_id desc', 'sub_tenant_id desc']);
  await index('memberships_by_place', ['tenant_id', 'sub_tenant_id', 'created_at desc', 'user_id desc'], {
    where: `sub_tenant_id <> ''`,
  });
  await index('memberships_accepted_by_place', ['tenant_id', 'sub_tenant_id', 'user_id'], {
    where: 'accepted_at is not null',
  });
  await index('memberships_by_inviter', ['invited_by', 'tenant_id'], { where: 'invited_by is not null' });
  await index('memberships_by_inviter_key', ['invited_by_key', 'tenant_id'], { where: 'invited_by_key is not null' });
  await index('memberships_by_role_granter', ['role_granted_by', 'tenant_id'], {
    where: 'role_granted_by is not null',
  });
  await index('memberships_by_role_granter_key', ['role_granted_by_key', 'tenant_id'], {
    where: 'role_granted_by_key is not null',
  });
  // Finds expired invitations.
  await index('memberships_by_expiry', ['expires_at'], { where: 'expires_at is not null' });
}

async function createLimits(db: Schema): Promise<void> {
  await db.schema
    .createTable('tenant_limits')
    .addColumn('tenant_id', 'text', required)
    .addColumn('resource', 'text', required)
    .addColumn('most', 'integer', required)
    .addPrimaryKeyConstraint('tenant_limits_pk', ['tenant_id', 'resource'])
    .execute();

  // Stored bytes are inserted as changes and added up later. A single counter would make all writes of a tenant wait for
  // each other. The bytes of records are counted by triggers: see record-bytes.ts.
  await db.schema
    .createTable('stored_bytes')
    .addColumn('tenant_id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('bytes', 'integer', required)
    .execute();
  await db.schema
    .createTable('stored_bytes_changes')
    .addColumn('tenant_id', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('bytes', 'integer', required)
    .addPrimaryKeyConstraint('stored_bytes_changes_pk', ['tenant_id', 'id'])
    .execute();

  // The share of each account in the spans of its tenant, so that one account cannot fill the tenant's storage.
  await db.schema
    .createTable('account_bytes')
    .addColumn('tenant_id', 'text', required)
    .addColumn('account', 'text', required)
    .addColumn('bytes', 'integer', required)
    .addPrimaryKeyConstraint('account_bytes_pk', ['tenant_id', 'account'])
    .execute();
}
