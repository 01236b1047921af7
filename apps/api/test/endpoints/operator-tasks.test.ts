import * as contract from '@quartermaster/contracts/operator-tasks.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { type Endpoints, expectFields, expectProblem, serverFor } from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf, pageOf } from './lists.ts';
import { chatSpan } from './spec-fixtures.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
afterAll(() => server.stop());

const PATH = '/v1/operator/tasks';

async function callerIn(tenantId: string, subTenantId?: string): Promise<{ key: string }> {
  const { key } = await accountWithKey(server, { tenantId, ...(subTenantId !== undefined && { subTenantId }) });
  return { key };
}

/** Lets an agent use a model that nobody declared, at a declared provider. Answers the task that it makes. */
async function undeclared(as: { key: string }, provider: string, model = unique('model')): Promise<Body> {
  await server.ok('POST', '/v1/traces', { as, body: chatSpan('ab'.repeat(16), model, provider) });
  const { items } = await pageOf(server, { path: PATH, as }, { limit: 100 });
  return items.find((task: Body) => task.title.includes(model));
}

async function providerOf(as: { key: string }): Promise<string> {
  const name = unique('provider');
  await server.ok('POST', '/v1/providers', { as, body: { name, kind: 'llm' } });
  return name;
}

test('what nobody declared becomes one open task, however often it is seen', async () => {
  const as = await callerIn('once-1');
  const provider = await providerOf(as);
  const task = await undeclared(as, provider, 'shadow-model');
  const fields = 'id kind status title subject assignee priority dueAt attempts lastError completedAt';
  expectFields(task, `${fields} tenantId subTenantId createdAt updatedAt`);
  expect(task).toMatchObject({
    ...{ tenantId: 'once-1', subTenantId: null, kind: 'review_observation', status: 'open', assignee: null },
    ...{ subject: { type: 'runtime_observation' }, attempts: 0, lastError: null, completedAt: null },
  });
  await undeclared(as, provider, 'shadow-model');
  expect(await idsOf(server, { path: PATH, as })).toEqual([task.id]);
  expect(await server.ok('GET', `${PATH}/${task.id}`, { as })).toEqual(task);
});

test('the review of an observation completes its task', async () => {
  const as = await callerIn('review-1');
  const task = await undeclared(as, await providerOf(as));
  const review = `/v1/runtime-observations/${task.subject.id}/review`;
  const { review: reviewed } = await server.ok('POST', review, { as, body: { decision: 'ignored' } });
  expect(await server.ok('GET', `${PATH}/${task.id}`, { as })).toMatchObject({
    status: 'succeeded',
    completedAt: reviewed.reviewedAt,
  });
});

test('a task that is missing or out of reach is 404', async () => {
  const as = await callerIn('hidden-1');
  const task = await undeclared(as, await providerOf(as));
  const stranger = await callerIn('hidden-2');
  const hidden = await server.call('GET', `${PATH}/${task.id}`, { as: stranger });
  const missing = await server.call('GET', `${PATH}/none`, { as: server.admin });
  for (const answered of [hidden, missing]) expectProblem(answered, 404, 'operator_task_not_found');
});

test('list_operator_tasks filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const as = await callerIn('list-1');
  const bound = await callerIn('list-1', 'eu');
  const provider = await providerOf(as);
  const done = await undeclared(as, provider);
  const open = await undeclared(bound, provider);
  const review = `/v1/runtime-observations/${done.subject.id}/review`;
  await server.ok('POST', review, { as, body: { decision: 'rejected' } });
  const both = [done.id, open.id];
  const rows: [Record<string, string>, string[]][] = [
    [{}, both],
    [{ tenant_id: '', sub_tenant_id: '' }, both],
    [{ tenant_id: 'list-1' }, both],
    [{ sub_tenant_id: 'eu' }, [open.id]],
    [{ status: 'open' }, [open.id]],
    [{ status: 'succeeded' }, [done.id]],
    [{ status: 'unheard-of' }, []],
    [{ kind: 'review_observation' }, both],
    [{ kind: 'sync_inventory' }, []],
    [{ kind: 'unheard-of' }, []],
    [{ assignee: 'user:nobody' }, []],
  ];
  await expectFilters(server, { path: PATH, as }, rows);
  expect(await idsOf(server, { path: PATH, as: bound })).toEqual([open.id]);
});

test('list_operator_tasks walks all pages while tasks are made', async () => {
  const as = await callerIn('pages-1');
  const provider = await providerOf(as);
  await expectStablePages(server, { path: PATH, as }, async () => (await undeclared(as, provider)).id);
});

test('a cursor of list_operator_tasks works for its own query and caller alone', async () => {
  const as = await callerIn('cursor-1');
  const provider = await providerOf(as);
  for (let count = 0; count < 3; count += 1) await undeclared(as, provider);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'cursor-1' }, as },
    { filter: { status: 'open' }, list: { path: '/v1/runtime-observations' }, principal: server.admin },
  );
});

test('every operation was seen to succeed, and to answer each error of its contract', () => {
  expect(server.unseen()).toEqual([]);
});
