import { withAsciiDomain } from '@quartermaster/contracts/email-domain.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import type { User } from '@quartermaster/contracts/users.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newUserId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import {
  asciiLowerCase,
  containsAsciiText,
  containsText,
  inScope,
  type Page,
  type PageRequest,
  timesOf,
  toFlag,
} from '../queries.ts';
import type { Tables } from '../tables.ts';
import { EVERYWHERE, type TenantScope } from '../tenancy.ts';
import { type Granter, listMembershipsOfUsers, type UserView } from './memberships.ts';

export type NewUser = Pick<
  User,
  'displayName' | 'status' | 'platformAdministrator' | 'terms' | 'marketingConsent' | 'source' | 'metadata'
> & { email: string };

export type UserChange = Partial<
  Pick<User, 'displayName' | 'status' | 'terms' | 'marketingConsent' | 'locale' | 'timeZone' | 'metadata'>
>;

export type UserFilter = {
  status?: string | null | undefined;
  email?: string | null | undefined;
  /** A part of the display name or of the email, in any case. */
  text?: string | null | undefined;
};

/** What authentication needs to know of a user. `termsAccepted` is also set by a registration that is not confirmed yet. */
export type Account = Pick<User, 'id' | 'status' | 'platformAdministrator' | 'lastSeenAt'> & {
  termsAccepted: boolean;
};

export const TERMS_NOT_ACCEPTED: User['terms'] = {
  termsVersion: null,
  privacyVersion: null,
  accepted: false,
  acceptedAt: null,
};

export const NO_MARKETING: User['marketingConsent'] = { optedIn: false, consentVersion: null, changedAt: null };

type Row = Selectable<Tables['users']>;

/** Up to this many members, their users are looked up and sorted for each page: some milliseconds of work on SQLite. */
const MAX_MEMBERS_SORTED = 2000;

/** A user who is not deleted, and who has an accepted membership in the view's scope or is the caller. */
export async function findUser(db: Database, view: UserView, id: string): Promise<User | undefined> {
  const seen = view.self === id ? sql<SqlBool>`1 = 1` : isMember(view.scope);
  const row = await db
    .selectFrom('users')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(seen)
    .executeTakeFirst();
  if (!row) return undefined;
  const [user] = await withMemberships(db, view, [row]);
  return user;
}

/**
 * Users with an accepted membership in `scope`, newest first. Deleted users are only listed if the filter asks for their status.
 * They have no memberships.
 */
export async function listUsers(
  db: Database,
  scope: TenantScope,
  view: UserView,
  filter: UserFilter,
  page: PageRequest,
): Promise<Page<User>> {
  // Few members are looked up by their memberships. For many members, the table of users is scanned.
  const areFew = filter.email == null && (await areFewMembers(db, scope));
  const { rows, next } = await listRows(db, EVERYWHERE, page, {
    table: 'users',
    hasUnindexedFilter: filter.email == null && !areFew,
    rows: (range) => userRows(db, areFew ? isListedMember(scope) : isMember(scope), filter, range).execute(),
  });
  return { items: await withMemberships(db, view, rows), next };
}

function userRows(db: Database, isSeen: Expression<SqlBool>, filter: UserFilter, range: KeysetRange) {
  let query = db.selectFrom('users').selectAll().where(isSeen);
  query =
    filter.status == null
      ? query.where('status', '<>', sql.lit('deleted'))
      : query.where('status', '=', filter.status as User['status']);
  if (filter.email != null) query = query.where('email_key', '=', emailKey(filter.email));
  const { text } = filter;
  if (text != null)
    query = query.where((eb) => eb.or([containsText('name_key', text), containsAsciiText('email', text)]));
  return query.$call(inKeysetRange(range));
}

export async function findAccount(db: Database, id: string): Promise<Account | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toAccount(row);
}

/** The account with an email, compared case-insensitively. */
export async function findAccountByEmail(db: Database, email: string): Promise<Account | undefined> {
  const row = await db.selectFrom('users').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst();
  return row && toAccount(row);
}

