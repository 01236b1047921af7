import {
  type CreateMembershipInput,
  INVITATION_DAYS,
  type Membership,
  type UpdateMembershipInput,
} from '@quartermaster/contracts/memberships.ts';
import { holdsScopes, ROLE_SCOPES, type Role, type Scope } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOfPrincipal } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  acceptMembership as markAccepted,
  deleteMembership,
  findMembership,
  findTenantOwnedOnlyBy,
  insertMembership,
  type Invitation,
  listMembershipsInTenant,
  setSuspended,
  updateMembership,
} from '@quartermaster/db/repositories/memberships.ts';
import {
  findAccountByEmail,
  insertUser,
  type NewUser,
  NO_MARKETING,
  TERMS_NOT_ACCEPTED,
} from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE, scopeOf, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { requireUserCaller } from '../../auth/authorize.ts';
import { existingPlace } from '../../auth/places.ts';
import { isSelf, scopesAt } from '../../auth/principal.ts';
import { earlierExpiry, requireSource, type Source } from '../../auth/source.ts';
import { auditedWrite, type AuditedChange, changedFields, deletedFields } from '../../platform/audit/audited-write.ts';
import type { ChangedFields } from '../../platform/audit/kept-values.ts';
import { ApiError, duplicateKeyAs, notFound, requireFound, valueError } from '../../platform/errors.ts';
import { requireTenant } from '../tenants/service.ts';
import type { CallerContext } from '../../auth/context.ts';
import { inviterMayInvite } from './inviter.ts';

type Path = { tenant_id: string; user_id: string };
type Query = { sub_tenant_id?: string | null | undefined };

/**
 * Invites the owner of an email address. The response, its audit event and the work are the same whether the address is
 * registered or not, so that an administrator cannot find out who is registered. If the invitation creates a user, the audit
 * event of that belongs to the platform, not to the tenant.
 */
export async function createMembership(
  ctx: CallerContext,
  tenantId: string,
  body: CreateMembershipInput,
): Promise<Membership> {
  return auditedWrite(ctx, async (trx, record, now) => {
    await requireTenant(ctx, trx, tenantId);
    const place = await existingPlace(ctx, trx, { tenantId, subTenantId: body.subTenantId });
    requireHoldsRole(ctx, place, body.role);
    await ctx.services.tenantLimits.addRecord(trx, tenantId, { resource: 'memberships', content: body });
    const { email, role } = body;
    const invitation = invitationOf(await requireSource(ctx, trx, now), now);
    const invited = await insertUser(trx, invitedUser(email), now);
    const account = await findAccountByEmail(trx, email);
    if (!account) throw new Error('the invited user vanished within its transaction');
    await removeUnacceptable(trx, place, account.id, now);
    const values = { userId: account.id, email, role, acceptedAt: null, invitation };
    const membership = await insertMembership(trx, place, values, now).catch(
      duplicateKeyAs('membership_exists', 'This email already has a membership there. Change its role instead.'),
    );
    if (!(await inviterMayInvite(trx, membership, now))) {
      throw new ApiError(
        'invitation_void',
        'You are a platform administrator only by a claim of the identity provider, which cannot be checked when the invitation is accepted. Invite with an API key, or ask an administrator to grant you the role.',
      );
    }
    if (invited)
      record({
        place: null,
        target: { type: 'user', id: invited.id },
        changed: { fields: ['email', 'source'], before: null, after: invited },
      });
    record({
      place,
      target: targetOf(membership),
      changed: { fields: Object.keys(body), before: null, after: membership },
    });
    return membership;
  });
}

export async function changeMembership(
  ctx: CallerContext,
  path: Path,
  query: Query,
  body: UpdateMembershipInput,
): Promise<Membership> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const membership = await requireMembership(ctx, trx, path, query);
    const { role = membership.role, status = membership.status } = body;
    const suspendedBy = suspendedByAfter(ctx, membership, body.status);
    const changed = changedFields(membership, { role, status, suspendedBy });
    if (changed.length === 0) return membership;
    requireHoldsRole(ctx, membership, membership.role);
    requireHoldsRole(ctx, membership, role);
    if (membership.role === 'owner') await requireOtherOwner(trx, membership);
    if (changed.includes('status') || changed.includes('suspendedBy')) {
      if (membership.status === 'pending') {
        throw valueError(['body', 'status'], 'a pending membership cannot be suspended: withdraw it instead', status);
      }
      if (suspendedBy === null) requireMayLift(ctx, membership);
      const suspended = await setSuspended(trx, ctx.reach, membership, { suspendedBy, now });
      requireFound(suspended, 'membership_not_found');
    }
    // A caller who changes an invitation becomes its inviter.
    const isPending = membership.status === 'pending';
    const source = await requireSource(ctx, trx, now);
    const by = isPending ? { invitation: invitationOf(source, now, membership.expiresAt) } : { granter: source };
    const updated = requireFound(
      role === membership.role
        ? await findMembership(trx, ctx.reach, membership, membership.userId)
        : await updateMembership(trx, ctx.reach, membership, { role, ...by }, now),
      'membership_not_found',
    );
    if (!isPending && (suspendedBy !== null || losesSessions(membership.role, role))) {
      await revokeSessionsOfPrincipal(trx, scopeOf(membership), `user:${membership.userId}`, now);
    }
    const after = { ...updated, role, status, suspendedBy };
    record({
      place: membership,
      target: targetOf(membership),
      changed: { fields: changed, before: membership, after },
    });
    return updated;
  });
}

