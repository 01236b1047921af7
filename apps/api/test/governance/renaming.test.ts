import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { accountWithKey } from '../support/people.ts';
import { type Body, type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, newSpanId, newTraceId, nowInNanoseconds, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

/** A provider `oai` of a tenant, and functions that use it. Spans name it by its current name. */
async function oai(tenant: Tenant) {
  const { operator: as } = tenant;
  let name = 'oai';
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name, kind: 'llm' } });
  const path = `/v1/providers/${provider.id}`;
  return {
    id: provider.id as string,
    path,
    rename: async (to: string) => {
      const answer = await server.call('PUT', path, { as, body: { name: to } });
      if (answer.status === 200) name = to;
      return answer;
    },
    declare: (model: string, status = 'available'): Promise<Body> =>
      server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: model, status } }),
    items: (): Promise<Body[]> => all(server, `${path}/inventory`, as),
    see: (model: string, from: Credential = tenant.sender) => {
      const start = nowInNanoseconds(server);
      return sendSpans(server, from, [{ ...chat(model, { 'gen_ai.provider.name': name }), start }]);
    },
    observations: (): Promise<Body[]> => all(server, `${path}/observations`, as),
    recommendations: (status = 'open'): Promise<Body[]> => all(server, `${path}/recommendations?status=${status}`, as),
  };
}

const factors = ({ risk }: Body): string[] => risk.factors.map(({ factor }: Body) => factor);

test('a block of `acme/gpt-5` blocks `gpt-5` after the provider is renamed to `Acme`', async () => {
  const tenant = await newTenant(server);
  const provider = await oai(tenant);
  await provider.declare('acme/gpt-5', 'blocked');
  expect((await provider.rename('Acme')).status).toBe(200);
  for (const spelling of ['acme/gpt-5', 'GPT-5', 'ACME/acme/gpt-5']) await provider.see(spelling);
  const observed = await provider.observations();
  expect(observed).toMatchObject([{ unknown: false, occurrences: 3 }]);
  expect(factors(observed[0])).toContain('blocked_item');
  const again = { as: tenant.operator, body: { kind: 'model', name: 'gpt-5' } };
  expectProblem(await server.call('POST', `${provider.path}/inventory`, again), 409, 'name_taken');
});

test('a block of `oai/gpt-5` still blocks `gpt-5` after the provider `oai` is renamed', async () => {
  const tenant = await newTenant(server);
  const provider = await oai(tenant);
  const item = await provider.declare('oai/gpt-5', 'blocked');
  await provider.see('gpt-5');
  await provider.rename('acme');
  await provider.see('acme/gpt-5');
  const [observed, ...others] = await provider.observations();
  expect(others).toEqual([]);
  expect(observed).toMatchObject({ unknown: false, inventoryItemId: item.id, occurrences: 2 });
  expect(factors(observed)).toContain('blocked_item');
  expect(await provider.items()).toMatchObject([{ id: item.id, name: 'gpt-5', status: 'blocked' }]);
  // The former name leaves no trace: unblocking the item unblocks the name.
  const body = { status: 'available' };
  await server.ok('PUT', `${provider.path}/inventory/${item.id}`, { as: tenant.operator, body });
  expect(factors((await provider.observations())[0])).not.toContain('blocked_item');
});

test('a rename that would make two items the same is refused with 409, and changes nothing', async () => {
  const tenant = await newTenant(server);
  const provider = await oai(tenant);
  await provider.declare('gpt-5');
  const blocked = await provider.declare('acme/gpt-5', 'blocked');
  await provider.see('acme/gpt-5');
  const before = [await provider.items(), await provider.observations(), await provider.recommendations()];
  const refused = await provider.rename('acme');
  expectProblem(refused, 409, 'name_taken');
  expect(refused.body.detail).toMatch(/"acme\/gpt-5" and "gpt-5" would be the same item/);
  expect([await provider.items(), await provider.observations(), await provider.recommendations()]).toEqual(before);
  expect((await server.ok('GET', provider.path, { as: tenant.operator })).name).toBe('oai');
  const [other] = before[0]?.filter(({ id }) => id !== blocked.id) ?? [];
  await server.ok('DELETE', `${provider.path}/inventory/${other?.['id']}`, { as: tenant.operator });
  expect((await provider.rename('acme')).status).toBe(200);
});

test.each(['acme', 'oai'])(
  'a call with spans before and after a rename counts once, for `%s/gpt-5`',
  async (prefix) => {
    const tenant = await newTenant(server);
    const provider = await oai(tenant);
    const [traceId, spanId] = [newTraceId(), newSpanId()];
    const at = { 'gen_ai.provider.name': 'oai' };
    await sendSpans(server, tenant.sender, [{ ...chat(`${prefix}/gpt-5`, at), traceId, spanId }]);
    await provider.rename('acme');
    const inner = { ...chat(`${prefix}/gpt-5`), name: 'inner', traceId, parentSpanId: spanId };
    await sendSpans(server, tenant.sender, [inner]);
    const observed = await all(server, '/v1/runtime-observations', tenant.operator);
    expect(observed).toMatchObject([{ providerId: provider.id, occurrences: 1 }]);
    const usage = await all(server, '/v1/usage?group_by=provider&group_by=name', tenant.operator);
    expect(usage).toMatchObject([{ providerId: provider.id, name: observed[0]?.['name'], calls: 1 }]);
  },
);

