import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { atOpenai, newTenant, type Tenant } from '../governance/loop-support.ts';
import { accountWithKey, memberWithToken } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, nowInNanoseconds, sendSpans } from '../telemetry/traces/sending.ts';
import { expectProblem } from './harness.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A declared model that was rejected and is used again, a session with it, and a session of another provider. */
async function blockable() {
  const tenant = await newTenant(server);
  const as = tenant.operator;
  await server.ok('POST', `${tenant.path}/inventory`, { as, body: { kind: 'model', name: 'gpt-5' } });
  const elsewhere = await server.ok('POST', '/v1/providers', { as, body: { name: 'elsewhere', kind: 'llm' } });
  const start = () => nowInNanoseconds(server);
  const at = { 'gen_ai.provider.name': 'openai' };
  await sendSpans(server, tenant.sender, [{ ...chat('openai/GPT-5', at), start: start() }]);
  await tenant.review((await tenant.observation('GPT-5')).id, 'rejected');
  server.travel(1000);
  await sendSpans(server, tenant.sender, [{ ...chat('gpt-5', at), start: start() }]);
  const open = async (name: string, providerId: string) => {
    const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name, providerIds: [providerId] } });
    return server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
  };
  return { tenant, session: await open('edge', tenant.provider.id), other: await open('other', elsewhere.id) };
}

async function recommended(): Promise<{ tenant: Tenant; id: string }> {
  const tenant = await newTenant(server);
  await tenant.see('gpt-5');
  const [recommendation] = await tenant.recommendations();
  return { tenant, id: recommendation.id };
}

function dismiss(tenant: Tenant, id: string, body: object = { reason: 'a trial that is over' }) {
  return server.call('POST', `/v1/recommendations/${id}/dismiss`, { as: tenant.operator, body });
}

function undo(tenant: Tenant, id: string) {
  return server.call('POST', `/v1/recommendations/${id}/undo`, { as: tenant.operator });
}

/** A discovered provider, with the recommendation to adopt it. */
async function discovered(tenant: Tenant): Promise<{ provider: Body; adopt: Body }> {
  await sendSpans(server, tenant.sender, [chat('m', { 'gen_ai.provider.name': 'mistral_ai' })]);
  const [provider] = await all(server, '/v1/providers?status=discovered', tenant.operator);
  const [adopt] = await all(
    server,
    `/v1/providers/${provider.id}/recommendations?kind=adopt_provider`,
    tenant.operator,
  );
  return { provider, adopt };
}

test('get_recommendation answers an open and a closed one, as the list does', async () => {
  const { tenant, id } = await recommended();
  const get = () => server.call('GET', `/v1/recommendations/${id}`, { as: tenant.operator });
  const open = await get();
  expect([open.status, [open.body]]).toEqual([200, await tenant.recommendations()]);
  const headers = { 'If-Match': open.headers.get('etag') ?? '' };
  const dismissed = await server.call('POST', `/v1/recommendations/${id}/dismiss`, {
    as: tenant.operator,
    body: { reason: 'a trial that is over' },
    headers,
  });
  expect(dismissed.status).toBe(200);
  const closed = await get();
  expect(closed.body).toEqual(dismissed.body);
  expect(closed.headers.get('etag')).not.toBe(headers['If-Match']);
  const stranger = await newTenant(server);
  expectProblem(
    await server.call('GET', `/v1/recommendations/${id}`, { as: stranger.operator }),
    404,
    'recommendation_not_found',
  );
});

