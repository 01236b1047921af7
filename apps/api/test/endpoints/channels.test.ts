import * as contract from '@quartermaster/contracts/channels.ts';
import { type AgentName, agentIdOf } from '../../src/resources/agents/known-agents.ts';
import { removeOldUsage } from '../../src/telemetry/usage/retention.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import {
  all,
  type AttributeInput,
  chat,
  newSpanId,
  newTraceId,
  nowInNanoseconds,
  sendSpans,
  type SpanInput,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** The run of an agent. */
function run(agent: string, attributes: Record<string, AttributeInput>): SpanInput {
  const start = nowInNanoseconds(server);
  const named = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent };
  return { name: `invoke_agent ${agent}`, kind: 1, attributes: { ...named, ...attributes }, start };
}

async function newTenant() {
  const tenantId = unique('channels');
  const as = { key: (await accountWithKey(server, { tenantId })).key };
  const declare = (name: string, channels: string[], place: object = {}) =>
    server.ok('POST', '/v1/manifests', { as, body: { name, kind: 'agent', spec: { channels }, tenantId, ...place } });
  return { tenantId, as, declare, send: (...spans: SpanInput[]) => sendSpans(server, as, spans) };
}

const statesOf = (items: Body[]) => items.map(({ agent, channel, state }) => `${agent} ${channel} ${state}`);

