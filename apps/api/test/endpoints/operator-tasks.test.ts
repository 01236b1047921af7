import * as contract from '@quartermaster/contracts/operator-tasks.ts';
import { openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Answered, Body, Credential } from '../support/server.ts';
import {
  auditOf,
  checkCoverageAfterAll,
  type Endpoints,
  expectFields,
  expectInvalid,
  expectProblem,
  serverFor,
} from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf, pageOf } from './lists.ts';
import { chatSpan } from './spec-fixtures.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/operator/tasks';
const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;

async function callerIn(
  tenantId: string,
  subTenantId?: string,
): Promise<{ id: string; key: string; principal: string }> {
  return accountWithKey(server, { tenantId, subTenantId });
}

/** Reports the use of an undeclared model at a declared provider. Returns the task that this opens. */
async function undeclared(as: { key: string }, provider: string, model = unique('model')): Promise<Body> {
  await server.ok('POST', '/v1/traces', { as, body: chatSpan('ab'.repeat(16), model, provider) });
  const { items } = await pageOf(server, { path: PATH, as }, { limit: 100 });
  return items.find((task: Body) => task.title.includes(model));
}

const post = (as: Credential, task: Body, verb: 'claim' | 'complete' | 'cancel', body?: object): Promise<Answered> =>
  server.call('POST', `${PATH}/${task.id}/${verb}`, { as, ...(body !== undefined && { body }) });

const claim = (as: Credential, task: Body, body: object = {}): Promise<Body> =>
  server.ok('POST', `${PATH}/${task.id}/claim`, { as, body });

const get = (as: Credential, task: Body): Promise<Body> => server.ok('GET', `${PATH}/${task.id}`, { as });

/** Opens a task of a kind that the requests of this file do not cause. */
async function opened(
  as: Credential,
  tenantId: string,
  { kind, ...subject }: { kind: 'rotate_credential' | 'sync_inventory'; type: 'credential' | 'provider'; id: string },
): Promise<Body> {
  const { services } = server;
  const task = { kind, title: unique(kind), subject, priority: 'normal' } as const;
  await openOperatorTask(services.db, { tenantId, subTenantId: null }, task, services.now());
  const { items } = await pageOf(server, { path: PATH, filter: { kind }, as }, { limit: 100 });
  return items.find(({ title }: Body) => title === task.title);
}

/** Marks the task of a sync as running, as the runner of syncs does. */
async function started(task: Body): Promise<void> {
  const { db } = server.services;
  await db.updateTable('operator_tasks').set({ status: 'running' }).where('id', '=', task.id).execute();
}

async function providerOf(as: { key: string }): Promise<string> {
  const name = unique('provider');
  await server.ok('POST', '/v1/providers', { as, body: { name, kind: 'llm' } });
  return name;
}