/** Ends a membership, and the user's gateway sessions there. Users may end their own, and decline an invitation this way. */
export async function removeMembership(ctx: CallerContext, path: Path, query: Query): Promise<Membership> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const isOwnMembership = isSelf(ctx.principal, path.user_id);
    const membership = await requireOwnOrMembership(ctx, trx, path, query);
    if (!isOwnMembership) requireHoldsRole(ctx, membership, membership.role);
    requireMayLift(ctx, membership);
    await requireOtherOwner(trx, membership);
    await endMembership(trx, record, membership, now);
    return membership;
  });
}

/** Deletes a membership, and ends the user's gateway sessions there. The caller has checked the rights. */
export async function endMembership(
  trx: Database,
  record: (change: AuditedChange) => void,
  membership: Membership,
  now: Date,
): Promise<void> {
  const scope = scopeOf(membership);
  // A pending membership opened no sessions: those that the user has there come from another membership.
  if (membership.status !== 'pending') await revokeSessionsOfPrincipal(trx, scope, `user:${membership.userId}`, now);
  await deleteMembership(trx, scope, membership);
  record({ place: membership, target: targetOf(membership), changed: endedFields(membership) });
}

/** What the audit says of a membership that ends. */
export function endedFields(membership: Membership): ChangedFields {
  return deletedFields(membership, ['role', 'status', 'suspendedBy', 'acceptedAt']);
}

/** Accepts an invitation of the caller. From now on the caller holds its role. */
export async function acceptMembership(ctx: CallerContext, tenantId: string, query: Query): Promise<Membership> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const membership = await requireCallersMembership(ctx, trx, tenantId, query);
    if (membership.status === 'pending') await requireAcceptable(trx, membership, now);
    const accepted = await markAccepted(trx, scopeOf(membership), membership, now);
    if (!accepted) throw new ApiError('membership_accepted', 'You have already accepted this membership.');
    const changed = { fields: ['acceptedAt', 'status'], before: membership, after: accepted };
    record({ place: membership, target: targetOf(membership), changed });
    return accepted;
  });
}

/** The caller's own membership in a tenant, pending or already accepted. @throws 403 for service accounts, 404 */
export function requireCallersMembership(
  ctx: CallerContext,
  db: Database,
  tenantId: string,
  query: Query,
): Promise<Membership> {
  return requireOwnMembership(db, { tenant_id: tenantId, user_id: requireUserCaller(ctx) }, query);
}

