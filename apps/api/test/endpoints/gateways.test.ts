import * as contract from '@quartermaster/contracts/gateways.ts';
import { beforeAll, expect, test } from 'vitest';
import { keyIn, unique } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import {
  auditOf,
  checkCoverageAfterAll,
  type Endpoints,
  expectInvalid,
  expectProblem,
  expectUpdatesByPresence,
  serverFor,
} from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf } from './lists.ts';

let server: Endpoints;
function callerIn(tenantId: string, subTenantId?: string): Promise<{ key: string }> {
  return keyIn(server, { tenantId, subTenantId });
}
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/gateways';

const create = (as: Credential, body: object = {}): Promise<Body> =>
  server.ok('POST', PATH, { as, body: { name: unique('gateway'), ...body } });

async function providerOf(as: Credential, body: object = {}): Promise<string> {
  const provider = { name: unique('provider'), kind: 'llm', ...body };
  return (await server.ok('POST', '/v1/providers', { as, body: provider })).id;
}

async function manifestOf(as: Credential, body: object = {}): Promise<string> {
  const manifest = { name: unique('manifest'), kind: 'gateway', spec: {}, ...body };
  return (await server.ok('POST', '/v1/manifests', { as, body: manifest })).id;
}

test('create_gateway stores the given fields, and defaults for the others', async () => {
  const as = await callerIn('create-1');
  const providerIds = [await providerOf(as), await providerOf(as)].toReversed();
  const given = {
    name: 'Edge',
    displayName: 'The edge',
    url: 'https://edge.example.com',
    status: 'disabled',
    providerIds,
    manifestId: await manifestOf(as),
    sessionTtlSeconds: 600,
  };
  const gateway = await create(as, { ...given, providerIds: [...providerIds, providerIds[0]] });
  expect(gateway).toMatchObject({ ...given, tenantId: 'create-1', subTenantId: null });
  expect(gateway.id).toMatch(/^gw_/);
  const bare = await create(as);
  const defaults = { displayName: null, url: null, status: 'active', providerIds: [], manifestId: null };
  expect(bare).toMatchObject({ ...defaults, sessionTtlSeconds: 3600 });
  expect(await server.ok('GET', `${PATH}/${gateway.id}`, { as })).toEqual(gateway);
  const [event, ...others] = await auditOf(server, { target_id: gateway.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ operation: 'create_gateway', target: { type: 'gateway', id: gateway.id } });
});

test('a name is unique in its tenant and sub-tenant, ignoring case', async () => {
  const as = await callerIn('names-1');
  await callerIn('names-1', 'eu');
  await create(as, { name: 'Edge' });
  const other = await create(as);
  expectProblem(await server.call('POST', PATH, { as, body: { name: 'eDGE' } }), 409, 'name_taken');
  const renamed = await server.call('PUT', `${PATH}/${other.id}`, { as, body: { name: 'EDGE' } });
  expectProblem(renamed, 409, 'name_taken');
  await create(as, { name: 'Edge', subTenantId: 'eu' });
});

test('regression: a sub-tenant neither lifts the blocks nor uses the credential of a provider of the whole tenant', async () => {
  const [whole, eu] = [await callerIn('loosen-1'), await callerIn('loosen-1', 'eu')];
  const body = { subTenantId: 'eu', enforcement: 'enforce' };
  const shared = await create(whole, { ...body, providerIds: [await providerOf(whole)] });
  const own = await create(eu, { ...body, providerIds: [await providerOf(eu, { subTenantId: 'eu' })] });
  for (const [field, value] of [
    ['enforcement', 'observe'],
    ['mcpProxy', 'on'],
  ] as const) {
    const change = { [field]: value };
    const refused = await server.call('PUT', `${PATH}/${shared.id}`, { as: eu, body: change });
    expectInvalid(refused, { loc: ['body', field], type: 'value_error' });
    await server.ok('PUT', `${PATH}/${own.id}`, { as: eu, body: change });
    await server.ok('PUT', `${PATH}/${shared.id}`, { as: whole, body: change });
  }
  await server.ok('PUT', `${PATH}/${shared.id}`, { as: eu, body: { enforcement: 'enforce', mcpProxy: 'off' } });
});