/** Inserts a user. Returns undefined if the email is taken; that user does not change. */
export async function insertUser(db: Database, user: NewUser, now: Date): Promise<Account | undefined> {
  const { email, status, source } = user;
  const row = await db
    .insertInto('users')
    .values({
      id: newUserId(),
      email,
      status,
      source,
      email_key: emailKey(email),
      ...nameColumns(user.displayName),
      platform_administrator: toFlag(user.platformAdministrator),
      terms: JSON.stringify(user.terms),
      terms_accepted: toFlag(user.terms.accepted),
      marketing_consent: JSON.stringify(user.marketingConsent),
      metadata: JSON.stringify(user.metadata),
      locale: null,
      time_zone: null,
      last_seen_at: null,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .returningAll()
    .executeTakeFirst();
  return row && toAccount(row);
}

/** Updates a user. */
export async function updateUser(db: Database, id: string, change: UserChange, now: Date): Promise<void> {
  const { displayName, status, terms, marketingConsent, locale, timeZone, metadata } = change;
  await db
    .updateTable('users')
    .set({
      ...(displayName !== undefined && nameColumns(displayName)),
      ...(status !== undefined && { status }),
      ...(terms !== undefined && { terms: JSON.stringify(terms), terms_accepted: toFlag(terms.accepted) }),
      ...(marketingConsent !== undefined && { marketing_consent: JSON.stringify(marketingConsent) }),
      ...(locale !== undefined && { locale }),
      ...(timeZone !== undefined && { time_zone: timeZone }),
      ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .execute();
}

/** Gives a user every right in every tenant. @param granter null takes the rights away */
export async function setPlatformAdministrator(
  db: Database,
  id: string,
  granter: Granter | null,
  now: Date,
): Promise<void> {
  await db
    .updateTable('users')
    .set({
      platform_administrator: toFlag(granter !== null),
      administrator_granted_by: granter?.principal ?? null,
      administrator_granted_by_key: granter?.keyId ?? null,
      administrator_granted_at: granter && now.toISOString(),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .execute();
}

/** Whether there is another active user who is a platform administrator. */
export async function hasOtherPlatformAdministrator(db: Database, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .select('id')
    .where('platform_administrator', '=', 1)
    .where('status', '=', 'active')
    .where('id', '<>', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Clears what a registration stored about a user: name, terms, marketing consent and metadata. Registration is anonymous, so it
 * may come from a stranger. The owner of the email is asked again at their first sign-in. A record with a time of acceptance
 * does not change: the user, or an administrator at set-up, has accepted the terms.
 *
 * @returns the names of the cleared fields
 */
export async function discardRegistration(db: Database, id: string, now: Date): Promise<(keyof UserChange)[]> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const { terms, marketingConsent } = consentsOf(row);
  if (terms.acceptedAt !== null) return [];
  const change: UserChange = {
    ...(row.display_name !== null && { displayName: null }),
    ...(!hasSameMembers(terms, TERMS_NOT_ACCEPTED) && { terms: TERMS_NOT_ACCEPTED }),
    ...(!hasSameMembers(marketingConsent, NO_MARKETING) && { marketingConsent: NO_MARKETING }),
    ...(row.metadata !== '{}' && { metadata: {} }),
  };
  const names = Object.keys(change) as (keyof UserChange)[];
  if (names.length > 0) await updateUser(db, id, change, now);
  return names;
}

/**
 * Deletes a user: personal data are erased, and a tombstone stays, so that the id is never reused. Returns the tombstone. The
 * caller deletes memberships and identities before.
 */
export async function eraseUser(db: Database, id: string, now: Date): Promise<User | undefined> {
  const row = await db
    .updateTable('users')
    .set({
      status: 'deleted',
      email: null,
      email_key: null,
      ...nameColumns(null),
      platform_administrator: 0,
      administrator_granted_by: null,
      administrator_granted_by_key: null,
      administrator_granted_at: null,
      relink_until: null,
      relink_allowed_by: null,
      relink_allowed_by_key: null,
      terms: JSON.stringify(TERMS_NOT_ACCEPTED),
      terms_accepted: 0,
      marketing_consent: JSON.stringify(NO_MARKETING),
      source: null,
      locale: null,
      time_zone: null,
      metadata: '{}',
      last_seen_at: null,
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .returningAll()
    .executeTakeFirst();
  return row && toUser(row, []);
}

/** Stores when a user was last seen. `updated_at` does not change. */
export async function touchUser(db: Database, id: string, now: Date): Promise<void> {
  await db.updateTable('users').set({ last_seen_at: now.toISOString() }).where('id', '=', id).execute();
}

/**
 * Deletes at most `limit` users who registered before `createdBefore`, never signed in, and have no membership. No tombstone
 * stays. Platform administrators are kept, and so are disabled users, who could otherwise register again.
 */
export async function deleteUnclaimedUsers(db: Database, createdBefore: string, limit: number): Promise<string[]> {
  const unclaimed = db
    .selectFrom('users')
    .select('users.id')
    .where('users.created_at', '<', createdBefore)
    .where('users.status', 'in', ['pending_terms', 'pending_identity'])
    .where('users.platform_administrator', '=', 0)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('identities').select('issuer').whereRef('identities.user_id', '=', 'users.id'))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('memberships').select('role').whereRef('memberships.user_id', '=', 'users.id'))),
    )
    .orderBy('users.created_at')
    .limit(limit);
  const rows = await db.deleteFrom('users').where('id', 'in', unclaimed).returning('id').execute();
  return rows.map((row) => row.id);
}

function nameColumns(displayName: string | null) {
  return { display_name: displayName, name_key: displayName === null ? null : caseFolded(displayName) };
}

export function toAccount(row: Row): Account {
  return {
    id: row.id,
    status: row.status,
    platformAdministrator: row.platform_administrator === 1,
    termsAccepted: row.terms_accepted === 1,
    lastSeenAt: row.last_seen_at,
  };
}

/**
 * The key by which emails are compared. Only ASCII letters become lower case. Unicode case folding would make two addresses
 * equal that a mail server keeps apart (the Kelvin sign becomes `k`), and the owner of one could sign in as the other. An
 * internationalised domain is compared by its ASCII form, because identity providers send either.
 */
function emailKey(email: string): string {
  return asciiLowerCase(withAsciiDomain(email));
}

/**
 * The condition that a user has an accepted membership in `scope`. In {@link EVERYWHERE}, users without membership pass as
 * well. The subquery is written so that both dialects evaluate it for each user, instead of joining or listing all members.
 */
function isMember(scope: TenantScope): Expression<SqlBool> {
  if (scope.some((place) => place.tenantId === null && place.subTenantId === null)) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`users.id = (
    select user_id from memberships
    where user_id = users.id and accepted_at is not null and ${inScope(scope, 'memberships')} limit 1)`;
}

/** The condition of {@link isMember}, evaluated as a list of all members. */
function isListedMember(scope: TenantScope): Expression<SqlBool> {
  return sql<SqlBool>`users.id in (
    select user_id from memberships where accepted_at is not null and ${inScope(scope, 'memberships')})`;
}

/**
 * Whether at most {@link MAX_MEMBERS_SORTED} memberships in `scope` are accepted. False if a place of the scope names no
 * tenant, since no index can tell.
 */
async function areFewMembers(db: Database, scope: TenantScope): Promise<boolean> {
  let left = MAX_MEMBERS_SORTED;
  for (const place of scope) {
    if (place.tenantId === null) return false;
    const query = db.selectFrom('memberships').select('user_id').where('accepted_at', 'is not', null);
    const members = await query
      .where(inScope([place]))
      .limit(left + 1)
      .execute();
    left -= members.length;
    if (left < 0) return false;
  }
  return true;
}

/** Adds the memberships that the view shows to the users of a page, with one query. */
async function withMemberships(db: Database, view: UserView, rows: Row[]): Promise<User[]> {
  const ids = rows.map((row) => row.id);
  const memberships = Map.groupBy(await listMembershipsOfUsers(db, view, ids), (membership) => membership.userId);
  return rows.map((row) => toUser(row, memberships.get(row.id) ?? []));
}

/** Stored terms and consent. Without a time they do not count yet, see {@link discardRegistration}. */
function consentsOf(row: Row): Pick<User, 'terms' | 'marketingConsent'> {
  return {
    terms: JSON.parse(row.terms) as User['terms'],
    marketingConsent: JSON.parse(row.marketing_consent) as User['marketingConsent'],
  };
}

/** Compares member by member, since stored members may have any order. */
function hasSameMembers<Rec extends object>(a: Rec, b: Rec): boolean {
  return Object.entries(b).every(([name, value]) => a[name as keyof Rec] === value);
}

function toUser(row: Row, memberships: readonly User['memberships'][number][]): User {
  const { terms, marketingConsent: consent } = consentsOf(row);
  return {
    id: row.id,
    email: row.email,
    displayName: row.display_name,
    status: row.status,
    platformAdministrator: row.platform_administrator === 1,
    terms: { ...terms, accepted: terms.accepted && terms.acceptedAt !== null },
    marketingConsent: { ...consent, optedIn: consent.optedIn && consent.changedAt !== null },
    source: row.source,
    memberships: memberships.map(({ tenantId, subTenantId, role, status, suspendedBy }) => ({
      tenantId,
      subTenantId,
      role,
      status,
      suspendedBy,
    })),
    locale: row.locale,
    timeZone: row.time_zone,
    metadata: JSON.parse(row.metadata) as User['metadata'],
    lastSeenAt: row.last_seen_at,
    ...timesOf(row),
  };
}
