import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { expect } from 'vitest';
import { accountWithKey, memberWithToken, type Person, registeredUser, unique } from '../support/people.ts';
import type { Body, Credential, TestServer } from '../support/server.ts';

type Tenant = { tenantId: string; as: { key: string }; ada: Person; asAda: { token: string }; gateway: string };

export const namesOf = (items: readonly Body[]) => items.map(({ kind, id }) => `${kind} ${id}`);

/** What the tests of derived access do on their server. */
export function derivedAccess(server: () => TestServer) {
  /** A tenant with an owner's key, a gateway, and an administrator Ada. */
  async function tenant(): Promise<Tenant> {
    const tenantId = unique('derived');
    const { key } = await accountWithKey(server(), { tenantId });
    const ada = await memberWithToken(server(), { tenantId }, 'admin');
    const { id } = await server().ok('POST', '/v1/gateways', { as: { key }, body: { name: 'edge' } });
    return { tenantId, as: { key }, ada, asAda: { token: ada.token }, gateway: `/v1/gateways/${id}/sessions` };
  }

  /** A key that the caller creates for a new account. */
  async function keyBy(as: Credential, tenantId: string, scopes: Scope[] = ['credentials:write']): Promise<Body> {
    const { id } = await server().ok('POST', '/v1/service-accounts', { as, body: { name: unique('bot'), tenantId } });
    const created = await server().ok('POST', `/v1/service-accounts/${id}/keys`, { as, body: { scopes } });
    return { ...created, keys: `/v1/service-accounts/${id}/keys`, as: { key: created.key } };
  }

  async function invite(as: Credential, tenantId: string): Promise<Person> {
    const person = await registeredUser(server());
    const body = { email: person.email, role: 'viewer' };
    await server().ok('POST', `/v1/tenants/${tenantId}/memberships`, { as, body });
    return person;
  }

  async function derived(source: string, as: Credential, limit = 100): Promise<Body[]> {
    const found: Body[] = [];
    let cursor: string | null = null;
    do {
      const next: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page: Body = await server().ok('GET', `/v1/derived-access?source=${source}&limit=${limit}${next}`, { as });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      found.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return found;
  }

  const revoke = (as: Credential, body: object) => server().call('POST', '/v1/derived-access/revoke', { as, body });

  const works = async (as: Credential) => (await server().call('GET', '/v1/providers', { as })).status !== 401;

  return { tenant, keyBy, invite, derived, revoke, works };
}
