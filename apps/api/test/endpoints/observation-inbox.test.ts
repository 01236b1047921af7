import {
  countRuntimeObservations,
  getRuntimeObservation,
  groupRuntimeObservations,
  listRuntimeObservations,
} from '@quartermaster/contracts/runtime-observations.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { newTenant, type Tenant } from '../governance/loop-support.ts';
import { accountWithKey } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { all, chat, newSpanId, newTraceId, type SpanInput, sendSpans } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({
    listRuntimeObservations,
    countRuntimeObservations,
    groupRuntimeObservations,
    getRuntimeObservation,
  });
});
checkCoverageAfterAll(() => server);

const MINUTE_MS = 60_000;

/** Reports the use of a model at openai some minutes ago. */
function see(tenant: Tenant, model: string, { minutes = 10, service = 'billing', as = tenant.sender } = {}) {
  const start = BigInt(server.services.now().getTime() - minutes * MINUTE_MS) * 1_000_000n;
  const span = chat(model, { 'gen_ai.provider.name': 'openai' });
  return sendSpans(server, as, [{ ...span, service, start, end: start + 1_000_000n }]);
}

const namesOf = (items: Body[]): string[] => items.map(({ name }) => name);
const list = (tenant: Tenant, query: string) => all(server, `/v1/runtime-observations?${query}`, tenant.operator);

