import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectInvalid } from './endpoints/harness.ts';
import { accountWithKey, joinPlace, memberWithToken, type Place, unique } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A gateway in a place, and an account with every scope there. */
async function operatorOf(place: Place) {
  const { key } = await accountWithKey(server, place);
  const { id } = await server.ok('POST', '/v1/gateways', { as: { key }, body: { name: unique('gateway') } });
  const open = (subject: string) =>
    server.call('POST', `/v1/gateways/${id}/sessions`, { as: { key }, body: { subject } });
  return { open };
}

async function expectRefused(operator: { open: (subject: string) => ReturnType<TestServer['call']> }, subject: string) {
  expectInvalid(await operator.open(subject), { loc: ['body', 'subject'], type: 'value_error' });
}

describe('a session for another subject', () => {
  test('regression: a sub-tenant cannot act as an account of the whole tenant', async () => {
    const tenantId = unique('impersonation');
    const wide = await accountWithKey(server, { tenantId });
    const operator = await operatorOf({ tenantId, subTenantId: 'east' });
    await expectRefused(operator, wide.principal);
    const own = await accountWithKey(server, { tenantId, subTenantId: 'east' });
    expect((await operator.open(own.principal)).status).toBe(200);
  });

  test('regression: a sub-tenant cannot act as a user of the whole tenant, who may be a member of it as well', async () => {
    const tenantId = unique('impersonation');
    const operator = await operatorOf({ tenantId, subTenantId: 'east' });
    const wide = await memberWithToken(server, { tenantId }, 'viewer');
    await expectRefused(operator, `user:${wide.id}`);
    const place = { tenantId, subTenantId: 'east' };
    await joinPlace(server, wide, { place, role: 'viewer' });
    await expectRefused(operator, `user:${wide.id}`);
    const own = await memberWithToken(server, place, 'viewer');
    expect((await operator.open(`user:${own.id}`)).status).toBe(200);
  });

  test('a caller of several sub-tenants cannot act in one as a subject of another', async () => {
    const tenantId = unique('impersonation');
    const operator = await operatorOf({ tenantId, subTenantId: 'east' });
    const west = await accountWithKey(server, { tenantId, subTenantId: 'west' });
    await expectRefused(operator, west.principal);
  });

  test('regression: only a platform administrator can act as one', async () => {
    const tenantId = unique('impersonation');
    const operator = await operatorOf({ tenantId });
    const root = { id: unique('root'), name: 'root', tenantId, platformAdministrator: true };
    await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: root });
    await expectRefused(operator, `service_account:${tenantId}/${root.id}`);
  });

  test('an operator of the whole tenant can act as its accounts and those of its sub-tenants', async () => {
    const tenantId = unique('impersonation');
    const operator = await operatorOf({ tenantId });
    for (const place of [{ tenantId }, { tenantId, subTenantId: 'east' }]) {
      const { principal } = await accountWithKey(server, place);
      expect((await operator.open(principal)).status).toBe(200);
    }
  });
});