test('an undeclared model opens one task, also if it is used several times', async () => {
  const as = await callerIn('once-1');
  const provider = await providerOf(as);
  const task = await undeclared(as, provider, 'shadow-model');
  const fields =
    'id kind status title subject assignee priority dueAt leaseExpiresAt attempts lastError progress outcome note completedAt';
  expectFields(task, `${fields} tenantId subTenantId createdAt updatedAt`);
  expect(task).toMatchObject({
    tenantId: 'once-1',
    subTenantId: null,
    kind: 'review_observation',
    status: 'open',
    assignee: null,
    subject: { type: 'runtime_observation' },
    attempts: 0,
    lastError: null,
    completedAt: null,
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
  for (const verb of ['claim', 'complete', 'cancel'] as const) {
    const body = verb === 'complete' ? { outcome: 'approved' } : {};
    expectProblem(await post(stranger, task, verb, body), 404, 'operator_task_not_found');
    expectProblem(await post(server.admin, { id: 'none' }, verb, body), 404, 'operator_task_not_found');
  }
  expect(await get(as, task)).toEqual(task);
});

test('claim_operator_task gives a task to the caller, for 15 minutes or as long as they ask', async () => {
  const as = await callerIn('claim-1');
  const task = await undeclared(as, await providerOf(as));
  const lasts = ({ leaseExpiresAt, updatedAt }: Body) => (Date.parse(leaseExpiresAt) - Date.parse(updatedAt)) / 1000;
  const claimed = await claim(as, task);
  expect(claimed).toEqual({
    ...task,
    status: 'claimed',
    assignee: as.principal,
    leaseExpiresAt: expect.any(String),
    updatedAt: expect.any(String),
  });
  // The lease begins at the time of the database, which is read after the time of the service.
  expect(lasts(claimed)).toBeCloseTo(900, -1);
  expect(await get(as, task)).toEqual(claimed);
  const [event] = await auditOf(server, { operation: 'claim_operator_task', target_id: task.id });
  expect(event).toMatchObject({ changedFields: ['assignee', 'leaseExpiresAt', 'status'], tenantId: 'claim-1' });
  server.travel(MINUTE);
  const renewed = await claim(as, task, { leaseSeconds: 86_400 });
  expect(lasts(renewed)).toBeCloseTo(86_400, -1);
  expect(lasts(await claim(as, task, { leaseSeconds: 60 }))).toBeCloseTo(60, -1);
  const [again] = await auditOf(server, { operation: 'claim_operator_task', target_id: task.id });
  expect(again).toMatchObject({ changedFields: ['leaseExpiresAt'] });
  for (const [leaseSeconds, type] of [
    [59, 'greater_than_equal'],
    [86_401, 'less_than_equal'],
    ['900', 'int_type'],
  ] as const) {
    expectInvalid(await post(as, task, 'claim', { leaseSeconds }), { loc: ['body', 'leaseSeconds'], type });
  }
});

test('other callers cannot claim, complete or cancel a claimed task until its lease ends', async () => {
  const [holder, other] = [await callerIn('lease-1'), await callerIn('lease-1')];
  const task = await undeclared(holder, await providerOf(holder));
  const { leaseExpiresAt } = await claim(holder, task);
  for (const verb of ['claim', 'complete', 'cancel'] as const) {
    const answered = await post(other, task, verb, verb === 'complete' ? { outcome: 'approved' } : {});
    expectProblem(answered, 409, 'operator_task_claimed');
    expect(answered.text).not.toContain(holder.principal);
  }
  server.travel(QUARTER - MINUTE);
  expectProblem(await post(other, task, 'claim'), 409, 'operator_task_claimed');
  server.travel(MINUTE);
  // After the lease it is shown as open without any write.
  expect(await get(other, task)).toMatchObject({ status: 'open', assignee: null, leaseExpiresAt: null });
  const taken = await claim(other, task);
  expect(taken).toMatchObject({ status: 'claimed', assignee: other.principal });
  expect(taken.leaseExpiresAt > leaseExpiresAt).toBe(true);
  expectProblem(await post(holder, task, 'complete', { outcome: 'approved' }), 409, 'operator_task_claimed');
});

test('a task can be completed or cancelled without a claim, with the own claim, and after the lease of another claim', async () => {
  const [as, other] = [await callerIn('end-1'), await callerIn('end-1')];
  const provider = await providerOf(as);
  const unclaimed = await undeclared(as, provider);
  const own = await undeclared(as, provider);
  const lapsed = await undeclared(as, provider);
  const tasks = [unclaimed, own, lapsed, await undeclared(as, provider)];
  await claim(other, lapsed, { leaseSeconds: 60 });
  server.travel(MINUTE);
  await claim(as, own);
  for (const [index, task] of tasks.entries()) {
    const isCancelled = index === tasks.length - 1;
    const note = `note ${index}`;
    const verb = isCancelled ? 'cancel' : 'complete';
    const answered = await post(as, task, verb, { note, ...(!isCancelled && { outcome: 'ignored' }) });
    expect(answered.body, answered.text).toEqual({
      ...task,
      status: isCancelled ? 'cancelled' : 'succeeded',
      outcome: isCancelled ? null : 'ignored',
      note,
      assignee: as.principal,
      leaseExpiresAt: null,
      completedAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await get(as, task)).toEqual(answered.body);
    const [event] = await auditOf(server, { operation: `${verb}_operator_task`, target_id: task.id });
    expect(event).toMatchObject({ changedFields: expect.arrayContaining(['completedAt', 'note', 'status']) });
    expect(JSON.stringify(event)).not.toContain(note);
  }
});

test('claiming, completing and cancelling a finished task is 409', async () => {
  const as = await callerIn('finished-1');
  const provider = await providerOf(as);
  const [completed, cancelled] = [await undeclared(as, provider), await undeclared(as, provider)];
  await post(as, completed, 'complete', { outcome: 'approved' });
  await post(as, cancelled, 'cancel');
  for (const task of [completed, cancelled]) {
    const before = await get(as, task);
    for (const verb of ['claim', 'complete', 'cancel'] as const) {
      const answered = await post(as, task, verb, verb === 'complete' ? { outcome: 'approved' } : {});
      expectProblem(answered, 409, 'operator_task_not_open');
    }
    expect(await get(as, task)).toEqual(before);
  }
});

test('complete_operator_task accepts only the outcomes of the task’s kind', async () => {
  const as = await callerIn('outcome-1');
  const task = await undeclared(as, await providerOf(as));
  const other = await post(as, task, 'complete', { outcome: 'adopted' });
  expectInvalid(other, { loc: ['body', 'outcome'], type: 'enum' });
  expect(other.body.detail[0].ctx).toEqual({ expected: "'approved', 'rejected' or 'ignored'" });
  const unknown = await post(as, task, 'complete', { outcome: 'shrugged' });
  expectInvalid(unknown, { loc: ['body', 'outcome'], type: 'enum' });
  expectInvalid(await post(as, task, 'complete', {}), { loc: ['body', 'outcome'], type: 'missing' });
  const long = await post(as, task, 'complete', { outcome: 'approved', note: 'x'.repeat(2001) });
  expectInvalid(long, { loc: ['body', 'note'], type: 'string_too_long' });
  expect(await get(as, task)).toEqual(task);
});

test('complete_operator_task answers 409 for an outcome that did not happen, and the task stays unchanged', async () => {
  const as = await callerIn('not-done-1');
  const { id } = await callerIn('not-done-1');
  const expiresAt = new Date(server.services.now().getTime() + 7 * 24 * 60 * MINUTE).toISOString();
  const body = { scopes: ['traces:write'], expiresAt };
  const key = await server.ok('POST', `/v1/service-accounts/${id}/keys`, { as, body });
  const task = await opened(as, 'not-done-1', { kind: 'rotate_credential', type: 'credential', id: key.id });
  const claimed = await claim(as, task);
  expectProblem(await post(as, task, 'complete', { outcome: 'rotated' }), 409, 'operator_task_not_done');
  expect(await get(as, task)).toEqual(claimed);
  expect(await auditOf(server, { operation: 'complete_operator_task', target_id: task.id })).toEqual([]);
});

test('a sync task cannot be claimed or completed, but cancelled, also while it runs', async () => {
  const as = await callerIn('sync-1');
  for (const isRunning of [false, true]) {
    const task = await opened(as, 'sync-1', { kind: 'sync_inventory', type: 'provider', id: unique('prov') });
    if (isRunning) await started(task);
    expectProblem(await post(as, task, 'claim'), 409, 'operator_task_not_open');
    expectProblem(await post(as, task, 'complete', { outcome: 'dismissed' }), 409, 'operator_task_not_open');
    const { body } = await post(as, task, 'cancel');
    expect(body).toMatchObject({ status: 'cancelled', assignee: as.principal, completedAt: expect.any(String) });
  }
});

test('claims and cancels need no body, with any Content-Type', async () => {
  const as = await callerIn('body-1');
  const task = await undeclared(as, await providerOf(as));
  for (const verb of ['claim', 'cancel'] as const) {
    for (const sent of [{}, { raw: '' }, { raw: 'null', headers: { 'content-type': 'text/plain' } }]) {
      if (verb === 'cancel' && sent.raw !== 'null') continue;
      await server.ok('POST', `${PATH}/${task.id}/${verb}`, { as, ...sent });
    }
  }
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
    [{ kind: 'review_observation' }, both],
    [{ kind: 'sync_inventory' }, []],
    [{ assignee: 'user:nobody' }, []],
    [{ subject_id: open.subject.id }, [open.id]],
    [{ subject_id: 'obs_none' }, []],
  ];
  await expectFilters(server, { path: PATH, as }, rows);
  expect(await idsOf(server, { path: PATH, as: bound })).toEqual([open.id]);
});

test('lists show a task whose lease has ended as open and unassigned', async () => {
  const as = await callerIn('list-2');
  const provider = await providerOf(as);
  const [short, long] = [await undeclared(as, provider), await undeclared(as, provider)];
  await claim(as, short, { leaseSeconds: 60 });
  await claim(as, long);
  const rows = (open: string[], claimed: string[]): [Record<string, string>, string[]][] => [
    [{ status: 'open' }, open],
    [{ status: 'claimed' }, claimed],
    [{ assignee: as.principal }, claimed],
    [{ assignee: as.principal, status: 'open' }, []],
    [{}, [short.id, long.id]],
  ];
  await expectFilters(server, { path: PATH, as }, rows([], [short.id, long.id]));
  server.travel(MINUTE);
  await expectFilters(server, { path: PATH, as }, rows([short.id], [long.id]));
  await post(as, long, 'complete', { outcome: 'approved' });
  await expectFilters(server, { path: PATH, as }, [[{ assignee: as.principal, status: 'succeeded' }, [long.id]]]);
});

test('list_operator_tasks walks all pages while tasks are opened', async () => {
  const as = await callerIn('pages-1');
  const provider = await providerOf(as);
  await expectStablePages(server, { path: PATH, as }, async () => (await undeclared(as, provider)).id);
});

test('a cursor of list_operator_tasks works only for its own query and caller', async () => {
  const as = await callerIn('cursor-1');
  const provider = await providerOf(as);
  for (let count = 0; count < 3; count += 1) await undeclared(as, provider);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'cursor-1' }, as },
    { filter: { status: 'open' }, list: { path: '/v1/runtime-observations' }, principal: server.admin },
  );
});
