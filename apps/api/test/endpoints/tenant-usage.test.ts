import { DEFAULT_TENANT_LIMITS } from '@quartermaster/contracts/tenant-usage.ts';
import * as contract from '@quartermaster/contracts/tenant-usage.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { newTenant as governedTenant } from '../governance/loop-support.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { OPERATIONS } from '../support/records.ts';
import { modelRequestLogs } from '../telemetry/otlp/wire.ts';
import { sendSpans } from '../telemetry/traces/sending.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';
import { limitsOf, newTenant } from './limited-tenant.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract, LOOPBACK);
});
/** FAILED_PRECONDITION of google.rpc.Code: OTLP answers have no other code. */
const OTLP_REFUSAL = '9';

/** Every operation that declares the limit has to be refused by a test here. */
const REFUSALS = OPERATIONS.flatMap(({ operation: { operationId, errors } }) => {
  if (!errors.includes('tenant_limit_reached')) return [];
  return [`${operationId} ${operationId.startsWith('ingest_') ? OTLP_REFUSAL : 'tenant_limit_reached'}`];
});
checkCoverageAfterAll(() => server, REFUSALS);

test('get_tenant_usage shows the default limits, and what is used', async () => {
  const { tenantId, usage } = await newTenant(server);
  const { tenantId: shown, ...quotas } = await usage();
  expect(shown).toBe(tenantId);
  for (const [name, limit] of Object.entries(DEFAULT_TENANT_LIMITS)) {
    expect(quotas[name]).toMatchObject({ limit, isDefault: true });
  }
  expect(quotas).toMatchObject({ serviceAccounts: { used: 1 }, apiKeys: { used: 1 }, providers: { used: 0 } });
});

test('get_tenant_usage counts the traces that a shorter retention would remove', async () => {
  const { tenantId, operator: as, see } = await governedTenant(server);
  const path = `/v1/tenants/${tenantId}/usage`;
  const toRemove = async (days: number) =>
    (await server.ok('GET', `${path}?span_retention_days=${days}`, { as })).tracesToRemove;
  await see('gpt-5');
  await see('gpt-6');
  server.travel(2 * 24 * 3600 * 1000);
  await see('gpt-7');
  expect([await toRemove(1), await toRemove(3)]).toEqual([2, 0]);
  expect((await server.ok('GET', path, { as })).tracesToRemove).toBeNull();
  const refused = await server.call('GET', `${path}?span_retention_days=0`, { as });
  expectInvalid(refused, { loc: ['query', 'span_retention_days'], type: 'greater_than_equal' });
});

test('update_tenant_limits sets a limit, keeps the others, and null restores the default', async () => {
  const { tenantId, setLimits } = await newTenant(server);
  expect(await setLimits({ providers: 3, gateways: 4 })).toMatchObject({
    providers: { limit: 3, isDefault: false },
    gateways: { limit: 4 },
  });
  expect(await setLimits({ providers: null })).toMatchObject({
    providers: { limit: DEFAULT_TENANT_LIMITS.providers, isDefault: true },
    gateways: { limit: 4 },
  });
  await setLimits({ gateways: 4 });
  const events = await auditOf(server, { operation: 'update_tenant_limits', target_id: tenantId });
  expect(events.map((event) => event.changedFields)).toEqual([
    ['limits.providers'],
    ['limits.gateways', 'limits.providers'],
  ]);
  const path = `/v1/tenants/${tenantId}/limits`;
  const refused = await server.call('PUT', path, { as: server.admin, body: { gateways: -1, wheels: 4 } });
  expectInvalid(
    refused,
    { loc: ['body', 'gateways'], type: 'greater_than_equal' },
    { loc: ['body', 'wheels'], type: 'extra_forbidden' },
  );
});

test('only platform administrators set limits; callers who reach the whole tenant see its usage', async () => {
  const { tenantId, as } = await newTenant(server);
  const limits = `/v1/tenants/${tenantId}/limits`;
  expectProblem(await server.call('PUT', limits, { as, body: {} }), 403, 'platform_administrator_required');
  const missing = await server.call('PUT', '/v1/tenants/none/limits', { as: server.admin, body: {} });
  expectProblem(missing, 404, 'tenant_not_found');
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  const stranger = await accountWithKey(server, { tenantId: unique('tenant') });
  const usage = `/v1/tenants/${tenantId}/usage`;
  expectProblem(await server.call('GET', usage, { as: { key: bound.key } }), 403, 'tenant_forbidden');
  expectProblem(await server.call('GET', usage, { as: { key: stranger.key } }), 404, 'tenant_not_found');
});

