import * as contract from '@quartermaster/contracts/providers.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { joinPlace, keyIn, memberWithToken, unique } from '../support/people.ts';
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
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf, pageOf } from './lists.ts';
import { chatSpan } from './spec-fixtures.ts';

let server: Endpoints;
/** A caller in a tenant. Creating the account also creates the tenant. */
function callerIn(tenantId: string, subTenantId?: string): Promise<{ key: string }> {
  return keyIn(server, { tenantId, subTenantId });
}
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/providers';

function create(as: Credential, body: object = {}): Promise<Body> {
  return server.ok('POST', PATH, { as, body: { name: unique('provider'), kind: 'llm', ...body } });
}

test('create_provider stores the given fields, and defaults for the others', async () => {
  const as = await callerIn('create-1');
  const given = {
    name: 'OpenAI',
    displayName: 'Open AI',
    description: 'Models',
    kind: 'llm',
    status: 'disabled',
    baseUrl: 'https://api.openai.com/v1',
    metadata: { team: 'a' },
  };
  const full = await create(as, given);
  expect(full).toMatchObject({ ...given, tenantId: 'create-1', subTenantId: null });
  expect(full).toMatchObject({ health: 'unknown', inventorySyncedAt: null });
  const bare = await create(as);
  const defaults = { displayName: null, description: null, baseUrl: null, status: 'active', metadata: {} };
  expect(bare).toMatchObject(defaults);
  expect(await server.ok('GET', `${PATH}/${bare.id}`, { as })).toEqual(bare);
  const [event, ...others] = await auditOf(server, { target_id: bare.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ operation: 'create_provider', outcome: 'success', tenantId: 'create-1' });
  expect(event.target).toEqual({ type: 'provider', id: bare.id, name: bare.name, parentId: null, deleted: false });
});

// Regression: the refusal repeated the password.
test('a base URL with a user or password is 422, and repeated nowhere', async () => {
  const as = await callerIn('base-urls-1');
  const { id } = await create(as);
  const urls = ['https://user:hunter2@llm.example.com', 'https://hunter2@llm.example.com', 'https:\\\\u:hunter2@h'];
  for (const baseUrl of [...urls, `ftp://user:hunter2@llm.example.com`, `user:hunter2@llm.example.com`]) {
    const made = await server.call('POST', PATH, { as, body: { name: unique('p'), kind: 'llm', baseUrl } });
    const changed = await server.call('PUT', `${PATH}/${id}`, { as, body: { baseUrl } });
    const other = await server.call('POST', PATH, { as, body: { name: unique('p'), baseUrl } });
    for (const answered of [made, changed, other]) {
      expect(answered.status).toBe(422);
      expect(answered.text).not.toContain('hunter2');
    }
    expectInvalid(changed, { loc: ['body', 'baseUrl'], type: expect.any(String) });
  }
});

test('a name is unique in its tenant and sub-tenant, ignoring case, and can be used again after a delete', async () => {
  const as = await callerIn('names-1');
  await callerIn('names-1', 'eu');
  const first = await create(as, { name: 'Straße' });
  const second = await create(as, { name: 'Other' });
  const post = (body: object) => server.call('POST', PATH, { as, body: { kind: 'llm', ...body } });
  expectProblem(await post({ name: 'STRAßE' }), 409, 'name_taken');
  expect((await post({ name: 'straße', subTenantId: 'eu' })).status).toBe(200);
  const renamed = await server.call('PUT', `${PATH}/${second.id}`, { as, body: { name: 'straße' } });
  expectProblem(renamed, 409, 'name_taken');
  expect((await server.ok('PUT', `${PATH}/${first.id}`, { as, body: { name: 'STRAßE' } })).name).toBe('STRAßE');
  await server.ok('DELETE', `${PATH}/${first.id}`, { as });
  expect((await post({ name: 'Straße' })).status).toBe(200);
});

