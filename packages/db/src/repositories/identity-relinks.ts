import { sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Granter } from './memberships.ts';

/** A permission: a sign-in with the verified email of a user may replace the identity of the user. */
export type Relink = { until: string; allowedBy: string; allowedByKey: string | null };

/** The permission that is in force now, if there is one. */
export async function findIdentityRelink(db: Database, userId: string, now: Date): Promise<Relink | undefined> {
  const row = await db
    .selectFrom('users')
    .select(['relink_until', 'relink_allowed_by', 'relink_allowed_by_key'])
    .where('id', '=', userId)
    .where('relink_until', '>', now.toISOString())
    .executeTakeFirst();
  if (row?.relink_until == null || row.relink_allowed_by === null) return undefined;
  return { until: row.relink_until, allowedBy: row.relink_allowed_by, allowedByKey: row.relink_allowed_by_key };
}

/** Allows one sign-in to replace the identity, until a time. */
export async function allowIdentityRelink(
  db: Database,
  userId: string,
  { granter, until }: { granter: Granter; until: string },
): Promise<void> {
  await db
    .updateTable('users')
    .set({ relink_until: until, relink_allowed_by: granter.principal, relink_allowed_by_key: granter.keyId })
    .where('id', '=', userId)
    .where('status', '<>', sql.lit('deleted'))
    .execute();
}

/** Takes the permission away. @returns whether it was in force: of concurrent callers, one gets true */
export async function takeIdentityRelink(db: Database, userId: string, now: Date): Promise<boolean> {
  const row = await db
    .updateTable('users')
    .set({ relink_until: null, relink_allowed_by: null, relink_allowed_by_key: null })
    .where('id', '=', userId)
    .where('relink_until', '>', now.toISOString())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
