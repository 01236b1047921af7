import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { type Database, migrate } from '../src/database.ts';
import { findDevelopmentUsers } from '../src/repositories/development-users.ts';
import { firstReleaseDatabase, NOW } from './temporary-database.ts';

const TIME = NOW.toISOString();
const PROVIDER = 'http://127.0.0.1:3000/oidc';

type UserValues = { email?: string | null; source?: string | null; status?: string; administrator?: number };

async function user(
  db: Database,
  id: string,
  { email = null, source = null, status = 'active', administrator = 0 }: UserValues = {},
): Promise<void> {
  await sql`
    insert into users (id, email, email_key, source, status, platform_administrator, terms, terms_accepted,
      marketing_consent, metadata, created_at, updated_at)
    values (${id}, ${email}, ${email}, ${source}, ${status}, ${administrator}, '{}', 1, '{}', '{}', ${TIME}, ${TIME})`.execute(
    db,
  );
}

async function identity(db: Database, userId: string, issuer: string, subject: string): Promise<void> {
  await sql`insert into identities (issuer, subject, user_id, created_at)
    values (${issuer}, ${subject}, ${userId}, ${TIME})`.execute(db);
}

/** Users who signed in and were erased. Audit events say that they linked an identity. */
async function erased(db: Database, id: string): Promise<void> {
  await user(db, id, { status: 'deleted' });
  await sql`
    insert into audit_events (tenant_id, sub_tenant_id, id, created_at, actor_type, actor_id, operation, outcome,
      changed_fields, count, request_id)
    values ('', '', ${`evt_${id}`}, ${TIME}, 'user', ${id}, 'link_identity', 'success', '[]', 1, 'r')`.execute(db);
}

async function developmentUsersOf(db: Database, trusted: string | null): Promise<string[]> {
  return (await findDevelopmentUsers(db, trusted, 10)).map(({ id }) => id);
}

test('regression: users of the development identity provider are marked, also erased ones', async () => {
  const db = await firstReleaseDatabase();
  await user(db, 'usr_1');
  await identity(db, 'usr_1', PROVIDER, 'dev-1');
  await user(db, 'usr_2', { email: 'admin@example.com', source: 'development', administrator: 1 });
  await user(db, 'usr_3', { email: 'ada@example.com', source: 'development' });
  await user(db, 'usr_4', { status: 'deleted' });
  await erased(db, 'usr_5');
  await migrate(db);
  expect(await developmentUsersOf(db, null)).toEqual(['usr_1', 'usr_2', 'usr_5']);
  // Users of the trusted issuer are not listed.
  expect(await developmentUsersOf(db, PROVIDER)).toEqual(['usr_2', 'usr_5']);
});

test('if users of another issuer have signed in, no erased user is marked', async () => {
  const db = await firstReleaseDatabase();
  await user(db, 'usr_1');
  await identity(db, 'usr_1', PROVIDER, 'dev-1');
  await user(db, 'usr_2');
  await identity(db, 'usr_2', 'https://idp.example', 'dev-2');
  await erased(db, 'usr_3');
  await migrate(db);
  expect(await developmentUsersOf(db, null)).toEqual(['usr_1']);
});
