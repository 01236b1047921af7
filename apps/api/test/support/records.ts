import type { Operation } from '@quartermaster/contracts/operation.ts';
import { expect } from 'vitest';
import { operationOf, proceduresOf } from '../../src/http/trpc.ts';
import { agentIdOf } from '../../src/resources/agents/known-agents.ts';
import { appRouter } from '../../src/server/router.ts';
import { chat, sendSpans } from '../telemetry/traces/sending.ts';
import type { TestServer } from './server.ts';
import { tablesOf } from './tables.ts';

/** An operation, with the tRPC path and the type of its procedure. */
export type Served = { operation: Operation; procedure: string; type: 'query' | 'mutation' };

/** Every operation that the router serves. */
export const OPERATIONS: Served[] = Object.entries(proceduresOf(appRouter)).map(([name, procedure]) => {
  return { operation: operationOf(procedure), procedure: name, type: procedure._def.type as Served['type'] };
});

/** The tenant of {@link makeRecords}. */
export const TENANT = 'records';

/** Creates a record for every path parameter, all in one tenant. Returns their ids by parameter. */
export async function makeRecords(server: TestServer): Promise<Record<string, string>> {
  const post = (path: string, body: object) => server.ok('POST', path, { as: server.admin, body });
  const place = { tenantId: TENANT };
  await post('/v1/service-accounts', { id: 'worker', name: 'worker', ...place, metadata: { team: 'blue' } });
  const key = await post(`/v1/service-accounts/worker/keys?tenant_id=${TENANT}`, { scopes: ['*'] });
  const worker = { key: key.key };
  const provider = await post('/v1/providers', { name: 'records-llm', kind: 'llm', ...place });
  const item = await post(`/v1/providers/${provider.id}/inventory`, { kind: 'model', name: 'known' });
  const gateway = await post('/v1/gateways', { name: 'edge', providerIds: [provider.id], ...place });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: worker });
  const amounts = { validFrom: '2020-01-01', inputPrice: 1_000_000, outputPrice: 2_000_000 };
  const price = await post('/v1/prices', { modelPattern: 'known', ...amounts, ...place });
  const spec = {
    channels: ['web'],
    description: 'an agent',
    declares: [{ provider: 'records-llm', kind: 'model', name: 'known' }],
  };
  const manifest = await post('/v1/manifests', { name: 'agent', kind: 'agent', spec, ...place });
  const email = 'member@example.com';
  const membership = await post(`/v1/tenants/${TENANT}/memberships`, { email, role: 'viewer' });
  const traceId = 'a1'.repeat(16);
  const attribute = (name: string, value: string) => ({ key: name, value: { stringValue: value } });
  const attributes = [
    attribute('gen_ai.operation.name', 'chat'),
    attribute('gen_ai.provider.name', 'records-llm'),
    attribute('gen_ai.request.model', 'unknown-model'),
  ];
  const times = { startTimeUnixNano: '1750000000000000000', endTimeUnixNano: '1750000001000000000' };
  const events = [{ name: 'an event', timeUnixNano: '1750000000500000000', attributes }];
  const applyId = await makeApply(server, worker);
  const links = [{ traceId: 'b2'.repeat(16), spanId: 'b2'.repeat(8), attributes }];
  const span = { traceId, spanId: 'a1'.repeat(8), name: 'chat', kind: 3, ...times, attributes, events, links };
  const resourceSpans = [{ scopeSpans: [{ scope: { name: 'tests' }, spans: [span] }] }];
  await server.ok('POST', '/v1/traces', { as: worker, body: { resourceSpans } });
  const run = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'agent', 'openclaw.channel': 'webchat' };
  await sendSpans(server, worker, [{ name: 'invoke_agent agent', kind: 1, attributes: run }]);
  const denied = { provider: provider.id, kind: 'model', name: 'unknown-model' };
  const headers = { Authorization: `Bearer ${session.token}` };
  await server.ok('POST', `/v1/gateways/${gateway.id}/decisions`, { headers, body: denied });
  await server.decisions.flush();
  const observed = await server.ok('GET', `/v1/providers/${provider.id}/observations`, { as: worker });
  const recommended = await server.ok('GET', `/v1/providers/${provider.id}/recommendations`, { as: worker });
  const tasks = await server.ok('GET', '/v1/operator/tasks?kind=review_observation', { as: worker });
  return {
    tenant_id: TENANT,
    service_account_id: 'worker',
    key_id: key.id,
    user_id: membership.userId,
    provider_id: provider.id,
    item_id: item.id,
    observation_id: observed.items[0].id,
    header_name: 'x-tenant',
    gateway_id: gateway.id,
    session_id: session.id,
    price_id: price.id,
    manifest_id: manifest.id,
    recommendation_id: recommended.items[0].id,
    apply_id: applyId,
    agent_id: agentIdOf({ ...place, subTenantId: null, name: 'agent' }),
    channel: 'webchat',
    task_id: tasks.items[0].id,
    trace_id: traceId,
    kind: 'agent',
    worker_key: key.key,
  };
}

/** Applies a recommendation at a provider of its own. Returns the id of the apply. */
async function makeApply(server: TestServer, as: { key: string }): Promise<string> {
  const { id } = await server.ok('POST', '/v1/providers', { as, body: { name: 'applied-llm', kind: 'llm' } });
  await sendSpans(server, as, [chat('applied-model', { 'gen_ai.provider.name': 'applied-llm' })]);
  const path = `/v1/providers/${id}/recommendations`;
  const open = await server.ok('GET', path, { as });
  const body = { recommendationIds: [open.items[0].id] };
  return (await server.ok('POST', `${path}/apply`, { as, body })).applied[0].applyId;
}

/** The path of an operation with these values in place of its parameters. They are not encoded. */
export function pathWith(operation: Operation, values: Record<string, string>): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`there is no record for {${name}}`);
    return value;
  });
}

/** All rows of the database, without the times of last use. */
async function storedIn(server: TestServer): Promise<Record<string, string[]>> {
  const tables = Object.entries(await tablesOf(server.services.db)).map(([name, rows]) => {
    const texts = rows.map(({ last_used_at: _used, last_seen_at: _seen, ...row }) => JSON.stringify(row));
    return [name, texts.toSorted()] as const;
  });
  return Object.fromEntries(tables);
}

/** Runs `work`, and expects that the database is unchanged. */
export async function unchanged(server: TestServer, work: () => Promise<void>): Promise<void> {
  // Earlier refusals are written and sealed first. Otherwise that would happen during `work`.
  await server.services.audit.refusals.flush('all');
  await server.services.audit.sealer.pass();
  const before = await storedIn(server);
  await work();
  expect(await storedIn(server)).toEqual(before);
}