/** Creates one record of each kind that is limited. */
const CREATIONS: Record<string, { resource: string; create: (id: string) => [path: string, body: object] }> = {
  'a service account': { resource: 'serviceAccounts', create: (id) => ['/v1/service-accounts', { id, name: id }] },
  'a provider': { resource: 'providers', create: (id) => ['/v1/providers', { name: id, kind: 'llm' }] },
  'a gateway': { resource: 'gateways', create: (id) => ['/v1/gateways', { name: id, providerIds: [] }] },
};

test.each(Object.entries(CREATIONS))(
  '%s beyond the limit of the tenant is refused, and succeeds after a deletion',
  async (_, row) => {
    const { tenantId, as, setLimits, usage } = await newTenant(server);
    const { used } = (await usage())[row.resource];
    await setLimits({ [row.resource]: used + 2 });
    const send = (id: string) => {
      const [path, body] = row.create(id);
      return server.call('POST', path, { as, body: { ...body, tenantId } });
    };
    const created = [await send(unique('a')), await send(unique('b'))];
    expect(created.map(({ status }) => status)).toEqual([200, 200]);
    const refused = await send(unique('c'));
    expectProblem(refused, 409, 'tenant_limit_reached');
    expect(refused.body.detail).toContain(String(used + 2));
    expect((await usage())[row.resource]).toEqual({ used: used + 2, limit: used + 2, isDefault: false });
    const [path] = row.create('');
    await server.ok('DELETE', `${path}/${created[0]?.body.id}`, { as });
    expect((await send(unique('d'))).status).toBe(200);
  },
);