describe('list_runtime_observations', () => {
  test('filters by view', async () => {
    const tenant = await newTenant(server);
    for (const name of ['fresh', 'approved-one', 'back-again']) await see(tenant, name);
    await tenant.review((await tenant.observation('approved-one')).id, 'approved');
    await tenant.review((await tenant.observation('back-again')).id, 'rejected');
    server.travel(2 * MINUTE_MS);
    await see(tenant, 'back-again', { minutes: 0 });
    expect(namesOf(await list(tenant, 'view=open')).toSorted()).toEqual(['back-again', 'fresh']);
    expect(namesOf(await list(tenant, 'view=new'))).toEqual(['fresh']);
    expect(namesOf(await list(tenant, 'view=seen_again'))).toEqual(['back-again']);
    expect(namesOf(await list(tenant, 'view=changed_definition'))).toEqual([]);
    expect(namesOf(await list(tenant, 'view=blocked'))).toEqual([]);
  });

  test('lists what is blocked and used, of any status', async () => {
    const tenant = await newTenant(server);
    for (const name of ['allowed', 'decided', 'declared-as-blocked']) await see(tenant, name);
    const { providerId } = await tenant.observation('allowed');
    const declare = (name: string, status: string) =>
      server.ok('POST', `/v1/providers/${providerId}/inventory`, {
        as: tenant.operator,
        body: { kind: 'model', name, status },
      });
    await declare('allowed', 'available');
    await declare('declared-as-blocked', 'blocked');
    await tenant.review((await tenant.observation('decided')).id, 'ignored');
    await declare('decided', 'blocked');
    expect(namesOf(await list(tenant, 'view=blocked')).toSorted()).toEqual(['decided', 'declared-as-blocked']);
  });

  test('filters by the lowest risk', async () => {
    const tenant = await newTenant(server);
    await see(tenant, 'at-declared');
    await sendSpans(server, tenant.sender, [chat('at-unknown', { 'gen_ai.provider.name': 'mistral_ai' })]);
    expect(namesOf(await list(tenant, 'min_risk=high'))).toEqual(['at-unknown']);
    expect(namesOf(await list(tenant, 'min_risk=medium')).toSorted()).toEqual(['at-declared', 'at-unknown']);
    expect(await list(tenant, 'min_risk=low')).toHaveLength(2);
  });

  test('filters by text, agent, account, provider and times', async () => {
    const tenant = await newTenant(server);
    const other = await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']);
    await see(tenant, 'GPT-5-mini', { minutes: 90 });
    await see(tenant, '100%_sure', { minutes: 30, service: 'support', as: other });
    expect(namesOf(await list(tenant, 'text=gpt-5'))).toEqual(['GPT-5-mini']);
    expect(namesOf(await list(tenant, `text=${encodeURIComponent('0%_S')}`))).toEqual(['100%_sure']);
    expect(namesOf(await list(tenant, `text=${encodeURIComponent('0__s')}`))).toEqual([]);
    expect(namesOf(await list(tenant, 'agent=support'))).toEqual(['100%_sure']);
    expect(namesOf(await list(tenant, `account=${encodeURIComponent(other.principal)}`))).toEqual(['100%_sure']);
    expect(await list(tenant, `provider_id=${tenant.provider.id}&agent=billing`)).toHaveLength(1);
    const hourAgo = new Date(server.services.now().getTime() - 60 * MINUTE_MS).toISOString();
    expect(namesOf(await list(tenant, `last_seen_after=${hourAgo}`))).toEqual(['100%_sure']);
    expect(namesOf(await list(tenant, `last_seen_before=${hourAgo}`))).toEqual(['GPT-5-mini']);
    expect(namesOf(await list(tenant, `first_seen_after=${hourAgo}`))).toEqual(['100%_sure']);
    expect(namesOf(await list(tenant, `first_seen_before=${hourAgo}`))).toEqual(['GPT-5-mini']);
  });

  test('the filter by agent follows calls that a later span moves to another agent', async () => {
    const tenant = await newTenant(server);
    const agentSpan = newSpanId();
    const traceId = newTraceId();
    const parts: SpanInput[] = [
      { ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }), parentSpanId: agentSpan },
      {
        name: 'invoke_agent planner',
        spanId: agentSpan,
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' },
      },
    ];
    // Exporters send a span when it ends, so the calls of an agent often arrive before the agent.
    for (const span of parts) {
      await sendSpans(server, tenant.sender, [{ ...span, traceId, service: 'worker' }]);
    }
    expect(namesOf(await list(tenant, 'agent=planner'))).toEqual(['gpt-5']);
    expect(namesOf(await list(tenant, 'agent=worker'))).toEqual(['planner']);
  });

  test('regression: evidence names the agents behind one service, where telemetry names them', async () => {
    const tenant = await newTenant(server);
    const start = BigInt(server.services.now().getTime() - MINUTE_MS) * 1_000_000n;
    const call = (model: string, agent?: string) => ({
      ...chat(model, {
        'gen_ai.provider.name': 'openai',
        ...(agent !== undefined && { 'gen_ai.agent.name': agent }),
      }),
      service: 'platform',
      start,
      end: start + 1_000_000n,
    });
    const agents = Array.from({ length: 12 }, (_, index) => `agent-${index}`);
    await sendSpans(server, tenant.sender, [
      call('shared'),
      ...agents.map((agent) => call('shared', agent)),
      call('unnamed'),
    ]);
    const evidenceOf = async (name: string) => (await tenant.observation(name)).evidence;
    const shared = await evidenceOf('shared');
    expect(shared.serviceNames).toEqual(['platform']);
    expect(shared.agents).toHaveLength(10);
    expect(agents).toEqual(expect.arrayContaining(shared.agents));
    expect(await evidenceOf('unnamed')).toMatchObject({ serviceNames: ['platform'], agents: [] });
    const callers = '/v1/usage?kind=model&name=shared&group_by=agent';
    const named: string[] = (await all(server, callers, tenant.operator)).map(({ agent }) => agent);
    expect(named.toSorted()).toEqual([...agents, 'platform'].toSorted());
  });

  test('regression: evidence names an agent whose span arrives after that of its call', async () => {
    const tenant = await newTenant(server);
    const [traceId, agentSpan] = [newTraceId(), newSpanId()];
    const model = chat('gpt-5', { 'gen_ai.provider.name': 'openai' });
    await sendSpans(server, tenant.sender, [{ ...model, traceId, parentSpanId: agentSpan, service: 'platform' }]);
    expect((await tenant.observation('gpt-5')).evidence.agents).toEqual([]);
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' };
    const around = { name: 'invoke_agent planner', kind: 1, attributes, traceId, spanId: agentSpan };
    await sendSpans(server, tenant.sender, [{ ...around, service: 'platform' }]);
    expect((await tenant.observation('gpt-5')).evidence.agents).toEqual(['planner']);
    // Nobody called the agent itself.
    const [planner] = await list(tenant, 'kind=agent');
    expect(planner).toMatchObject({ name: 'planner', evidence: { agents: [] } });
  });

  test('filters by the environment, in any case, in the list and the counts', async () => {
    const tenant = await newTenant(server);
    const seeIn = (model: string, resource: Record<string, string>) =>
      sendSpans(server, tenant.sender, [{ ...chat(model, { 'gen_ai.provider.name': 'openai' }), resource }]);
    await seeIn('live', { 'deployment.environment.name': 'Production', 'deployment.environment': 'staging' });
    await seeIn('both', { 'deployment.environment': 'production' });
    await seeIn('both', { 'deployment.environment': 'pre_prod' });
    await seeIn('notebook', {});
    await seeIn('odd', { 'deployment.environment.name': 'the machine of Ada' });
    expect(namesOf(await list(tenant, 'environment=production')).toSorted()).toEqual(['both', 'live']);
    expect(namesOf(await list(tenant, 'environment=PRE_PROD'))).toEqual(['both']);
    expect(namesOf(await list(tenant, 'environment=prod'))).toEqual([]);
    expect(namesOf(await list(tenant, 'environment=pre.prod'))).toEqual([]);
    expect(namesOf(await list(tenant, 'environment=other&sort=last_seen_at'))).toEqual(['odd']);
    expect((await tenant.observation('both'))['evidence'].environments).toEqual(['production', 'pre_prod']);
    expect((await tenant.observation('notebook'))['evidence'].environments).toEqual([]);
    const path = '/v1/runtime-observations/counts';
    expect(await server.ok('GET', `${path}?environment=staging`, { as: tenant.operator })).toMatchObject({ open: 0 });
    expect(await server.ok('GET', `${path}?environment=production`, { as: tenant.operator })).toMatchObject({
      open: 2,
    });
  });

  test.each(['view=none', 'environment=a%22b', 'min_risk=none', 'sort=none', 'first_seen_after=yesterday', 'text='])(
    'refuses %s',
    async (query) => {
      const tenant = await newTenant(server);
      const answered = await server.call('GET', `/v1/runtime-observations?${query}`, { as: tenant.operator });
      expect(answered.status, answered.text).toBe(422);
    },
  );

  test('sorts by lastSeenAt, and pages', async () => {
    const tenant = await newTenant(server);
    for (const [name, minutes] of [
      ['a', 30],
      ['b', 10],
      ['c', 20],
    ] as const)
      await see(tenant, name, { minutes });
    for (const limit of [1, 2, 3, 25]) {
      const path = `/v1/runtime-observations?sort=last_seen_at&limit=${limit}`;
      const items = await all(server, path, tenant.operator);
      // With several pages, what changed within the last minute is repeated at the end.
      expect(namesOf(items.slice(0, 3))).toEqual(['b', 'c', 'a']);
      expect(new Set(namesOf(items))).toEqual(new Set(['a', 'b', 'c']));
    }
  });

  test('sorts by risk, calls, name and time, with any page size', async () => {
    const tenant = await newTenant(server);
    for (const minutes of [50, 40, 30]) await see(tenant, 'beta two', { minutes });
    await see(tenant, 'Gamma', { minutes: 45 });
    await tenant.review((await tenant.observation('Gamma')).id, 'rejected');
    server.travel(2 * MINUTE_MS);
    await see(tenant, 'Gamma', { minutes: 1 });
    await see(tenant, 'alpha', { minutes: 20 });
    // After this time, what was sent before counts as unchanged.
    server.travel(5 * MINUTE_MS);
    const orders = {
      risk: ['Gamma', 'alpha', 'beta two'],
      calls: ['beta two', 'Gamma', 'alpha'],
      name: ['alpha', 'beta two', 'Gamma'],
      first_seen_at: ['alpha', 'Gamma', 'beta two'],
      last_seen_at: ['Gamma', 'alpha', 'beta two'],
      status: ['Gamma', 'alpha', 'beta two'],
    };
    for (const [sort, names] of Object.entries(orders)) {
      for (const limit of [1, 2, 3]) {
        const items = await all(server, `/v1/runtime-observations?sort=${sort}&limit=${limit}`, tenant.operator);
        expect(namesOf(items), `${sort} ${limit}`).toEqual(names);
      }
    }
  });

  test('sorts by provider, status and decision, with any page size', async () => {
    const tenant = await newTenant(server);
    const at = (provider: string, name: string) => chat(name, { 'gen_ai.provider.name': provider });
    await sendSpans(server, tenant.sender, [at('Zeta', 'first'), at('alpha', 'second'), at('mid', 'third')]);
    for (const [name, decision] of [
      ['third', 'approved'],
      ['second', 'rejected'],
    ] as const) {
      server.travel(1000);
      await tenant.review((await tenant.observation(name)).id, decision);
    }
    // After this time, what was sent before counts as unchanged.
    server.travel(5 * MINUTE_MS);
    const orders = {
      provider: ['second', 'third', 'first'],
      status: ['first', 'second', 'third'],
      reviewed_at: ['second', 'third', 'first'],
    };
    for (const [sort, names] of Object.entries(orders)) {
      for (const limit of [1, 2, 3]) {
        const items = await all(server, `/v1/runtime-observations?sort=${sort}&limit=${limit}`, tenant.operator);
        expect(namesOf(items), `${sort} ${limit}`).toEqual(names);
      }
    }
  });

  test('sorted by lastSeenAt misses nothing that is seen while a client pages', async () => {
    const tenant = await newTenant(server);
    for (let index = 0; index < 6; index += 1) await see(tenant, `m${index}`, { minutes: 60 + index });
    // After this time, what was sent before counts as unchanged.
    server.travel(5 * MINUTE_MS);
    const as = tenant.operator;
    const path = '/v1/runtime-observations?sort=last_seen_at&limit=2';
    const first = await server.ok('GET', path, { as });
    expect(namesOf(first.items)).toEqual(['m0', 'm1']);
    // One that was not read yet moves to the top, another one just above the position, by spans that came late.
    await see(tenant, 'm4', { minutes: 0 });
    await see(tenant, 'm5', { minutes: 65 });
    const found = [...namesOf(first.items)];
    for (let cursor = first.nextCursor; cursor !== null; ) {
      const page: Body = await server.ok('GET', `${path}&cursor=${encodeURIComponent(cursor)}`, { as });
      found.push(...namesOf(page.items));
      cursor = page.nextCursor;
    }
    expect(new Set(found)).toEqual(new Set(['m0', 'm1', 'm2', 'm3', 'm4', 'm5']));
    expect(found.filter((name) => ['m0', 'm1', 'm2', 'm3'].includes(name))).toEqual(['m0', 'm1', 'm2', 'm3']);
  });

  test('sorted by lastSeenAt is 422 if there are too many to sort', async () => {
    const tenant = await newTenant(server);
    const { db } = server.services;
    const setCount = (count: number) =>
      db.updateTable('tenants').set({ observation_count: count }).where('id', '=', tenant.tenantId).execute();
    await setCount(20_001);
    const as = tenant.operator;
    const sorted = await server.call('GET', '/v1/runtime-observations?sort=last_seen_at', { as });
    expectInvalid(sorted, { loc: ['query', 'sort'], type: 'value_error' });
    await setCount(50_001);
    const counted = await server.call('GET', '/v1/runtime-observations/counts', { as });
    expectInvalid(counted, { loc: ['query', 'tenant_id'], type: 'value_error' });
    const grouped = await server.call('GET', '/v1/runtime-observations/groups?by=agent', { as });
    expectInvalid(grouped, { loc: ['query', 'tenant_id'], type: 'value_error' });
    expect((await server.call('GET', '/v1/runtime-observations', { as })).status).toBe(200);
  });
});