test('create_provider creates neither tenant nor sub-tenant, and requires a tenant from callers of several', async () => {
  const as = await callerIn('place-1');
  await callerIn('place-2');
  const body = { name: 'x', kind: 'llm' };
  const sub = await server.call('POST', PATH, { as, body: { ...body, subTenantId: 'nowhere' } });
  expectInvalid(sub, { loc: ['body', 'subTenantId'], type: 'value_error' });
  expect(sub.body.detail[0].msg).toContain('service account that is created in a sub-tenant creates it');
  const tenant = await server.call('POST', PATH, { as: server.admin, body: { ...body, tenantId: 'nowhere' } });
  expectInvalid(tenant, { loc: ['body', 'tenantId'], type: 'value_error' });
  expectProblem(
    await server.call('POST', PATH, { as, body: { ...body, tenantId: 'place-2' } }),
    403,
    'tenant_forbidden',
  );
  const member = await memberWithToken(server, { tenantId: 'place-1' }, 'operator');
  const { token } = member;
  await joinPlace(server, member, { place: { tenantId: 'place-2' }, role: 'operator' });
  const unnamed = await server.call('POST', PATH, { as: { token }, body });
  expectInvalid(unnamed, { loc: ['body', 'tenantId'], type: 'missing' });
  expect((await create({ token }, { tenantId: 'place-2' })).tenantId).toBe('place-2');
  expect((await create(server.admin)).tenantId).toBe('default');
});

test('a provider that is missing or out of reach is 404', async () => {
  const { id } = await create(await callerIn('hidden-1'));
  const stranger = await callerIn('hidden-2');
  for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as [string, object?][]) {
    const sent = body && { body };
    expectProblem(await server.call(method, `${PATH}/${id}`, { as: stranger, ...sent }), 404, 'provider_not_found');
    expectProblem(await server.call(method, `${PATH}/none`, { as: server.admin, ...sent }), 404, 'provider_not_found');
  }
});

test('update_provider updates by presence', async () => {
  const as = await callerIn('update-1');
  const { id } = await create(as, { name: 'Before' });
  await expectUpdatesByPresence(server, {
    path: `${PATH}/${id}`,
    as,
    operationId: 'update_provider',
    target: id,
    fields: {
      name: { set: 'After' },
      displayName: { set: 'Shown name', cleared: null },
      description: { set: 'Describes it', cleared: null },
      kind: { set: 'mcp' },
      baseUrl: { set: 'https://mcp.example.com/mcp', cleared: null },
      status: { set: 'disabled' },
      metadata: { set: { a: { b: [] } }, cleared: {} },
      syncIntervalSeconds: { set: 600, cleared: null },
      newItems: { set: 'allow' },
      headers: { set: [{ name: 'X-Organization', value: 'acme' }], cleared: [] },
    },
  });
});

test('headers in the clear have different names that neither control the connection nor carry credentials, and a bounded size', async () => {
  const as = await callerIn('headers-1');
  expect((await create(as)).headers).toEqual([]);
  const headers = [
    { name: 'anthropic-version', value: '2023-06-01' },
    { name: 'OpenAI-Organization', value: 'org-1' },
  ];
  const created = await create(as, { headers });
  expect(created.headers).toEqual(headers);
  const [event] = await auditOf(server, { operation: 'create_provider', target_id: created.id });
  expect(event?.['changedFields']).toContain('headers');
  expect((await create(as, { headers: null })).headers).toEqual([]);
  const refused: unknown[] = [
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Connection',
    'Cookie',
    'User-Agent',
    'mcp-session-id',
    'Authorization',
    'X-API-Key',
    'Proxy-Authorization',
    '__proto__',
    'a b',
    'a:b',
    '',
  ].map((name) => [{ name, value: 'x' }]);
  refused.push(...['', ' x', 'x\r\nHost: y', 'ü', 'x'.repeat(1025)].map((value) => [{ name: 'X-A', value }]));
  refused.push([
    { name: 'X-A', value: '1' },
    { name: 'x-a', value: '2' },
  ]);
  const many = (count: number, value: string) =>
    Array.from({ length: count }, (_, index) => ({ name: `X-${index}`, value }));
  refused.push(many(21, 'x'), many(5, 'x'.repeat(1024)), [{ name: 'X-A' }], {}, 'X-A: b');
  for (const each of refused) {
    const body = { name: unique('provider'), kind: 'llm', headers: each };
    const answered = await server.call('POST', PATH, { as, body });
    expect([answered.status, each]).toEqual([422, each]);
  }
});

