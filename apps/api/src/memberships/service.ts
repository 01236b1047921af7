import {
  type CreateMembershipInput,
  INVITATION_DAYS,
  type Membership,
  type UpdateMembershipInput,
} from '@quartermaster/contracts/memberships.ts';
import { holdsScopes, ROLE_SCOPES, type Role, type Scope } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOf } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  deleteMembership,
  findMembership,
  findTenantOwnedAlone,
  type Invitation,
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
import { earlierEnd, requireSource, type Source } from '../access/source.ts';
import { type Change, write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import { requireTenant } from '../tenants/service.ts';
import type { CallerContext } from '../trpc.ts';
import { inviterMayInvite } from './inviter.ts';

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
    const invitation = invitationOf(await requireSource(ctx, trx, now), now);
    const invited = await insertUser(trx, invitedUser(email), now);
    const account = await findAccountByEmail(trx, email);
    if (!account) throw new Error('a user who was there, or was made, is not');
    await removeUnacceptable(trx, place, account.id, now);
    const values = { userId: account.id, email, role, acceptedAt: null, invitation };
    const membership = await insertMembership(trx, place, values, now).catch(
      whenTaken('membership_exists', 'The email has a membership there already: change the role of that one.'),
    );
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
    // Whoever changes an invitation offers it from now on.
    const isPending = membership.status === 'pending';
    const invitation = isPending
      ? invitationOf(await requireSource(ctx, trx, now), now, membership.expiresAt)
      : undefined;
    const updated = await updateMembership(
      trx,
      ctx.reach,
      membership,
      { role, ...(invitation && { invitation }) },
      now,
    );
    if (!updated) throw notFound();
    if (!isPending && losesSessions(membership.role, role)) {
      await revokeSessionsOf(trx, scopeOf(membership), `user:${membership.userId}`, now);
    }
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
    await endMembership(trx, record, membership, now);
    return membership;
  });
}

/** Deletes a membership, and ends the gateway sessions that the user has there. The caller has checked the rights. */
export async function endMembership(
  trx: Database,
  record: (change: Change) => void,
  membership: Membership,
  now: Date,
): Promise<void> {
  const scope = scopeOf(membership);
  // A pending one has opened none: those that the user has there are another's.
  if (membership.status === 'active') await revokeSessionsOf(trx, scope, `user:${membership.userId}`, now);
  await deleteMembership(trx, scope, membership);
  record({ place: membership, target: targetOf(membership) });
}

/** From now on the user holds the role. */
export async function acceptMembership(ctx: CallerContext, tenantId: string, query: Which): Promise<Membership> {
  return write(ctx, async (trx, record, now) => {
    const membership = await requirePendingMembership(ctx, trx, tenantId, query);
    if (membership.status === 'pending') await requireAcceptable(trx, membership, now);
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

/** @param until when an invitation expires that is offered anew */
function invitationOf(source: Source, now: Date, until: string | null = null): Invitation {
  const latest = until ?? new Date(now.getTime() + INVITATION_DAYS * 24 * 3600 * 1000).toISOString();
  return { invitedBy: source.principal, invitedByKey: source.keyId, expiresAt: earlierEnd(latest, source.endsAt) };
}

/** @throws 409 for an invitation that expired, or whose inviter could not offer it any more */
async function requireAcceptable(trx: Database, membership: Membership, now: Date): Promise<void> {
  if (isExpired(membership, now)) {
    throw new ApiError('invitation_expired', `The invitation expired at ${membership.expiresAt}: ask for another one.`);
  }
  if (await inviterMayInvite(trx, membership, now)) return;
  throw new ApiError('invitation_void', 'The inviter lost the rights to invite here: ask for another invitation.');
}

/** Removes an invitation that its user can no longer accept, so that another one can be made. */
async function removeUnacceptable(trx: Database, place: TenantPlace, userId: string, now: Date): Promise<void> {
  const former = await findMembership(trx, EVERYWHERE, place, userId);
  if (former?.status !== 'pending') return;
  if (!isExpired(former, now) && (await inviterMayInvite(trx, former, now))) return;
  await deleteMembership(trx, scopeOf(former), former);
}

function isExpired({ expiresAt }: Membership, now: Date): boolean {
  return expiresAt !== null && expiresAt <= now.toISOString();
}

/** Whether a role no longer allows what a user's open sessions were opened with. */
function losesSessions(before: Role, after: Role): boolean {
  const needed: readonly Scope[] = ['gateway_sessions:write', 'gateway_sessions:impersonate'];
  return needed.some((scope) => holdsScopes(ROLE_SCOPES[before], [scope]) && !holdsScopes(ROLE_SCOPES[after], [scope]));
}

/** Whether the caller holds as much as a role gives at a place. */
export function holdsRole(ctx: CallerContext, place: TenantPlace, role: Role): boolean {
  return holdsScopes(scopesAt(ctx.principal, place), ROLE_SCOPES[role]);
}

/** Nobody gives or takes a role beyond their own. @throws 403 */
function requireHeld(ctx: CallerContext, place: TenantPlace, role: Role): void {
  if (holdsRole(ctx, place, role)) return;
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
