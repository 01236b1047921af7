import * as contract from '@quartermaster/contracts/coverage.ts';
import { beforeAll, expect, test } from 'vitest';
import { decidingWorld } from '../gateway-decisions/sessions.ts';
import { accountWithKey } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

async function decide({ gatewayId, providerName, token }: Body, name: string): Promise<void> {
  const answer = await server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
    headers: { Authorization: `Bearer ${token}` },
    body: { provider: providerName, kind: 'tool', name },
  });
  expect(answer.status).toBe(200);
}

test('list_coverage says who is enforced, who is only observed, and whose calls nobody asks about', async () => {
  const world = await decidingWorld(server);
  const { as, tenantId, providerId, providerName, session } = world;
  const other = await accountWithKey(server, { tenantId });
  const call = () => toolRun('search', { 'mcp.method.name': 'tools/call', 'gen_ai.provider.name': providerName });
  await sendSpans(server, as, [call()]);
  await sendSpans(server, { key: other.key }, [call(), call()]);
  const read = async (query = ''): Promise<Body[]> =>
    (await server.ok('GET', `/v1/coverage?days=1${query}`, { as })).items;
  const rows = await read();
  expect(rows.length).toBe(2);
  const nobody = {
    state: 'bypassed',
    provider: providerName,
    decisions: 0,
    mode: null,
    points: [],
    lastDecisionAt: null,
  };
  expect(rows).toMatchObject([nobody, nobody]);
  const unasked = Object.fromEntries(rows.map((row) => [row.account, row.unasked]));
  expect(unasked).toEqual({ [other.principal]: 2, [session.subject]: 1 });
  await decide(world, 'search');
  await decide(world, 'other');
  await server.decisions.flush();
  expect(await read(`&account=${session.subject}`)).toMatchObject([
    {
      state: 'enforced',
      mode: 'enforce',
      points: ['guard'],
      calls: 1,
      decisions: 2,
      denied: 1,
      unasked: 0,
      providerId,
    },
  ]);
  await server.ok('PUT', `/v1/gateways/${world.gatewayId}`, { as, body: { enforcement: 'observe' } });
  expect(await read('&state=bypassed')).toMatchObject([{ account: other.principal }]);
  await server.ok('PUT', `/v1/gateways/${world.gatewayId}`, { as, body: { status: 'disabled' } });
  expect(await read('&state=ungoverned')).toMatchObject([{ account: other.principal }]);
  const tooLong = await server.call('GET', '/v1/coverage?days=31', { as });
  expectInvalid(tooLong, { loc: ['query', 'days'], type: 'less_than_equal' });
});

test('list_coverage has pages', async () => {
  const world = await decidingWorld(server);
  const accounts = [
    world.as,
    ...(await Promise.all([1, 2].map(() => accountWithKey(server, { tenantId: world.tenantId })))),
  ];
  for (const { key } of accounts) {
    await sendSpans(server, { key }, [toolRun('search', { 'gen_ai.provider.name': world.providerName })]);
  }
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/v1/coverage?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { items, nextCursor } = await server.ok('GET', path, { as: world.as });
    seen.push(...items.map(({ account }: Body) => account));
    cursor = nextCursor;
  }
  expect(new Set(seen).size).toBe(3);
  expect(seen.length).toBe(3);
});
