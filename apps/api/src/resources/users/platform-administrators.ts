import type { User } from '@quartermaster/contracts/users.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOfPrincipal } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { findAccount, setPlatformAdministrator } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import { requireSource } from '../../auth/source.ts';
import type { CallerContext } from '../../auth/context.ts';
import { type AuditedChange, auditedWrite } from '../../platform/audit/audited-write.ts';
import type { ChangedFields } from '../../platform/audit/kept-values.ts';
import { ApiError } from '../../platform/errors.ts';
import { requireNotLastAdministrator, requireUser } from './service.ts';

/**
 * Makes a user a platform administrator, or takes that away.
 *
 * @throws 403 unless the caller is a platform administrator with every scope, and for a grant not only by a claim; 409 if the user is not active, or the last one
 */
export async function setPlatformAdministratorOf(
  ctx: CallerContext,
  id: string,
  isAdministrator: boolean,
): Promise<User> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    requirePlatformAdministrator(ctx);
    requireEveryScope(ctx);
    if (user.platformAdministrator === isAdministrator) return user;
    if (isAdministrator) {
      const source = await requireSource(ctx, trx, now);
      await requireMoreThanClaim(ctx, trx);
      if (user.status !== 'active') {
        throw new ApiError('user_not_active', 'The user has to sign in and accept the terms first.');
      }
      await setPlatformAdministrator(trx, id, source, now);
      record({ place: null, target: { type: 'user', id }, changed: changeTo(true) });
    } else {
      await requireNotLastAdministrator(trx, user);
      await endPlatformAdministrator(trx, record, id, now);
    }
    return requireUser(ctx, id, trx);
  });
}

/** Otherwise an API key with fewer scopes could give a user more rights than it has itself. @throws 403 */
export function requireEveryScope({ principal }: CallerContext): void {
  if (principal.platformScopes.includes('*')) return;
  throw new ApiError('grant_exceeds_own', 'Only a platform administrator with the scope * may do this.');
}

/**
 * A claim of the identity provider counts as long as the provider says it, and what it grants would outlast it. Granted to another
 * user, that user could grant it back.
 *
 * @throws 403 for a caller who is a platform administrator only by a claim
 */
export async function requireMoreThanClaim({ principal }: CallerContext, trx: Database): Promise<void> {
  if (!principal.administratorByClaim) return;
  const account = await findAccount(trx, principal.id);
  if (account?.platformAdministrator === true) return;
  throw new ApiError(
    'grant_exceeds_own',
    'You are a platform administrator only by a claim of the identity provider, which this would outlast. Use an API key, or ask an administrator to whom the role was granted.',
  );
}

/** Takes the rights of a platform administrator away. The caller has checked the rights. */
export async function endPlatformAdministrator(
  trx: Database,
  record: (change: AuditedChange) => void,
  id: string,
  now: Date,
): Promise<void> {
  // Sessions in tenants where the user has no membership would outlive the right to open them.
  await revokeSessionsOfPrincipal(trx, EVERYWHERE, `user:${id}`, now);
  await setPlatformAdministrator(trx, id, null, now);
  record({ place: null, target: { type: 'user', id }, changed: changeTo(false) });
}

function changeTo(platformAdministrator: boolean): ChangedFields {
  const before = { platformAdministrator: !platformAdministrator };
  return { fields: ['platformAdministrator'], before, after: { platformAdministrator } };
}
