import { beforeAll, describe, expect, test } from 'vitest';
import { auditOf } from '../endpoints/harness.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  return () => server.stop();
});

type World = DecidingWorld & { manifest: Body };

/** A gateway whose manifest allows `search` alone, of a provider that also has `drop` and `purge`. */
async function deniedWorld(kind: 'gateway' | 'agent' = 'gateway'): Promise<World> {
  const items = ['search', 'drop', 'purge'].map((name) => ({ kind: 'tool', name }));
  const world = await decidingWorld(server, { items });
  const { as, providerName: provider, gatewayId } = world;
  const allowed = { provider, kind: 'tool' };
  const spec =
    kind === 'agent'
      ? { declares: [{ ...allowed, name: 'search' }] }
      : { description: 'kept', allow: [{ ...allowed, names: ['search'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: unique('edge'), kind, spec } });
  await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { manifestId: manifest.id } });
  return { ...world, manifest };
}

async function decide({ gatewayId, providerName, token }: DecidingWorld, name = 'drop'): Promise<Body> {
  const answer = await server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
    headers: { Authorization: `Bearer ${token}` },
    body: { provider: providerName, kind: 'tool', name },
  });
  expect(answer.status).toBe(200);
  return answer.body;
}

/** Denies a tool, and approves its observation. */
async function approved(world: World, name = 'drop'): Promise<string> {
  const { observationId } = await decide(world, name);
  await server.decisions.flush();
  await review(world, observationId, 'approved');
  return observationId;
}

const review = ({ as }: World, id: string, decision: string) =>
  server.ok('POST', `/v1/runtime-observations/${id}/review`, { as, body: { decision } });
const observation = ({ as }: World, id: string) => server.ok('GET', `/v1/runtime-observations/${id}`, { as });
const apply = ({ as, providerId }: World, body: object = {}) =>
  server.ok('POST', `/v1/providers/${providerId}/recommendations/apply`, { as, body });
const undo = ({ as }: World, id: string) => server.call('POST', `/v1/recommendations/${id}/undo`, { as });
const recommendations = async ({ as }: World, status = 'open'): Promise<Body[]> =>
  (await server.ok('GET', `/v1/recommendations?kind=allow_in_manifest&status=${status}`, { as })).items;
const gatewayOf = ({ as, gatewayId }: World) => server.ok('GET', `/v1/gateways/${gatewayId}`, { as });
const versions = async ({ as, manifest }: World, status: string): Promise<number[]> =>
  (await server.ok('GET', `/v1/manifests?name=${manifest.name}&status=${status}`, { as })).items.map(
    ({ version }: Body) => version,
  );

