import type { User } from '@quartermaster/contracts/users.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newUserId } from '../ids.ts';
import { inStretch, listRows, type Stretch } from '../listing.ts';
import { flag, type Page, type PageRequest, timesOf, within } from '../queries.ts';
import type { Tables } from '../tables.ts';
import { EVERYWHERE, type TenantScope } from '../tenancy.ts';
import { listMembershipsOf, type UserView } from './memberships.ts';

export type NewUser = Pick<
  User,
  'displayName' | 'status' | 'platformAdministrator' | 'terms' | 'marketingConsent' | 'source' | 'metadata'
> & { email: string };

export type UserChange = Partial<
  Pick<User, 'displayName' | 'status' | 'terms' | 'marketingConsent' | 'locale' | 'timeZone' | 'metadata'>
>;

export type UserFilter = { status?: string | null | undefined; email?: string | null | undefined };

/** What has to be known of a user to let them in. `termsAccepted`: also by a registration that nobody has confirmed yet. */
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

/** Members whose users are looked up and sorted for each page: some milliseconds of work on SQLite. */
const FEW = 2000;

/** A user who is not deleted: one who accepted a membership in the view's scope, or the one who looks. */
export async function findUser(db: Database, view: UserView, id: string): Promise<User | undefined> {
  const seen = view.self === id ? sql<SqlBool>`1 = 1` : memberOf(view.scope);
  const row = await db
    .selectFrom('users')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .where(seen)
    .executeTakeFirst();
  if (!row) return undefined;
  const [user] = await withMemberships(db, view, [row]);
  return user;
}

/** Users who accepted a membership in `scope`, newest first. Deleted ones are listed by their status alone, and have none. */
export async function listUsers(
  db: Database,
  scope: TenantScope,
  view: UserView,
  filter: UserFilter,
  page: PageRequest,
): Promise<Page<User>> {
  // One has an email, and few are looked up by their memberships; of many the users are looked through.
  const areFew = filter.email == null && (await areFewMembers(db, scope));
  const { rows, next } = await listRows(db, EVERYWHERE, page, {
    table: 'users',
    isSifted: filter.email == null && !areFew,
    rows: (stretch) => userRows(db, areFew ? amongMembers(scope) : memberOf(scope), filter, stretch).execute(),
  });
  return { items: await withMemberships(db, view, rows), next };
}

function userRows(db: Database, isSeen: Expression<SqlBool>, filter: UserFilter, stretch: Stretch) {
  let query = db.selectFrom('users').selectAll().where(isSeen);
  query =
    filter.status == null
      ? query.where('status', '<>', 'deleted')
      : query.where('status', '=', filter.status as User['status']);
  if (filter.email != null) query = query.where('email_key', '=', emailKey(filter.email));
  return query.$call(inStretch(stretch));
}

export async function findAccount(db: Database, id: string): Promise<Account | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toAccount(row);
}

/** The account that an email stands for, in any case. */
export async function findAccountByEmail(db: Database, email: string): Promise<Account | undefined> {
  const row = await db.selectFrom('users').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst();
  return row && toAccount(row);
}

