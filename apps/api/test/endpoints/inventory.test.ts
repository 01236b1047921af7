import * as contract from '@quartermaster/contracts/inventory.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
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
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

/** A provider of a tenant, the path of its inventory, and a caller of the tenant. */
async function providerIn(tenantId: string): Promise<{ as: { key: string }; path: string; id: string }> {
  const { key } = await accountWithKey(server, { tenantId });
  const body = { name: unique('provider'), kind: 'mcp' };
  const { id } = await server.ok('POST', '/v1/providers', { as: { key }, body });
  return { as: { key }, path: `/v1/providers/${id}/inventory`, id };
}

const declare = (path: string, as: Credential, body: object = {}): Promise<Body> =>
  server.ok('POST', path, { as, body: { kind: 'tool', name: unique('tool'), ...body } });

test('create_inventory_item stores the given fields, and defaults for the others', async () => {
  const { as, path, id: providerId } = await providerIn('create-1');
  const given = {
    kind: 'tool',
    name: 'search',
    title: 'Search',
    description: 'Finds',
    status: 'blocked',
    schemaDigest: `sha256:${'0'.repeat(64)}`,
    attributes: { readOnly: true },
  };
  const item = await declare(path, as, given);
  expect(item).toMatchObject({ ...given, providerId, tenantId: 'create-1', subTenantId: null, source: 'manual' });
  expect([item.firstSeenAt, item.lastSeenAt]).toEqual([item.createdAt, item.createdAt]);
  const bare = await declare(path, as, { kind: 'model' });
  const defaults = { title: null, description: null, status: 'available', schemaDigest: null, attributes: {} };
  expect(bare).toMatchObject(defaults);
  const listed = await server.ok('GET', path, { as });
  expect(listed).toEqual({ providerId, syncedAt: null, items: expect.any(Array), nextCursor: null });
  expect(listed.items).toEqual(expect.arrayContaining([item, bare]));
  const [event, ...others] = await auditOf(server, { target_id: item.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ operation: 'create_inventory_item', tenantId: 'create-1', outcome: 'success' });
});

test('a name is unique for its kind and provider, and compared exactly', async () => {
  const { as, path } = await providerIn('names-1');
  await declare(path, as, { name: 'search' });
  const again = await server.call('POST', path, { as, body: { kind: 'tool', name: 'search' } });
  expectProblem(again, 409, 'name_taken');
  await declare(path, as, { name: 'Search' });
  await declare(path, as, { name: 'search', kind: 'prompt' });
  await declare((await providerIn('names-1')).path, as, { name: 'search' });
});

// Regression: such names became grants that looked like other grants, or like a wildcard.
test.each([
  ['blank', '   '],
  ['padded', ' search'],
  ['with a control character', 'se\u0007arch'],
  ['with a zero-width space', 'se\u200barch'],
  ['with a bidi override', 'se\u202earch'],
  ['with a soft hyphen', 'se\u00adarch'],
  ['with a tag character', 'search\u{e0041}'],
  ['with a variation selector', 'search\ufe0f'],
  ['with a space other than U+0020', 'web\u00a0search'],
  ['that is only *', '*'],
])('create_inventory_item answers 422 for a name %s', async (_, name) => {
  const { as, path } = await providerIn('hidden-1');
  const refused = await server.call('POST', path, { as, body: { kind: 'tool', name } });
  expectInvalid(refused, { loc: ['body', 'name'], type: 'value_error' });
  expect((await server.ok('GET', path, { as })).items).toEqual([]);
});

test('names with inner spaces or in any script, and URIs, are stored unchanged', async () => {
  const { as, path } = await providerIn('plain-1');
  for (const name of ['web search', '検索', 'file:///var/log/my%20app.log?lines=*', 'App\\Tools\\Search', 'gpt-*']) {
    expect(await declare(path, as, { kind: 'resource', name })).toMatchObject({ name });
  }
});

test('a provider or item that is missing, or an item of another provider, is 404', async () => {
  const { as, path } = await providerIn('hidden-1');
  const stranger = await providerIn('hidden-2');
  const item = await declare(path, as);
  const body = { kind: 'tool', name: 'x' };
  const calls: [string, string, object?][] = [
    ['GET', ''],
    ['POST', '', body],
    ['GET', `/${item.id}`],
    ['PUT', `/${item.id}`, {}],
    ['DELETE', `/${item.id}`],
  ];
  for (const [method, end, sent] of calls) {
    const asked = { ...(sent && { body: sent }) };
    const hidden = await server.call(method, path + end, { as: stranger.as, ...asked });
    expectProblem(hidden, 404, 'provider_not_found');
    const missing = await server.call(method, `/v1/providers/none/inventory${end}`, { as, ...asked });
    expectProblem(missing, 404, 'provider_not_found');
    if (end === '') continue;
    const elsewhere = await server.call(method, stranger.path + end, { as: server.admin, ...asked });
    expectProblem(elsewhere, 404, 'inventory_item_not_found');
  }
});

test('get_inventory_item answers an item of any status, with a tag for its update', async () => {
  const { as, path } = await providerIn('get-1');
  const item = await declare(path, as, { status: 'retired', description: 'Finds' });
  const { status, body, headers } = await server.call('GET', `${path}/${item.id}`, { as });
  expect([status, body]).toEqual([200, item]);
  const headersOf = (name: string) => ({ [name]: headers.get('etag') ?? '' });
  const unchanged = await server.call('GET', `${path}/${item.id}`, { as, headers: headersOf('If-None-Match') });
  expect(unchanged.status).toBe(304);
  const change = (description: string) =>
    server.call('PUT', `${path}/${item.id}`, { as, body: { description }, headers: headersOf('If-Match') });
  expect((await change('Finds more')).status).toBe(200);
  expectProblem(await change('Finds nothing'), 412, 'precondition_failed');
});