test('a gateway uses providers and manifests of its sub-tenant and of the whole tenant; others are refused as missing', async () => {
  const as = await callerIn('uses-1');
  for (const subTenantId of ['eu', 'us']) await callerIn('uses-1', subTenantId);
  const stranger = await callerIn('uses-2');
  const rows: [object, boolean][] = [
    [{ subTenantId: 'eu' }, true],
    [{}, true],
    [{ subTenantId: 'us' }, false],
  ];
  for (const [place, usable] of rows) {
    const providerId = await providerOf(as, place);
    const manifestId = await manifestOf(as, place);
    const body = { name: unique('gateway'), subTenantId: 'eu', providerIds: [providerId], manifestId };
    const answered = await server.call('POST', PATH, { as, body });
    if (usable) {
      expect(answered.status, answered.text).toBe(200);
    } else {
      expectInvalid(answered, { loc: ['body', 'providerIds', 0], type: 'value_error' });
      expect(answered.body.detail[0].msg).toContain('a gateway of a sub-tenant uses those of its sub-tenant');
    }
  }
  const own = await providerOf(as);
  const foreign = await providerOf(stranger);
  for (const id of [foreign, 'prov_none']) {
    const answered = await server.call('POST', PATH, { as, body: { name: 'x', providerIds: [own, id] } });
    expectInvalid(answered, { loc: ['body', 'providerIds', 1], type: 'value_error' });
  }
  const gateway = await create(as);
  for (const manifestId of [await manifestOf(stranger), 'man_none']) {
    const answered = await server.call('PUT', `${PATH}/${gateway.id}`, { as, body: { manifestId } });
    expectInvalid(answered, { loc: ['body', 'manifestId'], type: 'value_error' });
  }
});

test('a caller of a sub-tenant cannot list a provider or name a manifest of the whole tenant', async () => {
  const as = await callerIn('reach-1');
  const inSubTenant = await callerIn('reach-1', 'eu');
  const providerIds = [await providerOf(as)];
  const manifestId = await manifestOf(as);
  const post = (body: object) => server.call('POST', PATH, { as: inSubTenant, body: { name: 'x', ...body } });
  expectInvalid(await post({ providerIds }), { loc: ['body', 'providerIds', 0], type: 'value_error' });
  expectInvalid(await post({ manifestId }), { loc: ['body', 'manifestId'], type: 'value_error' });
});

test('a gateway that is missing or out of reach is 404', async () => {
  const { id } = await create(await callerIn('hidden-1'));
  const stranger = await callerIn('hidden-2');
  for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as [string, object?][]) {
    const sent = body && { body };
    expectProblem(await server.call(method, `${PATH}/${id}`, { as: stranger, ...sent }), 404, 'gateway_not_found');
    expectProblem(await server.call(method, `${PATH}/none`, { as: server.admin, ...sent }), 404, 'gateway_not_found');
  }
});

test('update_gateway updates by presence', async () => {
  const as = await callerIn('update-1');
  const { id } = await create(as);
  await expectUpdatesByPresence(server, {
    path: `${PATH}/${id}`,
    as,
    operationId: 'update_gateway',
    target: id,
    fields: {
      name: { set: 'Another name' },
      displayName: { set: 'Shown name', cleared: null },
      url: { set: 'https://edge.example.com/', cleared: null },
      status: { set: 'disabled' },
      providerIds: { set: [await providerOf(as), await providerOf(as)] },
      manifestId: { set: await manifestOf(as), cleared: null },
      sessionTtlSeconds: { set: 60 },
    },
  });
});

