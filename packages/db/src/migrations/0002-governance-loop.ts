import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Syncs, drift, provider credentials, leased tasks, and one key for the variants of a name. */
export const governanceLoop: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await addColumns('tenants', { observation_count: 'integer not null default 0' });
  await sql`
    update tenants set observation_count =
      (select count(*) from runtime_observations where runtime_observations.tenant_id = tenants.id)`.execute(db);

  await addColumns('providers', { sync_interval_seconds: 'integer', next_sync_at: 'text' });
  await db.schema
    .createIndex('providers_by_next_sync')
    .on('providers')
    .columns(['next_sync_at', 'id'])
    .where(sql.ref('next_sync_at'), 'is not', null)
    .execute();

  await addColumns('credentials', { slot: 'text', header: 'text', scheme: 'text' });
  await db.schema
    .createIndex('credentials_by_slot')
    .unique()
    .on('credentials')
    .columns(['tenant_id', 'owner_id', 'slot'])
    .where(sql.ref('kind'), '=', 'provider_secret')
    .where(sql.ref('revoked_at'), 'is', null)
    .execute();
  await db.schema
    .createIndex('credentials_by_expiry')
    .on('credentials')
    .columns(['expires_at', 'id'])
    .where(sql.ref('revoked_at'), 'is', null)
    .execute();

  await addColumns('inventory_items', { name_key: "text not null default ''", drift: 'text' });
  await keyNames('inventory_items', ['tenant_id', 'provider_id', 'kind', 'name_key']);
  await addColumns('runtime_observations', { name_key: "text not null default ''", drift: 'text' });
  await keyNames('runtime_observations', ['tenant_id', 'provider_id', 'kind', 'name_key', 'sub_tenant_id']);
  await addColumns('manifest_declarations', { name_key: "text not null default ''" });
  await setNameKeys('manifest_declarations');
  await db.schema
    .createIndex('manifest_declarations_by_key')
    .on('manifest_declarations')
    .columns(['tenant_id', 'provider_key', 'kind', 'name_key'])
    .execute();

  await db.schema
    .createTable('provider_uses')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('provider_id', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('first_used_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('provider_uses_key', ['tenant_id', 'provider_id', 'account'])
    .addForeignKeyConstraint('provider_uses_of_provider', ['tenant_id', 'provider_id'], 'providers', [
      'tenant_id',
      'id',
    ])
    .execute();

  await addColumns('recommendations', { dismissal: 'text', former: 'text' });
  // Recommendations are about keys of names: of open ones about variants of one model, the oldest goes on.
  const subject = sql`'model:' || lower(substr(subject, 7))`;
  await sql`
    update recommendations set status = 'superseded' where status = 'open' and id in (
      select newer.id from recommendations as newer
      inner join recommendations as older
        on older.tenant_id = newer.tenant_id and older.provider_id = newer.provider_id and older.kind = newer.kind
        and lower(older.subject) = lower(newer.subject) and older.status = 'open' and older.id < newer.id
      where newer.subject like 'model:%')`.execute(db);
  await sql`update recommendations set subject = ${subject} where subject like 'model:%'`.execute(db);
  await addColumns('operator_tasks', {
    lease_expires_at: 'text',
    progress: 'text',
    outcome: 'text',
    note: 'text',
  });
  await db.schema
    .createIndex('recommendations_dismissed')
    .on('recommendations')
    .columns(['tenant_id', 'provider_id', 'kind', 'subject', 'created_at desc', 'id desc'])
    .where(sql.ref('dismissal'), 'is not', null)
    .execute();
  // All tasks about something, finished ones too: the other index has the unfinished.
  await db.schema
    .createIndex('operator_tasks_by_subject')
    .on('operator_tasks')
    .columns(['tenant_id', 'kind', 'subject_type', 'subject_id', 'id'])
    .execute();
  await addColumns('gateway_sessions', { revoked_reason: 'text' });
  await addColumns('memberships', { accepted_at: 'text' });
  // Who was a member before memberships were accepted is one still.
  await sql`update memberships set accepted_at = created_at`.execute(db);
  await db.schema
    .createIndex('memberships_accepted')
    .on('memberships')
    .columns(['user_id'])
    .where(sql.ref('accepted_at'), 'is not', null)
    .execute();
  await addColumns('tenants', { founder_id: 'text references users (id)' });
  await db.schema
    .createIndex('tenants_by_founder')
    .unique()
    .on('tenants')
    .columns(['founder_id'])
    .where(sql.ref('founder_id'), 'is not', null)
    .execute();

  async function addColumns(table: string, columns: Record<string, string>): Promise<void> {
    for (const [column, type] of Object.entries(columns)) {
      await sql`alter table ${sql.table(table)} add column ${sql.ref(column)} ${sql.raw(type)}`.execute(db);
    }
  }

  /** Replaces a table's unique names by unique keys of names. */
  async function keyNames(table: string, key: string[]): Promise<void> {
    await setNameKeys(table);
    // Of variants that were kept apart the oldest goes on; the others stay as history, under a key that no name has.
    const same = sql.join(
      key.map((column) => sql`older.${sql.ref(column)} = newer.${sql.ref(column)}`),
      sql` and `,
    );
    await sql`
      update ${sql.table(table)} set name_key = 'variant:' || id where id in (
        select newer.id from ${sql.table(table)} as newer
        inner join ${sql.table(table)} as older on ${same} and older.id < newer.id)`.execute(db);
    await db.schema.dropIndex(`${table}_by_name`).execute();
    await db.schema.createIndex(`${table}_by_name_key`).unique().on(table).columns(key).execute();
  }

  async function setNameKeys(table: string): Promise<void> {
    const key = sql`case when kind = 'model' then lower(name) else name end`;
    await sql`update ${sql.table(table)} set name_key = ${key}`.execute(db);
  }
}
