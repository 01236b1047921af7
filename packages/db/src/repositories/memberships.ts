import type { Membership } from '@quartermaster/contracts/memberships.ts';
import { type Expression, type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inTimeRange, type KeysetOffset, type KeysetRange, listRows } from '../listing.ts';
import {
  containsAsciiText,
  inScope,
  type Page,
  type PageKey,
  type PageRequest,
  placeColumns,
  placeOf,
  timesOf,
} from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** Which users a caller may see: users with a membership in `scope`, and the user `self` with all memberships. */
export type UserView = { scope: TenantScope; self: string | null };

/** A null `acceptedAt` makes an invitation. */
export type NewMembership = Pick<Membership, 'userId' | 'email' | 'role' | 'acceptedAt'> & { invitation?: Invitation };

/** The inviter, and until when the membership can be accepted. */
export type Invitation = Inviter & { expiresAt: string };

/** `invitedBy`: `user:<id>` or `service_account:<tenant>/<id>`; `invitedByKey`: the API key that was used. */
export type Inviter = { invitedBy: string; invitedByKey: string | null };

/** Who gave rights to others: `user:<id>` or `service_account:<tenant>/<id>`, and the API key that was used. */
export type Granter = { principal: string; keyId: string | null };

export type MembershipFilter = {
  role?: string | null | undefined;
  status?: string | null | undefined;
  /** A part of the email. */
  text?: string | null | undefined;
};

type Row = Selectable<Tables['memberships']>;

/** The most pending memberships that a user is shown. Anyone with a tenant can invite any user. */
const MAX_PENDING_SHOWN = 100;

/** The memberships of some users that the view shows, with one query. Only the newest hundred pending ones of each user. */
export async function listMembershipsOfUsers(
  db: Database,
  view: UserView,
  userIds: readonly string[],
): Promise<Membership[]> {
  if (userIds.length === 0) return [];
  const numbered = db
    .selectFrom('memberships')
    .selectAll()
    .select(
      sql<number>`row_number() over (
        partition by user_id, accepted_at is null order by created_at desc, tenant_id, sub_tenant_id)`.as('position'),
    )
    .where('user_id', 'in', userIds)
    .where((eb) => eb.or([inScope(view.scope), eb('user_id', '=', view.self ?? '')]))
    .as('numbered');
  const rows = await db
    .selectFrom(numbered)
    .selectAll()
    .where((eb) => eb.or([eb('accepted_at', 'is not', null), eb('position', '<=', MAX_PENDING_SHOWN)]))
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .execute();
  return rows.map(toMembership);
}

/** The accepted memberships of a user, including suspended ones, which grant nothing. */
export async function listAcceptedMemberships(db: Database, scope: TenantScope, userId: string): Promise<Membership[]> {
  const rows = await db
    .selectFrom('memberships')
    .selectAll()
    .where('user_id', '=', userId)
    .where('accepted_at', 'is not', null)
    .where(inScope(scope))
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .execute();
  return rows.map(toMembership);
}

/** The first two memberships of a user in a tenant and its sub-tenants, accepted or not. One of the whole tenant comes first. */
export async function listMembershipsInTenant(
  db: Database,
  scope: TenantScope,
  tenantId: string,
  userId: string,
): Promise<Membership[]> {
  const rows = await db
    .selectFrom('memberships')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where(inScope(scope))
    .orderBy('sub_tenant_id')
    .limit(2)
    .execute();
  return rows.map(toMembership);
}

/** The membership of a user at exactly one place, accepted or not. */
export async function findMembership(
  db: Database,
  scope: TenantScope,
  place: TenantPlace,
  userId: string,
): Promise<Membership | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const row = await db
    .selectFrom('memberships')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', userId)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toMembership(row);
}

