import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { mcpCall, newSpanId, newTraceId, type SpanInput, toolRun } from '../traces/sending.ts';
import { callsTenant } from './calls-tenant.ts';

const MS = 1_000_000n;
const START = 1_700_000_000_000n * MS;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const planner: SpanInput = {
  name: 'invoke_agent planner',
  kind: 1,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' },
};

/** Spans of one trace, each inside the one before it. */
function nested(inputs: readonly SpanInput[]) {
  const traceId = newTraceId();
  const ids = inputs.map(() => newSpanId());
  return inputs.map((input, index) => {
    const [start, end] = [START + BigInt(index) * MS, START + BigInt(100 - index) * MS];
    const spanId = ids[index] ?? newSpanId();
    const parentSpanId = ids[index - 1];
    return { ...input, traceId, spanId, start, end, ...(parentSpanId !== undefined && { parentSpanId }) };
  });
}

async function deleteProvider(tenantId: string, name: string): Promise<void> {
  const { items } = await server.ok('GET', `/v1/providers?tenant_id=${tenantId}&name=${name}`, { as: server.admin });
  const provider = items.find((one: { name: string }) => one.name === name);
  await server.ok('DELETE', `/v1/providers/${provider.id}`, { as: server.admin });
}

test('a call counts once if the service deletes its discovered provider, because the call seemed to belong to another', async () => {
  const tenant = await callsTenant(server);
  const run = (host?: string) => mcpCall('echo', host === undefined ? {} : { 'server.address': host });
  const [agent, outer, middle, inner] = nested([
    planner,
    { ...toolRun('mcp__tickets__echo'), scope: 'framework' },
    { ...run(), scope: 'sdk' },
    { ...run('mcp.example.com'), scope: 'http' },
  ]);
  for (const span of [outer, inner, agent, middle]) if (span) await tenant.send([span]);
  const observed = await tenant.observed();
  expect(observed).toEqual({ 'agent planner at travel-agent': 1, 'tool echo at mcp.example.com': 1 });
  const calls = Object.entries(await tenant.usage()).map(([subject, sums]) => [subject, sums.calls]);
  expect(Object.fromEntries(calls)).toEqual({
    'agent planner at travel-agent by travel-agent': 1,
    'tool echo at mcp.example.com by planner': 1,
  });
});

test('a trace whose provider is deleted moves to the provider that is discovered again, with all of its calls', async () => {
  const tenant = await callsTenant(server);
  const body = { name: 'everything', kind: 'mcp', tenantId: tenant.tenantId };
  await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const [agent, step, call] = nested([
    planner,
    { name: 'step', kind: 1 },
    mcpCall('echo', { 'mcp.server.name': 'everything' }),
  ]);
  const other = { ...mcpCall('list', { 'mcp.server.name': 'everything' }), traceId: call?.traceId ?? '' };
  await tenant.send([call ?? {}, other]);
  await deleteProvider(tenant.tenantId, 'everything');
  const ofOtherTrace = mcpCall('echo', { 'mcp.server.name': 'everything' });
  await tenant.send([ofOtherTrace]);
  for (const span of [step, agent]) if (span) await tenant.send([span]);
  const providers = await server.ok('GET', `/v1/providers?tenant_id=${tenant.tenantId}`, { as: server.admin });
  const discovered = providers.items.find(({ name }: { name: string }) => name === 'everything');
  const observed = await server.ok('GET', `/v1/runtime-observations?provider_id=${discovered.id}`, {
    as: server.admin,
  });
  const counts = observed.items.map(({ name, occurrences }: { name: string; occurrences: number }) => [
    name,
    occurrences,
  ]);
  expect(Object.fromEntries(counts)).toEqual({ echo: 2, list: 1 });
  const tools = Object.entries(await tenant.usage()).filter(([subject]) => subject.startsWith('tool'));
  expect(Object.fromEntries(tools.map(([subject, { calls }]) => [subject, calls]))).toEqual({
    'tool echo at everything by planner': 1,
    'tool echo at everything by travel-agent': 1,
    'tool list at everything by travel-agent': 1,
  });
  // The trace is at its new provider now, and stays there.
  await tenant.send([{ ...other, spanId: newSpanId(), parentSpanId: step?.spanId ?? '' }]);
  await deleteProvider(tenant.tenantId, 'everything');
  const total = Object.values(await tenant.usage()).reduce((sum, { calls }) => sum + calls, 0);
  expect(total).toBe(5);
});