test('a rename that makes a granted spelling blocked revokes the session, with an audit event', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  const provider = await oai(tenant);
  const plain = await provider.declare('gpt-5');
  await provider.declare('acme/gpt-5', 'blocked');
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [provider.id] } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as, body: {} });
  await server.ok('DELETE', `${provider.path}/inventory/${plain.id}`, { as });
  await provider.rename('acme');
  const ended = await server.ok('GET', `/v1/gateways/${gateway.id}/sessions/${session.id}`, { as });
  expect(ended).toMatchObject({ status: 'revoked', revokedReason: 'item_blocked' });
  const events = await all(server, `/v1/audit-events?target_id=${session.id}&operation=update_provider`, as);
  expect(events).toMatchObject([{ changedFields: ['revokedAt', 'revokedReason'] }]);
});

test('merged observations keep the last review and add up their counts, in each sub-tenant separately', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  const east = await accountWithKey(server, { tenantId: tenant.tenantId, subTenantId: 'east' }, ['traces:write']);
  const provider = await oai(tenant);
  await provider.see('gpt-5');
  server.travel(1000);
  await provider.see('acme/gpt-5');
  await provider.see('acme/gpt-5');
  await provider.see('acme/gpt-5', east);
  const rejected = (await provider.observations()).find((one) => one.name === 'acme/gpt-5' && one.subTenantId === null);
  await tenant.review(rejected?.['id'], 'rejected');
  server.travel(1000);
  await provider.see('gpt-5');
  const before = await provider.observations();
  const plain = before.find(({ name }) => name === 'gpt-5');
  await provider.rename('acme');

  const after = await provider.observations();
  expect(after.map(({ subTenantId, occurrences }) => `${subTenantId}: ${occurrences}`).toSorted()).toEqual([
    'east: 1',
    'null: 4',
  ]);
  const kept = after.find(({ subTenantId }) => subTenantId === null);
  expect(kept).toMatchObject({
    id: rejected?.['id'],
    status: 'rejected',
    review: { decision: 'rejected' },
    unknown: true,
    firstSeenAt: plain?.['firstSeenAt'],
    lastSeenAt: plain?.['lastSeenAt'],
    lastSpanId: plain?.['lastSpanId'],
  });
  expect(kept?.['evidence'].names.toSorted()).toEqual(['acme/gpt-5', 'gpt-5']);
  const merged = await server.call('PUT', `/v1/runtime-observations/${plain?.['id']}`, { as, body: {} });
  expectProblem(merged, 404, 'runtime_observation_not_found');
  const tasks = (await tenant.tasks()).map(({ subject }) => subject.id);
  expect(tasks).not.toContain(plain?.['id']);
  // One recommendation is open, because of the sub-tenant. The next sighting is of a rejected subject.
  expect((await provider.recommendations()).map(({ kind }) => kind)).toEqual(['register_item']);
  server.travel(1000);
  await provider.see('GPT-5');
  expect((await provider.recommendations()).map(({ kind }): string => kind).toSorted()).toEqual([
    'block_item',
    'register_item',
  ]);
  expect((await provider.observations()).find(({ id }) => id === kept?.['id'])).toMatchObject({
    status: 'open',
    risk: { level: 'high' },
  });
});

test('regression: a blocked model that answered stays in the evidence when observations with many such models are merged', async () => {
  const tenant = await newTenant(server);
  const provider = await oai(tenant);
  await provider.declare('blocked-model', 'blocked');
  const answered = (model: string, by: string) =>
    chat(model, { 'gen_ai.provider.name': 'oai', 'gen_ai.response.model': by });
  const others = Array.from({ length: 50 }, (_, index) => answered('acme/gpt-5', `another-${index}`));
  await sendSpans(server, tenant.sender, others);
  server.travel(1000);
  await sendSpans(server, tenant.sender, [answered('gpt-5', 'blocked-model')]);
  await provider.rename('acme');
  const [merged, ...rest] = await provider.observations();
  expect(rest).toEqual([]);
  expect(merged).toMatchObject({ occurrences: 51, risk: { level: 'high' } });
  expect(merged?.['evidence'].responseModels).toContain('blocked-model');
  expect(merged?.['evidence'].responseModels).toHaveLength(50);
});

test('an observation merged with a declared model supersedes its recommendation, and a dismissal stays after the rename', async () => {
  const tenant = await newTenant(server);
  const provider = await oai(tenant);
  await provider.declare('gpt-5');
  await provider.see('acme/gpt-5');
  await provider.see('acme/other');
  const open = await provider.recommendations();
  const [other] = open.filter(({ change }) => change.after.name === 'acme/other');
  const body = { reason: 'not wanted' };
  await server.ok('POST', `/v1/recommendations/${other?.['id']}/dismiss`, { as: tenant.operator, body });
  await provider.rename('acme');
  expect(await provider.recommendations()).toEqual([]);
  expect(await provider.recommendations('superseded')).toHaveLength(1);
  const known = (await provider.observations()).find(({ unknown }) => !unknown);
  expect(known).toMatchObject({ status: 'resolved', unknown: false });
  await provider.see('other');
  expect(await provider.recommendations()).toEqual([]);
});