describe('the other limits', () => {
  test('API keys: expired and revoked ones do not count, and a rotation without overlap needs no room', async () => {
    const { as, setLimits, usage } = await newTenant(server);
    const account = await server.ok('POST', '/v1/service-accounts', { as, body: { name: 'agent' } });
    const path = `/v1/service-accounts/${account.id}/keys`;
    const mint = (more: object = {}) => server.call('POST', path, { as, body: { scopes: ['traces:write'], ...more } });
    const { used } = (await usage()).apiKeys;
    await setLimits({ apiKeys: used + 2 });
    const ending = await mint({ expiresAt: new Date(server.services.now().getTime() + 60_000).toISOString() });
    const kept = await mint();
    expect([ending.status, kept.status]).toEqual([200, 200]);
    expectProblem(await mint(), 409, 'tenant_limit_reached');
    const rotate = (overlapSeconds: number) =>
      server.call('POST', `${path}/${kept.body.id}/rotate`, { as, body: { overlapSeconds } });
    expectProblem(await rotate(60), 409, 'tenant_limit_reached');
    const rotated = await rotate(0);
    expect(rotated.status, rotated.text).toBe(200);
    server.travel(61_000);
    const replacement = await mint();
    expect(replacement.status, replacement.text).toBe(200);
    await server.ok('DELETE', `${path}/${replacement.body.id}`, { as });
    expect((await mint()).status).toBe(200);
  });

  test('inventory items: creating one by one', async () => {
    const { as, setLimits } = await newTenant(server);
    const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'tools', kind: 'mcp' } });
    await setLimits({ inventoryItems: 1 });
    const add = (name: string) =>
      server.call('POST', `/v1/providers/${provider.id}/inventory`, { as, body: { kind: 'tool', name } });
    expect((await add('first')).status).toBe(200);
    expectProblem(await add('second'), 409, 'tenant_limit_reached');
  });

  test('regression: inventory items: applying recommendations beyond the limit is refused, and changes nothing', async () => {
    const tenant = await governedTenant(server);
    await tenant.see('first');
    await tenant.see('second');
    const limit = { as: server.admin, body: { inventoryItems: 1 } };
    await server.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, limit);
    const recommendationIds = (await tenant.recommendations()).map(({ id }) => id);
    const apply = (body: object) =>
      server.call('POST', `${tenant.path}/recommendations/apply`, { as: tenant.operator, body });
    for (const dryRun of [true, false]) {
      expectProblem(await apply({ recommendationIds, dryRun }), 409, 'tenant_limit_reached');
    }
    const planned = { as: tenant.operator, body: { recommendationIds } };
    const plan = await server.call('POST', `${tenant.path}/recommendations/plan`, planned);
    expectProblem(plan, 409, 'tenant_limit_reached');
    expect(await tenant.items()).toEqual([]);
    expect(await tenant.recommendations()).toHaveLength(2);
    expect((await apply({ recommendationIds: recommendationIds.slice(1) })).status).toBe(200);
    expectProblem(await apply({ recommendationIds }), 409, 'tenant_limit_reached');
    // An undo removes the item, so another one can be created.
    await server.ok('POST', `/v1/recommendations/${recommendationIds[1]}/undo`, { as: tenant.operator });
    expect((await apply({ recommendationIds: recommendationIds.slice(0, 1) })).status).toBe(200);
  });

  test('open sessions: a revoked one does not count', async () => {
    const { as, setLimits } = await newTenant(server);
    const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [] } });
    await setLimits({ openSessions: 1 });
    const path = `/v1/gateways/${gateway.id}/sessions`;
    const open = () => server.call('POST', path, { as, body: {} });
    const first = await open();
    expect(first.status, first.text).toBe(200);
    expectProblem(await open(), 409, 'tenant_limit_reached');
    await server.ok('DELETE', `${path}/${first.body.id}`, { as });
    expect((await open()).status).toBe(200);
  });

  test('stored bytes: manifests, spans and log records count, and all are refused at the limit', async () => {
    const { as, setLimits, usage } = await newTenant(server);
    const publish = (note: string) =>
      server.call('POST', '/v1/manifests', { as, body: { kind: 'agent', name: 'agent', spec: { 'x-note': note } } });
    const { used: before } = (await usage()).storedBytes;
    expect((await publish('x'.repeat(1000))).status).toBe(200);
    const { used } = (await usage()).storedBytes;
    expect(used - before).toBeGreaterThan(1000);
    expect(used - before).toBeLessThan(1200);
    const send = () => server.call('POST', '/v1/traces', { as, body: oneSpan() });
    expect((await send()).status).toBe(200);
    const withSpan = (await usage()).storedBytes.used;
    expect(withSpan).toBeGreaterThan(used + 100);
    await setLimits({ storedBytes: withSpan });
    expectProblem(await publish('y'), 409, 'tenant_limit_reached');
    expect((await send()).status).toBe(409);
    const logs = modelRequestLogs(unique('request'));
    expect((await server.call('POST', '/v1/logs', { as, body: logs })).status).toBe(409);
    expect((await usage()).storedBytes.used).toBe(withSpan);
  });

  test('stored bytes: the version of a manifest that declares a channel', async () => {
    const { as, setLimits } = await newTenant(server);
    const body = { kind: 'agent', name: 'support', spec: {} };
    const manifest = await server.ok('POST', '/v1/manifests', { as, body });
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'support',
      'openclaw.channel': 'webchat',
    };
    await sendSpans(server, as, [{ name: 'invoke_agent support', kind: 1, attributes }]);
    const { items } = await server.ok('GET', '/v1/agents', { as });
    await setLimits({ storedBytes: 1 });
    const path = `/v1/agents/${items[0].id}/channels/webchat/declare`;
    expectProblem(await server.call('POST', path, { as }), 409, 'tenant_limit_reached');
    expect(await server.ok('GET', `/v1/manifests/${manifest.id}`, { as })).toMatchObject({ status: 'active' });
  });
});

