import type { Database } from '@quartermaster/db/database.ts';
import { hasConsoleSession } from '@quartermaster/db/repositories/console-sessions.ts';
import { findActiveKey } from '@quartermaster/db/repositories/credentials.ts';
import { findAccount } from '@quartermaster/db/repositories/users.ts';
import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import type { CallerContext } from './context.ts';
import { ApiError } from '../platform/errors.ts';
import { refusedKey } from './api-key.ts';
import { sessionEnded } from './console-sessions.ts';
import { principalName, scopesAt } from './principal.ts';
import { principalOfAccount, userDisabled } from './users.ts';

/** The credential that creates a new key, session or invitation, or gives a user more rights. */
export type Source = {
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  principal: string;
  /** The API key; null for a bearer token. */
  keyId: string | null;
  /** When the API key expires; null: never, or a bearer token. Nothing that it creates may end later. */
  endsAt: string | null;
};

/**
 * Reads the caller's key, or session and user, again, in the transaction that creates something with it. The request may have
 * waited since its authentication, which may have used a cached key. What is created now would outlast rights that were lost in
 * the meantime.
 *
 * @throws 401 for a key that was revoked or has ended, or whose account is not active, and for a session that was ended; 403
 *   for a user who was disabled or deleted, or lost rights
 */
export async function requireSource(ctx: CallerContext, trx: Database, now: Date): Promise<Source> {
  const { keyId, tenantId } = ctx.principal;
  const name = principalName(ctx.principal);
  if (keyId === null) {
    await requireSameRights(ctx, trx);
    return { principal: name, keyId: null, endsAt: null };
  }
  const key = await findActiveKey(trx, [{ tenantId, subTenantId: null }], keyId, now);
  if (!key) throw refusedKey();
  return { principal: name, keyId, endsAt: key.expiresAt };
}

/** @throws 401 for a session that was ended; 403 for a user who was disabled or deleted, or lost rights since the authentication */
async function requireSameRights({ principal }: CallerContext, trx: Database): Promise<void> {
  const account = await findAccount(trx, principal.id);
  if (account?.status !== 'active') throw userDisabled();
  const { session } = principal;
  if (session !== null && !(await hasConsoleSession(trx, { userId: principal.id, id: session.id })))
    throw sessionEnded();
  const current = await principalOfAccount(trx, account, principal.administratorByClaim);
  const isSame = principal.platformAdministrator
    ? current.platformAdministrator
    : principal.grants.every((grant) => holdsScopes(scopesAt(current, grant), grant.scopes));
  if (!isSame) throw new ApiError('tenant_forbidden', 'You have lost rights since this request began.');
}

/** The earlier of two times of expiry; null means never. */
export function earlierExpiry(a: string, b: string | null): string;
export function earlierExpiry(a: string | null, b: string | null): string | null;
export function earlierExpiry(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
