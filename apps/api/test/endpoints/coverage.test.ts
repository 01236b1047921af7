import * as contract from '@quartermaster/contracts/coverage.ts';
import { beforeAll, expect, test } from 'vitest';
import { updateBypassTasks } from '../../src/resources/coverage/bypass-tasks.ts';
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

const statesOf = (tasks: Body[]): string[] => tasks.map(({ status }) => String(status)).toSorted();

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
    lastCallAt: expect.any(String),
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

test('list_coverage says when the last call was made, within the range', async () => {
  const world = await decidingWorld(server);
  const { as, providerName } = world;
  const now = server.services.now().getTime();
  const at = (time: number) => {
    const start = BigInt(time) * 1_000_000n;
    return { ...toolRun('search', { 'gen_ai.provider.name': providerName }), start, end: start };
  };
  const [dayAgo, last] = [now - 30 * 3600_000, now - 2 * 3600_000];
  await sendSpans(server, as, [at(last), at(dayAgo), at(last - 1000)]);
  const read = async (days: number): Promise<Body> =>
    (await server.ok('GET', `/v1/coverage?days=${days}`, { as })).items[0];
  expect(await read(7)).toMatchObject({ calls: 3, lastCallAt: new Date(last).toISOString() });
  await decide(world, 'search');
  await server.decisions.flush();
  // It asked a moment ago, so it did not stop.
  expect(await read(1)).toMatchObject({ calls: 2, lastCallAt: new Date(last).toISOString(), state: 'enforced' });
});

test('an account of a sub-tenant is one record, although the gateway is that of the whole tenant', async () => {
  const world = await decidingWorld(server);
  const { tenantId, gatewayId } = world;
  const part = await accountWithKey(server, { tenantId, subTenantId: 'part' });
  const session = await server.ok('POST', `/v1/gateways/${gatewayId}/sessions`, {
    as: world.as,
    body: { subject: part.principal },
  });
  await decide({ ...world, token: session.token }, 'search');
  await server.decisions.flush();
  await sendSpans(server, { key: part.key }, [toolRun('search', { 'gen_ai.provider.name': world.providerName })]);
  const { items } = await server.ok('GET', `/v1/coverage?account=${part.principal}`, { as: world.as });
  expect(items).toMatchObject([{ subTenantId: 'part', calls: 1, decisions: 1, state: 'enforced' }]);
});

test('an account that bypasses a gateway has one operator task for each provider, until it asks', async () => {
  const world = await decidingWorld(server);
  const { as, accountId, tenantId, providerId, providerName } = world;
  const other = await accountWithKey(server, { tenantId });
  const call = toolRun('search', { 'gen_ai.provider.name': providerName });
  for (const { key } of [as, other]) await sendSpans(server, { key }, [call, call]);
  const round = async (): Promise<Body[]> => {
    await updateBypassTasks(server.services);
    const { items } = await server.ok('GET', '/v1/operator/tasks?kind=investigate_bypass', { as });
    return items;
  };
  expect(await round()).toHaveLength(2);
  const opened = await round();
  expect(opened).toHaveLength(2);
  const own = opened.find(({ subject }) => subject.id.endsWith(`:${accountId}`));
  expect(own).toMatchObject({
    status: 'open',
    subject: { type: 'coverage', id: `${providerId} service_account:${accountId}` },
    title: expect.stringContaining(`calls ${providerName} past its gateway`),
  });

  const complete = `/v1/operator/tasks/${own?.id}/complete`;
  await server.ok('POST', complete, { as, body: { outcome: 'acknowledged' } });
  expect(statesOf(await round())).toEqual(['open', 'succeeded']);

  const session = await server.ok('POST', `/v1/gateways/${world.gatewayId}/sessions`, {
    as,
    body: { subject: other.principal },
  });
  await decide({ ...world, token: session.token }, 'search');
  await server.decisions.flush();
  expect(statesOf(await round())).toEqual(['cancelled', 'succeeded']);
});

test('no task is about a provider that no active gateway lists', async () => {
  const world = await decidingWorld(server);
  const { as } = world;
  const tasks = async (): Promise<Body[]> => {
    await updateBypassTasks(server.services);
    return (await server.ok('GET', '/v1/operator/tasks?kind=investigate_bypass', { as })).items;
  };
  await sendSpans(server, as, [toolRun('search', { 'gen_ai.provider.name': world.providerName })]);
  const gateway = `/v1/gateways/${world.gatewayId}`;
  await server.ok('PUT', gateway, { as, body: { status: 'disabled' } });
  expect(await tasks()).toEqual([]);
  await server.ok('PUT', gateway, { as, body: { status: 'active' } });
  expect(await tasks()).toMatchObject([{ status: 'open' }]);
  await server.ok('PUT', gateway, { as, body: { status: 'disabled' } });
  expect(await tasks()).toMatchObject([{ status: 'cancelled' }]);
  await server.ok('PUT', gateway, { as, body: { status: 'active' } });
  expect(statesOf(await tasks())).toEqual(['cancelled', 'open']);
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
