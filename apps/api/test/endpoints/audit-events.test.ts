import * as contract from '@quartermaster/contracts/audit-events.ts';
import { beforeAll, expect, test } from 'vitest';
import { newTenant } from '../governance/loop-support.ts';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import {
  auditOf,
  checkCoverageAfterAll,
  type Endpoints,
  expectFields,
  expectInvalid,
  expectProblem,
  serverFor,
} from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages } from './lists.ts';
import { chatSpan } from './spec-fixtures.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/audit-events';

test('an event has the actor, operation, target, changed fields, place and request id', async () => {
  const account = await accountWithKey(server, { tenantId: 'event-1', subTenantId: 'eu' });
  const body = { name: 'Hidden value', kind: 'llm' };
  const created = await server.call('POST', '/v1/providers', { as: { key: account.key }, body });
  const [event, ...others] = await auditOf(server, { actor_id: account.id });
  expect(others).toEqual([]);
  expectFields(event, 'actor scheme operation target outcome changedFields changes requestId');
  expect(event).toEqual({
    id: expect.stringMatching(/^aud_/),
    tenantId: 'event-1',
    subTenantId: 'eu',
    actor: { type: 'service_account', id: account.id, tenantId: 'event-1' },
    scheme: 'api_key',
    keyId: account.keyId,
    operation: 'create_provider',
    target: { type: 'provider', id: created.body.id, name: 'Hidden value', parentId: null, deleted: false },
    outcome: 'success',
    reason: null,
    decision: null,
    changedFields: ['kind', 'name', 'status'],
    changes: [
      { field: 'kind', before: null, after: 'llm' },
      { field: 'status', before: null, after: 'active' },
    ],
    count: 1,
    requestId: created.headers.get('x-request-id'),
    callerRequestId: null,
    createdAt: created.body.createdAt,
    updatedAt: created.body.createdAt,
  });
});