/** A tenant with one record of each kind, and writes that need room. */
async function tenantWithRecords() {
  const governed = await governedTenant(server);
  const { tenantId, operator: as } = governed;
  const long = { note: 'x'.repeat(1500) };
  const account = await server.ok('POST', '/v1/service-accounts', { as, body: { name: 'agent', metadata: long } });
  const keys = `/v1/service-accounts/${account.id}/keys`;
  const key = await server.ok('POST', keys, { as, body: { scopes: ['traces:write'] } });
  const baseUrl = 'https://tools.example.com';
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'tools', kind: 'mcp', baseUrl } });
  const items = `/v1/providers/${provider.id}/inventory`;
  const item = await server.ok('POST', items, { as, body: { kind: 'tool', name: 'echo', attributes: long } });
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [provider.id] } });
  await governed.see('reviewed');
  await governed.see('undecided');
  const reviewed = await governed.observation('reviewed');
  const undecided = await governed.observation('undecided');
  const observations = '/v1/runtime-observations';
  await server.ok('POST', `${observations}/${reviewed.id}/review`, { as, body: { decision: 'approved' } });
  const recommendations = await governed.recommendations();
  const ofUndecided = recommendations.filter(({ change }) => change.after?.name === 'undecided');
  const recommendationIds = ofUndecided.map(({ id }) => id);
  const longer = { note: 'x'.repeat(2500) };
  const url = `https://example.com/${'x'.repeat(1500)}`;
  const email = `${unique('a')}@example.com`;
  const writes: Record<string, [method: 'POST' | 'PUT', path: string, body: object]> = {
    'a service account': ['POST', '/v1/service-accounts', { name: 'second' }],
    'an account in a new sub-tenant': ['POST', '/v1/service-accounts', { name: 'third', tenantId, subTenantId: 'eu' }],
    'an API key': ['POST', keys, { scopes: ['traces:write'] }],
    'a provider': ['POST', '/v1/providers', { name: 'more', kind: 'mcp' }],
    'the first credential of a provider': ['PUT', `/v1/providers/${provider.id}/credential`, { secret: 'first' }],
    'a secret header': ['PUT', `/v1/providers/${provider.id}/secret-headers/x-first`, { secret: 'first' }],
    'a long inventory item': ['POST', items, { kind: 'tool', name: 'second', attributes: long }],
    'a gateway': ['POST', '/v1/gateways', { name: 'second', providerIds: [] }],
    'a session': ['POST', `/v1/gateways/${gateway.id}/sessions`, {}],
    'an invitation': ['POST', `/v1/tenants/${tenantId}/memberships`, { email, role: 'viewer' }],
    'an item that a recommendation adds': ['POST', `${governed.path}/recommendations/apply`, { recommendationIds }],
    'longer metadata of an account': ['PUT', `/v1/service-accounts/${account.id}`, { metadata: longer }],
    'long metadata of the own account': ['PUT', '/v1/me/profile', { metadata: longer }],
    'long metadata of a provider': ['PUT', `/v1/providers/${provider.id}`, { metadata: longer }],
    'longer attributes of an item': ['PUT', `${items}/${item.id}`, { attributes: longer }],
    'a long address of a gateway': ['PUT', `/v1/gateways/${gateway.id}`, { url }],
    'a reopened observation': ['PUT', `${observations}/${reviewed.id}`, { status: 'open' }],
  };
  const limits = limitsOf(server, tenantId, as);
  return { ...governed, ...limits, as, writes, keys, key, account, provider, item, items, reviewed, undecided };
}

