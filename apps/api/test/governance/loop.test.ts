import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, exportRequest, sendSpans } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

describe('an unknown subject', () => {
  test('opens one recommendation and one review task, even if it is seen several times', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    await tenant.see('gpt-5');
    const retried = exportRequest([atOpenai('gpt-5')]);
    await Promise.all(
      Array.from({ length: 8 }, () => server.ok('POST', '/v1/traces', { as: tenant.sender, body: retried })),
    );
    const observation = await tenant.observation('gpt-5');
    expect(observation).toMatchObject({
      providerId: tenant.provider.id,
      unknown: true,
      status: 'open',
      occurrences: 3,
      inventoryItemId: null,
      review: null,
      risk: { level: 'medium', factors: [{ factor: 'unknown_item' }] },
    });
    for (const status of ['applied', 'dismissed', 'superseded']) {
      expect(await tenant.recommendations(status)).toHaveLength(0);
    }
    expect(await tenant.recommendations()).toMatchObject([
      {
        kind: 'register_item',
        providerId: tenant.provider.id,
        observationIds: [observation.id],
        change: { target: { type: 'inventory_item', id: null }, before: null, after: { kind: 'model', name: 'gpt-5' } },
      },
    ]);
    expect(await tenant.tasks()).toMatchObject([
      { kind: 'review_observation', subject: { type: 'runtime_observation', id: observation.id }, priority: 'normal' },
    ]);
  });

  test('a blocked item that is seen is known, and has a high risk with its reason', async () => {
    const tenant = await newTenant(server);
    const body = { kind: 'model', name: 'gpt-5', status: 'blocked' };
    const item = await server.ok('POST', `${tenant.path}/inventory`, { as: tenant.operator, body });
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({
      unknown: false,
      inventoryItemId: item.id,
      risk: { level: 'high', factors: [{ factor: 'blocked_item', reason: expect.stringContaining('blocks') }] },
    });
    expect(await tenant.recommendations()).toEqual([]);
  });

  test('a retired item that is seen is unknown; registering it makes it available again', async () => {
    const tenant = await newTenant(server);
    const body = { kind: 'model', name: 'gpt-5', status: 'retired' };
    const item = await server.ok('POST', `${tenant.path}/inventory`, { as: tenant.operator, body });
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: true, inventoryItemId: null });
    const [recommendation] = await tenant.recommendations();
    const { applied } = await tenant.apply({ recommendationIds: [recommendation.id] });
    expect(applied[0].change).toMatchObject({ target: { id: item.id }, before: { status: 'retired' } });
    expect(await tenant.items()).toMatchObject([{ id: item.id, status: 'available' }]);
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: false, inventoryItemId: item.id });
  });

  test('a key that may only send spans cannot grant anything', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    const { id } = await tenant.observation('gpt-5');
    const as = tenant.sender;
    const [recommendation] = await tenant.recommendations();
    for (const [method, path, body] of [
      ['POST', `${tenant.path}/recommendations/apply`, { recommendationIds: [recommendation.id] }],
      ['POST', `/v1/runtime-observations/${id}/review`, { decision: 'approved' }],
      ['PUT', `/v1/runtime-observations/${id}`, { status: 'resolved' }],
      ['POST', `${tenant.path}/inventory`, { kind: 'model', name: 'gpt-5' }],
      ['GET', '/v1/runtime-observations', undefined],
      ['GET', `${tenant.path}/inventory`, undefined],
    ] as const) {
      const answer = await server.call(method, path, { as, ...(body && { body }) });
      expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'scope_missing']);
    }
    expect(await tenant.apply()).toMatchObject({ applied: [] });
    expect(await tenant.items()).toEqual([]);
  });
});