describe('dismiss_recommendation', () => {
  test('stores who, when and why; the same cause does not open it again, an approval does', async () => {
    const { tenant, id } = await recommended();
    server.freeze();
    const { status, body } = await dismiss(tenant, id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      status: 'dismissed',
      dismissal: {
        reason: 'a trial that is over',
        dismissedBy: tenant.operator.principal,
        dismissedAt: server.services.now().toISOString(),
      },
    });
    const observation = await tenant.observation('gpt-5');
    // Declared and deleted again: the state is as before.
    const as = tenant.operator;
    const item = await server.ok('POST', `${tenant.path}/inventory`, { as, body: { kind: 'model', name: 'gpt-5' } });
    await server.ok('DELETE', `${tenant.path}/inventory/${item.id}`, { as });
    expect(await tenant.recommendations()).toEqual([]);
    await tenant.review(observation.id, 'approved');
    expect(await tenant.recommendations()).toMatchObject([{ kind: 'register_item', dismissal: null }]);
  });

  test('of an adoption ends its task', async () => {
    const tenant = await newTenant(server);
    const { adopt } = await discovered(tenant);
    const adoptionTasks = async () => (await tenant.tasks()).filter(({ kind }) => kind === 'adopt_provider');
    expect(await adoptionTasks()).toHaveLength(1);
    expect((await dismiss(tenant, adopt.id)).status).toBe(200);
    expect(await adoptionTasks()).toEqual([]);
  });

  test('409 recommendation_not_open for an applied or dismissed one', async () => {
    const { tenant, id } = await recommended();
    await tenant.apply({ recommendationIds: [id] });
    for (let round = 0; round < 2; round += 1) {
      const { status, body } = await dismiss(tenant, id);
      expect([status, body.code]).toEqual([409, 'recommendation_not_open']);
      if (round === 0) {
        await undo(tenant, id);
        await dismiss(tenant, id);
      }
    }
  });

  test.each([{}, { reason: '' }, { reason: 'x'.repeat(2001) }, { reason: 'r', note: 'n' }])(
    '422 for %j',
    async (body) => {
      const { tenant, id } = await recommended();
      expect((await dismiss(tenant, id, body)).status).toBe(422);
      expect(await tenant.recommendations()).toHaveLength(1);
    },
  );

  test('404 for one that is missing or of another tenant', async () => {
    const { id } = await recommended();
    const stranger = await newTenant(server);
    for (const unknown of [id, 'rec_none']) {
      const { status, body } = await dismiss(stranger, unknown);
      expect([status, body.code]).toEqual([404, 'recommendation_not_found']);
    }
  });
});