test('the sync interval is between five minutes and a week', async () => {
  const as = await callerIn('interval-1');
  expect((await create(as)).syncIntervalSeconds).toBeNull();
  for (const syncIntervalSeconds of [300, 604_800]) {
    const created = await create(as, { syncIntervalSeconds });
    expect(created.syncIntervalSeconds).toBe(syncIntervalSeconds);
  }
  const rows: [unknown, string][] = [
    [299, 'greater_than_equal'],
    [604_801, 'less_than_equal'],
    [300.5, 'int_from_float'],
    ['300', 'int_type'],
  ];
  for (const [syncIntervalSeconds, type] of rows) {
    const body = { name: unique('provider'), kind: 'llm', syncIntervalSeconds };
    expectInvalid(await server.call('POST', PATH, { as, body }), { loc: ['body', 'syncIntervalSeconds'], type });
  }
});

test('several fields change together, or none if one of them is refused', async () => {
  const as = await callerIn('update-2');
  const before = await create(as);
  const body = { displayName: 'New', status: 'discovered' };
  const refused = await server.call('PUT', `${PATH}/${before.id}`, { as, body });
  expectInvalid(refused, { loc: ['body', 'status'], type: 'enum' });
  expect(await server.ok('GET', `${PATH}/${before.id}`, { as })).toEqual(before);
  await server.ok('PUT', `${PATH}/${before.id}`, { as, body: { displayName: 'New', status: 'disabled' } });
  const [event] = await auditOf(server, { operation: 'update_provider', target_id: before.id });
  expect(event.changedFields).toEqual(['displayName', 'status']);
});

test('a provider that telemetry names first is discovered without a base URL, and adopted by an update', async () => {
  const as = await callerIn('discover-1');
  await server.ok('POST', '/v1/traces', { as, body: chatSpan('ab'.repeat(16), 'sonar', 'perplexity') });
  const { items } = await server.ok('GET', `${PATH}?status=discovered&name=Perplexity`, { as });
  expect(items).toMatchObject([{ name: 'perplexity', status: 'discovered', baseUrl: null }]);
  const taken = await server.call('POST', PATH, { as, body: { name: 'PERPLEXITY', kind: 'llm' } });
  expectProblem(taken, 409, 'name_taken');
  const adopted = await server.ok('PUT', `${PATH}/${items[0].id}`, { as, body: { status: 'active' } });
  expect(adopted.status).toBe('active');
});

test('delete_provider answers the final record once and deletes the inventory; only status=deleted lists it', async () => {
  const as = await callerIn('delete-1');
  const { id } = await create(as);
  const path = `${PATH}/${id}`;
  await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'tool', name: 'search' } });
  expect(await server.ok('DELETE', path, { as })).toMatchObject({ id, status: 'deleted' });
  for (const method of ['DELETE', 'GET']) {
    expectProblem(await server.call(method, path, { as }), 404, 'provider_not_found');
  }
  expectProblem(await server.call('GET', `${path}/inventory`, { as }), 404, 'provider_not_found');
  expect(await idsOf(server, { path: PATH, as })).toEqual([]);
  expect(await idsOf(server, { path: PATH, as }, { status: 'deleted' })).toEqual([id]);
  expect(await auditOf(server, { operation: 'delete_provider', target_id: id })).toHaveLength(1);
});

test('delete_provider answers 409 while an active or disabled gateway lists it', async () => {
  const as = await callerIn('in-use-1');
  const { id } = await create(as);
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [id] } });
  expectProblem(await server.call('DELETE', `${PATH}/${id}`, { as }), 409, 'provider_in_use');
  await server.ok('PUT', `/v1/gateways/${gateway.id}`, { as, body: { status: 'disabled' } });
  expectProblem(await server.call('DELETE', `${PATH}/${id}`, { as }), 409, 'provider_in_use');
  await server.ok('DELETE', `/v1/gateways/${gateway.id}`, { as });
  await server.ok('DELETE', `${PATH}/${id}`, { as });
});