describe('count_runtime_observations', () => {
  test('counts what needs a decision in the reach of the caller, by view and by risk', async () => {
    const tenant = await newTenant(server);
    await newTenant(server).then((other) => see(other, 'elsewhere'));
    for (const name of ['one', 'two', 'done', 'rejected']) await see(tenant, name);
    await sendSpans(server, tenant.sender, [chat('wild', { 'gen_ai.provider.name': 'mistral_ai' })]);
    await tenant.review((await tenant.observation('done')).id, 'ignored');
    await tenant.review((await tenant.observation('rejected')).id, 'rejected');
    server.travel(2 * MINUTE_MS);
    await see(tenant, 'rejected', { minutes: 0 });
    const counts = (query = '') => server.ok('GET', `/v1/runtime-observations/counts${query}`, { as: tenant.operator });
    expect(await counts()).toEqual({
      open: 4,
      new: 3,
      seenAgain: 1,
      changedDefinition: 0,
      byRisk: { low: 0, medium: 2, high: 2 },
    });
    expect(await counts(`?provider_id=${tenant.provider.id}`)).toMatchObject({ open: 3 });
    expect(await counts('?text=ONE')).toMatchObject({ open: 1, new: 1 });
    expect(await counts('?min_risk=medium')).toMatchObject({ open: 4, new: 3 });
    const byRisk = { low: 0, medium: 0, high: 2 };
    expect(await counts('?min_risk=high')).toMatchObject({ open: 2, new: 1, seenAgain: 1, byRisk });
    expect(await list(tenant, 'view=open&min_risk=high')).toHaveLength(2);
  });
});

