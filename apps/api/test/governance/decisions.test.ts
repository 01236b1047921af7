import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditOf } from '../endpoints/harness.ts';
import { accountWithKey } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function seen(): Promise<{ tenant: Tenant; id: string }> {
  const tenant = await newTenant(server);
  await tenant.see('gpt-5');
  const { id } = await tenant.observation('gpt-5');
  return { tenant, id };
}

/** The numbers of open recommendations and tasks of a tenant. */
async function open(tenant: Tenant): Promise<[number, number]> {
  return [(await tenant.recommendations()).length, (await tenant.tasks()).length];
}

function update(tenant: Tenant, id: string, body: object) {
  return server.call('PUT', `/v1/runtime-observations/${id}`, { as: tenant.operator, body });
}

describe('a review', () => {
  test.each(['rejected', 'ignored'] as const)(
    '%s: closes the task and dismisses the recommendation, also after another sighting',
    async (decision) => {
      const { tenant, id } = await seen();
      await tenant.review(id, decision);
      await tenant.see('gpt-5');
      expect(await tenant.observation('gpt-5')).toMatchObject({ status: decision, unknown: true, occurrences: 2 });
      expect(await open(tenant)).toEqual([0, 0]);
      expect(await tenant.tasks('succeeded')).toMatchObject([{ subject: { id } }]);
      const [dismissed] = await tenant.recommendations('dismissed');
      expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [] });
      expect(await tenant.apply({ recommendationIds: [dismissed.id] })).toMatchObject({
        applied: [],
        skipped: [{ id: dismissed.id, reason: 'not_open' }],
      });
      expect(await tenant.items()).toEqual([]);
    },
  );

  test('a later review replaces an earlier one, in both directions', async () => {
    const { tenant, id } = await seen();
    await tenant.review(id, 'approved');
    await tenant.review(id, 'rejected', tenant.operator, 'on second thoughts');
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [] });
    await tenant.review(id, 'approved');
    expect(await tenant.observation('gpt-5')).toMatchObject({ review: { decision: 'approved', note: null } });
    expect(await open(tenant)).toEqual([1, 0]);
    expect((await tenant.apply()).applied).toHaveLength(1);
  });

  test('the audit says what was decided, withdrawn and resolved, and not what a note says', async () => {
    const { tenant, id } = await seen();
    await tenant.review(id, 'approved', tenant.operator, 'asked for by billing');
    await update(tenant, id, { note: 'another note' });
    await update(tenant, id, { status: 'open' });
    await tenant.review(id, 'ignored');
    await update(tenant, id, { status: 'resolved' });
    const events = (await auditOf(server, { target_id: id })).toReversed();
    expect(events.map(({ operation, decision }) => [operation, decision])).toEqual([
      ['review_runtime_observation', 'approved'],
      ['update_runtime_observation', null],
      ['update_runtime_observation', 'withdrawn'],
      ['review_runtime_observation', 'ignored'],
      ['update_runtime_observation', 'resolved'],
    ]);
    expect(JSON.stringify(events)).not.toMatch(/note"?:|billing|another/);
  });

  test('answers 404 for an observation out of reach, 422 for an invalid decision', async () => {
    const { tenant, id } = await seen();
    const stranger = await accountWithKey(server, { tenantId: 'default' });
    const path = `/v1/runtime-observations/${id}/review`;
    const foreign = await server.call('POST', path, { as: stranger, body: { decision: 'approved' } });
    expect([foreign.status, foreign.body.code]).toEqual([404, 'runtime_observation_not_found']);
    expect((await update(await newTenant(server), id, { status: 'resolved' })).status).toBe(404);
    for (const body of [{}, { decision: 'open' }, { decision: 'approved', note: 'x'.repeat(2001) }]) {
      expect((await server.call('POST', path, { as: tenant.operator, body })).status).toBe(422);
    }
  });
});

