import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldRecords } from '../src/resources/tenants/record-retention.ts';
import { newTenant, type Tenant } from './governance/loop-support.ts';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const DAY_MS = 24 * 3600 * 1000;

/** A tenant with one ended and one open record of each kind. */
async function usedTenant(): Promise<Tenant & { sessions: string[]; gatewayId: string }> {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  for (const model of ['applied', 'dismissed', 'open']) await tenant.see(model);
  const recommendations = await tenant.recommendations();
  const idOf = (model: string) => recommendations.find(({ change }) => change.after?.name === model)?.id;
  await tenant.apply({ recommendationIds: [idOf('applied')] });
  await server.ok('POST', `/v1/recommendations/${idOf('dismissed')}/dismiss`, { as, body: { reason: 'no' } });
  const body = { name: 'edge', providerIds: [tenant.provider.id] };
  const { id: gatewayId } = await server.ok('POST', '/v1/gateways', { as, body });
  const sessions: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    const session = await server.ok('POST', `/v1/gateways/${gatewayId}/sessions`, { as, body: {} });
    sessions.push(session.id);
  }
  await server.ok('DELETE', `/v1/gateways/${gatewayId}/sessions/${sessions[0]}`, { as }).catch(() => {});
  return { ...tenant, sessions, gatewayId };
}

async function counts(tenantId: string) {
  const { db } = server.services;
  const links = await db
    .selectFrom('gateway_session_grants')
    .select('digest')
    .where('tenant_id', '=', tenantId)
    .execute();
  const of = async (table: 'gateway_sessions' | 'operator_tasks' | 'recommendations') => {
    const rows = await db.selectFrom(table).select('id').where('tenant_id', '=', tenantId).execute();
    return rows.length;
  };
  return {
    sessions: await of('gateway_sessions'),
    grants: links.length,
    tasks: await of('operator_tasks'),
    recommendations: await of('recommendations'),
  };
}

test('ended records are removed after the tenant’s retention; open ones, and dismissals that still have an effect, stay', async () => {
  const keeping = await usedTenant();
  const forgetting = await usedTenant();
  const before = await counts(keeping.tenantId);
  await server.ok('PUT', `/v1/tenants/${forgetting.tenantId}`, {
    as: server.admin,
    body: { settings: { recordRetentionDays: 30 } },
  });
  server.travel(29 * DAY_MS);
  expect(await removeOldRecords(server.services)).toBe(0);
  server.travel(3 * DAY_MS);
  expect(await removeOldRecords(server.services)).toBeGreaterThan(0);
  expect(await counts(keeping.tenantId)).toEqual(before);

  const left = await counts(forgetting.tenantId);
  expect([before.grants > 0, left.sessions, left.grants]).toEqual([true, 0, 0]);
  expect((await forgetting.recommendations('applied')).length).toBe(0);
  // The dismissal prevents that the same recommendation is opened again.
  expect((await forgetting.recommendations('dismissed')).length).toBe(1);
  expect((await forgetting.recommendations('open')).length).toBe(1);
  await forgetting.see('dismissed');
  expect((await forgetting.recommendations('open')).length).toBe(1);
  const open = await forgetting.tasks();
  expect(open.length).toBeGreaterThan(0);
  expect(left.tasks).toBe(open.length);
  // A second run removes nothing, and the audit records the first.
  expect(await removeOldRecords(server.services)).toBe(0);
  const audit = await server.ok('GET', '/v1/audit-events?operation=apply_provider_recommendations', {
    as: forgetting.operator,
  });
  expect(audit.items.length).toBeGreaterThan(0);
});

test('thousands of ended records are removed in batches, while requests are answered', async () => {
  const tenant = await usedTenant();
  const { db } = server.services;
  const [row] = await db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('tenant_id', '=', tenant.tenantId)
    .limit(1)
    .execute();
  if (!row) throw new Error('there is no session');
  for (let batch = 0; batch < 10; batch += 1) {
    const rows = Array.from({ length: 200 }, (_, index) => ({ ...row, id: `ses_${batch}_${index}_${row.id}` }));
    await db.insertInto('gateway_sessions').values(rows).execute();
  }
  await server.ok('PUT', `/v1/tenants/${tenant.tenantId}`, {
    as: server.admin,
    body: { settings: { recordRetentionDays: 30 } },
  });
  server.travel(40 * DAY_MS);
  const over = new AbortController();
  const removed = removeOldRecords(server.services).finally(() => over.abort());
  let answered = 0;
  while (!over.signal.aborted) {
    await server.ok('PUT', tenant.path, { as: tenant.operator, body: { description: `change ${answered}` } });
    answered += 1;
  }
  expect(await removed).toBeGreaterThanOrEqual(2000);
  expect((await counts(tenant.tenantId)).sessions).toBe(0);
  expect(answered).toBeGreaterThanOrEqual(onPostgres() ? 1 : 3);
});
