import * as contract from '@quartermaster/contracts/me.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  accountWithKey,
  joinPlace,
  memberWithToken,
  offerMembership,
  registeredUser,
  unique,
} from '../support/people.ts';
import { checkCoverageAfterAll, type Endpoints, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

async function newTenant(displayName: string | null = null) {
  const { id } = await server.ok('POST', '/v1/tenants', { as: server.admin, body: { id: unique('me'), displayName } });
  return id as string;
}

describe('get_me', () => {
  test('shows a service account its place and the scopes of its key', async () => {
    const tenantId = await newTenant('Rockets');
    const account = await accountWithKey(server, { tenantId }, ['usage:read', 'traces:read']);
    const me = await server.ok('GET', '/v1/me', { as: { key: account.key } });
    expect(me).toMatchObject({
      kind: 'service_account',
      id: account.id,
      principal: account.principal,
      tenantId,
      email: null,
      platformAdministrator: false,
      platformScopes: [],
      places: [{ tenantId, subTenantId: null, tenantDisplayName: 'Rockets', scopes: ['traces:read', 'usage:read'] }],
      memberships: [],
      authentication: { scheme: 'api_key', keyId: account.keyId, sessionId: null, expiresAt: null },
    });
  });

  test('shows a user their memberships, also pending ones, which grant nothing', async () => {
    const tenantId = await newTenant('Shipyard');
    const invitedTo = await newTenant();
    const person = await memberWithToken(server, { tenantId }, 'viewer');
    await offerMembership(server, person.email, { tenantId: invitedTo }, 'owner');
    const me = await server.ok('GET', '/v1/me', { as: { token: person.token } });
    expect(me).toMatchObject({ kind: 'user', id: person.id, email: person.email, status: 'active', tenantId: null });
    expect(me.memberships).toEqual([
      {
        tenantId,
        subTenantId: null,
        tenantDisplayName: 'Shipyard',
        role: 'viewer',
        status: 'active',
        expiresAt: null,
      },
      {
        tenantId: invitedTo,
        subTenantId: null,
        tenantDisplayName: null,
        role: 'owner',
        status: 'pending',
        expiresAt: expect.any(String),
      },
    ]);
    expect(me.places.map((place: { tenantId: string }) => place.tenantId)).toEqual([tenantId]);
    expect(me.places[0].scopes).toContain('providers:read');
    expect(me.places[0].scopes).not.toContain('providers:write');
    expect(me.authentication).toEqual({ scheme: 'bearer', keyId: null, sessionId: null, expiresAt: null });
  });

  test('adds up the scopes of a user in a tenant and its sub-tenant', async () => {
    const tenantId = unique('me');
    const subTenantId = 'team';
    await accountWithKey(server, { tenantId, subTenantId });
    const person = await memberWithToken(server, { tenantId, subTenantId }, 'operator');
    await joinPlace(server, person, { place: { tenantId }, role: 'viewer' });
    const { places } = await server.ok('GET', '/v1/me', { as: { token: person.token } });
    expect(places.map((place: { subTenantId: string | null }) => place.subTenantId)).toEqual([null, subTenantId]);
    expect(places[0].scopes).not.toContain('providers:write');
    expect(places[1].scopes).toContain('providers:write');
    expect(places[1].scopes).toContain('usage:read');
  });

  test('shows a platform administrator that they reach every tenant', async () => {
    const me = await server.ok('GET', '/v1/me', { as: server.admin });
    expect(me).toMatchObject({ platformAdministrator: true, platformScopes: ['*'] });
  });

  test('answers a user who has not accepted the terms, and lists no rights', async () => {
    const email = `${unique('new')}@example.com`;
    await server.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
    const { token } = await server.tokenOf(email);
    const me = await server.ok('GET', '/v1/me', { as: { token } });
    expect(me).toMatchObject({ email, status: 'pending_terms', termsAccepted: false, places: [], platformScopes: [] });
  });

  test('answers a user without any membership', async () => {
    const person = await registeredUser(server);
    const me = await server.ok('GET', '/v1/me', { as: { token: person.token } });
    expect(me).toMatchObject({ termsAccepted: true, places: [], memberships: [] });
  });
});
