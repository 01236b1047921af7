import { inBatches } from '../batches.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { placeOf } from '../queries.ts';
import { forgetApiKeys } from './api-keys.ts';

/** A user who signed in with the development identity provider, or its built-in administrator. */
export type DevelopmentUser = { id: string; email: string | null; platformAdministrator: boolean; erased: boolean };

/** A revoked key and its account. */
export type RevokedKey = { id: string; tenantId: string; subTenantId: string | null; accountId: string };

/** Ids in one `in (...)` condition. */
const BATCH_SIZE = 500;

/** Operations whose audit events say which records were created with a key. */
const OPENS_SESSIONS = ['create_gateway_session'];
const MAKES_KEYS = ['create_service_account_key', 'rotate_service_account_key'];

/**
 * The issuer of an identity, if that is a development identity provider: `http://<loopback>:<port>/oidc`, with subjects that only
 * this provider uses. Null for other identities.
 */
export function developmentIssuerOf({ issuer, subject }: { issuer: string; subject: string }): string | null {
  const isDevelopment = issuer.startsWith('http://') && issuer.endsWith('/oidc') && subject.startsWith('dev-');
  return isDevelopment ? issuer : null;
}

/**
 * Marks a user as one of a development identity provider. The mark stays when the user is erased.
 *
 * @param issuer '' for the provider's built-in administrator who has not signed in yet; null removes the mark
 */
export async function markDevelopmentUser(db: Database, userId: string, issuer: string | null): Promise<void> {
  await db.updateTable('users').set({ development_issuer: issuer }).where('id', '=', userId).execute();
}

/**
 * Finds at most `limit` users of development identity providers, oldest first. Their identity is not verified. The result
 * includes erased users, because keys that they created may still exist.
 *
 * @param trusted the issuer that is trusted now; its users are left out
 */
export async function findDevelopmentUsers(
  db: Database,
  trusted: string | null,
  limit: number,
): Promise<DevelopmentUser[]> {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'email', 'platform_administrator', 'status'])
    .where('development_issuer', 'is not', null)
    .$if(trusted !== null, (query) => query.where('development_issuer', '<>', trusted))
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, email, platform_administrator: flag, status }) => ({
    id,
    email,
    platformAdministrator: flag === 1,
    erased: status === 'deleted',
  }));
}

/**
 * Revokes the API keys that a user created, their successors in rotations, and keys that were created with any of these. Ends
 * the gateway sessions that were opened with these keys.
 *
 * @returns the revoked keys, and the number of ended sessions
 */
export async function revokeKeysMadeBy(
  db: Database,
  userId: string,
  now: Date,
): Promise<{ keys: RevokedKey[]; sessions: number }> {
  const created = await db.selectFrom('credentials').select('id').where('created_by', '=', `user:${userId}`).execute();
  const found = new Set<string>();
  for (let ids = created.map(({ id }) => id); ids.length > 0; ) {
    const added = ids.filter((id) => !found.has(id));
    for (const id of added) found.add(id);
    ids = await keysMadeWith(db, added);
  }
  const revoked: RevokedKey[] = [];
  let sessions = 0;
  for await (const ids of inBatches([...found], BATCH_SIZE)) {
    sessions += await endSessionsOpenedWith(db, ids, now);
    const rows = await db
      .updateTable('credentials')
      .set({ revoked_at: now.toISOString(), updated_at: now.toISOString() })
      .where('id', 'in', ids)
      .where('kind', '=', sql.lit('api_key'))
      .where('revoked_at', 'is', null)
      .returning(['id', 'tenant_id', 'sub_tenant_id', 'owner_id'])
      .execute();
    for (const row of rows) {
      revoked.push({ id: row.id, ...placeOf(row), accountId: row.owner_id ?? '' });
      forgetApiKeys(db, { keyId: row.id });
    }
  }
  return { keys: revoked, sessions };
}

async function endSessionsOpenedWith(db: Database, keyIds: readonly string[], now: Date): Promise<number> {
  const opened = db
    .selectFrom('audit_events')
    .select('target_id')
    .where('key_id', 'in', keyIds)
    .where('operation', 'in', OPENS_SESSIONS)
    .where('outcome', '=', 'success');
  const time = now.toISOString();
  const { numUpdatedRows } = await db
    .updateTable('gateway_sessions')
    .set({ revoked_at: time, revoked_reason: 'principal_ended', updated_at: time })
    .where('id', 'in', opened)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', time)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** The direct successors of some keys, and the keys that were created with one of them. */
async function keysMadeWith(db: Database, keyIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const ids of inBatches(keyIds, BATCH_SIZE)) {
    const followers = await db
      .selectFrom('credentials')
      .select('replaced_by as id')
      .where('id', 'in', ids)
      .where('replaced_by', 'is not', null)
      .execute();
    const made = await db
      .selectFrom('audit_events')
      .select('target_id as id')
      .where('key_id', 'in', ids)
      .where('operation', 'in', MAKES_KEYS)
      .where('outcome', '=', 'success')
      .execute();
    found.push(...[...followers, ...made].flatMap(({ id }) => id ?? []));
  }
  return found;
}
