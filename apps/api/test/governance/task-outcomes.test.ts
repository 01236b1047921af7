import { openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditOf, expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { chat, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const complete = (as: Credential, task: Body, outcome: string, note?: string) =>
  server.call('POST', `/v1/operator/tasks/${task.id}/complete`, { as, body: { outcome, ...(note && { note }) } });

async function completed(as: Credential, task: Body, outcome: string, note?: string): Promise<Body> {
  const answered = await complete(as, task, outcome, note);
  expect(answered.status, answered.text).toBe(200);
  return answered.body;
}

async function taskOf(tenant: Tenant, kind: string, status = 'open'): Promise<Body> {
  return (await tenant.tasks(status)).find((task) => task.kind === kind);
}

const getTask = (as: Credential, { id }: Body): Promise<Body> => server.ok('GET', `/v1/operator/tasks/${id}`, { as });

/** An account that may complete tasks, but does not hold the scopes of what their outcomes do. */
const accountWithTaskScopesOnly = ({ tenantId }: Tenant) =>
  accountWithKey(server, { tenantId }, ['operator_tasks:write', 'operator_tasks:read']);

describe('review_observation', () => {
  test.each(['approved', 'rejected', 'ignored'])(
    'the outcome %s reviews the observation and passes the note on',
    async (outcome) => {
      const tenant = await newTenant(server);
      await tenant.see('gpt-x');
      const task = await taskOf(tenant, 'review_observation');
      const ended = await completed(tenant.operator, task, outcome, 'as agreed');
      const { principal } = tenant.operator;
      expect(ended).toMatchObject({ status: 'succeeded', outcome, note: 'as agreed', assignee: principal });
      expect(await getTask(tenant.operator, task)).toEqual(ended);
      expect(await tenant.observation('gpt-x')).toMatchObject({
        status: outcome,
        review: { decision: outcome, note: 'as agreed', reviewedBy: principal, reviewedAt: ended.completedAt },
      });
      const open = (await tenant.recommendations()).map(({ kind }) => kind);
      expect(open.includes('register_item')).toBe(outcome === 'approved');
      const events = await auditOf(server, { operation: 'complete_operator_task', tenant_id: tenant.tenantId });
      const recorded = events.map(({ target, decision }: Body) => ({ target, decision }));
      const about = (type: string, id: string) =>
        expect.objectContaining({ target: expect.objectContaining({ type, id }), decision: outcome });
      expect(recorded).toContainEqual(about('operator_task', task.id));
      expect(recorded).toContainEqual(about('runtime_observation', task.subject.id));
    },
  );

  test('without runtime_observations:review it answers 403, and task and observation stay the same', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-x');
    const task = await taskOf(tenant, 'review_observation');
    const observation = await tenant.observation('gpt-x');
    const answered = await complete(await accountWithTaskScopesOnly(tenant), task, 'approved');
    expectProblem(answered, 403, 'scope_missing');
    expect(answered.body.scope).toBe('runtime_observations:review');
    expect(await getTask(tenant.operator, task)).toEqual(task);
    expect(await tenant.observation('gpt-x')).toEqual(observation);
    expect(await auditOf(server, { operation: 'complete_operator_task', target_id: task.id })).toEqual([]);
  });
});

describe('adopt_provider', () => {
  async function discovered(): Promise<{ tenant: Tenant; task: Body; path: string }> {
    const tenant = await newTenant(server);
    await sendSpans(server, tenant.sender, [chat('m', { 'gen_ai.provider.name': unique('shadow') })]);
    const task = await taskOf(tenant, 'adopt_provider');
    return { tenant, task, path: `/v1/providers/${task.subject.id}` };
  }

  test('the outcome adopted applies the recommendation, so the provider is declared', async () => {
    const { tenant, task, path } = await discovered();
    const as = tenant.operator;
    expect(await server.ok('GET', path, { as })).toMatchObject({ status: 'discovered' });
    expect(await completed(as, task, 'adopted')).toMatchObject({ status: 'succeeded', outcome: 'adopted' });
    expect(await server.ok('GET', path, { as })).toMatchObject({ status: 'active' });
    const { items } = await server.ok('GET', `${path}/recommendations?kind=adopt_provider`, { as });
    expect(items).toMatchObject([{ status: 'applied', appliedBy: as.principal }]);
  });

  test('the outcome dismissed dismisses the recommendation with the note as its reason; the provider stays discovered', async () => {
    const { tenant, task, path } = await discovered();
    const as = tenant.operator;
    expect(await completed(as, task, 'dismissed', 'a test')).toMatchObject({ outcome: 'dismissed', note: 'a test' });
    expect(await server.ok('GET', path, { as })).toMatchObject({ status: 'discovered' });
    const { items } = await server.ok('GET', `${path}/recommendations?kind=adopt_provider`, { as });
    expect(items).toMatchObject([{ status: 'dismissed', dismissal: { reason: 'a test', dismissedBy: as.principal } }]);
  });

  test('without recommendations:apply it answers 403, and nothing changes', async () => {
    const { tenant, task, path } = await discovered();
    const before = await server.ok('GET', path, { as: tenant.operator });
    for (const outcome of ['adopted', 'dismissed']) {
      const answered = await complete(await accountWithTaskScopesOnly(tenant), task, outcome);
      expectProblem(answered, 403, 'scope_missing');
      expect(answered.body.scope).toBe('recommendations:apply');
    }
    expect(await getTask(tenant.operator, task)).toEqual(task);
    expect(await server.ok('GET', path, { as: tenant.operator })).toEqual(before);
  });

  test('the outcome adopted answers 409 if no recommendation is open, and 200 if the provider is already adopted', async () => {
    const { tenant, task, path } = await discovered();
    const as = tenant.operator;
    const { items } = await server.ok('GET', `${path}/recommendations?kind=adopt_provider`, { as });
    await server.ok('POST', `/v1/recommendations/${items[0].id}/dismiss`, { as, body: { reason: 'no' } });
    const again = await openTask(tenant, { kind: 'adopt_provider', subject: task.subject });
    expectProblem(await complete(as, again, 'adopted'), 409, 'operator_task_not_done');
    expect(await getTask(as, again)).toEqual(again);
    await server.ok('PUT', path, { as, body: { status: 'active' } });
    expect(await getTask(as, again)).toMatchObject({ status: 'succeeded' });
    const afterAdoption = await openTask(tenant, { kind: 'adopt_provider', subject: task.subject });
    expect(await completed(as, afterAdoption, 'adopted')).toMatchObject({ outcome: 'adopted' });
  });
});

describe('rotate_credential', () => {
  const DAY = 24 * 3600 * 1000;

  async function expiring(days: number | null): Promise<{ tenant: Tenant; task: Body; path: string }> {
    const tenant = await newTenant(server);
    const { id } = await accountWithKey(server, { tenantId: tenant.tenantId });
    const expiresAt = days === null ? null : new Date(server.services.now().getTime() + days * DAY).toISOString();
    const keys = `/v1/service-accounts/${id}/keys`;
    const key = await server.ok('POST', keys, { as: tenant.operator, body: { scopes: ['traces:write'], expiresAt } });
    const subject = { type: 'credential', id: key.id } as const;
    return { tenant, task: await openTask(tenant, { kind: 'rotate_credential', subject }), path: `${keys}/${key.id}` };
  }

  test('the outcome rotated answers 409 while the credential expires soon, and 200 after it was replaced', async () => {
    const { tenant, task, path } = await expiring(7);
    const as = tenant.operator;
    expectProblem(await complete(as, task, 'rotated'), 409, 'operator_task_not_done');
    expect(await getTask(as, task)).toEqual(task);
    await server.ok('POST', `${path}/rotate`, { as });
    expect(await completed(as, task, 'rotated')).toMatchObject({ status: 'succeeded', outcome: 'rotated' });
  });

  test('the outcome rotated answers 200 if the credential was revoked or does not expire soon', async () => {
    const revoked = await expiring(7);
    await server.ok('DELETE', revoked.path, { as: revoked.tenant.operator });
    await completed(revoked.tenant.operator, revoked.task, 'rotated');
    for (const days of [15, null]) {
      const { tenant, task } = await expiring(days);
      await completed(tenant.operator, task, 'rotated');
    }
  });

  test('the outcome dismissed only closes the task; without credentials:write both outcomes answer 403', async () => {
    const { tenant, task } = await expiring(7);
    const caller = await accountWithTaskScopesOnly(tenant);
    for (const outcome of ['rotated', 'dismissed']) {
      const answered = await complete(caller, task, outcome);
      expectProblem(answered, 403, 'scope_missing');
      expect(answered.body.scope).toBe('credentials:write');
    }
    expect(await completed(tenant.operator, task, 'dismissed')).toMatchObject({ outcome: 'dismissed' });
  });
});

describe('review_cardinality', () => {
  test.each(['pruned', 'acknowledged'])(
    'the outcome %s: pruned removes unreviewed observations at all providers, acknowledged keeps them',
    async (outcome) => {
      const tenant = await newTenant(server);
      const as = tenant.operator;
      const [kept, loose] = [unique('kept'), unique('loose')];
      for (const model of [kept, loose]) {
        await sendSpans(server, tenant.sender, [chat(model, { 'gen_ai.provider.name': 'shadow' })]);
      }
      await tenant.see('at-a-declared-one');
      await tenant.review((await tenant.observation(kept)).id, 'approved');
      const task = await openTask(tenant, {
        kind: 'review_cardinality',
        subject: { type: 'tenant', id: tenant.tenantId },
      });
      const refused = await complete(await accountWithTaskScopesOnly(tenant), task, outcome);
      expectProblem(refused, 403, 'scope_missing');
      expect(await tenant.observation(loose)).toBeDefined();
      expect(await completed(as, task, outcome)).toMatchObject({ status: 'succeeded', outcome });
      for (const name of [loose, 'at-a-declared-one']) {
        expect((await tenant.observation(name)) === undefined, name).toBe(outcome === 'pruned');
      }
      expect(await tenant.observation(kept)).toBeDefined();
    },
  );
});

type Opened = { kind: 'adopt_provider' | 'rotate_credential' | 'review_cardinality'; subject: Body };

/** Opens a task as the service itself does. */
async function openTask(tenant: Tenant, { kind, subject }: Opened): Promise<Body> {
  const { db, now } = server.services;
  const place = { tenantId: tenant.tenantId, subTenantId: null };
  await openOperatorTask(db, place, { kind, subject, title: 'A task', priority: 'normal' }, now());
  return taskOf(tenant, kind);
}
