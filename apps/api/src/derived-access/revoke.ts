import type { AccessKind, DerivedAccess } from '@quartermaster/contracts/derived-access.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { endApiKey, findKey } from '@quartermaster/db/repositories/credentials.ts';
import { endSession } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { findMembership, findTenantOwnedAlone } from '@quartermaster/db/repositories/memberships.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { Change } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import { endMembership, holdsRole } from '../memberships/service.ts';
import { endWithKey } from '../service-account-keys/end-with-key.ts';
import { requireTouchable } from '../service-accounts/service.ts';
import type { CallerContext } from '../trpc.ts';

/** The transaction that revokes, and where the caller may revoke each kind. */
export type Revoking = {
  ctx: CallerContext;
  trx: Database;
  record: (change: Change) => void;
  now: Date;
  scopes: Record<AccessKind, TenantScope>;
};

/** Revokes the key that is the source. @throws 404; 403 for a key of a platform administrator's account */
export async function revokeSourceKey(revoking: Revoking, keyId: string): Promise<void> {
  const { ctx, trx, now, scopes } = revoking;
  const key = await findKey(trx, scopes.api_key, keyId, now);
  if (!key || key.status === 'revoked') throw new ApiError('key_not_found', 'No API key of this id in your reach.');
  const scope = [{ tenantId: key.tenantId, subTenantId: null }];
  await requireTouchable(ctx, trx, scope, key.ownerId ?? '');
  await revokeKey(revoking, key);
}

/** Revokes one record. Answers false where the caller may not, or where a tenant would lose its last owner. */
export async function revokeOne(revoking: Revoking, access: DerivedAccess): Promise<boolean> {
  switch (access.kind) {
    case 'api_key':
      return revokeKey(revoking, access);
    case 'gateway_session':
      return revokeSession(revoking, access);
    case 'invitation':
    case 'membership':
      return revokeMembership(revoking, access);
  }
}

type Key = { tenantId: string | null; subTenantId: string | null; id: string };

async function revokeKey({ trx, record, now, scopes }: Revoking, key: Key): Promise<boolean> {
  const end = { revokedAt: now.toISOString() };
  const ended = await endApiKey(trx, scopes.api_key, key, end, now);
  if (!ended) return false;
  await endWithKey(trx, key.id, end, now);
  const place = { tenantId: key.tenantId ?? '', subTenantId: key.subTenantId };
  record({ place, target: { type: 'api_key', id: key.id }, changed: ['revokedAt'] });
  return true;
}

async function revokeSession({ trx, record, now, scopes }: Revoking, session: DerivedAccess): Promise<boolean> {
  // A session of a key that was revoked just now has ended with it.
  const ended = await endSession(trx, scopes.gateway_session, session, now);
  if (ended) {
    const target = { type: 'gateway_session', id: session.id };
    record({ place: session, target, changed: ['revokedAt', 'revokedReason'] });
  }
  return true;
}

async function revokeMembership(revoking: Revoking, { id, ...place }: DerivedAccess): Promise<boolean> {
  const { ctx, trx, record, now, scopes } = revoking;
  const membership = await findMembership(trx, scopes.membership, place, id);
  if (!membership || !holdsRole(ctx, membership, membership.role)) return false;
  const { tenantId, subTenantId } = membership;
  if (subTenantId === null) {
    const alone = await findTenantOwnedAlone(trx, [{ tenantId, subTenantId }], id);
    if (alone !== undefined) return false;
  }
  await endMembership(trx, record, membership, now);
  return true;
}