describe('an update', () => {
  test('to open takes a decision back, and opens the recommendation and the task again', async () => {
    const { tenant, id } = await seen();
    await tenant.review(id, 'rejected');
    expect((await update(tenant, id, { status: 'open' })).body).toMatchObject({ status: 'open', review: null });
    expect(await open(tenant)).toEqual([1, 1]);
    expect(await tenant.apply()).toMatchObject({ skipped: [{ reason: 'needs_review' }] });
    expect((await update(tenant, id, { status: 'open' })).status).toBe(200);
    expect(await open(tenant)).toEqual([1, 1]);
  });

  test('to open after an approval opens the review task again', async () => {
    const { tenant, id } = await seen();
    await tenant.review(id, 'approved');
    await update(tenant, id, { status: 'open' });
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });
    expect(await open(tenant)).toEqual([1, 1]);
  });

  test('to open of a subject that is declared by now resolves the observation', async () => {
    const { tenant, id } = await seen();
    await tenant.review(id, 'rejected');
    await server.ok('POST', `${tenant.path}/inventory`, {
      as: tenant.operator,
      body: { kind: 'model', name: 'gpt-5' },
    });
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'rejected', unknown: false });
    const { body } = await update(tenant, id, { status: 'open' });
    expect(body).toMatchObject({ status: 'resolved', unknown: false, review: null });
    expect(await open(tenant)).toEqual([0, 0]);
  });

  test('to resolved closes the observation until it is seen again', async () => {
    const { tenant, id } = await seen();
    expect((await update(tenant, id, { status: 'resolved' })).body).toMatchObject({ status: 'resolved' });
    expect(await open(tenant)).toEqual([0, 0]);
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'open' });
    expect(await open(tenant)).toEqual([1, 1]);
  });

  test('a note belongs to a review; {} changes nothing', async () => {
    const { tenant, id } = await seen();
    const early = await update(tenant, id, { note: 'too early' });
    expect([early.status, early.body.detail[0].loc]).toEqual([422, ['body', 'note']]);
    const reviewed = await tenant.review(id, 'approved', tenant.operator, 'first');
    expect((await update(tenant, id, {})).body).toEqual(reviewed);
    const noted = (await update(tenant, id, { note: 'second' })).body;
    expect(noted.review).toEqual({ ...reviewed.review, note: 'second' });
    expect((await update(tenant, id, { note: null })).body.review.note).toBeNull();
    expect((await update(tenant, id, { status: 'open', note: 'lost' })).status).toBe(422);
    expect((await tenant.apply()).applied).toHaveLength(1);
    expect((await update(tenant, id, { status: 'approved' })).status).toBe(422);
  });
});