describe('undo_recommendation', () => {
  test('opens it again, and removes the item', async () => {
    const { tenant, id } = await recommended();
    const [before] = await tenant.recommendations();
    await tenant.apply({ recommendationIds: [id] });
    expect(await tenant.items()).toHaveLength(1);
    const { status, body } = await undo(tenant, id);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, updatedAt: body.updatedAt });
    expect(await tenant.items()).toEqual([]);
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: true, status: 'open' });
  });

  test('409 recommendation_not_applied for an open or dismissed one, and the second time', async () => {
    const { tenant, id } = await recommended();
    const code = async () => (await undo(tenant, id)).body.code;
    expect(await code()).toBe('recommendation_not_applied');
    await tenant.apply({ recommendationIds: [id] });
    expect((await undo(tenant, id)).status).toBe(200);
    expect(await code()).toBe('recommendation_not_applied');
    await dismiss(tenant, id);
    expect(await code()).toBe('recommendation_not_applied');
  });

  test.each([
    ['the item was deleted', 'has been deleted', (path: string) => ({ method: 'DELETE', path })],
    [
      'its status was changed',
      'the field status has been changed',
      (path: string) => ({ path, body: { status: 'blocked' } }),
    ],
    [
      'it got a description',
      'the inventory item was changed on',
      (path: string) => ({ path, body: { title: 'GPT-5' } }),
    ],
  ])('409 recommendation_built_on if %s', async (_, why, how) => {
    const { tenant, id } = await recommended();
    await tenant.apply({ recommendationIds: [id] });
    const [item] = await tenant.items();
    server.travel(1000);
    const { method = 'PUT', path, ...rest } = how(`${tenant.path}/inventory/${item.id}`) as Body;
    await server.ok(method, path, { as: tenant.operator, ...rest });
    const before = await tenant.items();
    const { status, body } = await undo(tenant, id);
    expect([status, body.code]).toEqual([409, 'recommendation_built_on']);
    expect(body.detail).toContain(why);
    expect(await tenant.items()).toEqual(before);
  });

  test('409 if the adopted provider is in use, was changed since, or was deleted', async () => {
    const tenant = await newTenant(server);
    const as = tenant.operator;
    const { provider, adopt } = await discovered(tenant);
    const path = `/v1/providers/${provider.id}`;
    const recommendationIds = [adopt.id];
    const { applied } = await server.ok('POST', `${path}/recommendations/apply`, { as, body: { recommendationIds } });
    expect(applied).toMatchObject([{ kind: 'adopt_provider', status: 'applied' }]);
    expect(await server.ok('GET', path, { as })).toMatchObject({ status: 'active', baseUrl: null });
    expect((await tenant.tasks('succeeded')).map(({ kind }) => kind)).toContain('adopt_provider');

    const refusal = async () => (await undo(tenant, adopt.id)).body.detail;
    const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [provider.id] } });
    expect(await refusal()).toContain(gateway.id);
    await server.ok('DELETE', `/v1/gateways/${gateway.id}`, { as });
    server.travel(1000);
    const { id: item } = await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'n' } });
    expect(await refusal()).toContain('inventory');
    await server.ok('DELETE', `${path}/inventory/${item}`, { as });
    await server.ok('PUT', `${path}/credential`, { as, body: { secret: 'its-key' } });
    expect(await refusal()).toContain('credential');
    await server.ok('DELETE', `${path}/credential`, { as });
    expect((await undo(tenant, adopt.id)).status).toBe(200);
    expect(await server.ok('GET', path, { as })).toMatchObject({ status: 'discovered' });
    expect((await tenant.tasks()).map(({ kind }) => kind)).toContain('adopt_provider');

    await server.ok('POST', `${path}/recommendations/apply`, { as, body: { recommendationIds } });
    server.travel(1000);
    await server.ok('PUT', path, { as, body: { baseUrl: 'https://api.mistral.ai/v1' } });
    expect(await refusal()).toContain('the provider was changed on');
    await server.ok('DELETE', path, { as });
    expect(await refusal()).toContain('the provider was deleted');
  });

  test('{} does not apply an undone recommendation again, but naming it does', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    await tenant.review((await tenant.observation('gpt-5')).id, 'approved');
    const { id } = (await tenant.apply()).applied[0];
    await undo(tenant, id);
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [{ id, reason: 'undone' }] });
    expect(await tenant.items()).toEqual([]);
    expect((await tenant.apply({ recommendationIds: [id] })).applied).toHaveLength(1);
  });

  test('does not restore an approval that was withdrawn in the meantime', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-5');
    const { id } = await tenant.observation('gpt-5');
    await tenant.review(id, 'approved');
    const { applied } = await tenant.apply();
    server.travel(1000);
    await tenant.review(id, 'rejected');
    expect((await undo(tenant, applied[0].id)).status).toBe(200);
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'rejected', review: { decision: 'rejected' } });
    expect(await tenant.apply()).toMatchObject({ applied: [] });
    expect(await tenant.items()).toEqual([]);
  });

  test('asks for a review again if another decision was made while it was blocked', async () => {
    const tenant = await newTenant(server);
    const start = () => nowInNanoseconds(server);
    const see = () => sendSpans(server, tenant.sender, [{ ...atOpenai('gpt-5'), start: start() }]);
    await see();
    const { id } = await tenant.observation('gpt-5');
    await tenant.review(id, 'rejected');
    server.travel(1000);
    await see();
    const { applied } = await tenant.apply();
    server.travel(1000);
    await tenant.review(id, 'approved');
    expect((await undo(tenant, applied[0].id)).status).toBe(200);
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: true, status: 'open', review: null });
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });
  });

  test('404 for one that is missing or of another tenant', async () => {
    const { id } = await recommended();
    const stranger = await newTenant(server);
    for (const unknown of [id, 'rec_none']) {
      const { status, body } = await undo(stranger, unknown);
      expect([status, body.code]).toEqual([404, 'recommendation_not_found']);
    }
  });
});

