import type { CreateOrganizationInput, Organization } from '@quartermaster/contracts/onboarding.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newSelfServiceTenantId } from '@quartermaster/db/ids.ts';
import { hasFoundedTenant } from '@quartermaster/db/repositories/founders.ts';
import { findIdentityOf } from '@quartermaster/db/repositories/identities.ts';
import { insertMembership, listAcceptedMemberships } from '@quartermaster/db/repositories/memberships.ts';
import { findUser } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { requireUserCaller } from '../access/authorise.ts';
import { write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import { makeTenant } from '../tenants/service.ts';
import type { CallerContext } from '../trpc.ts';
import { founderDigest, rememberFounder } from './founder.ts';

const MADE_BEFORE = 'You made an organization before: each user makes one.';

/**
 * Makes the tenant of a user who has none, and them its owner: accepted at once, since it is their own. Strangers can
 * come this far, so each identity makes one tenant ever, whether its user stays in it, is erased and registers again or not,
 * and none chooses a whole id.
 */
export async function createOrganization(ctx: CallerContext, body: CreateOrganizationInput): Promise<Organization> {
  const userId = requireUserCaller(ctx);
  if (!ctx.services.selfService) {
    throw new ApiError(
      'self_service_off',
      'Here tenants are made by platform administrators: ask to be invited to one.',
    );
  }
  const { db, secrets, organizations } = ctx.services;
  const identity = await findIdentityOf(db, userId);
  if (!identity) throw deleted();
  const digest = founderDigest(secrets, identity);
  await organizations.consume(digest);
  return write(ctx, async (trx, record, now) => {
    const email = await emailOf(trx, userId);
    await requireNoOrganization(trx, { userId, digest });
    const { organization, settings } = body;
    const { displayName, id: beginning } = organization;
    const id = beginning == null ? null : newSelfServiceTenantId(beginning);
    const tenant = await makeTenant(trx, { id, displayName, settings, founderId: userId }, now);
    await rememberFounder(trx, secrets, { userId, identity }).catch(whenTaken('organization_exists', MADE_BEFORE));
    const place = { tenantId: tenant.id, subTenantId: null };
    const owner = { userId, email, role: 'owner', acceptedAt: now.toISOString() } as const;
    const membership = await insertMembership(trx, place, owner, now);
    const changed = [...Object.keys(organization), ...(settings ? ['settings'] : [])];
    record({ place, target: { type: 'tenant', id: tenant.id }, changed });
    record({ place, target: { type: 'membership', id: userId }, changed: ['email', 'role'] });
    return { tenant, membership };
  });
}

/** @throws 403 where the user was deleted while they called */
async function emailOf(trx: Database, userId: string): Promise<string> {
  const user = await findUser(trx, { scope: [], self: userId }, userId);
  if (user?.email != null) return user.email;
  throw deleted();
}

function deleted(): ApiError {
  return new ApiError('registration_required', 'The user was deleted. Register again.');
}

/** @throws 409 */
async function requireNoOrganization(trx: Database, founder: { userId: string; digest: string }): Promise<void> {
  const memberships = await listAcceptedMemberships(trx, EVERYWHERE, founder.userId);
  if (memberships.length > 0) throw new ApiError('organization_exists', 'You belong to an organization already.');
  if (await hasFoundedTenant(trx, founder)) throw new ApiError('organization_exists', MADE_BEFORE);
}
