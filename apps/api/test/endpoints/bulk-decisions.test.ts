import * as contract from '@quartermaster/contracts/bulk-decisions.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { atOpenai, newTenant, type Tenant } from '../governance/loop-support.ts';
import { accountWithKey } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { all, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

/** A tenant in which these undeclared models were used. */
async function tenantThatSaw(...names: string[]) {
  const tenant = await newTenant(server);
  await sendSpans(
    server,
    tenant.sender,
    names.map((name) => atOpenai(name)),
  );
  const idOf = async (name: string): Promise<string> => (await tenant.observation(name)).id;
  return { ...tenant, idOf };
}

const review = (tenant: Tenant, body: object) =>
  server.call('POST', '/v1/runtime-observations/review', { as: tenant.operator, body });
const dismiss = (tenant: Tenant, body: object) =>
  server.call('POST', '/v1/recommendations/dismiss', { as: tenant.operator, body });
const eventsOf = (tenant: Tenant, operation: string) => auditOf(server, { operation, tenant_id: tenant.tenantId });

describe('review_runtime_observations', () => {
  test('by ids reviews each observation with an audit event, and says what it skipped', async () => {
    const tenant = await tenantThatSaw('a', 'b', 'c');
    const other = await tenantThatSaw('d');
    const [a, b, foreign] = [await tenant.idOf('a'), await tenant.idOf('b'), await other.idOf('d')];
    const body = { decision: 'rejected', note: 'not for us', observationIds: [a, b, a, foreign, 'none'] };
    const answered = await review(tenant, body);
    expect(answered.body).toEqual({
      done: 2,
      skipped: 2,
      results: [
        { id: a, outcome: 'done', reason: null },
        { id: b, outcome: 'done', reason: null },
        { id: foreign, outcome: 'skipped', reason: 'not_found' },
        { id: 'none', outcome: 'skipped', reason: 'not_found' },
      ],
    });
    expect(await tenant.observation('a')).toMatchObject({
      status: 'rejected',
      review: { decision: 'rejected', note: 'not for us', reviewedBy: tenant.operator.principal },
    });
    expect(await tenant.observation('c')).toMatchObject({ status: 'open', review: null });
    expect(await other.observation('d')).toMatchObject({ status: 'open' });
    const events = await eventsOf(tenant, 'review_runtime_observations');
    const targets = events.map(({ target }): string => target.id);
    expect([targets.toSorted(), events.map(({ count }) => count)]).toEqual([[a, b].toSorted(), [1, 1]]);
    expect(events.map(({ decision }) => decision)).toEqual(['rejected', 'rejected']);
    // Their review tasks are completed too.
    const tasks = (await tenant.tasks('succeeded')).map(({ subject }): string => subject.id);
    expect(tasks.toSorted()).toEqual([a, b].toSorted());
  });

  test('by filter reviews what the filter matches, if the count is as expected', async () => {
    const tenant = await tenantThatSaw('gpt-5', 'gpt-6', 'llama');
    const filter = { decision: 'ignored', view: 'new', text: 'GPT' };
    const wrong = await review(tenant, { ...filter, expectedCount: 3 });
    expectProblem(wrong, 409, 'bulk_count_differs');
    expect(wrong.body.detail).toContain('matches 2 records');
    expect((await tenant.observation('gpt-5')).status).toBe('open');
    const elsewhere = await review(tenant, { ...filter, environment: 'production', expectedCount: 2 });
    expect(elsewhere.body.detail).toContain('matches 0 records');
    const answered = await review(tenant, { ...filter, expectedCount: 2 });
    expect(answered.body).toMatchObject({ done: 2, skipped: 0 });
    expect((await tenant.observation('gpt-5')).status).toBe('ignored');
    expect((await tenant.observation('llama')).status).toBe('open');
    expect((await review(tenant, { ...filter, expectedCount: 0 })).body).toEqual({ done: 0, skipped: 0, results: [] });
  });

  test('by ids and filter skips what another user has decided in the meantime', async () => {
    const tenant = await tenantThatSaw('a', 'b');
    const [a, b] = [await tenant.idOf('a'), await tenant.idOf('b')];
    await tenant.review(b, 'ignored');
    const answered = await review(tenant, { decision: 'rejected', view: 'open', observationIds: [a, b] });
    expect(answered.body.results).toEqual([
      { id: a, outcome: 'done', reason: null },
      { id: b, outcome: 'skipped', reason: 'no_longer_matches' },
    ]);
    expect((await tenant.observation('b')).status).toBe('ignored');
  });

  test('regression: by ids with another number than expected changes nothing', async () => {
    const tenant = await tenantThatSaw('a', 'b');
    const observationIds = [await tenant.idOf('a'), await tenant.idOf('b'), await tenant.idOf('a')];
    const send = (expectedCount: number) => review(tenant, { decision: 'ignored', observationIds, expectedCount });
    const wrong = await send(3);
    expectProblem(wrong, 409, 'bulk_count_differs');
    expect(wrong.body.detail).toContain('names 2 records');
    expect((await tenant.observation('a')).status).toBe('open');
    expect((await send(2)).body).toMatchObject({ done: 2, skipped: 0 });
  });

  test('is limited to the tenant that it names and to the reach of the caller', async () => {
    const tenant = await tenantThatSaw('a');
    const body = { decision: 'ignored', expectedCount: 1, tenantId: tenant.tenantId };
    const stranger = await accountWithKey(server, { tenantId: 'bulk-stranger' });
    const refused = await server.call('POST', '/v1/runtime-observations/review', { as: stranger, body });
    expectProblem(refused, 403, 'tenant_forbidden');
    const done = await server.ok('POST', '/v1/runtime-observations/review', { as: server.admin, body });
    expect(done).toMatchObject({ done: 1 });
  });

  test('requires ids, or the count that the filter has to match', async () => {
    const tenant = await newTenant(server);
    const loc = ['body', 'expectedCount'];
    expectInvalid(await review(tenant, { decision: 'ignored', view: 'open' }), { loc, type: 'value_error' });
    const many = Array.from({ length: contract.MAX_BULK + 1 }, (_, index) => `obs_${index}`);
    expect((await review(tenant, { decision: 'ignored', observationIds: many })).status).toBe(422);
    expect((await review(tenant, { decision: 'ignored', observationIds: [] })).status).toBe(422);
  });

  test('with an Idempotency-Key is done once', async () => {
    const tenant = await tenantThatSaw('a');
    const headers = { 'idempotency-key': `bulk-${tenant.tenantId}` };
    const body = { decision: 'ignored', expectedCount: 1, view: 'open' };
    const send = () => server.call('POST', '/v1/runtime-observations/review', { as: tenant.operator, body, headers });
    const [first, again] = [await send(), await send()];
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });
});

describe('dismiss_recommendations', () => {
  const open = (tenant: Tenant): Promise<Body[]> => all(server, '/v1/recommendations?status=open', tenant.operator);

  test('by ids dismisses each recommendation with an audit event, and says what it skipped', async () => {
    const tenant = await tenantThatSaw('a', 'b');
    const [first, second] = await open(tenant);
    await server.ok('POST', `/v1/recommendations/${second.id}/dismiss`, {
      as: tenant.operator,
      body: { reason: 'before' },
    });
    const answered = await dismiss(tenant, { reason: 'a trial', recommendationIds: [first.id, second.id, 'none'] });
    expect(answered.body).toEqual({
      done: 1,
      skipped: 2,
      results: [
        { id: first.id, outcome: 'done', reason: null },
        { id: second.id, outcome: 'skipped', reason: 'not_open' },
        { id: 'none', outcome: 'skipped', reason: 'not_found' },
      ],
    });
    const dismissed = await all(server, '/v1/recommendations?status=dismissed', tenant.operator);
    expect(dismissed.find(({ id }) => id === first.id)).toMatchObject({ dismissal: { reason: 'a trial' } });
    const events = await eventsOf(tenant, 'dismiss_recommendations');
    expect(events.map(({ target }) => target)).toMatchObject([{ type: 'recommendation', id: first.id }]);
  });

  test('by filter dismisses the open ones, if the count is as expected', async () => {
    const tenant = await tenantThatSaw('a', 'b');
    const filter = { reason: 'a trial', kind: 'register_item', providerId: tenant.provider.id };
    expectProblem(await dismiss(tenant, { ...filter, expectedCount: 1 }), 409, 'bulk_count_differs');
    expect(await open(tenant)).toHaveLength(2);
    expect((await dismiss(tenant, { ...filter, expectedCount: 2 })).body).toMatchObject({ done: 2, skipped: 0 });
    expect(await open(tenant)).toEqual([]);
  });

  test('by ids and filter skips what the filter does not match', async () => {
    const tenant = await tenantThatSaw('a', 'b');
    const observationId = await tenant.idOf('a');
    const recommendationIds = (await open(tenant)).map(({ id }) => id);
    const answered = await dismiss(tenant, { reason: 'a trial', recommendationIds, observationId });
    expect(answered.body).toMatchObject({ done: 1, skipped: 1 });
    expect(answered.body.results.map(({ reason }: Body) => reason)).toContain('no_longer_matches');
    expectInvalid(await dismiss(tenant, { reason: 'a trial', observationId }), {
      loc: ['body', 'expectedCount'],
      type: 'value_error',
    });
  });

  test('regression: by an observation that its recommendation does not show, because it has very many', async () => {
    const tenant = await newTenant(server);
    const tools = Array.from({ length: 101 }, (_, index) => toolRun(`tool-${index}`));
    await sendSpans(server, tenant.sender, tools);
    const [adoption] = (await open(tenant)).filter(({ kind }) => kind === 'adopt_provider');
    const observed = await all(server, '/v1/runtime-observations?status=open', tenant.operator);
    const hidden = observed.filter(({ id }) => !adoption?.observationIds.includes(id));
    expect(hidden).toHaveLength(1);
    const filter = { kind: 'adopt_provider', observationId: hidden[0]?.id };
    const answered = await dismiss(tenant, { reason: 'a trial', ...filter, expectedCount: 1 });
    expect(answered.body).toMatchObject({ done: 1, skipped: 0, results: [{ id: adoption?.id }] });
  });
});
