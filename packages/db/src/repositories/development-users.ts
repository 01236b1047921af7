import type { Database } from '../database.ts';
import { forgetApiKeys } from './api-keys.ts';

/** A user whom the development identity provider let in, or the administrator that it comes with. */
export type DevelopmentUser = { id: string; email: string | null; platformAdministrator: boolean };

/** A key that was revoked, and the account that it was for. */
export type RevokedKey = { id: string; tenantId: string; subTenantId: string | null; accountId: string };

/** Values of one `in (...)`. */
const IDS_OF_QUERY = 500;

/** Operations whose audit events name what was made with a key. */
const OPENS_SESSIONS = ['create_gateway_session'];
const MAKES_KEYS = ['create_service_account_key', 'rotate_service_account_key'];

/**
 * Finds users of the development identity provider, the oldest link first: at most `limit`. Nobody proved who they are.
 *
 * They are linked to an issuer `http://<loopback>:<port>/oidc`, with subjects that only that provider makes. Its
 * administrator may have no link yet.
 *
 * @param by `issuer`: the one that is trusted now; `administrator`: the email of the provider's administrator
 */
export async function findDevelopmentUsers(
  db: Database,
  by: { issuer: string | null; administrator: string },
  limit: number,
): Promise<DevelopmentUser[]> {
  const columns = ['users.id', 'users.email', 'users.platform_administrator'] as const;
  const administrator = await db
    .selectFrom('users')
    .select(columns)
    .where('email_key', '=', by.administrator)
    .where('source', '=', 'development')
    .where('platform_administrator', '=', 1)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('identities')
            .select('subject')
            .whereRef('identities.user_id', '=', 'users.id')
            .where('identities.issuer', '=', by.issuer ?? ''),
        ),
      ),
    )
    .execute();
  const linked = await db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.user_id')
    .select(columns)
    // A range of the primary key: issuers that have no TLS are few.
    .where('identities.issuer', '>=', 'http://')
    .where('identities.issuer', '<', 'http:0')
    .where('identities.issuer', '<>', by.issuer ?? '')
    .where('identities.issuer', 'like', '%/oidc')
    .where('identities.subject', 'like', 'dev-%')
    .where('users.status', '<>', 'deleted')
    .orderBy('identities.created_at')
    .orderBy('users.id')
    .limit(limit)
    .execute();
  const users = new Map([...administrator, ...linked].map((row) => [row.id, row]));
  return [...users.values()]
    .slice(0, limit)
    .map(({ id, email, platform_administrator: flag }) => ({ id, email, platformAdministrator: flag === 1 }));
}

/**
 * Revokes the API keys that a user made, those that followed them in rotations, and those that were made with any of them.
 * Ends the gateway sessions that were opened with these keys.
 *
 * @returns the keys and the number of sessions that were active until now
 */
export async function revokeKeysMadeBy(
  db: Database,
  userId: string,
  now: Date,
): Promise<{ keys: RevokedKey[]; sessions: number }> {
  const own = await db.selectFrom('credentials').select('id').where('created_by', '=', `user:${userId}`).execute();
  const found = new Set<string>();
  for (let ids = own.map(({ id }) => id); ids.length > 0; ) {
    const added = ids.filter((id) => !found.has(id));
    for (const id of added) found.add(id);
    ids = await keysMadeWith(db, added);
  }
  const revoked: RevokedKey[] = [];
  let sessions = 0;
  for (const ids of chunksOf([...found])) {
    sessions += await endSessionsOpenedWith(db, ids, now);
    const rows = await db
      .updateTable('credentials')
      .set({ revoked_at: now.toISOString(), updated_at: now.toISOString() })
      .where('id', 'in', ids)
      .where('kind', '=', 'api_key')
      .where('revoked_at', 'is', null)
      .returning(['id', 'tenant_id', 'sub_tenant_id', 'owner_id'])
      .execute();
    for (const row of rows) {
      const place = { tenantId: row.tenant_id, subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id };
      revoked.push({ id: row.id, ...place, accountId: row.owner_id ?? '' });
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

/** The keys that directly follow some keys, or were made by a caller with one of them. */
async function keysMadeWith(db: Database, keyIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const ids of chunksOf(keyIds)) {
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

function chunksOf(ids: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (let start = 0; start < ids.length; start += IDS_OF_QUERY) chunks.push(ids.slice(start, start + IDS_OF_QUERY));
  return chunks;
}