describe('list_channels', () => {
  test('compares the channels of manifests with those that runs named', async () => {
    const { tenantId, as, declare, send } = await newTenant();
    const manifest = await declare('support', ['slack', 'email']);
    await send(
      run('support', { 'microsoft.channel.name': 'Slack' }),
      run('support', { 'openclaw.channel': 'webchat' }),
      run('shadow', { 'agent.channel.kind': 'telegram' }),
    );
    const items = await all(server, '/v1/channels', as);
    expect(statesOf(items)).toEqual([
      'shadow telegram seen_and_undeclared',
      'support email declared_and_silent',
      'support slack declared_and_seen',
      'support webchat seen_and_undeclared',
    ]);
    const now = server.services.now().toISOString();
    expect(items[2]).toEqual({
      tenantId,
      subTenantId: null,
      agent: 'support',
      channel: 'slack',
      state: 'declared_and_seen',
      manifestId: manifest.id,
      firstSeenAt: expect.any(String),
      lastSeenAt: expect.any(String),
    });
    expect(items[2]?.lastSeenAt <= now).toBe(true);
    expect(items[0]).toMatchObject({ manifestId: null });
    expect(items[1]).toMatchObject({ firstSeenAt: null, lastSeenAt: null, manifestId: manifest.id });
    expect(await all(server, '/v1/channels?agent=support&state=seen_and_undeclared', as)).toEqual([items[3]]);
    expectInvalid(await server.call('GET', '/v1/channels?state=open', { as }), {
      loc: ['query', 'state'],
      type: 'enum',
    });
  });

  test('a channel that is added to the manifest is declared, and one that is removed is undeclared again', async () => {
    const { as, declare, send } = await newTenant();
    await send(run('support', { 'openclaw.channel': 'slack' }));
    await declare('support', ['slack', 'email', 'slack']);
    expect(statesOf(await all(server, '/v1/channels', as))).toEqual([
      'support email declared_and_silent',
      'support slack declared_and_seen',
    ]);
    const { id } = await declare('support', ['email']);
    expect(statesOf(await all(server, '/v1/channels', as))).toEqual([
      'support email declared_and_silent',
      'support slack seen_and_undeclared',
    ]);
    await server.ok('DELETE', `/v1/manifests/${id}`, { as });
    expect(statesOf(await all(server, '/v1/channels', as))).toEqual(['support slack seen_and_undeclared']);
  });

  test('only runs of agents that say so are seen: no tools, no model calls inside, no texts that are no plain names', async () => {
    const { as, send } = await newTenant();
    const traceId = newTraceId();
    const root = { ...run('support', {}), traceId, spanId: newSpanId() };
    const inside = { traceId, parentSpanId: root.spanId };
    await send(
      root,
      { ...toolRun('slack_send_message', { 'openclaw.channel': 'slack' }), ...inside },
      { ...chat('gpt-5', { 'openclaw.channel': 'slack' }), ...inside },
      { ...run('helper', { 'openclaw.channel': 'slack' }), ...inside },
      run('support', { 'openclaw.channel': 'jane@example.com' }),
      run('support', { 'openclaw.channel': '+49 151 12345' }),
      run('support', { 'openclaw.channel': '4915112345678' }),
      run('support', { 'openclaw.channel': 'a room of mine' }),
      run('support', { 'openclaw.channel': 'x'.repeat(65) }),
      run('support', { 'openclaw.channel': ['slack'] }),
      run('support', { 'openclaw.channel': '' }),
      run('support', { 'slack.channel': 'slack', 'openclaw.channel.id': 'slack' }),
    );
    expect(await all(server, '/v1/channels', as)).toEqual([]);
  });

  test('the run of an agent inside of the span of a service is seen', async () => {
    const { as, send } = await newTenant();
    await send({ ...run('support', { 'microsoft.channel.name': 'msteams' }), parentSpanId: newSpanId() });
    expect(statesOf(await all(server, '/v1/channels', as))).toEqual(['support msteams seen_and_undeclared']);
  });

  test('the run of OpenClaw is seen, which is inside of the span of a message', async () => {
    const { as, send } = await newTenant();
    const [traceId, message, harness] = [newTraceId(), newSpanId(), newSpanId()];
    const span = { traceId, scope: 'openclaw', kind: 1, start: nowInNanoseconds(server) };
    const attributes = { 'openclaw.channel': 'webchat', 'openclaw.agent': 'weather' };
    await send(
      { ...span, name: 'openclaw.message.processed', spanId: message, attributes: { 'openclaw.channel': 'webchat' } },
      { ...span, name: 'openclaw.harness.run', spanId: harness, parentSpanId: message, attributes },
      { ...span, name: 'openclaw.run', parentSpanId: harness, attributes },
    );
    expect(statesOf(await all(server, '/v1/channels', as))).toEqual(['weather webchat seen_and_undeclared']);
  });

  test('an agent has at most 50 seen channels', async () => {
    const { as, send } = await newTenant();
    const runs = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => run('busy', { 'openclaw.channel': `${prefix}${index}` }));
    await send(...runs('a', 40));
    await send(...runs('b', 40));
    expect(await all(server, '/v1/channels', as)).toHaveLength(50);
    await send(...runs('c', 1), run('other', { 'openclaw.channel': 'web' }));
    expect(await all(server, '/v1/channels', as)).toHaveLength(51);
  });

  test('the time of the last sight is stored once an hour, and a channel is forgotten with the usage', async () => {
    const sibling = await server.startSibling({});
    const tenantId = unique('channels');
    const as = { key: (await accountWithKey(sibling, { tenantId })).key };
    const see = () => sendSpans(sibling, as, [run('support', { 'openclaw.channel': 'slack' })]);
    const listed = () => all(sibling, '/v1/channels', as);
    await see();
    const [first] = await listed();
    sibling.travel(HOUR_MS / 2);
    await see();
    expect(await listed()).toEqual([first]);
    sibling.travel(HOUR_MS);
    await see();
    const [later] = await listed();
    expect(later?.firstSeenAt).toBe(first?.firstSeenAt);
    expect(Date.parse(later?.lastSeenAt) - Date.parse(first?.lastSeenAt)).toBeGreaterThanOrEqual(1.5 * HOUR_MS);
    const { settings } = await sibling.ok('GET', `/v1/tenants/${tenantId}`, { as: sibling.admin });
    sibling.travel((settings.usageRetentionDays - 1) * DAY_MS);
    await removeOldUsage(sibling.services);
    expect(await sibling.services.db.selectFrom('agent_channels').selectAll().execute()).toHaveLength(1);
    sibling.travel(2 * DAY_MS);
    await removeOldUsage(sibling.services);
    expect(await sibling.services.db.selectFrom('agent_channels').selectAll().execute()).toEqual([]);
  });

  test('a manifest of the whole tenant declares the channels of agents in sub-tenants, and sub-tenants see their own alone', async () => {
    const { tenantId, declare, as } = await newTenant();
    const manifest = await declare('support', ['slack', 'email']);
    const keyOf = async (subTenantId: string) => ({
      key: (await accountWithKey(server, { tenantId, subTenantId })).key,
    });
    const [east, west] = [await keyOf('east'), await keyOf('west')];
    await sendSpans(server, east, [run('support', { 'openclaw.channel': 'slack' })]);
    await sendSpans(server, west, [run('support', { 'openclaw.channel': 'sms' })]);
    const inEast = await all(server, '/v1/channels', east);
    expect(statesOf(inEast)).toEqual(['support email declared_and_silent', 'support slack declared_and_seen']);
    expect(inEast.map(({ subTenantId, manifestId }) => [subTenantId, manifestId])).toEqual([
      ['east', null],
      ['east', null],
    ]);
    const places = (await all(server, '/v1/channels', as)).map((one) => [one.subTenantId, one.channel, one.manifestId]);
    expect(places).toEqual([
      [null, 'email', manifest.id],
      [null, 'slack', manifest.id],
      ['east', 'email', manifest.id],
      ['east', 'slack', manifest.id],
      ['west', 'email', manifest.id],
      ['west', 'slack', manifest.id],
      ['west', 'sms', manifest.id],
    ]);
    // The manifest of the sub-tenant counts instead.
    await declare('support', ['sms'], { subTenantId: 'west' });
    expect(statesOf(await all(server, '/v1/channels', west))).toEqual(['support sms declared_and_seen']);
  });

  test('the record of an agent has its channels', async () => {
    const { as, declare, send } = await newTenant();
    await declare('support', ['slack', 'email']);
    await send(run('support', { 'openclaw.channel': 'slack' }), run('quiet', {}));
    const recordOf = async (name: string) => {
      const [{ id }] = (await server.ok('GET', `/v1/agents?text=${name}`, { as })).items;
      return server.ok('GET', `/v1/agents/${id}`, { as });
    };
    const { channels } = await recordOf('support');
    expect(channels).toEqual([
      { channel: 'email', state: 'declared_and_silent', firstSeenAt: null, lastSeenAt: null },
      {
        channel: 'slack',
        state: 'declared_and_seen',
        firstSeenAt: expect.any(String),
        lastSeenAt: expect.any(String),
      },
    ]);
    expect((await recordOf('quiet')).channels).toEqual([]);
  });

  test('manifests of agents alone declare channels, by plain names', async () => {
    const { as, tenantId } = await newTenant();
    const publish = (kind: string, channels: unknown) =>
      server.call('POST', '/v1/manifests', { as, body: { name: 'one', kind, spec: { channels }, tenantId } });
    for (const name of ['Slack', '#general', 'jane@example.com', '4915112345678', '']) {
      expect((await publish('agent', [name])).status, name).toBe(422);
    }
    expect((await publish('gateway', ['slack'])).status).toBe(422);
    expect(
      (
        await publish(
          'agent',
          Array.from({ length: 51 }, (_, index) => `c${index}`),
        )
      ).status,
    ).toBe(422);
    expect((await publish('agent', ['slack'])).status).toBe(200);
  });
});