/** Newest first. */
export async function listMemberships(
  db: Database,
  scope: TenantScope,
  filter: MembershipFilter,
  page: PageRequest,
): Promise<Page<Membership>> {
  const { rows, next } = await listRows(db, scope, page, {
    findKeyAt,
    hasUnindexedFilter: filter.role != null || filter.status != null || filter.text != null,
    rows: (range) => membershipRows(db, filter, range),
  });
  return { items: rows.map(toMembership), next };
}

async function membershipRows(
  db: Database,
  filter: MembershipFilter,
  { scope, after, until, rows, times }: KeysetRange,
): Promise<(Row & { id: string })[]> {
  let query = db.selectFrom('memberships').selectAll().where(inScope(scope));
  if (filter.role != null) query = query.where('role', '=', filter.role as Membership['role']);
  if (filter.status != null) query = query.where(hasStatus(filter.status));
  if (filter.text != null) query = query.where(containsAsciiText('email', filter.text));
  if (after !== null) query = query.where(sql<SqlBool>`${KEY} < (${sql.join(keyValues(after))})`);
  if (until !== null) query = query.where(sql<SqlBool>`${KEY} >= (${sql.join(keyValues(until))})`);
  if (times !== null) query = query.where(inTimeRange(times));
  const found = await query.$call(newestFirst).limit(rows).execute();
  return found.map(withSortId);
}

async function findKeyAt(db: Database, { scope, after, offset }: KeysetOffset) {
  const found = await rowAt(db, { scope, after: after && keyValues(after), offset });
  return found.map(withSortId);
}

const rowAt = preparedStatement(
  (db, { scope, after, offset }: Omit<KeysetOffset, 'after'> & { after: string[] | null }) => {
    const query = db
      .selectFrom('memberships')
      .select(['created_at', 'user_id', 'tenant_id', 'sub_tenant_id'])
      .where(inScope(scope));
    return (after === null ? query : query.where(sql<SqlBool>`${KEY} < (${sql.join(after)})`))
      .$call(newestFirst)
      .limit(1)
      .offset(offset);
  },
);

/** The sort key. One user may have several memberships of one time, so it contains the whole primary key. */
const KEY = sql`(created_at, user_id, tenant_id, sub_tenant_id)`;

function newestFirst<O>(query: SelectQueryBuilder<Tables, 'memberships', O>): typeof query {
  return query
    .orderBy('created_at', 'desc')
    .orderBy('user_id', 'desc')
    .orderBy('tenant_id', 'desc')
    .orderBy('sub_tenant_id', 'desc');
}

/**
 * Adds the second part of the page key as one text. It sorts like the columns, since no id contains a character before the
 * quotation mark, or one that JSON escapes.
 */
function withSortId<Found extends Pick<Row, 'user_id' | 'tenant_id' | 'sub_tenant_id'>>(
  row: Found,
): Found & { id: string } {
  return { ...row, id: JSON.stringify([row.user_id, row.tenant_id, row.sub_tenant_id]) };
}

function keyValues([time, rest]: PageKey): string[] {
  return [time, ...(JSON.parse(rest) as [string, string, string])];
}

/** @throws DuplicateKeyError if the user has a membership at this place */
export async function insertMembership(
  db: Database,
  place: TenantPlace,
  membership: NewMembership,
  now: Date,
): Promise<Membership> {
  const { userId, email, role, acceptedAt, invitation } = membership;
  const row = await db
    .insertInto('memberships')
    .values({
      ...placeColumns(place),
      user_id: userId,
      email,
      role,
      accepted_at: acceptedAt,
      ...(invitation && invitationColumns(invitation)),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toMembership(row);
}

/**
 * Changes the role of a membership.
 *
 * @param change.invitation for a pending membership: its new inviter and expiry
 * @param change.granter for an accepted membership: who changes the role
 */
export async function updateMembership(
  db: Database,
  scope: TenantScope,
  membership: Membership,
  { role, ...by }: { role: Membership['role'] } & ({ invitation: Invitation } | { granter: Granter }),
  now: Date,
): Promise<Membership | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  const row = await db
    .updateTable('memberships')
    .set({
      role,
      ...('invitation' in by
        ? invitationColumns(by.invitation)
        : { role_granted_by: by.granter.principal, role_granted_by_key: by.granter.keyId }),
      updated_at: now.toISOString(),
    })
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toMembership(row);
}

/**
 * Suspends an accepted membership, or ends the suspension if `suspendedBy` is null. Returns undefined if the membership has ended in
 * the meantime.
 */
export async function setSuspended(
  db: Database,
  scope: TenantScope,
  membership: Membership,
  { suspendedBy, now }: Pick<Membership, 'suspendedBy'> & { now: Date },
): Promise<Membership | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  const row = await db
    .updateTable('memberships')
    .set({
      suspended_at: suspendedBy === null ? null : now.toISOString(),
      suspended_by: suspendedBy,
      updated_at: now.toISOString(),
    })
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where('accepted_at', 'is not', null)
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toMembership(row);
}