test('a sync fails without effect if its provider is renamed meanwhile', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: renamed, resolve: goOn } = Promise.withResolvers<void>();
  const peer = await startPeer(async (_req, res) => {
    ask();
    await renamed;
    res.end(JSON.stringify({ object: 'list', data: [{ id: 'acme/gpt-5' }, { id: 'oai/gpt-4' }] }));
  });
  const body = { name: 'oai', kind: 'llm', baseUrl: peer.url };
  const { id } = await server.ok('POST', '/v1/providers', { as, body });
  const path = `/v1/providers/${id}`;
  const running = server.call('POST', `${path}/sync`, { as });
  await asked;
  await server.ok('PUT', path, { as, body: { name: 'acme' } });
  goOn();
  const answered = await running;
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/the provider was changed in the meantime/);
  expect(await all(server, `${path}/inventory`, as)).toEqual([]);
  expect(await server.ok('GET', path, { as })).toMatchObject({ health: 'unknown' });
  const synced = async () => expect((await server.call('POST', `${path}/sync`, { as })).status).toBe(200);
  await vi.waitFor(synced, { timeout: 60_000 });
  expect((await all(server, `${path}/inventory`, as)).map(({ name }): string => name).toSorted()).toEqual([
    'gpt-5',
    'oai/gpt-4',
  ]);
});

describe('a session ends when a change lets a block cover what it grants', () => {
  const LISTED = ['acme/gpt-x-2026-01-01', 'openai/gpt-x-2026-01-01'];
  type Blocking = { as: Credential; path: string };

  /** A provider that lists snapshots of `gpt-x` under other names, blocks `gpt-x`, and has a session at a gateway. */
  async function blockingProvider(declared: readonly string[]) {
    const { operator: as } = await newTenant(server);
    const listing = JSON.stringify({ object: 'list', data: LISTED.map((id) => ({ id })) });
    const peer = await startPeer((_req, res) => res.end(listing));
    const { id } = await server.ok('POST', '/v1/providers', {
      as,
      body: { name: 'oai', kind: 'llm', baseUrl: peer.url },
    });
    const path = `/v1/providers/${id}`;
    await server.ok('POST', `${path}/sync`, { as });
    const items = [{ name: 'gpt-x', status: 'blocked' }, ...declared.map((name) => ({ name }))];
    for (const item of items) await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', ...item } });
    const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [id] } });
    const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as, body: {} });
    const read = () => server.ok('GET', `/v1/gateways/${gateway.id}/sessions/${session.id}`, { as });
    return { as, path, read, session };
  }

  async function itemPath({ as, path }: Blocking, name: string): Promise<string> {
    const items = await all(server, `${path}/inventory`, as);
    return `${path}/inventory/${items.find((item) => item.name === name)?.id}`;
  }

  const snapshot = 'gpt-x-2026-02-02';
  const changes: Record<string, (provider: Blocking) => Promise<unknown>> = {
    'an alias is added': ({ as, path }) => server.ok('PUT', path, { as, body: { aliases: ['acme'] } }),
    'the provider gets the address of a vendor': ({ as, path }) =>
      server.ok('PUT', path, { as, body: { baseUrl: 'https://api.openai.com/v1' } }),
    'the provider is renamed': ({ as, path }) => server.ok('PUT', path, { as, body: { name: 'acme' } }),
    'a more specific item is deleted': async (provider) =>
      server.ok('DELETE', await itemPath(provider, snapshot), { as: provider.as }),
    'a more specific item is retired': async (provider) =>
      server.ok('PUT', await itemPath(provider, snapshot), { as: provider.as, body: { status: 'retired' } }),
  };
  test.each(Object.entries(changes))('%s', async (_, change) => {
    const { as, path, read, session } = await blockingProvider([snapshot]);
    expect(await read()).toMatchObject({ status: 'active', grantedItems: 3 });
    await change({ as, path });
    expect(await read()).toMatchObject({ status: 'revoked', revokedReason: 'item_blocked' });
    const events = await all(server, `/v1/audit-events?target_id=${session.id}&outcome=success`, as);
    expect(events[0]).toMatchObject({ changedFields: ['revokedAt', 'revokedReason'] });
  });

  test('and not when the change lets no block cover it', async () => {
    const { as, path, read } = await blockingProvider(['gpt-y']);
    await server.ok('PUT', path, { as, body: { aliases: ['other'] } });
    await server.ok('PUT', path, { as, body: { name: 'another' } });
    await server.ok('PUT', await itemPath({ as, path }, 'gpt-y'), { as, body: { status: 'retired' } });
    await server.ok('DELETE', await itemPath({ as, path }, 'gpt-y'), { as });
    expect(await read()).toMatchObject({ status: 'active' });
  });
});