test('a gateway whose manifest was deleted can be enabled only with another manifest or without one', async () => {
  const as = await callerIn('enable-1');
  const manifestId = await manifestOf(as);
  const { id } = await create(as, { manifestId, status: 'disabled' });
  await server.ok('DELETE', `/v1/manifests/${manifestId}`, { as });
  const put = (body: object) => server.call('PUT', `${PATH}/${id}`, { as, body });
  expect((await put({ displayName: 'Still changes' })).status).toBe(200);
  const refused = await put({ status: 'active' });
  expectInvalid(refused, { loc: ['body', 'manifestId'], type: 'value_error' });
  expect(refused.body.detail[0].msg).toContain("the gateway's manifest was deleted; name another one");
  expect((await put({ status: 'active', manifestId: null })).body).toMatchObject({
    status: 'active',
    manifestId: null,
  });
});

test.for([59, 86_401])('session TTLs of %d seconds are refused', async (sessionTtlSeconds) => {
  const type = sessionTtlSeconds < 60 ? 'greater_than_equal' : 'less_than_equal';
  const answered = await server.call('POST', PATH, { as: server.admin, body: { name: 'x', sessionTtlSeconds } });
  expectInvalid(answered, { loc: ['body', 'sessionTtlSeconds'], type });
});

test.for([
  ['PUT', 'disabling'],
  ['DELETE', 'deleting'],
] as const)('%s a gateway ends its sessions at once (%s)', async ([method]) => {
  const tenantId = `ends-${method.toLowerCase()}`;
  const as = await callerIn(tenantId);
  const { id } = await create(as);
  const session = await server.ok('POST', `${PATH}/${id}/sessions`, { as });
  if (method === 'PUT') {
    await server.ok('PUT', `${PATH}/${id}`, { as, body: { status: 'disabled' } });
    await server.ok('PUT', `${PATH}/${id}`, { as, body: { status: 'active' } });
    expect((await server.ok('GET', `${PATH}/${id}/sessions/${session.id}`, { as })).status).toBe('revoked');
    return;
  }
  expect(await server.ok('DELETE', `${PATH}/${id}`, { as })).toMatchObject({ id, status: 'deleted' });
  for (const again of ['DELETE', 'GET']) {
    expectProblem(await server.call(again, `${PATH}/${id}`, { as }), 404, 'gateway_not_found');
  }
  expectProblem(await server.call('GET', `${PATH}/${id}/sessions`, { as }), 404, 'gateway_not_found');
  expect(await idsOf(server, { path: PATH, as })).toEqual([]);
  expect(await idsOf(server, { path: PATH, as }, { status: 'deleted' })).toEqual([id]);
  expect(await auditOf(server, { operation: 'delete_gateway', target_id: id })).toHaveLength(1);
});

test('list_gateways filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const as = await callerIn('list-1');
  await callerIn('list-1', 'eu');
  const one = await create(as);
  const two = await create(as, { subTenantId: 'eu', status: 'disabled' });
  const both = [one.id, two.id];
  const rows: [Record<string, string>, string[]][] = [
    [{}, both],
    [{ tenant_id: '', sub_tenant_id: '' }, both],
    [{ tenant_id: 'list-1' }, both],
    [{ sub_tenant_id: 'eu' }, [two.id]],
    [{ status: 'active' }, [one.id]],
    [{ status: 'deleted' }, []],
  ];
  await expectFilters(server, { path: PATH, as }, rows);
});

test('list_gateways walks all pages while gateways are created', async () => {
  const as = await callerIn('pages-1');
  await expectStablePages(server, { path: PATH, as }, async () => (await create(as)).id);
});

test('a cursor of list_gateways works only for its own query and caller', async () => {
  const as = await callerIn('cursor-1');
  for (let count = 0; count < 3; count += 1) await create(as);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'cursor-1' }, as },
    { filter: { status: 'active' }, list: { path: '/v1/providers' }, principal: server.admin },
  );
});
