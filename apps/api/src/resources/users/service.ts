import type { User } from '@quartermaster/contracts/users.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { deleteConsoleSessionsOf } from '@quartermaster/db/repositories/console-sessions.ts';
import { revokeSessionsOfPrincipal } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { deleteIdentitiesOfUser, hasIdentity } from '@quartermaster/db/repositories/identities.ts';
import {
  deleteMembershipsOfUser,
  findTenantOwnedOnlyBy,
  listAcceptedMemberships,
  type UserView,
} from '@quartermaster/db/repositories/memberships.ts';
import {
  eraseUser,
  findAccount,
  findUser,
  hasOtherPlatformAdministrator,
  updateUser,
} from '@quartermaster/db/repositories/users.ts';
import { covers, EVERYWHERE, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator, termsRequired } from '../../auth/authorize.ts';
import { isSelf, scopesAt } from '../../auth/principal.ts';
import { auditedWrite, type AuditedChange } from '../../platform/audit/audited-write.ts';
import { ApiError, requireFound } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';

/** Which users the caller sees: members of the places in reach, and themselves. */
export function viewOf(ctx: CallerContext): UserView {
  return { scope: ctx.reach, self: ctx.principal.kind === 'user' ? ctx.principal.id : null };
}

/** The user that a path names. @throws 404 */
export async function requireUser(ctx: CallerContext, id: string, db: Database = ctx.services.db): Promise<User> {
  // Users who have not accepted the terms see only themselves.
  if (!ctx.principal.termsAccepted && !isSelf(ctx.principal, id)) throw termsRequired();
  return requireFound(await findUser(db, viewOf(ctx), id), 'user_not_found');
}

export async function deleteUser(ctx: CallerContext, id: string): Promise<User> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const memberships = await listAcceptedMemberships(trx, EVERYWHERE, id);
    if (!isSelf(ctx.principal, id)) requireControl(ctx, user, memberships);
    await requireNotLastOwner(trx, id);
    await requireNotLastAdministrator(trx, user);
    await revokeSessionsOfPrincipal(trx, EVERYWHERE, `user:${id}`, now);
    await deleteConsoleSessionsOf(trx, id);
    await deleteMembershipsOfUser(trx, id);
    await deleteIdentitiesOfUser(trx, id);
    const erased = requireFound(await eraseUser(trx, id, now), 'user_not_found');
    ctx.services.erasures.note(trx);
    const target = { type: 'user', id } as const;
    const changed = { fields: ['status'], before: user, after: erased };
    if (memberships.length === 0) record({ place: null, target, changed });
    for (const { tenantId, subTenantId, role } of memberships) {
      // The event at each place says which role ended there.
      const ended = { fields: ['role', 'status'], before: { ...user, role }, after: erased };
      record({ place: { tenantId, subTenantId }, target, changed: ended });
    }
    return erased;
  });
}

/**
 * Disables a user in all tenants, for the platform. A tenant suspends the membership of a user instead. The identity stays linked,
 * so that its sign-ins are refused.
 */
export async function disableUser(ctx: CallerContext, id: string): Promise<User> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const memberships = await listAcceptedMemberships(trx, EVERYWHERE, id);
    requirePlatformAdministrator(ctx);
    if (user.status === 'disabled') return user;
    await requireNotLastOwner(trx, id);
    await requireNotLastAdministrator(trx, user);
    await revokeSessionsOfPrincipal(trx, EVERYWHERE, `user:${id}`, now);
    await deleteConsoleSessionsOf(trx, id);
    await updateUser(trx, id, { status: 'disabled' }, now);
    recordAt(record, memberships, {
      target: { type: 'user', id },
      changed: { fields: ['status'], before: user, after: { status: 'disabled' } },
    });
    return requireUser(ctx, id, trx);
  });
}

/** Enables a disabled user. The new status depends on whether they accepted the terms and have signed in before. */
export async function enableUser(ctx: CallerContext, id: string): Promise<User> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const memberships = await listAcceptedMemberships(trx, EVERYWHERE, id);
    requirePlatformAdministrator(ctx);
    if (user.status !== 'disabled') return user;
    const account = await findAccount(trx, id);
    const signedIn = await hasIdentity(trx, id);
    const status = !account?.termsAccepted ? 'pending_terms' : signedIn ? 'active' : 'pending_identity';
    await updateUser(trx, id, { status }, now);
    recordAt(record, memberships, {
      target: { type: 'user', id },
      changed: { fields: ['status'], before: user, after: { status } },
    });
    return requireUser(ctx, id, trx);
  });
}

type Held = TenantPlace & Pick<User['memberships'][number], 'role'>;

/** @throws 403 unless the caller may delete the user */
function requireControl(
  ctx: CallerContext,
  user: User,
  memberships: readonly (Held & Pick<User['memberships'][number], 'suspendedBy'>)[],
): void {
  if (user.platformAdministrator) requirePlatformAdministrator(ctx);
  if (!mayControl(ctx, user, memberships))
    throw new ApiError('user_out_of_reach', 'The user has memberships outside your reach.');
  // A deletion would end what the platform imposed, because the email can be invited again.
  const isBanned = user.status === 'disabled' || memberships.some(({ suspendedBy }) => suspendedBy === 'platform');
  if (isBanned) requirePlatformAdministrator(ctx);
}

/**
 * Whether the caller may delete a user whom they see, or end their console sessions. Platform administrators
 * may. Others must reach all memberships that the user accepted, and hold an owner's scopes wherever the user is an owner.
 */
export function mayControl(ctx: CallerContext, user: User, memberships: readonly Held[]): boolean {
  if (ctx.principal.platformAdministrator) return true;
  if (user.platformAdministrator) return false;
  return memberships.every(
    (held) => covers(ctx.reach, held) && (held.role !== 'owner' || scopesAt(ctx.principal, held).includes('*')),
  );
}

/** Whether this is the only active user who is a platform administrator. */
export async function isLastAdministrator(trx: Database, user: User): Promise<boolean> {
  if (!user.platformAdministrator || user.status !== 'active') return false;
  return !(await hasOtherPlatformAdministrator(trx, user.id));
}

/** @throws 409 for the only active user who is a platform administrator */
export async function requireNotLastAdministrator(trx: Database, user: User): Promise<void> {
  if (!(await isLastAdministrator(trx, user))) return;
  throw new ApiError(
    'last_platform_administrator',
    'No other active user is a platform administrator. Make another one first.',
  );
}

async function requireNotLastOwner(trx: Database, id: string): Promise<void> {
  const tenantId = await findTenantOwnedOnlyBy(trx, EVERYWHERE, id);
  if (tenantId === undefined) return;
  throw new ApiError(
    'last_owner',
    `The tenant ${tenantId} has no other owner. Give another member the role owner first.`,
  );
}

/** Users belong to no tenant, so a change is recorded at every place where they accepted a membership, else at none. */
function recordAt(
  record: (change: AuditedChange) => void,
  places: readonly TenantPlace[],
  change: Omit<AuditedChange, 'place'>,
): void {
  if (places.length === 0) record({ ...change, place: null });
  for (const { tenantId, subTenantId } of places) record({ ...change, place: { tenantId, subTenantId } });
}