test('regression: an event has the request id of the service, and the one that the caller sent in a separate field', async () => {
  const { key, id } = await accountWithKey(server, { tenantId: 'request-ids-1' });
  const as = { key };
  const headers = { 'x-request-id': 'chosen-by-the-caller' };
  for (const name of ['first', 'second']) {
    const answered = await server.call('POST', '/v1/gateways', { as, headers, body: { name } });
    expect(answered.headers.get('x-request-id')).toBe('chosen-by-the-caller');
  }
  const refused = await server.call('GET', '/v1/providers/none', { as, headers });
  expect(refused.body.instance).toBe('chosen-by-the-caller');
  const trpc = await server.call('GET', '/trpc/providers.get?input={"path":{"provider_id":"none"}}', { as, headers });
  expect(trpc.body.error.data.instance).toBe('chosen-by-the-caller');
  await server.services.audit.refusals.flush('all');
  const events = await auditOf(server, { actor_id: id });
  expect(events).toHaveLength(3);
  for (const event of events) {
    expect(event.callerRequestId).toBe('chosen-by-the-caller');
    expect(event.requestId).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect(new Set(events.map(({ requestId }) => requestId)).size).toBe(3);
  await server.call('POST', '/v1/gateways', {
    as,
    headers: { 'x-request-id': 'not {valid}' },
    body: { name: 'third' },
  });
  const [last] = await auditOf(server, { actor_id: id });
  expect(last.callerRequestId).toBeNull();
});

test('a user acts by bearer token, and the first sign-in is a separate event', async () => {
  await accountWithKey(server, { tenantId: 'user-1' });
  const { id, token } = await memberWithToken(server, { tenantId: 'user-1' }, 'admin');
  await server.ok('POST', '/v1/gateways', { as: { token }, body: { name: 'edge' } });
  const operations: string[] = (await auditOf(server, { actor_id: id })).map((event) => event.operation);
  const expected = ['accept_membership', 'create_gateway', 'link_identity', 'update_my_profile'];
  expect(operations.toSorted()).toEqual(expected);
  const [made] = await auditOf(server, { actor_id: id, operation: 'create_gateway' });
  const [linked] = await auditOf(server, { actor_id: id, operation: 'link_identity' });
  const actor = { actor: { type: 'user', id }, scheme: 'bearer', keyId: null };
  expect(made).toMatchObject({ ...actor, operation: 'create_gateway', tenantId: 'user-1' });
  expect(linked).toMatchObject({ ...actor, operation: 'link_identity', target: { type: 'user', id }, tenantId: null });
});

test('reads, invalid requests and updates without a change leave no event', async () => {
  const { id, key } = await accountWithKey(server, { tenantId: 'silent-1' });
  const as = { key };
  const before = await auditOf(server, { tenant_id: 'silent-1' });
  await server.ok('GET', '/v1/providers', { as });
  await server.ok('POST', '/v1/service-accounts/search', { as });
  await server.ok('POST', '/v1/credentials/search', { as });
  await server.call('POST', '/v1/providers', { as, body: {} });
  await server.ok('PUT', `/v1/service-accounts/${id}`, { as, body: {} });
  await server.call('GET', '/v1/providers', { as: { key: `${key}x` } });
  await server.services.audit.refusals.flush('all');
  expect(await auditOf(server, { tenant_id: 'silent-1' })).toEqual(before);
});

test('span ingest is not audited', async () => {
  const { key } = await accountWithKey(server, { tenantId: 'ingest-1' });
  const before = await auditOf(server, { tenant_id: 'ingest-1' });
  await server.ok('POST', '/v1/traces', { as: { key }, body: chatSpan('cd'.repeat(16), 'gpt-5', 'openai') });
  expect(await auditOf(server, { tenant_id: 'ingest-1' })).toEqual(before);
});

test('refusals of authenticated callers are counted in one event for each actor, operation, reason and minute', async () => {
  const reader = await accountWithKey(server, { tenantId: 'refused-1' }, ['providers:read']);
  const writer = await accountWithKey(server, { tenantId: 'refused-1' });
  const post = (key: string) => server.call('POST', '/v1/gateways', { as: { key }, body: { name: 'edge' } });
  await server.services.audit.refusals.flush('all');
  // Moves the clock to the beginning of a minute, so that all calls below are in the same minute.
  server.travel(60_000 - (server.services.now().getTime() % 60_000));
  const refusals: Body[] = [];
  for (let count = 0; count < 3; count += 1) refusals.push(await post(reader.key));
  await post(writer.key);
  for (let count = 0; count < 2; count += 1) expectProblem(await post(writer.key), 409, 'name_taken');
  const refused = async (actor: string) => auditOf(server, { actor_id: actor, tenant_id: 'refused-1' });
  await server.services.audit.refusals.flush('over');
  expect(await refused(reader.id)).toEqual([]);
  server.travel(60_000);
  await post(reader.key);
  await server.services.audit.refusals.flush('over');
  const [summed, ...others] = await refused(reader.id);
  expect(others).toEqual([]);
  expect(summed).toMatchObject({
    operation: 'create_gateway',
    outcome: 'denied',
    reason: 'scope_missing',
    count: 3,
    target: null,
    actor: { type: 'service_account', id: reader.id },
    scheme: 'api_key',
    changedFields: [],
    requestId: refusals[0]?.headers.get('x-request-id'),
  });
  const failures = (await refused(writer.id)).filter((event) => event.outcome === 'failure');
  expect(failures).toMatchObject([{ operation: 'create_gateway', reason: 'name_taken', count: 2 }]);
  await server.services.audit.refusals.flush('all');
  expect((await refused(reader.id)).map((event) => event.count)).toEqual([1, 3]);
});

test('regression: a mistyped operation is refused, and an action of the service is not', async () => {
  const as = server.admin;
  const mistyped = await server.call('GET', `${PATH}?operation=create_gatway`, { as });
  expectInvalid(mistyped, { loc: ['query', 'operation'], type: 'enum' });
  for (const operation of ['create_gateway', 'sign_in', 'further_refusals']) {
    expect((await server.call('GET', `${PATH}?operation=${operation}`, { as })).status).toBe(200);
  }
});

test('a tenant and a sub-tenant see their own events, the platform sees all, and operators and viewers see none', async () => {
  const tenantId = 'reach-1';
  const wide = await accountWithKey(server, { tenantId });
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  for (const { key } of [wide, bound]) await server.ok('POST', '/v1/gateways', { as: { key }, body: { name: 'edge' } });
  const places = async (key: string): Promise<string[]> => {
    const { items } = await server.ok('GET', `${PATH}?limit=100&operation=create_gateway`, { as: { key } });
    return items.map((event: Body) => event.subTenantId ?? '');
  };
  expect((await places(wide.key)).toSorted()).toEqual(['', 'eu']);
  expect(await places(bound.key)).toEqual(['eu']);
  expect((await auditOf(server, { tenant_id: tenantId, operation: 'create_gateway' })).length).toBe(2);
  for (const role of ['operator', 'viewer'] as const) {
    const { token } = await memberWithToken(server, { tenantId }, role);
    expectProblem(await server.call('GET', PATH, { as: { token } }), 403, 'scope_missing');
  }
  expect(await auditOf(server, { operation: 'register_user' })).not.toEqual([]);
  const { items } = await server.ok('GET', `${PATH}?operation=register_user`, { as: { key: wide.key } });
  expect(items).toEqual([]);
});

test('no operation changes or removes an event', async () => {
  const [event] = await auditOf(server, {});
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    expect((await server.call(method, PATH, { as: server.admin, unchecked: true })).status).toBe(405);
    const one = await server.call(method, `${PATH}/${event.id}`, { as: server.admin, unchecked: true });
    expect([404, 405]).toContain(one.status);
  }
});

