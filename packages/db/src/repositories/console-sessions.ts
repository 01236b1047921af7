import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { newestFirst, type Page, type PageRequest, pageOf, timeKey, toFlag } from '../queries.ts';
import type { Tables } from '../tables.ts';
import { type Account, toAccount } from './users.ts';

/** A browser that is signed in to the web console. */
export type StoredConsoleSession = {
  id: string;
  userId: string;
  /** The identity provider that the user signed in at. */
  issuer: string;
  /** The claim of the identity provider that made the user a platform administrator for this session; null if none did. */
  administratorClaim: string | null;
  /** The browser's User-Agent header; '' if there was none. */
  userAgent: string;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
};

export type NewConsoleSession = Pick<StoredConsoleSession, 'userId' | 'issuer' | 'administratorClaim' | 'userAgent'> & {
  /** SHA-256 of the token, hex. */
  tokenDigest: string;
  /** The ID token, encrypted. The identity provider requires it for a sign-out. */
  sealedIdToken: string | null;
  expiresAt: Date;
};

/** The session of a token, with the user's account. It may have expired. */
export async function findConsoleSessionByToken(
  db: Database,
  tokenDigest: string,
): Promise<{ session: StoredConsoleSession; account: Account } | undefined> {
  const row = await db
    .selectFrom('console_sessions')
    .selectAll()
    .where('token_digest', '=', tokenDigest)
    .executeTakeFirst();
  if (!row) return undefined;
  const user = await db.selectFrom('users').selectAll().where('id', '=', row.user_id).executeTakeFirstOrThrow();
  return { session: toSession(row), account: toAccount(user) };
}

/** Whether a session of a user exists. It may have expired. */
export async function hasConsoleSession(
  db: Database,
  { userId, id }: { userId: string; id: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('console_sessions')
    .select('id')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row !== undefined;
}

/** The sessions of a user that have not expired, newest first. */
export async function listConsoleSessions(
  db: Database,
  { userId, lastUsedAfter }: { userId: string; lastUsedAfter: Date },
  page: PageRequest,
  now: Date,
): Promise<Page<StoredConsoleSession>> {
  const rows = await db
    .selectFrom('console_sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now.toISOString())
    .where('last_used_at', '>', lastUsedAfter.toISOString())
    .$call(newestFirst(page))
    .execute();
  return pageOf(rows, page.limit, toSession, timeKey);
}

/** Adds a session, and ends the oldest sessions of the user beyond `most`: the ids in `ended`. */
export async function insertConsoleSession(
  db: Database,
  session: NewConsoleSession,
  { most, now }: { most: number; now: Date },
): Promise<{ session: StoredConsoleSession; ended: string[] }> {
  const { userId, tokenDigest, issuer, administratorClaim, userAgent, sealedIdToken, expiresAt } = session;
  const others = await db
    .selectFrom('console_sessions')
    .select('id')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  const ended = others.slice(most - 1).map(({ id }) => id);
  if (ended.length > 0) await db.deleteFrom('console_sessions').where('id', 'in', ended).execute();
  const row = await db
    .insertInto('console_sessions')
    .values({
      id: newId('cses', now),
      user_id: userId,
      token_digest: tokenDigest,
      issuer,
      platform_administrator: toFlag(administratorClaim !== null),
      administrator_claim: administratorClaim,
      user_agent: userAgent,
      id_token: sealedIdToken,
      created_at: now.toISOString(),
      last_used_at: now.toISOString(),
      expires_at: expiresAt.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { session: toSession(row), ended };
}

/** Stores when a session was last used. */
export async function touchConsoleSession(db: Database, id: string, now: Date): Promise<void> {
  await db.updateTable('console_sessions').set({ last_used_at: now.toISOString() }).where('id', '=', id).execute();
}

/** Ends one session of a user. Returns it with its encrypted ID token. */
export async function deleteConsoleSession(
  db: Database,
  { userId, id }: { userId: string; id: string },
): Promise<{ session: StoredConsoleSession; tokenDigest: string; sealedIdToken: string | null } | undefined> {
  const row = await db
    .deleteFrom('console_sessions')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirst();
  return row && { session: toSession(row), tokenDigest: row.token_digest, sealedIdToken: row.id_token };
}

/** Ends all sessions of a user. */
export async function deleteConsoleSessionsOf(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('console_sessions').where('user_id', '=', userId).execute();
}

/** Deletes at most `limit` expired sessions. Returns how many. */
export async function deleteExpiredConsoleSessions(
  db: Database,
  { now, lastUsedBefore, limit }: { now: Date; lastUsedBefore: Date; limit: number },
): Promise<number> {
  const expired = db
    .selectFrom('console_sessions')
    .select('id')
    .where((eb) =>
      eb.or([eb('expires_at', '<=', now.toISOString()), eb('last_used_at', '<=', lastUsedBefore.toISOString())]),
    )
    .limit(limit);
  const rows = await db.deleteFrom('console_sessions').where('id', 'in', expired).returning('id').execute();
  return rows.length;
}

function toSession(row: Selectable<Tables['console_sessions']>): StoredConsoleSession {
  return {
    id: row.id,
    userId: row.user_id,
    issuer: row.issuer,
    administratorClaim: row.administrator_claim,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
