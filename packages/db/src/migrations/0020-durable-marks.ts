import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Marks that stay when a user is erased: the founder's identity on a tenant, and the development identity provider on a user.
 *
 * Existing founders are marked when they are erased, since the mark needs the secret key. Users of the development identity
 * provider are marked here, by their identities.
 */
export const durableMarks: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tenants').addColumn('founder_digest', 'text').execute();
  await db.schema.alterTable('tenants').addColumn('founder_sealed', 'text').execute();
  await db.schema
    .createIndex('tenants_by_founder_digest')
    .unique()
    .on('tenants')
    .columns(['founder_digest'])
    .where(sql.ref('founder_digest'), 'is not', null)
    .execute();
  await db.schema.alterTable('users').addColumn('development_issuer', 'text').execute();
  await sql`create index users_of_development on users (created_at, id) where development_issuer is not null`.execute(
    db,
  );
  await markDevelopmentUsers(db);
}

async function markDevelopmentUsers(db: Kysely<unknown>): Promise<void> {
  const ofDevelopment = sql`issuer like 'http://%/oidc' and subject like 'dev-%'`;
  await sql`
    update users set development_issuer = (select min(issuer) from identities where user_id = users.id and ${ofDevelopment})
    where id in (select user_id from identities where ${ofDevelopment})`.execute(db);
  // The provider's administrator has no identity between a start and the next sign-in.
  await sql`
    update users set development_issuer = ''
    where email_key = 'admin@example.com' and source = 'development' and platform_administrator = 1
      and not exists (select 1 from identities where user_id = users.id)`.execute(db);
  // Erased users have no identity, and the audit does not name the issuer. If all remaining identities are of the development
  // identity provider, those of the erased users were too.
  const { rows } = await sql`
    select 1 where exists (select 1 from users where development_issuer is not null)
      and not exists (select 1 from identities where not (${ofDevelopment}))`.execute(db);
  if (rows.length === 0) return;
  await sql`
    update users set development_issuer = '' where status = 'deleted' and id in (
      select actor_id from audit_events where operation = 'link_identity' and actor_type = 'user')`.execute(db);
}
