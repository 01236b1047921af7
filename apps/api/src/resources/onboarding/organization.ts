import type { CreateOrganizationInput, Organization } from '@quartermaster/contracts/onboarding.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newSelfServiceTenantId } from '@quartermaster/db/ids.ts';
import { hasFoundedTenant } from '@quartermaster/db/repositories/founders.ts';
import { findIdentityOfUser } from '@quartermaster/db/repositories/identities.ts';
import { insertMembership, listAcceptedMemberships } from '@quartermaster/db/repositories/memberships.ts';
import { findUser } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { requireUserCaller } from '../../auth/authorize.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, duplicateKeyAs } from '../../platform/errors.ts';
import { makeTenant } from '../tenants/service.ts';
import type { CallerContext } from '../../auth/context.ts';
import { founderDigest, rememberFounder } from './founder.ts';

const CREATED_BEFORE = 'You created an organization before. Each user can create one.';

/**
 * Creates a tenant for a user who belongs to none, with an accepted owner membership. Strangers can get this far, so each
 * identity creates only one tenant ever, even if its user leaves or is erased and registers again; and the user chooses only
 * the beginning of the id.
 */
export async function createOrganization(ctx: CallerContext, body: CreateOrganizationInput): Promise<Organization> {
  const userId = requireUserCaller(ctx);
  if (!ctx.services.onboarding.selfService) {
    throw new ApiError(
      'self_service_off',
      'Only platform administrators may create tenants here. Ask for an invitation to a tenant.',
    );
  }
  const { db, secrets, onboarding } = ctx.services;
  const identity = await findIdentityOfUser(db, userId);
  if (!identity) throw deleted();
  const digest = founderDigest(secrets, identity);
  await onboarding.organizations.consume(digest);
  return auditedWrite(ctx, async (trx, record, now) => {
    const email = await emailOf(trx, userId);
    await requireNoOrganization(trx, { userId, digest });
    const { organization, settings } = body;
    const { displayName, id: beginning } = organization;
    const id = beginning == null ? null : newSelfServiceTenantId(beginning);
    const tenant = await makeTenant(trx, { id, displayName, settings, founderId: userId }, now);
    await rememberFounder(trx, secrets, { userId, identity }).catch(
      duplicateKeyAs('organization_exists', CREATED_BEFORE),
    );
    const place = { tenantId: tenant.id, subTenantId: null };
    const owner = { userId, email, role: 'owner', acceptedAt: now.toISOString() } as const;
    const membership = await insertMembership(trx, place, owner, now);
    const changed = [...Object.keys(organization), ...(settings ? ['settings'] : [])];
    record({
      place,
      target: { type: 'tenant', id: tenant.id },
      changed: { fields: changed, before: null, after: tenant },
    });
    record({
      place,
      target: { type: 'membership', id: userId },
      changed: { fields: ['email', 'role'], before: null, after: membership },
    });
    return { tenant, membership };
  });
}

/** @throws 403 if the user was deleted during the request */
async function emailOf(trx: Database, userId: string): Promise<string> {
  const user = await findUser(trx, { scope: [], self: userId }, userId);
  if (user?.email != null) return user.email;
  throw deleted();
}

function deleted(): ApiError {
  return new ApiError('registration_required', 'The user was deleted. Register again.');
}

/** @throws 409 if the user belongs to a tenant, or has founded one before */
async function requireNoOrganization(trx: Database, founder: { userId: string; digest: string }): Promise<void> {
  const memberships = await listAcceptedMemberships(trx, EVERYWHERE, founder.userId);
  if (memberships.length > 0) throw new ApiError('organization_exists', 'You already belong to an organization.');
  if (await hasFoundedTenant(trx, founder)) throw new ApiError('organization_exists', CREATED_BEFORE);
}
