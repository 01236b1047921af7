import type { Database } from '../database.ts';
import { developmentIssuerOf, markDevelopmentUser } from './development-users.ts';
import { type Account, toAccount } from './users.ts';

/** An identity at an identity provider. The same subject at another issuer is a different identity. */
export type Identity = { issuer: string; subject: string };

/** The account that an identity is linked to. */
export async function findAccountByIdentity(db: Database, identity: Identity): Promise<Account | undefined> {
  const row = await db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.user_id')
    .selectAll('users')
    .where('identities.issuer', '=', identity.issuer)
    .where('identities.subject', '=', identity.subject)
    .executeTakeFirst();
  return row && toAccount(row);
}

/** Whether a user has signed in before. */
export async function hasIdentity(db: Database, userId: string): Promise<boolean> {
  const row = await db.selectFrom('identities').select('issuer').where('user_id', '=', userId).executeTakeFirst();
  return row !== undefined;
}

/** @throws DuplicateKeyError if the identity is already linked, or the user has another one. */
export async function insertIdentity(db: Database, identity: Identity, userId: string, now: Date): Promise<void> {
  await db
    .insertInto('identities')
    .values({ ...identity, user_id: userId, created_at: now.toISOString() })
    .execute();
  const developmentIssuer = developmentIssuerOf(identity);
  if (developmentIssuer !== null) await markDevelopmentUser(db, userId, developmentIssuer);
}

/** The identity that a user signs in with, if there is one. */
export async function findIdentityOfUser(db: Database, userId: string): Promise<Identity | undefined> {
  return db.selectFrom('identities').select(['issuer', 'subject']).where('user_id', '=', userId).executeTakeFirst();
}

export async function deleteIdentitiesOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('identities').where('user_id', '=', userId).execute();
}