describe('group_runtime_observations', () => {
  const groups = (tenant: Tenant, query: string) =>
    server.ok('GET', `/v1/runtime-observations/groups?${query}`, { as: tenant.operator });

  test('counts the observations of each provider, those with high risk first', async () => {
    const tenant = await newTenant(server);
    await newTenant(server).then((other) => see(other, 'elsewhere'));
    for (const name of ['one', 'two', 'done']) await see(tenant, name);
    await sendSpans(server, tenant.sender, [chat('wild', { 'gen_ai.provider.name': 'mistral_ai' })]);
    await tenant.review((await tenant.observation('done')).id, 'ignored');
    const { providerId, lastSeenAt } = await tenant.observation('wild');
    const { items, total } = await groups(tenant, 'by=provider&view=new');
    expect(total).toBe(2);
    expect(items).toEqual([
      { key: providerId, count: 1, byRisk: { low: 0, medium: 0, high: 1 }, lastSeenAt },
      expect.objectContaining({ key: tenant.provider.id, count: 2, byRisk: { low: 0, medium: 2, high: 0 } }),
    ]);
    expect(await groups(tenant, 'by=provider&view=new&min_risk=high')).toMatchObject({ total: 1 });
    expect(await groups(tenant, 'by=provider&text=none')).toEqual({ items: [], total: 0 });
  });

  test('counts an observation for each agent that called it, as the filter by agent does', async () => {
    const tenant = await newTenant(server);
    await see(tenant, 'shared', { service: 'billing' });
    await see(tenant, 'shared', { service: 'support' });
    await see(tenant, 'own', { service: 'support' });
    const { items } = await groups(tenant, 'by=agent&view=new');
    expect(items.map(({ key, count }: Body) => [key, count])).toEqual([
      ['support', 2],
      ['billing', 1],
    ]);
    expect(namesOf(await list(tenant, 'view=new&agent=support')).toSorted()).toEqual(['own', 'shared']);
  });

  test('answers the first 100 groups, and says how many there are', async () => {
    const tenant = await newTenant(server);
    await sendSpans(
      server,
      tenant.sender,
      Array.from({ length: 101 }, (_, index) => ({
        ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }),
        service: `agent-${index}`,
      })),
    );
    const { items, total } = await groups(tenant, 'by=agent');
    expect([items.length, total]).toEqual([100, 101]);
  });

  test.each(['', 'by=kind', 'by=agent&view=none'])('refuses %j', async (query) => {
    const tenant = await newTenant(server);
    const answered = await server.call('GET', `/v1/runtime-observations/groups?${query}`, { as: tenant.operator });
    expect(answered.status, answered.text).toBe(422);
  });
});

describe('get_runtime_observation', () => {
  test('answers one observation, with its tag', async () => {
    const tenant = await newTenant(server);
    await see(tenant, 'gpt-5');
    const observation = await tenant.observation('gpt-5');
    const path = `/v1/runtime-observations/${observation.id}`;
    const answered = await server.call('GET', path, { as: tenant.operator });
    expect(answered.body).toEqual(observation);
    expect(answered.headers.get('etag')).toEqual(expect.any(String));
  });

  test('is 404 in another tenant', async () => {
    const tenant = await newTenant(server);
    const other = await newTenant(server);
    await see(tenant, 'gpt-5');
    const { id } = await tenant.observation('gpt-5');
    const answered = await server.call('GET', `/v1/runtime-observations/${id}`, { as: other.operator });
    expectProblem(answered, 404, 'runtime_observation_not_found');
  });
});
