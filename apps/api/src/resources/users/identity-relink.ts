import { IDENTITY_RELINK_HOURS, type IdentityRelink, type User } from '@quartermaster/contracts/users.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { hasIdentity } from '@quartermaster/db/repositories/identities.ts';
import {
  allowIdentityRelink,
  findIdentityRelink,
  takeIdentityRelink,
} from '@quartermaster/db/repositories/identity-relinks.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import type { CallerContext } from '../../auth/context.ts';
import { earlierExpiry, requireSource } from '../../auth/source.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError } from '../../platform/errors.ts';
import { requireEveryScope, requireMoreThanClaim } from './platform-administrators.ts';
import { requireUser } from './service.ts';

const HOUR_MS = 60 * 60 * 1000;

/** Whether another identity may take over a user. @throws 403 unless the caller is a platform administrator */
export async function identityRelinkOf(ctx: CallerContext, id: string): Promise<IdentityRelink> {
  await requireUserOfPlatform(ctx, id, ctx.services.db);
  return viewOf(ctx.services.db, id, ctx.services.now());
}

/**
 * Allows the next sign-in with the verified email of a user to replace their identity. `link` of `auth/users.ts` does that.
 *
 * @throws 403 unless the caller is a platform administrator, and not only by a claim; 409 for a user who is not active
 */
export async function allowRelink(ctx: CallerContext, id: string): Promise<IdentityRelink> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const user = await requireUserOfPlatform(ctx, id, trx);
    // The new identity gets the rights of the user, so nobody may open this way to more rights than they could grant.
    if (user.platformAdministrator) requireEveryScope(ctx);
    // At the sign-in the claim could not be checked.
    await requireMoreThanClaim(ctx, trx);
    if (user.status === 'deleted' || user.status === 'disabled' || !(await hasIdentity(trx, id))) {
      throw new ApiError('user_not_active', 'The user is disabled or deleted, or has never signed in.');
    }
    const granter = await requireSource(ctx, trx, now);
    const latest = new Date(now.getTime() + IDENTITY_RELINK_HOURS * HOUR_MS).toISOString();
    await allowIdentityRelink(trx, id, { granter, until: earlierExpiry(latest, granter.endsAt) });
    record({
      place: null,
      target: { type: 'user', id },
      changed: { fields: ['identityRelink'], before: {}, after: {} },
    });
    return viewOf(trx, id, now);
  });
}

/** Withdraws it. @throws 403 unless the caller is a platform administrator */
export async function withdrawRelink(ctx: CallerContext, id: string): Promise<IdentityRelink> {
  return auditedWrite(ctx, async (trx, record, now) => {
    await requireUserOfPlatform(ctx, id, trx);
    if (await takeIdentityRelink(trx, id, now)) {
      record({
        place: null,
        target: { type: 'user', id },
        changed: { fields: ['identityRelink'], before: {}, after: {} },
      });
    }
    return viewOf(trx, id, now);
  });
}

async function requireUserOfPlatform(ctx: CallerContext, id: string, db: Database): Promise<User> {
  const user = await requireUser(ctx, id, db);
  requirePlatformAdministrator(ctx);
  return user;
}

async function viewOf(db: Database, userId: string, now: Date): Promise<IdentityRelink> {
  const relink = await findIdentityRelink(db, userId, now);
  return { userId, allowedUntil: relink?.until ?? null, allowedBy: relink?.allowedBy ?? null };
}