test('list_audit_events filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const wide = await accountWithKey(server, { tenantId: 'list-1' });
  const bound = await accountWithKey(server, { tenantId: 'list-1', subTenantId: 'eu' });
  const as = { key: wide.key };
  const listing = { path: PATH, as };
  const start = server.services.now().toISOString();
  server.travel(1000);
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  server.travel(1000);
  const provider = await server.ok('POST', '/v1/providers', {
    as: { key: bound.key },
    body: { name: 'p', kind: 'llm' },
  });
  const after = { created_after: start };
  const [second, first] = (await server.ok('GET', `${PATH}?created_after=${start}`, { as })).items;
  expect([first.target.id, second.target.id]).toEqual([gateway.id, provider.id]);
  const both = [first.id, second.id];
  const rows: [Record<string, string>, string[]][] = [
    [after, both],
    [{ ...after, tenant_id: '', sub_tenant_id: '' }, both],
    [{ ...after, tenant_id: 'list-1' }, both],
    [{ ...after, sub_tenant_id: 'eu' }, [second.id]],
    [{ ...after, actor_id: wide.id }, [first.id]],
    [{ ...after, actor_id: 'nobody' }, []],
    [{ ...after, operation: 'create_provider' }, [second.id]],
    [{ ...after, operation: 'list_agents' }, []],
    [{ ...after, target_id: gateway.id }, [first.id]],
    [{ ...after, target_id: 'none' }, []],
    [{ ...after, outcome: 'success' }, both],
    [{ ...after, outcome: 'denied' }, []],
    [{ ...after, decision: 'approved' }, []],
    [{ created_after: first.createdAt }, [second.id]],
    [{ ...after, created_before: second.createdAt }, [first.id]],
    [{ created_after: first.createdAt.replace('Z', '+00:00') }, [second.id]],
  ];
  await expectFilters(server, listing, rows);
});