/** Makes a user; undefined where the email is another's, whose record stays as it is. */
export async function insertUser(db: Database, user: NewUser, now: Date): Promise<Account | undefined> {
  const { email, status, source } = user;
  const row = await db
    .insertInto('users')
    .values({
      id: newUserId(),
      ...{ email, status, source },
      email_key: emailKey(email),
      display_name: user.displayName,
      platform_administrator: flag(user.platformAdministrator),
      terms: JSON.stringify(user.terms),
      terms_accepted: flag(user.terms.accepted),
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

/** Changes one user, found before. */
export async function updateUser(db: Database, id: string, change: UserChange, now: Date): Promise<void> {
  const { displayName, status, terms, marketingConsent, locale, timeZone, metadata } = change;
  await db
    .updateTable('users')
    .set({
      ...(displayName !== undefined && { display_name: displayName }),
      ...(status !== undefined && { status }),
      ...(terms !== undefined && { terms: JSON.stringify(terms), terms_accepted: flag(terms.accepted) }),
      ...(marketingConsent !== undefined && { marketing_consent: JSON.stringify(marketingConsent) }),
      ...(locale !== undefined && { locale }),
      ...(timeZone !== undefined && { time_zone: timeZone }),
      ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .execute();
}

/**
 * Clears what a registration said about a user: name, terms, marketing consent and metadata. Registration is anonymous, so
 * a stranger may have said it; the owner of the email is asked again at their first sign-in. Terms with a time of acceptance
 * were accepted by the user (or by whoever set up the service), so a record that has one stays as it is.
 *
 * @returns the names of the cleared fields
 */
export async function discardRegistration(db: Database, id: string, now: Date): Promise<(keyof UserChange)[]> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const { terms, marketingConsent } = saidBy(row);
  if (terms.acceptedAt !== null) return [];
  const change: UserChange = {
    ...(row.display_name !== null && { displayName: null }),
    ...(!isSame(terms, TERMS_NOT_ACCEPTED) && { terms: TERMS_NOT_ACCEPTED }),
    ...(!isSame(marketingConsent, NO_MARKETING) && { marketingConsent: NO_MARKETING }),
    ...(row.metadata !== '{}' && { metadata: {} }),
  };
  const names = Object.keys(change) as (keyof UserChange)[];
  if (names.length > 0) await updateUser(db, id, change, now);
  return names;
}

/**
 * Deletes a user: what is personal is erased, and a tombstone stays, so that the id is never another's. Answers the
 * tombstone. Memberships and identities are the caller's to end before.
 */
export async function eraseUser(db: Database, id: string, now: Date): Promise<User | undefined> {
  const row = await db
    .updateTable('users')
    .set({
      status: 'deleted',
      email: null,
      email_key: null,
      display_name: null,
      platform_administrator: 0,
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
    .where('status', '<>', 'deleted')
    .returningAll()
    .executeTakeFirst();
  return row && toUser(row, []);
}

/** Notes that a user was here. Their record counts as unchanged. */
export async function touchUser(db: Database, id: string, now: Date): Promise<void> {
  await db.updateTable('users').set({ last_seen_at: now.toISOString() }).where('id', '=', id).execute();
}

/**
 * Removes users who registered before `createdBefore`, never signed in, and belong nowhere: at most `limit`. Nothing of
 * them stays. Platform administrators stay, and whom somebody disabled, who could register again otherwise.
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
 * How emails are compared. Only ASCII letters are folded: Unicode's folding makes one address of two that a mail server
 * keeps apart (the Kelvin sign becomes `k`), and whoever verified the one would be let in as the other.
 */
function emailKey(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * Users who accepted a membership in `scope`; everywhere also those without any. Each user is asked for theirs: neither
 * dialect makes a join of it, or a list of all members.
 */
function memberOf(scope: TenantScope): Expression<SqlBool> {
  if (scope.some((place) => place.tenantId === null && place.subTenantId === null)) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`users.id = (
    select user_id from memberships
    where user_id = users.id and accepted_at is not null and ${within(scope, 'memberships')} limit 1)`;
}

/** The same by a list of all members. */
function amongMembers(scope: TenantScope): Expression<SqlBool> {
  return sql<SqlBool>`users.id in (
    select user_id from memberships where accepted_at is not null and ${within(scope, 'memberships')})`;
}

/** Whether at most {@link FEW} memberships in `scope` are accepted. Over all tenants no index tells. */
async function areFewMembers(db: Database, scope: TenantScope): Promise<boolean> {
  let left = FEW;
  for (const place of scope) {
    if (place.tenantId === null) return false;
    const query = db.selectFrom('memberships').select('user_id').where('accepted_at', 'is not', null);
    const members = await query
      .where(within([place]))
      .limit(left + 1)
      .execute();
    left -= members.length;
    if (left < 0) return false;
  }
  return true;
}

/** Adds the memberships that the view shows to a whole page with one query. */
async function withMemberships(db: Database, view: UserView, rows: Row[]): Promise<User[]> {
  const ids = rows.map((row) => row.id);
  const memberships = Map.groupBy(await listMembershipsOf(db, view, ids), (membership) => membership.userId);
  return rows.map((row) => toUser(row, memberships.get(row.id) ?? []));
}

/** Terms and consent as they were said: without a time they do not count, see {@link discardRegistration}. */
function saidBy(row: Row): Pick<User, 'terms' | 'marketingConsent'> {
  return {
    terms: JSON.parse(row.terms) as User['terms'],
    marketingConsent: JSON.parse(row.marketing_consent) as User['marketingConsent'],
  };
}

/** Compares by values, since the order of stored members is that of the request. */
function isSame<Rec extends object>(a: Rec, b: Rec): boolean {
  return Object.entries(b).every(([name, value]) => a[name as keyof Rec] === value);
}

function toUser(row: Row, memberships: readonly User['memberships'][number][]): User {
  const { terms, marketingConsent: consent } = saidBy(row);
  return {
    id: row.id,
    email: row.email,
    displayName: row.display_name,
    status: row.status,
    platformAdministrator: row.platform_administrator === 1,
    terms: { ...terms, accepted: terms.accepted && terms.acceptedAt !== null },
    marketingConsent: { ...consent, optedIn: consent.optedIn && consent.changedAt !== null },
    source: row.source,
    memberships: memberships.map(({ tenantId, subTenantId, role, status }) => ({
      tenantId,
      subTenantId,
      role,
      status,
    })),
    locale: row.locale,
    timeZone: row.time_zone,
    metadata: JSON.parse(row.metadata) as User['metadata'],
    lastSeenAt: row.last_seen_at,
    ...timesOf(row),
  };
}
