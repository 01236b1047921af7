import { accountWithKey, unique } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';

/** A tenant with an account that has every scope: one account and one key are used. */
export async function newTenant(server: TestServer) {
  const tenantId = unique('tenant');
  const { key } = await accountWithKey(server, { tenantId });
  return { tenantId, as: { key }, ...limitsOf(server, tenantId, { key }) };
}

/** Reads and sets the limits of a tenant. */
export function limitsOf(server: TestServer, tenantId: string, as: { key: string }) {
  return {
    setLimits: (limits: object): Promise<Body> =>
      server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body: limits }),
    usage: (): Promise<Body> => server.ok('GET', `/v1/tenants/${tenantId}/usage`, { as }),
  };
}