test('a target has its name, its parent and whether it was deleted, as far as the caller may read it', async () => {
  const { key, id, keyId } = await accountWithKey(server, { tenantId: 'names-1' });
  const as = { key };
  const post = (path: string, body: object) => server.ok('POST', path, { as, body });
  const provider = await post('/v1/providers', { name: 'named', displayName: 'Named one', kind: 'llm' });
  const item = await post(`/v1/providers/${provider.id}/inventory`, { kind: 'model', name: 'gpt-5' });
  const secret = await server.ok('PUT', `/v1/providers/${provider.id}/credential`, {
    as,
    body: { secret: 'a secret' },
  });
  const gateway = await post('/v1/gateways', { name: 'edge', providerIds: [provider.id] });
  const session = await post(`/v1/gateways/${gateway.id}/sessions`, {});
  const spec = { declares: [{ provider: 'named', kind: 'model', name: 'gpt-5' }] };
  const manifest = await post('/v1/manifests', { name: 'bot', kind: 'agent', spec });
  const gone = await post('/v1/gateways', { name: 'gone' });
  await server.ok('DELETE', `/v1/gateways/${gone.id}`, { as });
  const target = (type: string, target: object) => ({ type, parentId: null, deleted: false, ...target });
  const rows: [string, object][] = [
    [provider.id, target('provider', { name: 'Named one' })],
    [item.id, target('inventory_item', { name: 'gpt-5', parentId: provider.id })],
    [secret.id, target('provider_credential', { name: 'Named one', parentId: provider.id })],
    [gateway.id, target('gateway', { name: 'edge' })],
    [session.id, target('gateway_session', { name: 'edge', parentId: gateway.id })],
    [manifest.id, target('manifest', { name: 'bot' })],
    [gone.id, target('gateway', { name: 'gone', deleted: true })],
    [keyId, target('api_key', { name: expect.any(String), parentId: id })],
    [id, target('service_account', { name: id })],
    ['names-1', target('tenant', { name: 'names-1' })],
  ];
  for (const [targetId, expected] of rows) {
    const [event] = await auditOf(server, { tenant_id: 'names-1', target_id: targetId });
    expect(event?.target, targetId).toEqual({ id: targetId, ...expected });
  }
  const auditor = await accountWithKey(server, { tenantId: 'names-1' }, ['audit_events:read']);
  const { items } = await server.ok('GET', `${PATH}?target_id=${provider.id}`, { as: { key: auditor.key } });
  expect(items[0].target).toEqual(target('provider', { id: provider.id, name: null }));
});

test('events are filtered by what was decided', async () => {
  const tenant = await newTenant(server);
  await tenant.see('one');
  await tenant.see('two');
  for (const [name, decision] of [
    ['one', 'approved'],
    ['two', 'rejected'],
  ] as const)
    await tenant.review((await tenant.observation(name)).id, decision);
  const found = async (decision: string) => auditOf(server, { tenant_id: tenant.tenantId, decision });
  expect((await found('approved')).map(({ target }) => target.name)).toEqual(['one']);
  expect((await found('rejected')).map(({ target }) => target.name)).toEqual(['two']);
  expect(await found('withdrawn')).toEqual([]);
});

test('list_audit_events walks all pages while events are written', async () => {
  const { key } = await accountWithKey(server, { tenantId: 'pages-1' });
  const make = async () => {
    const body = { name: unique('gateway') };
    const { id } = await server.ok('POST', '/v1/gateways', { as: { key }, body });
    return (await auditOf(server, { target_id: id }))[0].id;
  };
  await expectStablePages(server, { path: PATH, as: { key } }, make);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'pages-1' }, as: { key } },
    { filter: { outcome: 'success' }, list: { path: '/v1/gateways' }, principal: server.admin },
  );
});

test('verify_audit_events answers 200 for a tenant, and 404 for one that does not exist', async () => {
  await accountWithKey(server, { tenantId: 'verified-1' });
  await server.services.audit.sealer.pass();
  const answer = await server.ok('GET', `${PATH}/verify?tenant_id=verified-1`, { as: server.admin });
  expect(answer).toMatchObject({ tenantId: 'verified-1', status: 'intact', faults: [] });
  const none = await server.call('GET', `${PATH}/verify?tenant_id=verified-none`, { as: server.admin });
  expectProblem(none, 404, 'tenant_not_found');
});