/** Accepts a membership. Returns undefined if it was accepted or ended in the meantime. */
export async function acceptMembership(
  db: Database,
  scope: TenantScope,
  membership: Membership,
  now: Date,
): Promise<Membership | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  const row = await db
    .updateTable('memberships')
    .set({ accepted_at: now.toISOString(), expires_at: null, updated_at: now.toISOString() })
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where('accepted_at', 'is', null)
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toMembership(row);
}

/** Ends a membership. */
export async function deleteMembership(db: Database, scope: TenantScope, membership: Membership): Promise<void> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  await db
    .deleteFrom('memberships')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where(inScope(scope))
    .execute();
}

/** Ends all memberships of a user, in all tenants. */
export async function deleteMembershipsOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('memberships').where('user_id', '=', userId).execute();
}

/**
 * A tenant in `scope` whose only owner is this user. An owner is an active user with an accepted membership of the whole tenant
 * in that role that is not suspended.
 */
export async function findTenantOwnedOnlyBy(
  db: Database,
  scope: TenantScope,
  userId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('memberships as own')
    .innerJoin('users as owner', 'owner.id', 'own.user_id')
    .select('own.tenant_id')
    .where('owner.status', '=', 'active')
    .where('own.user_id', '=', userId)
    .where('own.role', '=', 'owner')
    .where('own.accepted_at', 'is not', null)
    .where('own.suspended_at', 'is', null)
    .where('own.sub_tenant_id', '=', '')
    .where(inScope(scope, 'own'))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('memberships as other')
            .innerJoin('users', 'users.id', 'other.user_id')
            .select('other.user_id')
            .whereRef('other.tenant_id', '=', 'own.tenant_id')
            .whereRef('other.user_id', '<>', 'own.user_id')
            .where('other.role', '=', 'owner')
            .where('other.accepted_at', 'is not', null)
            .where('other.suspended_at', 'is', null)
            .where('other.sub_tenant_id', '=', '')
            .where('users.status', '=', 'active'),
        ),
      ),
    )
    .executeTakeFirst();
  return row?.tenant_id;
}

function invitationColumns({ invitedBy, invitedByKey, expiresAt }: Invitation) {
  return { invited_by: invitedBy, invited_by_key: invitedByKey, expires_at: expiresAt };
}

function hasStatus(status: string): Expression<SqlBool> {
  if (status === 'pending') return sql<SqlBool>`accepted_at is null`;
  if (status === 'suspended') return sql<SqlBool>`accepted_at is not null and suspended_at is not null`;
  return status === 'active' ? sql<SqlBool>`accepted_at is not null and suspended_at is null` : sql<SqlBool>`1 = 0`;
}

export function toMembership(row: Row): Membership {
  const { user_id: userId, email, role, accepted_at: acceptedAt, expires_at: expiresAt } = row;
  const status = acceptedAt === null ? 'pending' : row.suspended_at === null ? 'active' : 'suspended';
  const { suspended_by: suspendedBy } = row;
  return { userId, ...placeOf(row), email, role, status, suspendedBy, acceptedAt, expiresAt, ...timesOf(row) };
}
