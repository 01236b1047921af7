import { ERASED_TABLES } from '@quartermaster/db/repositories/deleted-tenants.ts';
import { sumStoredBytes } from '@quartermaster/db/repositories/tenant-usage.ts';
import { expect } from 'vitest';
import { eraseDeletedTenants } from '../src/resources/tenants/erase-deleted.ts';
import { auditOf } from './endpoints/harness.ts';
import { accountWithKey, unique } from './support/people.ts';
import type { TestServer } from './support/server.ts';
import { tablesOf } from './support/tables.ts';
import { chat, newTraceId, sendSpans } from './telemetry/traces/sending.ts';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** The rows of one tenant, by table. Tables without any are left out. */
export async function rowsOf(server: TestServer, tenantId: string): Promise<Record<string, unknown[]>> {
  const tables = Object.entries(await tablesOf(server.services.db, tenantId));
  const own = tables.map(([name, rows]) => [name, rows.filter((row) => row['tenant_id'] === tenantId)] as const);
  return Object.fromEntries(own.filter(([, rows]) => rows.length > 0));
}

/** Fills tables that other records leave empty. */
async function fillOtherTables(server: TestServer, tenantId: string): Promise<void> {
  const { db } = server.services;
  await accountWithKey(server, { tenantId, subTenantId: 'team' });
  const { key } = await accountWithKey(server, { tenantId });
  // The second part of a trace is a block of its own.
  const traceId = newTraceId();
  for (const model of ['gpt-5', 'gpt-6']) await sendSpans(server, { key }, [{ ...chat(model), traceId }]);
  const headers = { 'idempotency-key': unique('key') };
  const body = { name: unique('other'), kind: 'llm', aliases: [unique('alias')] };
  await server.ok('POST', '/v1/providers', { as: { key }, headers, body });
  const price = { tenantId, modelPattern: 'model', validFrom: '2026-01-01', inputPrice: 1, outputPrice: 2 };
  await server.ok('POST', '/v1/prices', { as: server.admin, body: price });
  await server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body: { gateways: 500 } });
  await sumStoredBytes(db);
  await db.insertInto('stored_bytes_changes').values({ tenant_id: tenantId, id: 'c', bytes: 1 }).execute();
  const [place, time] = [{ tenant_id: tenantId, sub_tenant_id: '' }, new Date().toISOString()];
  const window = { policy: 'p', caller: 'c', window_start: time, reserved: 1 };
  await db
    .insertInto('rate_limit_windows')
    .values({ tenant_id: tenantId, ...window })
    .execute();
  const call = { call_key: 'k', signal: 'log', first_seen_at: time } as const;
  await db
    .insertInto('telemetry_calls')
    .values({ ...place, ...call })
    .execute();
  const seen = { agent: 'a', channel: 'c', first_seen_at: time, last_seen_at: time };
  await db
    .insertInto('agent_channels')
    .values({ ...place, ...seen })
    .execute();
  await fillDecisions(server, tenantId, time);
  await db.insertInto('telemetry_call_counts').values({ tenant_id: tenantId, sender: 's', calls: 1 }).execute();
}

/** Counts of decisions, as if gateways of the tenant had been asked. */
async function fillDecisions({ services: { db } }: TestServer, tenantId: string, time: string): Promise<void> {
  const inTenant = { tenant_id: tenantId };
  const ofGateway = { gateway_id: 'g', account: 'a' };
  const counted = { hour: time, provider_id: 'p', point: 'guard', mode: 'enforce', outcome: 'denied' } as const;
  await db
    .insertInto('decision_counts')
    .values({ ...inTenant, sub_tenant_id: '', ...ofGateway, ...counted, decisions: 1, last_at: time })
    .execute();
  await db
    .insertInto('decision_batches')
    .values({ ...inTenant, id: 'b', created_at: time })
    .execute();
  const idOf = async (table: 'gateway_sessions' | 'runtime_observations') =>
    (await db.selectFrom(table).select('id').where('tenant_id', '=', tenantId).executeTakeFirstOrThrow()).id;
  const session_id = await idOf('gateway_sessions');
  await db
    .insertInto('gateway_session_decisions')
    .values({ ...inTenant, session_id, allowed: 1, denied: 1, last_at: time })
    // The session may have been asked about.
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const denial = { denials: 1, reason: 'blocked', last_session_id: session_id, last_denied_at: time } as const;
  await db
    .insertInto('observation_denials')
    .values({ ...inTenant, observation_id: await idOf('runtime_observations'), ...ofGateway, ...denial })
    .execute();
}

/**
 * Deletes a tenant with records in every table. Expects that its audit events alone are left, and everything of another tenant.
 *
 * @param rows how many of its rows there are at least
 */
export async function expectErased(
  server: TestServer,
  { id, other, rows }: { id: string; other: string; rows: number },
): Promise<void> {
  await fillOtherTables(server, id);
  await server.services.audit.sealer.pass();
  const [before, others] = [await rowsOf(server, id), await rowsOf(server, other)];
  expect(ERASED_TABLES.filter((table) => before[table] === undefined)).toEqual([]);
  expect((await server.call('DELETE', `/v1/tenants/${id}`, { as: server.admin })).status).toBe(200);
  // A pass whose time is over stops after a batch.
  expect(await eraseDeletedTenants(server.services, 0)).toBeGreaterThan(0);
  expect(Object.keys(await rowsOf(server, id)).length).toBeGreaterThan(ERASED_TABLES.length - 3);
  expect(await eraseDeletedTenants(server.services)).toBeGreaterThan(rows);
  // Requests that were running at the deletion may still write.
  await server.services.db.insertInto('sub_tenants').values({ tenant_id: id, id: 'late', created_at: '' }).execute();
  server.travel(HOUR_MS);
  expect(await eraseDeletedTenants(server.services)).toBe(1);
  await server.services.audit.sealer.pass();

  const after = await rowsOf(server, id);
  expect(Object.keys(after)).toEqual(['audit_chain', 'audit_events', 'audit_heads']);
  expect(after['audit_events']).toEqual(expect.arrayContaining(before['audit_events'] ?? []));
  expect(await rowsOf(server, other)).toEqual(others);
  const events = await auditOf(server, { tenant_id: id, target_id: id });
  expect(events.slice(0, 2)).toMatchObject([
    { operation: 'erase_tenant', actor: { type: 'system' } },
    { operation: 'delete_tenant', outcome: 'success', actor: { type: 'service_account' } },
  ]);
  const chain = await server.ok('GET', `/v1/audit-events/verify?tenant_id=${id}`, { as: server.admin });
  expect(chain).toMatchObject({ status: 'intact', nextCursor: null });
  server.travel(DAY_MS);
  expect(await eraseDeletedTenants(server.services)).toBe(0);
  expect(await auditOf(server, { tenant_id: id, operation: 'erase_tenant' })).toHaveLength(1);
}
