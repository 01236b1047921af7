import { MAX_PLACES_LISTED, type Me } from '@quartermaster/contracts/me.ts';
import { listMembershipsOfUsers } from '@quartermaster/db/repositories/memberships.ts';
import { findTenantNames } from '@quartermaster/db/repositories/tenants.ts';
import { findUser } from '@quartermaster/db/repositories/users.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type Principal, principalName, scopesAt } from '../../auth/principal.ts';
import type { CallerContext } from '../../auth/context.ts';
import { requireFound } from '../../platform/errors.ts';
import { ownServiceAccount } from '../service-accounts/service.ts';

/** Who is calling, where their credential is valid, and what it may do there. */
export async function describeCaller(ctx: CallerContext): Promise<Me> {
  const { principal } = ctx;
  const places = placesOf(principal);
  const { memberships, ...profile } = principal.kind === 'user' ? await userProfile(ctx) : await accountProfile(ctx);
  const names = await findTenantNames(ctx.services.db, [...places, ...memberships]);
  const named = <Place extends TenantPlace>(place: Place) => {
    return { ...place, tenantDisplayName: names.get(place.tenantId) ?? null };
  };
  return {
    kind: principal.kind,
    id: principal.id,
    principal: principalName(principal),
    tenantId: principal.tenantId,
    ...profile,
    termsAccepted: principal.termsAccepted,
    platformAdministrator: principal.platformAdministrator,
    platformScopes: principal.termsAccepted ? [...principal.platformScopes] : [],
    places: places.map((place) => named({ ...place, scopes: scopesAt(principal, place).toSorted() })),
    memberships: memberships.map(named),
    authentication: {
      scheme: principal.scheme,
      keyId: principal.keyId,
      sessionId: principal.session?.id ?? null,
      expiresAt: principal.session?.expiresAt ?? principal.keyExpiresAt,
    },
  };
}

type Profile = Pick<Me, 'email' | 'displayName' | 'status' | 'locale' | 'timeZone'> & {
  memberships: Omit<Me['memberships'][number], 'tenantDisplayName'>[];
};

async function userProfile({ services: { db }, principal: { id } }: CallerContext): Promise<Profile> {
  const view = { scope: [], self: id };
  const user = requireFound(await findUser(db, view, id), 'user_not_found');
  const { email, displayName, status, locale, timeZone } = user;
  const memberships = await listMembershipsOfUsers(db, view, [id]);
  return {
    email,
    displayName,
    status,
    locale,
    timeZone,
    memberships: memberships.map(({ tenantId, subTenantId, role, status: membershipStatus, expiresAt }) => ({
      tenantId,
      subTenantId,
      role,
      status: membershipStatus,
      expiresAt,
    })),
  };
}

async function accountProfile(ctx: CallerContext): Promise<Profile> {
  const { displayName, name } = await ownServiceAccount(ctx, ctx.services.db);
  return {
    email: null,
    displayName: displayName ?? name,
    status: null,
    locale: null,
    timeZone: null,
    memberships: [],
  };
}

/** The places of the caller's own grants, each once. */
function placesOf({ grants, termsAccepted }: Principal): TenantPlace[] {
  if (!termsAccepted) return [];
  const places = new Map(
    grants.map(({ tenantId, subTenantId }) => [`${tenantId}\n${subTenantId ?? ''}`, { tenantId, subTenantId }]),
  );
  return [...places]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MAX_PLACES_LISTED)
    .map(([, place]) => place);
}
