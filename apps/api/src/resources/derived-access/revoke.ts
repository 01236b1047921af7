import type { AccessKind, DerivedAccess } from '@quartermaster/contracts/derived-access.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { deleteConsoleSession } from '@quartermaster/db/repositories/console-sessions.ts';
import { findKey } from '@quartermaster/db/repositories/credentials.ts';
import { endSession } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  findMembership,
  findTenantOwnedOnlyBy,
  listAcceptedMemberships,
} from '@quartermaster/db/repositories/memberships.ts';
import { findUser } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE, type TenantScope } from '@quartermaster/db/tenancy.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { ApiError } from '../../platform/errors.ts';
import { endMembership, holdsRole, mayLift } from '../memberships/service.ts';
import { endKey } from '../service-account-keys/end-key.ts';
import { requireChangeableAccount } from '../service-accounts/service.ts';
import { endPlatformAdministrator } from '../users/platform-administrators.ts';
import { isLastAdministrator, mayControl, viewOf } from '../users/service.ts';
import type { CallerContext } from '../../auth/context.ts';

/** The transaction of a revocation, and the places where the caller may revoke each kind. */
export type Revocation = {
  ctx: CallerContext;
  trx: Database;
  record: (change: AuditedChange) => void;
  now: Date;
  scopes: Record<AccessKind, TenantScope>;
};

/**
 * Revokes the key that is the source. A key that is revoked already stays as it is, because a caller repeats the call until
 * everything is revoked.
 *
 * @returns whether it was revoked now
 * @throws 404; 403 for a key of a platform administrator's account
 */
export async function revokeSourceKey(revocation: Revocation, keyId: string): Promise<boolean> {
  const { ctx, trx, now, scopes } = revocation;
  const key = await findKey(trx, scopes.api_key, keyId, now);
  if (!key) throw new ApiError('key_not_found', 'There is no API key with this id in your reach.');
  const scope = [{ tenantId: key.tenantId, subTenantId: null }];
  await requireChangeableAccount(ctx, trx, scope, key.ownerId ?? '');
  return key.status !== 'revoked' && (await revokeDerivedKey(revocation, key));
}

/** Revokes one record. Returns false if the caller may not, or if a tenant or the platform would lose its last owner or administrator. */
export async function revokeOne(revocation: Revocation, access: DerivedAccess): Promise<boolean> {
  switch (access.kind) {
    case 'api_key':
      return revokeDerivedKey(revocation, access);
    case 'gateway_session':
      return revokeSession(revocation, access);
    case 'invitation':
    case 'membership':
      return revokeMembership(revocation, access);
    case 'console_session':
      return endConsoleSession(revocation, access);
    case 'platform_administrator':
      return revokeAdministrator(revocation, access);
  }
}

async function revokeDerivedKey(
  revocation: Revocation,
  key: Pick<DerivedAccess, 'id' | 'tenantId' | 'subTenantId' | 'expiresAt'>,
): Promise<boolean> {
  const end = { revokedAt: revocation.now.toISOString() };
  return (await endKey(revocation, revocation.scopes.api_key, key, end)) !== undefined;
}

async function revokeSession({ trx, record, now, scopes }: Revocation, access: DerivedAccess): Promise<boolean> {
  const session = { ...access, tenantId: access.tenantId ?? '' };
  // If this revocation ended the session's key before, the session has already ended with it.
  const ended = await endSession(trx, scopes.gateway_session, session, now);
  if (ended) {
    const target = { type: 'gateway_session', id: session.id };
    const after = { revokedAt: now.toISOString(), revokedReason: 'revoked' };
    record({ place: session, target, changed: { fields: Object.keys(after), before: {}, after } });
  }
  return true;
}

/** The caller has to be allowed to delete the user. */
async function endConsoleSession({ ctx, trx, record }: Revocation, { id, holder }: DerivedAccess): Promise<boolean> {
  const userId = holder.slice('user:'.length);
  const user = await findUser(trx, viewOf(ctx), userId);
  const memberships = await listAcceptedMemberships(trx, EVERYWHERE, userId);
  if (!user || !mayControl(ctx, user, memberships)) return false;
  await deleteConsoleSession(trx, { userId, id });
  record({ place: null, target: { type: 'console_session', id } });
  return true;
}

async function revokeAdministrator({ ctx, trx, record, now }: Revocation, { id }: DerivedAccess): Promise<boolean> {
  if (!ctx.principal.platformScopes.includes('*')) return false;
  const user = await findUser(trx, viewOf(ctx), id);
  if (!user || (await isLastAdministrator(trx, user))) return false;
  await endPlatformAdministrator(trx, record, id, now);
  return true;
}

async function revokeMembership(revocation: Revocation, access: DerivedAccess): Promise<boolean> {
  const { id } = access;
  const place = { tenantId: access.tenantId ?? '', subTenantId: access.subTenantId };
  const { ctx, trx, record, now, scopes } = revocation;
  const membership = await findMembership(trx, scopes.membership, place, id);
  if (!membership || !holdsRole(ctx, membership, membership.role) || !mayLift(ctx, membership)) return false;
  const { tenantId, subTenantId } = membership;
  if (subTenantId === null) {
    const alone = await findTenantOwnedOnlyBy(trx, [{ tenantId, subTenantId }], id);
    if (alone !== undefined) return false;
  }
  await endMembership(trx, record, membership, now);
  return true;
}
