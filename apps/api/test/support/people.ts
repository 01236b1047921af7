import type { Scope } from '@quartermaster/contracts/scopes.ts';
import type { TestServer } from './server.ts';

export type Place = { tenantId: string; subTenantId?: string };

let counter = 0;

/** A name that no other test uses. */
export function unique(prefix: string): string {
  counter += 1;
  return `${prefix}-${counter}`;
}

/** A service account in a place (made where missing), and a key of it. */
export async function accountWithKey(
  server: TestServer,
  place: Place,
  scopes: Scope[] = ['*'],
): Promise<{ id: string; key: string; keyId: string; place: Place; principal: string }> {
  const id = unique('account');
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { id, name: id, ...place } });
  const path = `/v1/service-accounts/${id}/keys?tenant_id=${place.tenantId}`;
  const created = await server.ok('POST', path, { as: server.admin, body: { scopes } });
  return { id, key: created.key, keyId: created.id, place, principal: `service_account:${place.tenantId}/${id}` };
}

/** A user who registered, accepted the terms, and is a member. */
export async function memberWithToken(
  server: TestServer,
  place: Place,
  role: 'owner' | 'admin' | 'operator' | 'viewer',
): Promise<{ id: string; email: string; token: string }> {
  const email = `${unique('user')}@example.com`;
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email, terms: { accepted: true } } } });
  const { subTenantId } = place;
  const membership = await server.ok('POST', `/v1/tenants/${place.tenantId}/memberships`, {
    as: server.admin,
    body: { email, role, ...(subTenantId !== undefined && { subTenantId }) },
  });
  const { token } = await server.tokenOf(email);
  // The first call links the identity: from then on the user is active.
  await server.ok('GET', `/v1/users/${membership.userId}`, { as: { token } });
  return { id: membership.userId, email, token };
}