test('list_providers filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const as = await callerIn('list-1');
  await callerIn('list-1', 'eu');
  const one = await create(as, { name: 'One' });
  const fields = { displayName: 'Second_%', kind: 'mcp', subTenantId: 'eu', status: 'disabled' };
  const two = await create(as, { name: 'Two', ...fields });
  const both = [one.id, two.id];
  const rows: [Record<string, string>, string[]][] = [
    [{}, both],
    [{ tenant_id: '' }, both],
    [{ tenant_id: 'list-1', sub_tenant_id: '' }, both],
    [{ sub_tenant_id: 'eu' }, [two.id]],
    [{ kind: 'mcp' }, [two.id]],
    [{ status: 'active' }, [one.id]],
    [{ status: 'disabled' }, [two.id]],
    [{ name: 'oNE' }, [one.id]],
    [{ name: 'On' }, []],
    [{ text: 'tW' }, [two.id]],
    [{ text: 'o' }, both],
    [{ text: 'sEC' }, [two.id]],
    [{ text: '%' }, [two.id]],
    [{ text: '_' }, [two.id]],
    [{ text: '%o' }, []],
    [{ kind: 'llm', status: 'disabled' }, []],
  ];
  await expectFilters(server, { path: PATH, as }, rows);
  expect(await idsOf(server, { path: PATH, as: server.admin }, { tenant_id: 'list-none' })).toEqual([]);
  const bound = await callerIn('list-1', 'eu');
  expect(await idsOf(server, { path: PATH, as: bound })).toEqual([two.id]);
});

describe('list_providers sorts by', () => {
  let as: { key: string };

  beforeAll(async () => {
    as = await callerIn('sorted-1');
    await create(as, { name: 'Cedar', kind: 'llm' });
    await create(as, { name: 'z', displayName: 'ash tree', kind: 'mcp', status: 'disabled' });
    await create(as, { name: 'birch', kind: 'mcp' });
    const { db } = server.services;
    const set = (name: string, values: object) =>
      db.updateTable('providers').set(values).where('tenant_id', '=', 'sorted-1').where('name', '=', name).execute();
    await set('birch', { health: 'doubtful', inventory_synced_at: '2026-01-01T00:00:00.000Z' });
    await set('z', { health: 'failing', inventory_synced_at: '2026-01-02T00:00:00.000Z' });
  });

  test.each([
    ['created_at', ['birch', 'z', 'Cedar']],
    ['name', ['z', 'birch', 'Cedar']],
    ['kind', ['Cedar', 'z', 'birch']],
    ['status', ['birch', 'Cedar', 'z']],
    ['health', ['z', 'birch', 'Cedar']],
    ['inventory_synced_at', ['z', 'birch', 'Cedar']],
  ])('%s, with any page size, and filtered', async (sort, names) => {
    const namesOf = async (filter: object, limit: number) => {
      const listing = { path: PATH, as, filter: { sort, ...filter } };
      const found: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await pageOf(server, listing, { limit, ...(cursor !== undefined && { cursor }) });
        found.push(...page.items.map(({ name }: Body) => name));
        cursor = page.nextCursor;
      }
      return found;
    };
    for (const limit of [1, 2, 3]) expect(await namesOf({}, limit)).toEqual(names);
    expect(await namesOf({ kind: 'mcp' }, 1)).toEqual(names.filter((name) => name !== 'Cedar'));
    expect(await namesOf({ status: 'deleted' }, 1)).toEqual([]);
  });

  test('an unknown order: 422', async () => {
    expect((await server.call('GET', `${PATH}?sort=none`, { as })).status).toBe(422);
  });
});

test('list_providers walks all pages while providers are created', async () => {
  const as = await callerIn('pages-1');
  await expectStablePages(server, { path: PATH, as }, async () => (await create(as)).id);
});

test('a cursor of list_providers works only for its own query and caller', async () => {
  const as = await callerIn('cursor-1');
  for (let count = 0; count < 3; count += 1) await create(as);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, as },
    { filter: { kind: 'llm' }, list: { path: '/v1/gateways' }, principal: await callerIn('cursor-2') },
  );
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'cursor-1' }, as: server.admin },
    { filter: { status: 'active' }, list: { path: '/v1/manifests' }, principal: as },
  );
});
