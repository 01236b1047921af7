import type { CreateMembershipInput, Membership, UpdateMembershipInput } from '@quartermaster/contracts/memberships.ts';
import { holdsScopes, ROLE_SCOPES, type Role } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOf } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  deleteMembership,
  findMembership,
  findTenantOwnedAlone,
  insertMembership,
  updateMembership,
} from '@quartermaster/db/repositories/memberships.ts';
import {
  findAccountByEmail,
  insertUser,
  NO_MARKETING,
  TERMS_NOT_ACCEPTED,
} from '@quartermaster/db/repositories/users.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { existingPlace } from '../access/places.ts';
import { scopesAt } from '../access/principal.ts';
import { type Change, write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import { requireTenant } from '../tenants/service.ts';
import type { CallerContext } from '../trpc.ts';

type Member = { tenant_id: string; user_id: string };
type Which = { sub_tenant_id?: string | null | undefined };

/** Adds the user of an email; whom nobody knows is invited, and joins at their first sign-in. */
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
    const account = (await findAccountByEmail(trx, email)) ?? (await invite(trx, email, now));
    const membership = await insertMembership(trx, place, { userId: account.id, email, role }, now).catch(
      whenTaken('membership_exists', 'The user is a member there already: change the role of that one.'),
    );
    if ('invited' in account) {
      record({ place, target: { type: 'user', id: account.id }, changed: ['email', 'source'] });
    }
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

/** Ends a membership, and the gateway sessions that the user has there. */
export async function removeMembership(ctx: CallerContext, path: Member, query: Which): Promise<Membership> {
  return write(ctx, async (trx, record, now) => {
    const membership = await requireMembership(ctx, trx, path, query);
    requireHeld(ctx, membership, membership.role);
    await requireOtherOwner(trx, membership);
    const { tenantId, subTenantId, userId } = membership;
    await revokeSessionsOf(trx, [{ tenantId, subTenantId }], `user:${userId}`, now);
    await deleteMembership(trx, ctx.reach, membership);
    record({ place: membership, target: targetOf(membership) });
    return membership;
  });
}

async function invite(trx: Database, email: string, now: Date) {
  const user = {
    email,
    displayName: null,
    status: 'pending_terms',
    platformAdministrator: false,
    terms: TERMS_NOT_ACCEPTED,
    marketingConsent: NO_MARKETING,
    source: 'invitation',
    metadata: {},
  } as const;
  const account = await insertUser(trx, user, now);
  if (!account) throw new Error('an email that nobody had was taken within the transaction');
  return { id: account.id, invited: true };
}

/** @throws 404 for a tenant or membership that is missing or out of reach */
async function requireMembership(ctx: CallerContext, trx: Database, path: Member, query: Which): Promise<Membership> {
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