describe('records count as stored bytes', () => {
  test('at the limit every creation and every long change is refused, and changes nothing; below it each is counted', async () => {
    const { writes, as, setLimits, usage } = await tenantWithRecords();
    const { used } = (await usage()).storedBytes;
    await setLimits({ storedBytes: used });
    for (const [what, [method, path, body]] of Object.entries(writes)) {
      const refused = await server.call(method, path, { as, body });
      expect([what, refused.status, refused.body.code]).toEqual([what, 409, 'tenant_limit_reached']);
    }
    expect((await usage()).storedBytes.used).toBe(used);
    await setLimits({ storedBytes: null });
    let before = used;
    for (const [what, [method, path, body]] of Object.entries(writes)) {
      const written = await server.call(method, path, { as, body });
      expect([what, written.status], written.text).toEqual([what, 200]);
      const { used: after } = (await usage()).storedBytes;
      expect(after - before, what).toBeGreaterThanOrEqual(500);
      before = after;
    }
  });

  test('at the limit, whatever protects still works: block, reject, disable, rotate, revoke, shrink and delete', async () => {
    const tenant = await tenantWithRecords();
    const { as, setLimits, tenantId, account, provider, item, items, keys, key } = tenant;
    const credential = `/v1/providers/${provider.id}/credential`;
    await server.ok('PUT', credential, { as, body: { secret: 'first' } });
    await setLimits({ storedBytes: 0 });
    const observation = (id: string) => `/v1/runtime-observations/${id}/review`;
    await server.ok('PUT', `${items}/${item.id}`, { as, body: { status: 'blocked' } });
    // As a client does that reads a record, changes it and sends all of it.
    const { title, description, attributes } = item;
    await server.ok('PUT', `${items}/${item.id}`, { as, body: { title, description, attributes, status: 'retired' } });
    await server.ok('PUT', `${items}/${item.id}`, { as, body: { attributes: { note: 'x'.repeat(1400) } } });
    await server.ok('POST', items, { as, body: { kind: 'tool', name: 'undeclared', status: 'blocked' } });
    await server.ok('POST', observation(tenant.reviewed.id), { as, body: { decision: 'rejected' } });
    await server.ok('POST', observation(tenant.undecided.id), { as, body: { decision: 'ignored' } });
    const again = await server.call('POST', observation(tenant.undecided.id), { as, body: { decision: 'approved' } });
    expectProblem(again, 409, 'tenant_limit_reached');
    await server.ok('PUT', credential, { as, body: { secret: 'second' } });
    const rotated = await server.ok('POST', `${keys}/${key.id}/rotate`, { as, body: { overlapSeconds: 0 } });
    await server.ok('DELETE', `${keys}/${rotated.id}`, { as });
    await server.ok('PUT', `/v1/providers/${provider.id}`, { as, body: { description: 'x'.repeat(900) } });
    await server.ok('POST', `/v1/service-accounts/${account.id}/disable`, { as });
    await server.ok('DELETE', `/v1/service-accounts/${account.id}`, { as });
    const settings = { recordRetentionDays: 30 };
    await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body: { settings } });
  });

  test('at the limit a task whose observation was reviewed before can be rejected, and not approved', async () => {
    const { tenantId, operator: as, see, observation, review, tasks } = await governedTenant(server);
    await see('seen');
    const { id } = await observation('seen');
    await review(id, 'rejected');
    server.travel(2 * 3_600_000);
    await see('seen');
    await server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body: { storedBytes: 0 } });
    const [task] = await tasks();
    expect(task?.subject.id).toBe(id);
    const complete = (outcome: string) =>
      server.call('POST', `/v1/operator/tasks/${task?.id}/complete`, { as, body: { outcome } });
    expectProblem(await complete('approved'), 409, 'tenant_limit_reached');
    expect((await complete('rejected')).status).toBe(200);
  });

  test('a sync that finds more than there is room for fails, and changes nothing', async () => {
    const { as, setLimits, usage } = await newTenant(server);
    const models = Array.from({ length: 200 }, (_, index) => ({ id: `model-${index}`, object: 'model' }));
    const peer = await startPeer((_req, res) => res.end(JSON.stringify({ object: 'list', data: models })));
    const provider = await server.ok('POST', '/v1/providers', {
      as,
      body: { name: 'models', kind: 'llm', baseUrl: peer.url },
    });
    const sync = () => server.call('POST', `/v1/providers/${provider.id}/sync`, { as });
    const { used } = (await usage()).storedBytes;
    await setLimits({ storedBytes: used + 10_000 });
    expectProblem(await sync(), 409, 'tenant_limit_reached');
    expect((await usage()).inventoryItems.used).toBe(0);
    await setLimits({ storedBytes: null });
    expect((await sync()).status).toBe(200);
    expect((await usage()).storedBytes.used - used).toBeGreaterThan(200 * 500);
  });
});

test('sub-tenants and memberships beyond their limits are refused', async () => {
  const { tenantId, as, setLimits, usage } = await newTenant(server);
  const inSubTenant = (subTenantId: string) =>
    server.call('POST', '/v1/service-accounts', { as, body: { name: 'agent', tenantId, subTenantId } });
  const invite = () => {
    const body = { email: `${unique('a')}@example.com`, role: 'viewer' };
    return server.call('POST', `/v1/tenants/${tenantId}/memberships`, { as, body });
  };
  await setLimits({ subTenants: 1, memberships: 1 });
  expect([(await inSubTenant('eu')).status, (await invite()).status]).toEqual([200, 200]);
  expectProblem(await inSubTenant('us'), 409, 'tenant_limit_reached');
  expect((await inSubTenant('eu')).status).toBe(200);
  expectProblem(await invite(), 409, 'tenant_limit_reached');
  expect(await usage()).toMatchObject({ subTenants: { used: 1, limit: 1 }, memberships: { used: 1, limit: 1 } });
});

/** An OTLP request with one span of a model. */
function oneSpan(): object {
  const hex = (length: number) => Array.from({ length }, () => Math.floor(Math.random() * 16).toString(16)).join('');
  const time = `${Date.parse('2026-03-01T12:00:00Z')}000000`;
  const span = { traceId: hex(32), spanId: hex(16), name: 'chat', startTimeUnixNano: time, endTimeUnixNano: time };
  return { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
}