describe.each(['gateway', 'agent'] as const)('a manifest of the kind %s that denies a tool', (kind) => {
  test('opens a review that names it; approved and applied, the same session may use the tool; undone, it may not', async () => {
    const world = await deniedWorld(kind);
    const { as, manifest, providerId, gatewayId } = world;
    const { allowed, reason, observationId } = await decide(world);
    expect([allowed, reason]).toEqual([false, 'manifest']);
    await server.decisions.flush();
    expect(await observation(world, observationId)).toMatchObject({ status: 'open', unknown: false, denials: 1 });
    const tasks = await server.ok('GET', '/v1/operator/tasks?kind=review_observation&status=open', { as });
    expect(tasks.items).toMatchObject([
      {
        subject: { id: observationId },
        title: expect.stringContaining(`denied by the manifest ${manifest.name} at the gateway`),
      },
    ]);
    expect((await apply(world)).skipped).toMatchObject([{ reason: 'needs_review' }]);

    expect(await review(world, observationId, 'approved')).toMatchObject({ status: 'approved' });
    const [open] = await recommendations(world);
    expect(open).toMatchObject({
      reason: expect.stringContaining(`the manifest ${manifest.name} at the gateway`),
      observationIds: [observationId],
      change: {
        target: { type: 'manifest', id: null },
        before: { entry: null },
        after: { kind: 'tool', name: 'drop' },
      },
    });
    const plan = await server.ok('POST', `/v1/providers/${providerId}/recommendations/plan`, { as, body: {} });
    expect(plan.applied).toMatchObject([
      { id: open?.id, change: { target: { id: null }, after: { gatewayIds: [gatewayId] } } },
    ]);
    expect(await gatewayOf(world)).toMatchObject({ manifestId: manifest.id });

    const { applied } = await apply(world);
    const newId = applied[0].change.target.id;
    expect(await gatewayOf(world)).toMatchObject({ manifestId: newId });
    const published = await server.ok('GET', `/v1/manifests/${newId}`, { as });
    expect(published).toMatchObject({ name: manifest.name, kind, version: 2, status: 'active' });
    const { [kind === 'agent' ? 'declares' : 'allow']: entries, ...others } = published.spec;
    expect(entries).toEqual([
      ...(manifest.spec.allow ?? manifest.spec.declares),
      { provider: providerId, kind: 'tool', ...(kind === 'agent' ? { name: 'drop' } : { names: ['drop'] }) },
    ]);
    expect(others).toEqual(kind === 'agent' ? {} : { description: 'kept' });
    expect((await decide(world)).allowed).toBe(true);
    expect((await decide(world, 'purge')).reason).toBe('manifest');
    expect(await observation(world, observationId)).toMatchObject({ status: 'resolved' });

    expect((await undo(world, open?.id)).body).toMatchObject({ status: 'open', change: open?.change });
    expect(await gatewayOf(world)).toMatchObject({ manifestId: manifest.id });
    expect(await decide(world)).toMatchObject({ allowed: false, reason: 'manifest' });
    expect(await observation(world, observationId)).toMatchObject({ status: 'approved' });
    expect([await versions(world, 'active'), await versions(world, 'deleted')]).toEqual([[1], [2]]);
    // What was undone is applied only by its id.
    expect((await apply(world)).skipped).toContainEqual({ id: open?.id, reason: 'undone' });
    await apply(world, { recommendationIds: [open?.id] });
    expect(await versions(world, 'active')).toEqual([3]);
    expect((await decide(world)).allowed).toBe(true);
  });
});

test('several tools of one manifest are applied and undone together', async () => {
  const world = await deniedWorld();
  await approved(world, 'drop');
  await approved(world, 'purge');
  const { applied } = await apply(world);
  expect(applied).toHaveLength(2);
  expect(await versions(world, 'active')).toEqual([3]);
  expect([(await decide(world, 'drop')).allowed, (await decide(world, 'purge')).allowed]).toEqual([true, true]);
  // The first one cannot be undone alone, because the second one published the manifest again.
  const refused = await undo(world, applied[0].id);
  expect([refused.status, refused.body.code]).toEqual([409, 'recommendation_built_on']);
  expect(refused.body.detail).toContain('was published again, as version 3');
  await server.ok('POST', `/v1/recommendations/applies/${applied[0].applyId}/undo`, { as: world.as });
  expect(await gatewayOf(world)).toMatchObject({ manifestId: world.manifest.id });
  expect([(await decide(world, 'drop')).allowed, (await decide(world, 'purge')).allowed]).toEqual([false, false]);
});

test('an undo is refused if the manifest was published again, deleted, or is used by another gateway', async () => {
  const world = await deniedWorld();
  const { as, manifest, providerId } = world;
  await approved(world);
  const { applied } = await apply(world);
  const [{ id, change }] = applied;
  const body = { name: unique('other'), providerIds: [providerId], manifestId: change.target.id };
  const other = await server.ok('POST', '/v1/gateways', { as, body });
  expect((await undo(world, id)).body.detail).toContain(`the gateway ${other.id} uses version 2`);
  await server.ok('DELETE', `/v1/gateways/${other.id}`, { as });
  const spec = { allow: [] };
  const next = await server.ok('POST', '/v1/manifests', { as, body: { name: manifest.name, kind: 'gateway', spec } });
  expect((await undo(world, id)).body.detail).toContain(
    `the manifest ${manifest.name} was published again, as version 3`,
  );
  await server.ok('DELETE', `/v1/manifests/${next.id}`, { as });
  expect((await undo(world, id)).body.detail).toContain(`the manifest ${manifest.name} was deleted`);
});