describe('declare_agent_channel', () => {
  const declareChannel = async (as: { key: string }, agent: Body, channel = 'webchat') =>
    server.call(
      'POST',
      `/v1/agents/${agentIdOf({ subTenantId: null, ...agent } as AgentName)}/channels/${channel}/declare`,
      { as },
    );

  test('adds a channel that was seen to the manifest of the agent, for the gateways that use it as well', async () => {
    const { tenantId, as, send } = await newTenant();
    const spec = {
      declares: [{ provider: 'openai', kind: 'model', name: 'gpt-5' }],
      channels: ['email'],
      'x-team': 'blue',
    };
    const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: 'support', kind: 'agent', spec } });
    const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', manifestId: manifest.id } });
    await send(run('support', { 'openclaw.channel': 'webchat' }));
    const agent = { tenantId, name: 'support' };
    const { status, body } = await declareChannel(as, agent);
    expect([status, body.version, body.status]).toEqual([200, 2, 'active']);
    expect(body.spec).toEqual({ ...spec, channels: ['email', 'webchat'] });
    expect(statesOf(await all(server, '/v1/channels', as))).toEqual([
      'support email declared_and_silent',
      'support webchat declared_and_seen',
    ]);
    expect((await server.ok('GET', `/v1/gateways/${gateway.id}`, { as })).manifestId).toBe(body.id);
    expect(await server.ok('GET', `/v1/manifests/${manifest.id}`, { as })).toMatchObject({ status: 'superseded' });
    const events = (await auditOf(server, { tenant_id: tenantId })).filter(
      ({ operation }) => operation === 'declare_agent_channel',
    );
    expect(new Set(events.map(({ target }) => target.id))).toEqual(new Set([body.id, gateway.id, manifest.id]));
    // Repeating the call changes nothing.
    expect((await declareChannel(as, agent)).body).toEqual(body);
  });

  test('answers 404 for a channel that no run named, an agent without a manifest, and an agent out of reach', async () => {
    const { tenantId, as, declare, send } = await newTenant();
    await send(run('shadow', { 'openclaw.channel': 'webchat' }));
    await declare('support', ['email']);
    const codeOf = async (agent: Body, channel?: string, by = as) =>
      (await declareChannel(by, agent, channel)).body.code;
    expect(await codeOf({ tenantId, name: 'support' })).toBe('channel_not_found');
    expect(await codeOf({ tenantId, name: 'support' }, 'email')).toBe('channel_not_found');
    expect(await codeOf({ tenantId, name: 'shadow' })).toBe('manifest_not_found');
    expect(await codeOf({ tenantId, name: 'shadow' }, 'webchat', (await newTenant()).as)).toBe('agent_not_found');
  });

  test('refuses a manifest that has 50 channels', async () => {
    const { tenantId, as, declare, send } = await newTenant();
    await declare(
      'support',
      Array.from({ length: 50 }, (_, index) => `c${index}`),
    );
    await send(run('support', { 'openclaw.channel': 'webchat' }));
    const { status, body } = await declareChannel(as, { tenantId, name: 'support' });
    expect([status, body.detail[0].msg]).toEqual([422, expect.stringContaining('at most 50 channels')]);
  });

  test("changes the whole tenant's manifest only for a caller of the whole tenant", async () => {
    const { tenantId, as, declare } = await newTenant();
    await declare('support', ['email']);
    const east = { key: (await accountWithKey(server, { tenantId, subTenantId: 'east' })).key };
    await sendSpans(server, east, [run('support', { 'openclaw.channel': 'webchat' })]);
    const agent = { tenantId, subTenantId: 'east', name: 'support' };
    expect((await declareChannel(east, agent)).body.code).toBe('manifest_not_found');
    // A manifest of the sub-tenant without channels leaves those of the whole tenant in force.
    await server.ok('POST', '/v1/manifests', {
      as,
      body: { name: 'support', kind: 'agent', spec: {}, tenantId, subTenantId: 'east' },
    });
    expect((await declareChannel(as, agent)).body).toMatchObject({ subTenantId: null, version: 2 });
    expect(statesOf(await all(server, '/v1/channels', east))).toEqual([
      'support email declared_and_silent',
      'support webchat declared_and_seen',
    ]);
  });
});
