import type { CreateMembershipInput, Membership, UpdateMembershipInput } from '@quartermaster/contracts/memberships.ts';
import { holdsScopes, ROLE_SCOPES, type Role } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOf } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  deleteMembership,
  findMembership,
  findTenantOwnedAlone,
  insertMembership,
  listMembershipsIn,
  acceptMembership as markAccepted,
  updateMembership,
} from '@quartermaster/db/repositories/memberships.ts';
import {
  findAccountByEmail,
  insertUser,
  type NewUser,
  NO_MARKETING,
  TERMS_NOT_ACCEPTED,
} from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE, scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { requireUserCaller } from '../access/authorise.ts';
import { existingPlace } from '../access/places.ts';
import { isSelf, scopesAt } from '../access/principal.ts';
import { type Change, write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import { requireTenant } from '../tenants/service.ts';
import type { CallerContext } from '../trpc.ts';

type Member = { tenant_id: string; user_id: string };
type Which = { sub_tenant_id?: string | null | undefined };

/**
 * Offers a membership to whoever has an email. It waits for them, and the answer, its audit event and the work behind
 * them are the same whether they are registered or not: an administrator must not learn that of anybody. What made the
 * record of a user who was not stands beside the tenant's events, in no tenant.
 */
export async function createMembership(
  ctx: CallerContext,
  tenantId: string,
  body: CreateMembershipInput,
): Promise<Membership> {
  return write(ctx, async (trx, record, now) => {
    await requireTenant(ctx, trx, tenantId);
    const place = await existingPlace(ctx, trx, { tenantId, subTenantId: body.subTenantId });
    requireHeld(ctx, place, body.role);
    const { email, role } = body;
    const invited = await insertUser(trx, invitedUser(email), now);
    const account = await findAccountByEmail(trx, email);
    if (!account) throw new Error('a user who was there, or was made, is not');
    const membership = await insertMembership(
      trx,
      place,
      { userId: account.id, email, role, acceptedAt: null },
      now,
    ).catch(whenTaken('membership_exists', 'The email has a membership there already: change the role of that one.'));
    if (invited) record({ place: null, target: { type: 'user', id: invited.id }, changed: ['email', 'source'] });
    record({ place, target: targetOf(membership), changed: Object.keys(body) });
    return membership;
  });
}

export async function changeMembership(
  ctx: CallerContext,
  path: Member,
  query: Which,
  body: UpdateMembershipInput,
): Promise<Membership> {
  return write(ctx, async (trx, record, now) => {
    const membership = await requireMembership(ctx, trx, path, query);
    const { role = membership.role } = body;
    if (role === membership.role) return membership;
    requireHeld(ctx, membership, membership.role);
    requireHeld(ctx, membership, role);
    if (membership.role === 'owner') await requireOtherOwner(trx, membership);
    const updated = await updateMembership(trx, ctx.reach, membership, role, now);
    if (!updated) throw notFound();
    record({ place: membership, target: targetOf(membership), changed: ['role'] });
    return updated;
  });
}

/** Ends a membership, and the gateway sessions that the user has there. Users end their own, and decline so. */
export async function removeMembership(ctx: CallerContext, path: Member, query: Which): Promise<Membership> {
  return write(ctx, async (trx, record, now) => {
    const own = isSelf(ctx.principal, path.user_id);
    const membership = await requireOwnOrMembership(ctx, trx, path, query);
    if (!own) requireHeld(ctx, membership, membership.role);
    await requireOtherOwner(trx, membership);
    const scope = scopeOf(membership);
    // A pending one has opened none: those that the user has there are another's.
    if (membership.status === 'active') await revokeSessionsOf(trx, scope, `user:${membership.userId}`, now);
    await deleteMembership(trx, scope, membership);
    record({ place: membership, target: targetOf(membership) });
    return membership;
  });
}

/** From now on the user holds the role. */
export async function acceptMembership(ctx: CallerContext, tenantId: string, query: Which): Promise<Membership> {
  return write(ctx, async (trx, record, now) => {
    const membership = await requirePendingMembership(ctx, trx, tenantId, query);
    const accepted = await markAccepted(trx, scopeOf(membership), membership, now);
    if (!accepted) throw new ApiError('membership_accepted', 'You accepted this membership before.');
    record({ place: membership, target: targetOf(membership), changed: ['acceptedAt', 'status'] });
    return accepted;
  });
}

/** The caller's own membership in a tenant, which waits to be accepted, or did. @throws 403 for service accounts, 404 */
export function requirePendingMembership(
  ctx: CallerContext,
  db: Database,
  tenantId: string,
  query: Which,
): Promise<Membership> {
  return requireOwnMembership(db, { tenant_id: tenantId, user_id: requireUserCaller(ctx) }, query);
}

/** The membership that a path names: the caller's own, or one in reach. @throws 404 */
export function requireOwnOrMembership(
  ctx: CallerContext,
  db: Database,
  path: Member,
  query: Which,
): Promise<Membership> {
  return isSelf(ctx.principal, path.user_id)
    ? requireOwnMembership(db, path, query)
    : requireMembership(ctx, db, path, query);
}

function invitedUser(email: string): NewUser {
  return {
    email,
    displayName: null,
    status: 'pending_terms',
    platformAdministrator: false,
    terms: TERMS_NOT_ACCEPTED,
    marketingConsent: NO_MARKETING,
    source: 'invitation',
    metadata: {},
  };
}

/**
 * A membership of the caller's own: what is pending lies outside of their reach, and is theirs all the same. Where no
 * sub-tenant is named it is the one in the whole tenant, else the only one.
 *
 * @throws 404, whether or not there is such a tenant
 */
async function requireOwnMembership(trx: Database, path: Member, query: Which): Promise<Membership> {
  const { tenant_id: tenantId, user_id: userId } = path;
  const { sub_tenant_id: subTenantId } = query;
  if (subTenantId) {
    const named = await findMembership(trx, EVERYWHERE, { tenantId, subTenantId }, userId);
    if (!named) throw notFound();
    return named;
  }
  const [first, second] = await listMembershipsIn(trx, EVERYWHERE, tenantId, userId);
  if (!first || (first.subTenantId !== null && second)) throw notFound();
  return first;
}

/** @throws 404 for a tenant or membership that is missing or out of reach */
export async function requireMembership(
  ctx: CallerContext,
  trx: Database,
  path: Member,
  query: Which,
): Promise<Membership> {
  await requireTenant(ctx, trx, path.tenant_id);
  const place = { tenantId: path.tenant_id, subTenantId: query.sub_tenant_id || ownSubTenant(ctx, path.tenant_id) };
  const membership = await findMembership(trx, ctx.reach, place, path.user_id);
  if (!membership) throw notFound();
  return membership;
}

/** The one sub-tenant of a caller who is bound to it; null for who reaches the whole tenant, or several. */
function ownSubTenant(ctx: CallerContext, tenantId: string): string | null {
  const here = ctx.reach.filter((place) => place.tenantId === null || place.tenantId === tenantId);
  const own = new Set(here.map((place) => place.subTenantId));
  const [only] = own;
  return own.size === 1 ? (only ?? null) : null;
}

/** Nobody gives or takes a role beyond their own. @throws 403 */
function requireHeld(ctx: CallerContext, place: TenantPlace, role: Role): void {
  if (holdsScopes(scopesAt(ctx.principal, place), ROLE_SCOPES[role])) return;
  throw new ApiError('grant_exceeds_own', `The role ${role} reaches further than what you hold here.`);
}

/** @throws 409 where the membership is all that gives its tenant an owner */
async function requireOtherOwner(trx: Database, { tenantId, subTenantId, userId }: Membership): Promise<void> {
  if (subTenantId !== null) return;
  const alone = await findTenantOwnedAlone(trx, [{ tenantId, subTenantId: null }], userId);
  if (alone !== undefined) throw new ApiError('last_owner', 'The tenant has no other owner. Make another one first.');
}

function targetOf(membership: Membership): Change['target'] {
  return { type: 'membership', id: membership.userId };
}

function notFound(): ApiError {
  return new ApiError('membership_not_found', 'No such membership in your reach.');
}