test('all gateways that use the version get the new one, and each change is in the audit', async () => {
  const world = await deniedWorld();
  const { as, manifest, gatewayId, tenantId } = world;
  const body = { name: unique('second'), providerIds: [world.providerId], manifestId: manifest.id };
  const second = await server.ok('POST', '/v1/gateways', { as, body });
  await approved(world);
  const { applied } = await apply(world);
  expect(new Set(applied[0].change.after.gatewayIds)).toEqual(new Set([gatewayId, second.id]));
  const items = await auditOf(server, { tenant_id: tenantId, operation: 'apply_provider_recommendations' });
  const newId = applied[0].change.target.id;
  const eventOf = (id: string) => items.find(({ target }: Body) => target.id === id);
  for (const id of [gatewayId, second.id]) {
    expect(eventOf(id).changes).toEqual([{ field: 'manifestId', before: manifest.id, after: newId }]);
  }
  expect(eventOf(manifest.id).changes).toEqual([{ field: 'status', before: 'active', after: 'superseded' }]);
  expect(eventOf(newId)).toMatchObject({ target: { type: 'manifest' }, changedFields: ['kind', 'name', 'spec'] });
  expect(eventOf(applied[0].id).changes).toEqual([{ field: 'status', before: 'open', after: 'applied' }]);
});

test('a person who changes the gateway or its manifest ends the review and the recommendation', async () => {
  const world = await deniedWorld();
  const { as, manifest, gatewayId } = world;
  const { observationId } = await decide(world);
  await server.decisions.flush();
  expect(await recommendations(world)).toHaveLength(1);
  // The gateway keeps the former version, which cannot be repaired any more.
  const allowAll = { name: manifest.name, kind: 'gateway', spec: {} };
  const next = await server.ok('POST', '/v1/manifests', { as, body: allowAll });
  expect(await recommendations(world)).toEqual([]);
  expect(await observation(world, observationId)).toMatchObject({ status: 'open' });
  await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { manifestId: next.id } });
  expect(await observation(world, observationId)).toMatchObject({ status: 'resolved' });
  expect((await server.ok('GET', '/v1/operator/tasks?status=open', { as })).items).toEqual([]);
});

test('rejected, it is not recommended; a blocked item is not either', async () => {
  const world = await deniedWorld();
  const { observationId } = await decide(world);
  await server.decisions.flush();
  await review(world, observationId, 'rejected');
  expect(await recommendations(world)).toEqual([]);
  await decide(world);
  await server.decisions.flush();
  expect(await observation(world, observationId)).toMatchObject({ status: 'rejected' });

  const other = await deniedWorld();
  const id = await approved(other);
  const inventory = `/v1/providers/${other.providerId}/inventory`;
  const { items } = await server.ok('GET', inventory, { as: other.as });
  const item = items.find(({ name }: Body) => name === 'drop');
  await server.ok('PUT', `${inventory}/${item.id}`, { as: other.as, body: { status: 'blocked' } });
  expect(await recommendations(other)).toEqual([]);
  expect(await observation(other, id)).toMatchObject({ status: 'resolved' });
});

test('a denial that was decided before the change was applied opens nothing again', async () => {
  const world = await deniedWorld();
  const id = await approved(world);
  await decide(world);
  await apply(world);
  await server.decisions.flush();
  expect(await observation(world, id)).toMatchObject({ status: 'resolved' });
  expect(await recommendations(world)).toEqual([]);
});

