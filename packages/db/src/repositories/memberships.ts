import type { Membership } from '@quartermaster/contracts/memberships.ts';
import { type Expression, type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { type At, listRows, type Stretch, withinTimes } from '../listing.ts';
import { type Page, type PageKey, type PageRequest, placeColumns, placeOf, timesOf, within } from '../queries.ts';
import { statement } from '../statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** What somebody may see of users: who has a membership in `scope`, and themselves (`self`, a user's id) with all. */
export type UserView = { scope: TenantScope; self: string | null };

/** `acceptedAt` null: it waits for its user. */
export type NewMembership = Pick<Membership, 'userId' | 'email' | 'role' | 'acceptedAt'> & { invitation?: Invitation };

/** Who offers a membership, and until when it can be accepted. */
export type Invitation = Inviter & { expiresAt: string };

/** `invitedBy`: `user:<id>` or `service_account:<tenant>/<id>`; `invitedByKey`: the API key that it was done with. */
export type Inviter = { invitedBy: string; invitedByKey: string | null };

export type MembershipFilter = { role?: string | null | undefined; status?: string | null | undefined };

type Row = Selectable<Tables['memberships']>;

/** Anybody who has a tenant can offer memberships to anybody: a user is shown so many that they did not accept. */
const PENDING_SHOWN = 100;

/** The memberships of all these users that the view shows, with one query. Of pending ones the newest hundred each. */
export async function listMembershipsOf(
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
    .where((eb) => eb.or([within(view.scope), eb('user_id', '=', view.self ?? '')]))
    .as('numbered');
  const rows = await db
    .selectFrom(numbered)
    .selectAll()
    .where((eb) => eb.or([eb('accepted_at', 'is not', null), eb('position', '<=', PENDING_SHOWN)]))
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .execute();
  return rows.map(toMembership);
}

/** What a user is, by memberships that they accepted. */
export async function listAcceptedMemberships(db: Database, scope: TenantScope, userId: string): Promise<Membership[]> {
  const rows = await db
    .selectFrom('memberships')
    .selectAll()
    .where('user_id', '=', userId)
    .where('accepted_at', 'is not', null)
    .where(within(scope))
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .execute();
  return rows.map(toMembership);
}

/** What a user is in a tenant and its sub-tenants, accepted or not: the first two, in the tenant as a whole before others. */
export async function listMembershipsIn(
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
    .where(within(scope))
    .orderBy('sub_tenant_id')
    .limit(2)
    .execute();
  return rows.map(toMembership);
}

/** What one user is at exactly one place, accepted or not. */
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
    .where(within(scope))
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
    keyAt,
    isSifted: filter.role != null || filter.status != null,
    rows: (stretch) => membershipRows(db, filter, stretch),
  });
  return { items: rows.map(toMembership), next };
}

async function membershipRows(
  db: Database,
  filter: MembershipFilter,
  { scope, after, until, rows, times }: Stretch,
): Promise<(Row & { id: string })[]> {
  let query = db.selectFrom('memberships').selectAll().where(within(scope));
  if (filter.role != null) query = query.where('role', '=', filter.role as Membership['role']);
  if (filter.status != null) query = query.where(hasStatus(filter.status));
  if (after !== null) query = query.where(sql<SqlBool>`${KEY} < (${sql.join(keyValues(after))})`);
  if (until !== null) query = query.where(sql<SqlBool>`${KEY} >= (${sql.join(keyValues(until))})`);
  if (times !== null) query = query.where(withinTimes(times));
  const found = await query.$call(newestFirst).limit(rows).execute();
  return found.map(keyed);
}

async function keyAt(db: Database, { scope, after, offset }: At) {
  const found = await rowAt(db, { scope, after: after && keyValues(after), offset });
  return found.map(keyed);
}

const rowAt = statement((db, { scope, after, offset }: Omit<At, 'after'> & { after: string[] | null }) => {
  const query = db
    .selectFrom('memberships')
    .select(['created_at', 'user_id', 'tenant_id', 'sub_tenant_id'])
    .where(within(scope));
  return (after === null ? query : query.where(sql<SqlBool>`${KEY} < (${sql.join(after)})`))
    .$call(newestFirst)
    .limit(1)
    .offset(offset);
});

/** A user has several memberships, perhaps made at one time: the key has all that makes one unique. */
const KEY = sql`(created_at, user_id, tenant_id, sub_tenant_id)`;

function newestFirst<O>(query: SelectQueryBuilder<Tables, 'memberships', O>): typeof query {
  return query
    .orderBy('created_at', 'desc')
    .orderBy('user_id', 'desc')
    .orderBy('tenant_id', 'desc')
    .orderBy('sub_tenant_id', 'desc');
}

/** No id has a character that comes before the quotation mark, or that JSON escapes: these sort as the columns do. */
function keyed<Found extends Pick<Row, 'user_id' | 'tenant_id' | 'sub_tenant_id'>>(row: Found): Found & { id: string } {
  return { ...row, id: JSON.stringify([row.user_id, row.tenant_id, row.sub_tenant_id]) };
}

function keyValues([time, rest]: PageKey): string[] {
  return [time, ...(JSON.parse(rest) as [string, string, string])];
}

/** @throws DuplicateKeyError where the user has a membership there */
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
      ...{ user_id: userId, email, role, accepted_at: acceptedAt },
      ...(invitation && invitationColumns(invitation)),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toMembership(row);
}

/** Changes the role of one membership, found before; of a pending one the inviter as well. */
export async function updateMembership(
  db: Database,
  scope: TenantScope,
  membership: Membership,
  { role, invitation }: { role: Membership['role']; invitation?: Invitation },
  now: Date,
): Promise<Membership | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  const row = await db
    .updateTable('memberships')
    .set({ role, ...(invitation && invitationColumns(invitation)), updated_at: now.toISOString() })
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where(within(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toMembership(row);
}

/** Accepts one membership, found before; undefined where it was accepted or ended meanwhile. */
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
    .where(within(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toMembership(row);
}

/** Ends one membership, found before. */
export async function deleteMembership(db: Database, scope: TenantScope, membership: Membership): Promise<void> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  await db
    .deleteFrom('memberships')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where(within(scope))
    .execute();
}

/** Ends all memberships of a user, wherever they are. */
export async function deleteMembershipsOf(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('memberships').where('user_id', '=', userId).execute();
}

/**
 * A tenant in `scope` that has no owner but this user. An owner is a member of the whole tenant in that role who can
 * act: active, and accepted.
 */
export async function findTenantOwnedAlone(
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
    .where('own.sub_tenant_id', '=', '')
    .where(within(scope, 'own'))
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
  return status === 'active' ? sql<SqlBool>`accepted_at is not null` : sql<SqlBool>`1 = 0`;
}

export function toMembership(row: Row): Membership {
  const { user_id: userId, email, role, accepted_at: acceptedAt, expires_at: expiresAt } = row;
  const status = acceptedAt === null ? 'pending' : 'active';
  return { userId, ...placeOf(row), email, role, status, acceptedAt, expiresAt, ...timesOf(row) };
}