describe('applying', () => {
  test('{} skips unreviewed recommendations, and applies approved ones with item, observation and task', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    const { id } = await tenant.observation('gpt-5');
    const [recommendation] = await tenant.recommendations();
    expect(await tenant.apply()).toEqual({
      providerId: tenant.provider.id,
      dryRun: false,
      applied: [],
      skipped: [{ id: recommendation.id, reason: 'needs_review' }],
      revokedSessions: [],
    });

    const reviewed = await tenant.review(id, 'approved', tenant.operator, 'the planner needs it');
    const by = tenant.operator.principal;
    expect(reviewed).toMatchObject({
      status: 'approved',
      unknown: true,
      review: { decision: 'approved', note: 'the planner needs it', reviewedBy: by },
    });
    expect(await tenant.tasks()).toEqual([]);
    expect(await tenant.tasks('succeeded')).toMatchObject([{ subject: { id }, completedAt: expect.any(String) }]);
    await tenant.see('gpt-5');
    expect(await tenant.tasks()).toEqual([]);

    const { applied, skipped } = await tenant.apply();
    expect(skipped).toEqual([]);
    const [item] = await tenant.items();
    expect(item).toMatchObject({ kind: 'model', name: 'gpt-5', status: 'available', source: 'recommendation' });
    expect(applied).toMatchObject([
      { id: recommendation.id, status: 'applied', appliedBy: by, change: { target: { id: item.id } } },
    ]);
    expect(await tenant.recommendations('applied')).toEqual(applied);
    expect(await tenant.recommendations('superseded')).toEqual([]);
    expect(await tenant.observation('gpt-5')).toMatchObject({
      unknown: false,
      status: 'resolved',
      inventoryItemId: item.id,
      review: { decision: 'approved' },
      risk: { level: 'low', factors: [] },
    });
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [] });
    expect(await tenant.items()).toHaveLength(1);
  });

  test('naming an id counts as the review, and finishes its task', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    await tenant.see('gpt-6');
    const chosen = (await tenant.recommendations()).find(({ change }) => change.after.name === 'gpt-5');
    const body = { recommendationIds: [chosen.id, chosen.id] };
    expect(await tenant.apply(body)).toMatchObject({ applied: [{ id: chosen.id }], skipped: [] });
    expect(await tenant.items()).toMatchObject([{ name: 'gpt-5' }]);
    expect(await tenant.tasks()).toMatchObject([{ title: expect.stringContaining('gpt-6') }]);
    expect(await tenant.apply(body)).toMatchObject({ applied: [], skipped: [{ id: chosen.id, reason: 'not_open' }] });
  });

  test('dryRun shows the change, and changes nothing', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    const before = await tenant.recommendations();
    const shown = await tenant.apply({ recommendationIds: [before[0].id], dryRun: true });
    const nothing = { skipped: [], revokedSessions: [] };
    expect(shown).toEqual({ providerId: tenant.provider.id, dryRun: true, applied: before, ...nothing });
    expect(await tenant.recommendations()).toEqual(before);
    expect(await tenant.items()).toEqual([]);
    expect(await tenant.apply({ dryRun: true })).toMatchObject({ skipped: [{ reason: 'needs_review' }] });
  });

  const headersOf: Record<string, (tenant: Tenant) => Promise<Record<string, string>>> = {
    'an Idempotency-Key': async () => ({ 'idempotency-key': unique('dry-run') }),
    'If-Match': async ({ operator: as, path }) => ({
      'if-match': (await server.call('GET', path, { as })).headers.get('etag') ?? '',
    }),
  };
  test.each(Object.entries(headersOf))('dryRun with %s changes nothing', async (_, headersFor) => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    const [before] = await tenant.recommendations();
    const observed = await tenant.observation('gpt-5');
    const body = { recommendationIds: [before.id], dryRun: true };
    const headers = await headersFor(tenant);
    for (let times = 0; times < 2; times += 1) {
      const sent = { as: tenant.operator, body, headers };
      const shown = await server.ok('POST', `${tenant.path}/recommendations/apply`, sent);
      expect(shown).toMatchObject({ dryRun: true, applied: [before] });
    }
    expect(await tenant.recommendations()).toEqual([before]);
    expect(await tenant.items()).toEqual([]);
    expect(await tenant.observation('gpt-5')).toEqual(observed);
    expect(await tenant.apply({ recommendationIds: [before.id] })).toMatchObject({ applied: [{ id: before.id }] });
    expect(await tenant.items()).toMatchObject([{ name: 'gpt-5' }]);
  });

  test('no body, null and {} are the same; strange bodies are 422', async () => {
    const tenant = await newTenant(server);
    for (const sent of [{}, { raw: '' }, { raw: 'null' }, { body: {} }, { body: { recommendationIds: null } }]) {
      const path = `${tenant.path}/recommendations/apply`;
      const answer = await server.ok('POST', path, { as: tenant.operator, ...sent });
      expect(answer).toMatchObject({ applied: [], skipped: [] });
    }
    expect(await tenant.apply({ recommendationIds: [] })).toMatchObject({ applied: [], skipped: [] });
    for (const body of [
      { ids: [] },
      { kinds: ['x'] },
      { dryRun: 'yes' },
      { recommendationIds: Array(101).fill('x') },
    ]) {
      const answer = await server.call('POST', `${tenant.path}/recommendations/apply`, { as: tenant.operator, body });
      expect(answer.status).toBe(422);
    }
  });

  test('recommendations that cannot be applied are skipped with a reason', async () => {
    const tenant = await newTenant(server);
    const other = await newTenant(server);
    await other.see('gpt-5');
    await tenant.see('gpt-5');
    await tenant.see('gpt-6');
    const [foreign] = await other.recommendations();
    const own = await tenant.recommendations();
    await tenant.apply({ recommendationIds: [own[0].id] });
    const ids = [foreign.id, 'rec_nobody', own[0].id, own[1].id];
    const { applied, skipped } = await tenant.apply({ recommendationIds: ids, kinds: ['block_item', 'register_item'] });
    expect(applied).toMatchObject([{ id: own[1].id }]);
    expect(new Set(skipped.map(({ id, reason }: { id: string; reason: string }) => `${id} ${reason}`))).toEqual(
      new Set([`${foreign.id} not_found`, 'rec_nobody not_found', `${own[0].id} not_open`]),
    );
    await tenant.see('gpt-7');
    const [third] = await tenant.recommendations();
    expect(await tenant.apply({ recommendationIds: [third.id], kinds: ['block_item'] })).toMatchObject({
      applied: [],
      skipped: [{ id: third.id, reason: 'not_of_kind' }],
    });
    expect(await tenant.apply({ kinds: ['block_item'] })).toMatchObject({ applied: [], skipped: [] });
    expect(await other.recommendations()).toMatchObject([{ id: foreign.id, status: 'open' }]);
  });

  test('a failure in the middle rolls everything back', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    await tenant.see('gpt-6');
    const recommendationIds = (await tenant.recommendations()).map(({ id }): string => id);
    // No rule writes such a change: it has no name.
    const { db } = server.services;
    const broken = JSON.stringify({ target: { type: 'inventory_item', id: null }, before: null, after: {} });
    const last = recommendationIds.toSorted().at(-1) ?? '';
    await db.updateTable('recommendations').set({ change: broken }).where('id', '=', last).execute();
    const path = `${tenant.path}/recommendations/apply`;
    const audited = `/v1/audit-events?tenant_id=${tenant.tenantId}&operation=apply_provider_recommendations`;
    const answer = await server.call('POST', path, { as: tenant.operator, body: { recommendationIds } });
    expect(answer.status).toBe(500);
    expect(await tenant.items()).toEqual([]);
    expect(await tenant.recommendations()).toHaveLength(2);
    expect(await tenant.tasks()).toHaveLength(2);
    expect((await server.ok('GET', audited, { as: server.admin })).items).toEqual([]);
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: true, status: 'open' });
  });

  test('404 for a provider that is out of reach or missing', async () => {
    const tenant = await newTenant(server);
    const stranger = await accountWithKey(server, { tenantId: 'default' });
    const team = await accountWithKey(server, { tenantId: tenant.tenantId, subTenantId: 'team' });
    for (const as of [stranger, team]) {
      const answer = await server.call('POST', `${tenant.path}/recommendations/apply`, { as, body: {} });
      expect([answer.status, answer.body.code]).toEqual([404, 'provider_not_found']);
    }
  });
});

test('regression: the risk of an item that is registered together with the adoption of its provider is that at the adopted one', async () => {
  const tenant = await newTenant(server);
  await sendSpans(server, tenant.sender, [chat('gpt-5', { 'gen_ai.provider.name': 'mistral' })]);
  const { id, providerId } = await tenant.observation('gpt-5');
  const path = `/v1/providers/${providerId}/recommendations`;
  const as = tenant.operator;
  const open = (): Promise<Body[]> => all(server, `${path}?status=open`, as);
  // The registration that the approval recommends is newer than the adoption, so it is applied after it.
  const registration = (await open()).find(({ kind }) => kind === 'register_item');
  await server.ok('POST', `/v1/recommendations/${registration?.['id']}/dismiss`, { as, body: { reason: 'later' } });
  await tenant.review(id, 'approved');
  const recommendationIds = (await open()).map((recommendation) => recommendation['id']);
  const { applied } = await server.ok('POST', `${path}/apply`, { as, body: { recommendationIds } });
  expect(applied.map(({ kind }: Body) => kind)).toEqual(['adopt_provider', 'register_item']);
  expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: false, risk: { level: 'low', factors: [] } });
});