describe('plan_provider_recommendations', () => {
  test('shows a viewer what the dry run of an operator shows, and changes nothing', async () => {
    const { tenant, id } = await recommended();
    const viewer = await memberWithToken(server, { tenantId: tenant.tenantId }, 'viewer');
    const plan = (body?: object) =>
      server.ok('POST', `${tenant.path}/recommendations/plan`, { as: viewer, ...(body && { body }) });
    expect(await plan()).toMatchObject({ dryRun: true, applied: [], skipped: [{ id, reason: 'needs_review' }] });
    const named = { recommendationIds: [id] };
    const planned = await plan(named);
    expect(planned).toEqual(await tenant.apply({ ...named, dryRun: true }));
    expect(planned.applied).toMatchObject([{ id, status: 'open' }]);
    expect(await plan({ kinds: ['block_item'] })).toMatchObject({ applied: [], skipped: [] });
    expect(await tenant.items()).toEqual([]);
    const apply = { as: viewer, body: { dryRun: true } };
    expectProblem(await server.call('POST', `${tenant.path}/recommendations/apply`, apply), 403, 'scope_missing');
  });

  test('names the sessions that would end only to callers who may read sessions', async () => {
    const { tenant, session } = await blockable();
    const place = { tenantId: tenant.tenantId };
    const revokedFor = async (scopes: Scope[]) => {
      const as = await accountWithKey(server, place, scopes);
      const answer = await server.ok('POST', `${tenant.path}/recommendations/plan`, { as, body: {} });
      expect(answer.applied).toMatchObject([{ kind: 'block_item', status: 'open' }]);
      return answer.revokedSessions.map(({ id }: Body) => id);
    };
    expect(await revokedFor(['recommendations:read'])).toEqual([]);
    expect(await revokedFor(['recommendations:read', 'gateway_sessions:read'])).toEqual([session.id]);
    const path = `/v1/gateways/${session.gatewayId}/sessions/${session.id}`;
    expect(await server.ok('GET', path, { as: tenant.operator })).toMatchObject({ status: 'active' });
  });

  test('404 for a provider that is missing or of another tenant', async () => {
    const { tenant } = await recommended();
    const stranger = await newTenant(server);
    for (const path of [tenant.path, '/v1/providers/prv_none']) {
      const answer = await server.call('POST', `${path}/recommendations/plan`, { as: stranger.operator });
      expectProblem(answer, 404, 'provider_not_found');
    }
  });

  test.each([{ dryRun: false }, { applyId: 'app_1' }, { kinds: ['none'] }])('422 for %j', async (body) => {
    const { tenant } = await recommended();
    const answer = await server.call('POST', `${tenant.path}/recommendations/plan`, { as: tenant.operator, body });
    expect(answer.status).toBe(422);
  });
});

