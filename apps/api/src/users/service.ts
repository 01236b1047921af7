import type { User } from '@quartermaster/contracts/users.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOf } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { deleteIdentitiesOf, findIdentityOf, hasIdentity } from '@quartermaster/db/repositories/identities.ts';
import {
  deleteMembershipsOf,
  findTenantOwnedAlone,
  listAcceptedMemberships,
  type UserView,
} from '@quartermaster/db/repositories/memberships.ts';
import { eraseUser, findAccount, findUser, updateUser } from '@quartermaster/db/repositories/users.ts';
import { covers, EVERYWHERE, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator, termsRequired } from '../access/authorise.ts';
import { isSelf, scopesAt } from '../access/principal.ts';
import { type Change, write } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import { rememberFounder } from '../onboarding/founder.ts';
import type { CallerContext } from '../trpc.ts';

/** What the caller sees of users: members in reach, and themselves. */
export function viewOf(ctx: CallerContext): UserView {
  return { scope: ctx.reach, self: ctx.principal.kind === 'user' ? ctx.principal.id : null };
}

/** The user that a path names. @throws 404 */
export async function requireUser(ctx: CallerContext, id: string, db: Database = ctx.services.db): Promise<User> {
  // Whoever has not accepted the terms yet sees themselves alone, whatever their memberships will give them.
  if (!ctx.principal.termsAccepted && !isSelf(ctx.principal, id)) throw termsRequired();
  const user = await findUser(db, viewOf(ctx), id);
  if (!user) throw notFound();
  return user;
}

export async function deleteUser(ctx: CallerContext, id: string): Promise<User> {
  return write(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const memberships = await listAcceptedMemberships(trx, EVERYWHERE, id);
    if (!isSelf(ctx.principal, id)) requireControl(ctx, user, memberships);
    await requireNotLastOwner(trx, id);
    await revokeSessionsOf(trx, EVERYWHERE, `user:${id}`, now);
    await deleteMembershipsOf(trx, id);
    // Tenants that were founded before founders were marked are marked now.
    const identity = await findIdentityOf(trx, id);
    if (identity) await rememberFounder(trx, ctx.services.secrets, { userId: id, identity });
    await deleteIdentitiesOf(trx, id);
    const erased = await eraseUser(trx, id, now);
    if (!erased) throw notFound();
    ctx.services.erasures.note(trx);
    recordAt(record, memberships, { target: { type: 'user', id }, changed: ['status'] });
    return erased;
  });
}

/** Their identity stays linked, and is refused from now on. */
export async function disableUser(ctx: CallerContext, id: string): Promise<User> {
  return write(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const memberships = await listAcceptedMemberships(trx, EVERYWHERE, id);
    requireControl(ctx, user, memberships);
    if (user.status === 'disabled') return user;
    await requireNotLastOwner(trx, id);
    await revokeSessionsOf(trx, EVERYWHERE, `user:${id}`, now);
    await updateUser(trx, id, { status: 'disabled' }, now);
    recordAt(record, memberships, { target: { type: 'user', id }, changed: ['status'] });
    return requireUser(ctx, id, trx);
  });
}

/** They become again what their terms and identity make them. */
export async function enableUser(ctx: CallerContext, id: string): Promise<User> {
  return write(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const memberships = await listAcceptedMemberships(trx, EVERYWHERE, id);
    requireControl(ctx, user, memberships);
    if (user.status !== 'disabled') return user;
    const account = await findAccount(trx, id);
    const signedIn = await hasIdentity(trx, id);
    const status = !account?.termsAccepted ? 'pending_terms' : signedIn ? 'active' : 'pending_identity';
    await updateUser(trx, id, { status }, now);
    recordAt(record, memberships, { target: { type: 'user', id }, changed: ['status'] });
    return requireUser(ctx, id, trx);
  });
}

function notFound(): ApiError {
  return new ApiError('user_not_found', 'No user of this id in your reach.');
}

type Held = TenantPlace & { role: User['memberships'][number]['role'] };

/**
 * Whether the caller may end or suspend the account of somebody they see: platform administrators may; others who reach
 * all memberships that it accepted, and hold as much as an owner wherever it is one.
 */
function requireControl(ctx: CallerContext, user: User, memberships: readonly Held[]): void {
  if (ctx.principal.platformAdministrator) return;
  if (user.platformAdministrator) requirePlatformAdministrator(ctx);
  const beyond = memberships.some(
    (held) => !covers(ctx.reach, held) || (held.role === 'owner' && !scopesAt(ctx.principal, held).includes('*')),
  );
  if (beyond) throw new ApiError('user_out_of_reach', 'The user has memberships beyond your reach.');
}

async function requireNotLastOwner(trx: Database, id: string): Promise<void> {
  const tenantId = await findTenantOwnedAlone(trx, EVERYWHERE, id);
  if (tenantId === undefined) return;
  throw new ApiError('last_owner', `The tenant ${tenantId} has no other owner. Make another one first.`);
}

/** Users belong to no tenant; what happens to one is still the business of every place where they accepted to be. */
function recordAt(
  record: (change: Change) => void,
  places: readonly TenantPlace[],
  change: Omit<Change, 'place'>,
): void {
  if (places.length === 0) record({ ...change, place: null });
  for (const { tenantId, subTenantId } of places) record({ ...change, place: { tenantId, subTenantId } });
}