describe('declaring', () => {
  test('an item makes it known; deleting the item makes it unknown again', async () => {
    const { tenant } = await seen();
    const as = tenant.operator;
    for (let round = 1; round <= 2; round += 1) {
      const body = { kind: 'model', name: 'gpt-5' };
      const item = await server.ok('POST', `${tenant.path}/inventory`, { as, body });
      expect(await tenant.observation('gpt-5')).toMatchObject({
        unknown: false,
        status: 'resolved',
        inventoryItemId: item.id,
      });
      expect(await open(tenant)).toEqual([0, 0]);
      expect(await tenant.recommendations('superseded')).toHaveLength(round);
      expect(await tenant.tasks('cancelled')).toHaveLength(round);
      await server.ok('DELETE', `${tenant.path}/inventory/${item.id}`, { as });
      expect(await tenant.observation('gpt-5')).toMatchObject({
        unknown: true,
        status: 'open',
        inventoryItemId: null,
      });
      expect(await open(tenant)).toEqual([1, 1]);
    }
  });

  test('a retired item does not declare, an available one does', async () => {
    const { tenant } = await seen();
    const as = tenant.operator;
    const { id } = await server.ok('POST', `${tenant.path}/inventory`, { as, body: { kind: 'model', name: 'gpt-5' } });
    for (const [status, unknown] of [
      ['retired', true],
      ['available', false],
      ['retired', true],
      ['blocked', false],
    ] as const) {
      await server.ok('PUT', `${tenant.path}/inventory/${id}`, { as, body: { status } });
      expect(await tenant.observation('gpt-5')).toMatchObject({ unknown });
      expect(await open(tenant)).toEqual(unknown ? [1, 1] : [0, 0]);
    }
  });

  test.each(['by name', 'by id'])('a manifest %s does the same; another kind or name does not', async (how) => {
    const { tenant } = await seen();
    const as = tenant.operator;
    const provider = how === 'by id' ? tenant.provider.id : 'OpenAI';
    const publish = (declares: object[]) =>
      server.ok('POST', '/v1/manifests', { as, body: { name: 'agents', kind: 'agent', spec: { declares } } });
    await publish([
      { provider, kind: 'tool', name: 'gpt-5' },
      { provider, kind: 'model', name: 'gpt-55' },
    ]);
    expect(await open(tenant)).toEqual([1, 1]);
    const manifest = await publish([{ provider, kind: 'model', name: 'gpt-5' }]);
    expect(await tenant.observation('gpt-5')).toMatchObject({
      unknown: false,
      status: 'resolved',
      inventoryItemId: null,
    });
    expect(await open(tenant)).toEqual([0, 0]);
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: false, occurrences: 2 });
    await server.ok('DELETE', `/v1/manifests/${manifest.id}`, { as });
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: true, status: 'open' });
    expect(await open(tenant)).toEqual([1, 1]);
  });

  test('a later manifest version without it makes it unknown', async () => {
    const { tenant } = await seen();
    const publish = (declares: object[]) =>
      server.ok('POST', '/v1/manifests', {
        as: tenant.operator,
        body: { name: 'agents', kind: 'agent', spec: { declares } },
      });
    await publish([{ provider: 'openai', kind: 'model', name: 'gpt-5' }]);
    expect(await open(tenant)).toEqual([0, 0]);
    await publish([]);
    expect(await open(tenant)).toEqual([1, 1]);
  });

  test('an earlier manifest declares it from the first sighting on', async () => {
    const tenant = await newTenant(server);
    const declares = [{ provider: 'openai', kind: 'model', name: 'gpt-5' }];
    const body = { name: 'agents', kind: 'agent', spec: { declares } };
    await server.ok('POST', '/v1/manifests', { as: tenant.operator, body });
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: false, status: 'resolved' });
    expect(await open(tenant)).toEqual([0, 0]);
  });

  test('an approval ends with the declaration that it led to', async () => {
    const { tenant, id } = await seen();
    await tenant.review(id, 'approved');
    await tenant.apply();
    const [item] = await tenant.items();
    await server.ok('DELETE', `${tenant.path}/inventory/${item.id}`, { as: tenant.operator });
    expect(await tenant.observation('gpt-5')).toMatchObject({ unknown: true, status: 'open' });
    expect(await tenant.apply()).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });
  });

  test('a deleted provider has no open tasks and recommendations', async () => {
    const { tenant } = await seen();
    const as = tenant.operator;
    const body = { kind: 'model', name: 'gpt-6' };
    await server.ok('POST', `${tenant.path}/inventory`, { as, body });
    await tenant.see('gpt-6');
    await server.ok('DELETE', tenant.path, { as });
    expect(await tenant.tasks()).toEqual([]);
    for (const view of ['open', 'new', 'seen_again', 'changed_definition']) {
      expect(await server.ok('GET', `/v1/runtime-observations?view=${view}`, { as })).toMatchObject({ items: [] });
    }
    expect(await server.ok('GET', '/v1/runtime-observations/counts', { as })).toMatchObject({
      open: 0,
      new: 0,
      byRisk: { low: 0, medium: 0, high: 0 },
    });
    await tenant.see('gpt-5');
    const kinds = (await tenant.tasks()).map(({ kind }): string => kind);
    expect(kinds.toSorted()).toEqual(['adopt_provider', 'review_observation']);
  });
});