describe('apply_provider_recommendations', () => {
  test('{} adopts a provider only after an observation there was approved', async () => {
    const tenant = await newTenant(server);
    const as = tenant.operator;
    const { provider, adopt } = await discovered(tenant);
    const path = `/v1/providers/${provider.id}/recommendations/apply`;
    const { applied, skipped } = await server.ok('POST', path, { as });
    expect([applied, skipped.map(({ reason }: Body) => reason)]).toEqual([[], ['needs_review', 'needs_review']]);
    const [observation] = await all(server, `/v1/providers/${provider.id}/observations`, as);
    expect(adopt.observationIds).toEqual([observation.id]);
    await tenant.review(observation.id, 'approved');
    const answer = await server.ok('POST', path, { as });
    expect(answer.applied.map(({ kind }: Body): string => kind).toSorted()).toEqual([
      'adopt_provider',
      'register_item',
    ]);
  });

  test('a block ends the sessions with the item and names them; a dry run names the same', async () => {
    const { tenant, session, other } = await blockable();
    const as = tenant.operator;
    const dry = await tenant.apply({ dryRun: true });
    expect(dry).toMatchObject({ dryRun: true, applied: [{ kind: 'block_item', status: 'open' }] });
    const named = [{ id: session.id, gatewayId: session.gatewayId, subject: session.subject }];
    expect(dry.revokedSessions).toEqual(named);
    const path = `/v1/gateways/${session.gatewayId}/sessions`;
    expect(await server.ok('GET', `${path}/${session.id}`, { as })).toMatchObject({ status: 'active' });

    const applied = await tenant.apply();
    expect(applied.revokedSessions).toEqual(named);
    expect(await server.ok('GET', `${path}/${session.id}`, { as })).toMatchObject({
      status: 'revoked',
      revokedReason: 'item_blocked',
    });
    const untouched = `/v1/gateways/${other.gatewayId}/sessions/${other.id}`;
    expect(await server.ok('GET', untouched, { as })).toMatchObject({ status: 'active' });
    const events = await all(server, `/v1/audit-events?target_id=${session.id}`, as);
    expect(events.map(({ operation }) => operation)).toContain('apply_provider_recommendations');
  });

  test('a block by an update ends them too', async () => {
    const { tenant, session } = await blockable();
    const as = tenant.operator;
    const item = (await tenant.items()).find(({ name }) => name === 'gpt-5');
    await server.ok('PUT', `${tenant.path}/inventory/${item.id}`, { as, body: { status: 'blocked' } });
    const path = `/v1/gateways/${session.gatewayId}/sessions/${session.id}`;
    expect(await server.ok('GET', path, { as })).toMatchObject({ status: 'revoked' });
  });

  test('the rejection by one sub-tenant blocks for the whole tenant only by name, not by {}', async () => {
    const tenant = await newTenant(server);
    const place = { tenantId: tenant.tenantId, subTenantId: 'east' };
    const east = await accountWithKey(server, place);
    await server.ok('POST', `${tenant.path}/inventory`, {
      as: tenant.operator,
      body: { kind: 'model', name: 'gpt-5' },
    });
    const start = () => nowInNanoseconds(server);
    await sendSpans(server, east, [{ ...atOpenai('gpt-5'), start: start() }]);
    await tenant.review((await tenant.observation('gpt-5', 'east')).id, 'rejected', east);
    server.travel(1000);
    await sendSpans(server, east, [{ ...atOpenai('gpt-5'), start: start() }]);
    const [block] = await tenant.recommendations();
    expect(block.kind).toBe('block_item');
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [{ id: block.id, reason: 'needs_review' }] });
    expect((await tenant.apply({ recommendationIds: [block.id] })).applied).toMatchObject([{ kind: 'block_item' }]);
  });

  test('an approval of a declared item does not activate the item after it is retired', async () => {
    const tenant = await newTenant(server);
    const as = tenant.operator;
    const item = await server.ok('POST', `${tenant.path}/inventory`, { as, body: { kind: 'model', name: 'gpt-5' } });
    await tenant.see('gpt-5');
    const { id } = await tenant.observation('gpt-5');
    expect(await tenant.review(id, 'approved')).toMatchObject({ status: 'resolved', review: { decision: 'approved' } });
    await server.ok('PUT', `${tenant.path}/inventory/${item.id}`, { as, body: { status: 'retired' } });
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });
    expect(await tenant.items()).toMatchObject([{ status: 'retired' }]);
  });

  test('an empty list of kinds applies nothing', async () => {
    const { tenant, id } = await recommended();
    const [{ providerId }] = await tenant.recommendations();
    const path = `/v1/providers/${providerId}/recommendations/apply`;
    const answer = await server.ok('POST', path, { as: tenant.operator, body: { kinds: [] } });
    expect([answer.applied, answer.skipped]).toEqual([[], []]);
    expect((await tenant.recommendations()).map((one) => one.id)).toContain(id);
  });

  test('leaves out a recommendation that another one of the same call has closed', async () => {
    const tenant = await newTenant(server);
    const { tenantId } = tenant;
    const start = () => nowInNanoseconds(server);
    const at = { 'gen_ai.provider.name': 'openai' };
    const east = await accountWithKey(server, { tenantId, subTenantId: 'east' }, ['traces:write']);
    await sendSpans(server, tenant.sender, [{ ...chat('gpt-5', at), start: start() }]);
    await sendSpans(server, east, [{ ...chat('gpt-5', at), start: start() }]);
    await tenant.review((await tenant.observation('gpt-5')).id, 'approved');
    await tenant.review((await tenant.observation('gpt-5', 'east')).id, 'rejected');
    server.travel(1000);
    await sendSpans(server, east, [{ ...chat('gpt-5', at), start: start() }]);
    const kinds = (await tenant.recommendations()).map(({ kind }): string => kind);
    expect(kinds.toSorted()).toEqual(['block_item', 'register_item']);
    const { applied, skipped } = await tenant.apply();
    expect(applied.map(({ kind }: Body) => kind)).toEqual(['block_item']);
    expect(skipped.map(({ reason }: Body) => reason)).toEqual(['not_open']);
    expect(await tenant.items()).toMatchObject([{ name: 'gpt-5', status: 'blocked' }]);
  });
});