/** The membership that a path names: the caller's own, or one in the caller's reach. @throws 404 */
export function requireOwnOrMembership(
  ctx: CallerContext,
  db: Database,
  path: Path,
  query: Query,
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
 * A membership of the caller. It does not use the caller's reach, which does not include pending memberships. If the query
 * names no sub-tenant, it is the membership in the whole tenant, else the only membership.
 *
 * @throws 404, whether or not the tenant exists
 */
async function requireOwnMembership(trx: Database, path: Path, query: Query): Promise<Membership> {
  const { tenant_id: tenantId, user_id: userId } = path;
  const { sub_tenant_id: subTenantId } = query;
  if (subTenantId) {
    const place = { tenantId, subTenantId };
    return requireFound(await findMembership(trx, EVERYWHERE, place, userId), 'membership_not_found');
  }
  const [first, second] = await listMembershipsInTenant(trx, EVERYWHERE, tenantId, userId);
  if (!first || (first.subTenantId !== null && second)) throw notFound('membership_not_found');
  return first;
}

/** @throws 404 for a tenant or membership that is missing or out of reach */
export async function requireMembership(
  ctx: CallerContext,
  trx: Database,
  path: Path,
  query: Query,
): Promise<Membership> {
  await requireTenant(ctx, trx, path.tenant_id);
  const place = { tenantId: path.tenant_id, subTenantId: query.sub_tenant_id || ownSubTenant(ctx, path.tenant_id) };
  return requireFound(await findMembership(trx, ctx.reach, place, path.user_id), 'membership_not_found');
}

/** The sub-tenant of a caller who reaches only that one; null for a caller who reaches the whole tenant or several parts. */
function ownSubTenant(ctx: CallerContext, tenantId: string): string | null {
  const here = ctx.reach.filter((place) => place.tenantId === null || place.tenantId === tenantId);
  const subTenantIds = new Set(here.map((place) => place.subTenantId));
  const [only] = subTenantIds;
  return subTenantIds.size === 1 ? (only ?? null) : null;
}

/** @param expiresAt when an existing invitation expires; null for a new one. The source may end earlier. */
function invitationOf(source: Source, now: Date, expiresAt: string | null = null): Invitation {
  const latest = expiresAt ?? new Date(now.getTime() + INVITATION_DAYS * 24 * 3600 * 1000).toISOString();
  return { invitedBy: source.principal, invitedByKey: source.keyId, expiresAt: earlierExpiry(latest, source.endsAt) };
}

/** @throws 409 for an invitation that expired, or whose inviter no longer has the rights to offer it */
async function requireAcceptable(trx: Database, membership: Membership, now: Date): Promise<void> {
  if (isExpired(membership, now)) {
    throw new ApiError('invitation_expired', `The invitation expired at ${membership.expiresAt}. Ask for a new one.`);
  }
  if (await inviterMayInvite(trx, membership, now)) return;
  throw new ApiError(
    'invitation_void',
    'The inviter no longer holds the rights to invite here. Ask for a new invitation.',
  );
}

/** Removes an invitation that can no longer be accepted, so that a new one can be created. */
async function removeUnacceptable(trx: Database, place: TenantPlace, userId: string, now: Date): Promise<void> {
  const former = await findMembership(trx, EVERYWHERE, place, userId);
  if (former?.status !== 'pending') return;
  if (!isExpired(former, now) && (await inviterMayInvite(trx, former, now))) return;
  await deleteMembership(trx, scopeOf(former), former);
}

function isExpired({ expiresAt }: Membership, now: Date): boolean {
  return expiresAt !== null && expiresAt <= now.toISOString();
}

/** Who suspended a membership after a change of its status. A platform administrator takes over the suspension of a tenant. */
function suspendedByAfter(
  { principal }: CallerContext,
  { suspendedBy }: Membership,
  status: UpdateMembershipInput['status'],
): Membership['suspendedBy'] {
  if (status === undefined) return suspendedBy;
  if (status === 'active') return null;
  return principal.platformAdministrator ? 'platform' : (suspendedBy ?? 'tenant');
}

/** Whether the caller may end a suspension, or remove the membership, after which the person could be invited again. */
export function mayLift({ principal }: CallerContext, { suspendedBy }: Pick<Membership, 'suspendedBy'>): boolean {
  return suspendedBy !== 'platform' || principal.platformAdministrator;
}

/** @throws 403 if the platform suspended the membership, and the caller is no platform administrator */
function requireMayLift(ctx: CallerContext, membership: Membership): void {
  if (mayLift(ctx, membership)) return;
  throw new ApiError(
    'suspended_by_platform',
    'A platform administrator suspended this membership. Ask one to end the suspension.',
  );
}

/** Whether a change of role takes away a scope that the user's open sessions depend on. */
function losesSessions(before: Role, after: Role): boolean {
  const needed: readonly Scope[] = ['gateway_sessions:write', 'gateway_sessions:impersonate'];
  return needed.some((scope) => holdsScopes(ROLE_SCOPES[before], [scope]) && !holdsScopes(ROLE_SCOPES[after], [scope]));
}

/** Whether the caller holds all scopes of a role at a place. */
export function holdsRole(ctx: CallerContext, place: TenantPlace, role: Role): boolean {
  return holdsScopes(scopesAt(ctx.principal, place), ROLE_SCOPES[role]);
}

/** A caller can only give or take a role whose scopes they hold. @throws 403 */
function requireHoldsRole(ctx: CallerContext, place: TenantPlace, role: Role): void {
  if (holdsRole(ctx, place, role)) return;
  throw new ApiError('grant_exceeds_own', `The role ${role} has scopes that you do not hold here.`);
}

/** @throws 409 if the membership is the only one that gives its tenant an owner */
async function requireOtherOwner(trx: Database, { tenantId, subTenantId, userId }: Membership): Promise<void> {
  if (subTenantId !== null) return;
  const alone = await findTenantOwnedOnlyBy(trx, wholeTenant(tenantId), userId);
  if (alone !== undefined)
    throw new ApiError('last_owner', 'The tenant has no other owner. Give another member the role owner first.');
}

function targetOf(membership: Membership): AuditedChange['target'] {
  return { type: 'membership', id: membership.userId };
}