test('two manifests that deny the same are changed one after the other', async () => {
  const world = await deniedWorld();
  const { as, providerId, providerName } = world;
  const spec = { allow: [{ provider: providerName, names: ['search'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', {
    as,
    body: { name: unique('zone'), kind: 'gateway', spec },
  });
  const body = { name: unique('gw'), providerIds: [providerId], manifestId: manifest.id, enforcement: 'enforce' };
  const { id: gatewayId } = await server.ok('POST', '/v1/gateways', { as, body });
  const { token } = await server.ok('POST', `/v1/gateways/${gatewayId}/sessions`, { as, body: {} });
  const second = { ...world, gatewayId, token, manifest };
  await decide(second);
  await approved(world);
  const first = await apply(world);
  expect(first.applied).toMatchObject([{ change: { after: { manifest: { name: world.manifest.name } } } }]);
  expect([(await decide(world)).allowed, (await decide(second)).allowed]).toEqual([true, false]);
  // Undoing the first one is possible although the second one is open.
  const [{ id }] = first.applied;
  expect((await undo(world, id)).status).toBe(200);
  await apply(world, { recommendationIds: [id] });
  expect((await apply(world)).applied).toMatchObject([{ change: { after: { manifest: { name: manifest.name } } } }]);
  expect((await decide(second)).allowed).toBe(true);
});

describe('in a sub-tenant whose gateway uses a manifest of the whole tenant', () => {
  /** An account of the sub-tenant `east` at a gateway there, and the provider in `place` whose tool `drop` is denied. */
  async function eastWorld(place: object) {
    const tenantId = unique('east');
    const as = { key: (await accountWithKey(server, { tenantId })).key };
    const { id: accountId, key } = await accountWithKey(server, { tenantId, subTenantId: 'east' });
    const east = { key };
    const post = (path: string, body: object) => server.ok('POST', path, { as, body });
    const providerName = unique('provider');
    const { id: providerId } = await post('/v1/providers', { name: providerName, kind: 'mcp', tenantId, ...place });
    await post(`/v1/providers/${providerId}/inventory`, { kind: 'tool', name: 'drop' });
    const manifest = await post('/v1/manifests', { name: unique('hidden'), kind: 'gateway', spec: { allow: [] } });
    const gateway = { name: unique('gateway'), providerIds: [providerId], manifestId: manifest.id };
    const { id: gatewayId } = await post('/v1/gateways', {
      ...gateway,
      tenantId,
      subTenantId: 'east',
      enforcement: 'enforce',
    });
    const session = await server.ok('POST', `/v1/gateways/${gatewayId}/sessions`, { as: east, body: {} });
    const ids = { accountId, tenantId, gatewayId, providerId, providerName };
    const world: World = { ...ids, as, session, token: session.token, manifest };
    const { observationId } = await decide(world);
    await server.decisions.flush();
    return { world, east, observationId };
  }

  test('a provider of the sub-tenant changes nothing in the whole tenant, and readers there learn no name', async () => {
    const { world, east, observationId } = await eastWorld({ subTenantId: 'east' });
    await server.ok('POST', `/v1/runtime-observations/${observationId}/review`, {
      as: east,
      body: { decision: 'approved' },
    });
    expect(await recommendations(world)).toEqual([]);
    const tasks = await server.ok('GET', '/v1/operator/tasks?kind=review_observation', { as: east });
    expect(tasks.items[0].title).toContain('denied by a manifest of the tenant at the gateway');
    for (const path of ['/v1/operator/tasks', '/v1/recommendations', '/v1/runtime-observations']) {
      expect(JSON.stringify(await server.ok('GET', path, { as: east }))).not.toContain(world.manifest.name);
    }
  });

  test('the approval of a sub-tenant does not widen the manifest of the whole tenant', async () => {
    const { world, east, observationId } = await eastWorld({});
    await server.ok('POST', `/v1/runtime-observations/${observationId}/review`, {
      as: east,
      body: { decision: 'approved' },
    });
    expect((await server.ok('GET', '/v1/recommendations', { as: east })).items).toEqual([]);
    expect(await apply(world)).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });
    await review(world, observationId, 'approved');
    const { applied } = await apply(world);
    expect(await gatewayOf(world)).toMatchObject({ manifestId: applied[0].change.target.id });
    expect((await decide(world)).allowed).toBe(true);
  });
});