test('update_inventory_item updates by presence', async () => {
  const { as, path } = await providerIn('update-1');
  const { id } = await declare(path, as);
  await expectUpdatesByPresence(server, {
    path: `${path}/${id}`,
    as,
    operationId: 'update_inventory_item',
    target: id,
    fields: {
      title: { set: 'Shown title', cleared: null },
      description: { set: 'Describes it', cleared: null },
      status: { set: 'blocked' },
      attributes: { set: { a: [1] }, cleared: {} },
    },
  });
  for (const field of ['name', 'kind', 'source', 'schemaDigest']) {
    const answered = await server.call('PUT', `${path}/${id}`, { as, body: { [field]: 'x' } });
    expectInvalid(answered, { loc: ['body', field], type: 'extra_forbidden' });
  }
});

test('an update cannot say that an item is missing from a sync', async () => {
  const { as, path } = await providerIn('missing-1');
  const { id } = await declare(path, as);
  const created = await server.call('POST', path, { as, body: { kind: 'tool', name: 'x', status: 'missing' } });
  const updated = await server.call('PUT', `${path}/${id}`, { as, body: { status: 'missing' } });
  for (const answered of [created, updated]) expectInvalid(answered, { loc: ['body', 'status'], type: 'enum' });
});

test('delete_inventory_item answers the final record once, and the name can be used again', async () => {
  const { as, path } = await providerIn('delete-1');
  const item = await declare(path, as, { name: 'search' });
  expect(await server.ok('DELETE', `${path}/${item.id}`, { as })).toEqual(item);
  expectProblem(await server.call('DELETE', `${path}/${item.id}`, { as }), 404, 'inventory_item_not_found');
  expect(await idsOf(server, { path, as })).toEqual([]);
  expect(await auditOf(server, { operation: 'delete_inventory_item', target_id: item.id })).toHaveLength(1);
  expect((await declare(path, as, { name: 'search' })).id).not.toBe(item.id);
});

test('get_provider_inventory filters by kind, status and text, and a value that matches nothing finds nothing', async () => {
  const { as, path } = await providerIn('list-1');
  const tool = await declare(path, as);
  const model = await declare(path, as, { kind: 'model', status: 'blocked', name: 'Large_1' });
  const rows: [Record<string, string>, string[]][] = [
    [{}, [tool.id, model.id]],
    [{ kind: 'tool' }, [tool.id]],
    [{ status: 'blocked' }, [model.id]],
    [{ status: 'missing' }, []],
    [{ text: 'lARGE_' }, [model.id]],
    [{ text: 'arg_' }, []],
    [{ kind: 'model', status: 'available' }, []],
  ];
  await expectFilters(server, { path, as }, rows);
});

test('list_inventory_items finds items of all providers by each of its filters, and none of a deleted one', async () => {
  const first = await providerIn('all-items');
  const second = await providerIn('all-items');
  const gone = await providerIn('all-items');
  const { as } = first;
  const search = await declare(first.path, as, { name: 'Search files' });
  const model = await declare(second.path, as, { kind: 'model', name: 'search-model', status: 'blocked' });
  await declare(gone.path, as, { name: 'search-gone' });
  await server.ok('DELETE', `/v1/providers/${gone.id}`, { as });
  const both = [search.id, model.id];
  const path = '/v1/inventory-items';
  await expectFilters(server, { path, as }, [
    [{}, both],
    [{ text: 'SEARCH' }, both],
    [{ text: 'files' }, [search.id]],
    [{ text: '%' }, []],
    [{ kind: 'model' }, [model.id]],
    [{ status: 'blocked' }, [model.id]],
    [{ tenant_id: 'all-items', sub_tenant_id: '' }, both],
    [{ sub_tenant_id: 'eu' }, []],
  ]);
  const listed = await server.ok('GET', `${path}?text=files`, { as });
  expect(listed.items).toEqual([search]);
});

test('list_inventory_items walks all pages while items are declared', async () => {
  const { as, path } = await providerIn('all-pages');
  await expectStablePages(server, { path: '/v1/inventory-items', as }, async () => {
    // An id contains the time, in milliseconds.
    server.travel(1);
    return (await declare(path, as)).id;
  });
  await expectOwnCursorsOnly(
    server,
    { path: '/v1/inventory-items', filter: { text: 'tool' }, as },
    { filter: { text: 'other' }, list: { path: '/v1/gateways' }, principal: server.admin },
  );
});

test('get_provider_inventory walks all pages while items are declared', async () => {
  const { as, path } = await providerIn('pages-1');
  await expectStablePages(server, { path, as }, async () => (await declare(path, as)).id);
});

test('a cursor of get_provider_inventory works only for its own query and caller', async () => {
  const { as, path } = await providerIn('cursor-1');
  for (let count = 0; count < 3; count += 1) await declare(path, as);
  const other = await providerIn('cursor-1');
  await expectOwnCursorsOnly(
    server,
    { path, as },
    { filter: { kind: 'tool' }, list: { path: other.path }, principal: server.admin },
  );
});
