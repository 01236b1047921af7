import { afterAll, beforeAll, expect, test } from 'vitest';
import { refuseEdits } from './cursor-edits.ts';
import { accountWithKey } from './support/people.ts';
import { makeRecords, OPERATIONS, pathWith, TENANT, unchanged } from './support/records.ts';
import { type Body, type Credential, startTestServer, type TestServer } from './support/server.ts';

/** A list that requires a further parameter is tested in its own suite. */
const LISTS = OPERATIONS.filter(
  ({ operation: { query } }) => query && 'cursor' in query.shape && query.safeParse({}).success,
);
const SEARCHES = OPERATIONS.filter(({ operation }) => operation.operationId.startsWith('search_'));

let server: TestServer;
let records: Record<string, string>;
let cursor: string;

beforeAll(async () => {
  // Its jobs would write while a test compares the database.
  server = await startTestServer({}, { noHousekeeping: true });
  records = await makeRecords(server);
  for (const name of ['one', 'two', 'three']) {
    await server.ok('POST', '/v1/providers', { as: server.admin, body: { name, kind: 'mcp', tenantId: TENANT } });
  }
  cursor = (await server.ok('GET', '/v1/providers?limit=1', { as: server.admin })).nextCursor;
});
afterAll(() => server.stop());

function get(target: string, as: Credential = server.admin) {
  return server.call('GET', target, { as });
}

function locs(body: Body): string[] {
  return (body.detail as Body[]).map(({ loc, type }) => `${type} ${JSON.stringify(loc)}`);
}

// The deep form edits the cursor at every place.
test('an edited cursor is 422 at the cursor', async () => {
  expect(await refuseEdits(server, { cursor, every: 5 })).toBeGreaterThan(200);
});

test.each(['', 'null', '0', 'eyJvZmZzZXQiOjB9', 'AAAA', '../../etc', "' or 1=1 --", '💩'.repeat(512)])(
  'a value that was never a cursor is 422: %#',
  async (text) => {
    await unchanged(server, async () => {
      for (const { operation } of LISTS) {
        const answer = await get(`${pathWith(operation, records)}?cursor=${encodeURIComponent(text)}`);
        expect(answer.status, operation.operationId).toBe(422);
        expect(locs(answer.body)).toEqual(['value_error ["query","cursor"]']);
      }
      for (const { operation } of SEARCHES) {
        const answer = await server.call('POST', operation.path, { as: server.admin, body: { cursor: text } });
        expect(locs(answer.body)).toEqual(['value_error ["body","cursor"]']);
      }
    });
  },
);

test('a cursor of another list, caller or path, or with other filters, is 422', async () => {
  const foreign = await accountWithKey(server, { tenantId: 'elsewhere' });
  const local = await accountWithKey(server, { tenantId: TENANT });
  const body = { limit: 1 };
  const ofSearch = (await server.ok('POST', '/v1/service-accounts/search', { as: server.admin, body })).nextCursor;
  expect(ofSearch).toEqual(expect.any(String));
  const refused = [
    await get(`/v1/gateways?limit=1&cursor=${cursor}`),
    await get(`/v1/providers?limit=1&cursor=${ofSearch}`),
    await get(`/v1/providers?limit=1&kind=mcp&cursor=${cursor}`),
    await get(`/v1/providers?limit=1&tenant_id=${TENANT}&cursor=${cursor}`),
    await get(`/v1/providers?limit=1&cursor=${cursor}`, foreign),
    await get(`/v1/providers?limit=1&cursor=${cursor}`, local),
  ];
  for (const answer of refused) expect(locs(answer.body)).toEqual(['value_error ["query","cursor"]']);
  const turned = await server.call('POST', '/v1/credentials/search', { as: server.admin, body: { cursor: ofSearch } });
  expect(locs(turned.body)).toEqual(['value_error ["body","cursor"]']);
  // The page size may change between pages.
  expect((await get(`/v1/providers?limit=2&cursor=${cursor}`)).status).toBe(200);
});

const LIMITS: [string, string][] = [
  ['0', 'greater_than_equal'],
  ['-1', 'greater_than_equal'],
  ['1001', 'less_than_equal'],
  ['99999999999999999999', 'less_than_equal'],
  ['abc', 'int_parsing'],
  ['1.5', 'int_parsing'],
  ['', 'int_parsing'],
  ['1e2', 'int_parsing'],
  ['0x10', 'int_parsing'],
  ['null', 'int_parsing'],
  ['NaN', 'int_parsing'],
  ['Infinity', 'int_parsing'],
  ['1,2', 'int_parsing'],
  ['٣', 'int_parsing'],
];

/** Larger limits, of operations that answer small rows or only check rows. */
const MOST: Record<string, number> = {
  get_trace_waterfall: 10_000,
  list_trace_spans: 1000,
  list_usage: 1000,
  verify_audit_events: 100_000,
};

test.each(LIMITS)('limit=%s is 422 %s for every list', async (limit, type) => {
  for (const { operation } of LISTS) {
    if (Number(limit) <= (MOST[operation.operationId] ?? 100) && Number(limit) > 0) continue;
    const answer = await get(`${pathWith(operation, records)}?limit=${encodeURIComponent(limit)}`);
    expect(answer.status, operation.operationId).toBe(422);
    expect(locs(answer.body)).toEqual([`${type} ["query","limit"]`]);
    expect(answer.body.detail[0].input).toBe(limit);
  }
});

test('the largest limit is 100, or what the operation documents', async () => {
  for (const { operation } of LISTS) {
    const most = MOST[operation.operationId] ?? 100;
    const path = pathWith(operation, records);
    expect((await get(`${path}?limit=${most}`)).status).toBe(200);
    expect(locs((await get(`${path}?limit=${most + 1}`)).body)).toEqual(['less_than_equal ["query","limit"]']);
  }
});

test.each([' 5 ', '+5', '5.0', '05'])('limit=%j is parsed as pydantic parses it', async (limit) => {
  for (const { operation } of LISTS) {
    const answer = await get(`${pathWith(operation, records)}?limit=${encodeURIComponent(limit)}`);
    expect(answer.status, operation.operationId).toBe(200);
  }
});

test('the last one of repeated parameters counts', async () => {
  expect((await server.ok('GET', '/v1/providers?limit=abc&limit=1', { as: server.admin })).items).toHaveLength(1);
  expect((await get('/v1/providers?limit=1&limit=abc')).status).toBe(422);
});

const BODY_LIMITS: [unknown, string][] = [
  [0, 'greater_than_equal'],
  [-1, 'greater_than_equal'],
  [101, 'less_than_equal'],
  [1.5, 'int_from_float'],
  ['abc', 'int_parsing'],
  ['25', 'int_type'],
  [null, 'int_type'],
  [[], 'int_type'],
  [true, 'int_type'],
];

test.each(BODY_LIMITS)('a limit of %j in a search is 422 %s: bodies are not coerced', async (limit, type) => {
  for (const { operation } of SEARCHES) {
    const answer = await server.call('POST', operation.path, { as: server.admin, body: { limit } });
    expect(answer.status).toBe(422);
    expect(locs(answer.body)).toEqual([`${type} ["body","limit"]`]);
  }
});

/** All other operations refuse them, because they may be mistyped filters (see query-filters.deep.test.ts). */
test('operations of the specification ignore unknown query parameters of any name', async () => {
  const strange =
    '?nonsense=1&__proto__=x&constructor=y&limit[]=0&a[b][c]=d&tenantId=nobody&%00=%00&=&&api_key=x&%ff=%fe';
  await unchanged(server, async () => {
    for (const { operation } of OPERATIONS.filter((one) => one.operation.method === 'GET')) {
      if (!operation.ignoresUnknownQuery) continue;
      const path = pathWith(operation, records);
      const plain = await get(path);
      const answer = await get(path + strange);
      expect(answer.status, operation.operationId).toBe(200);
      if (!operation.query || !('cursor' in operation.query.shape)) expect(answer.body).toEqual(plain.body);
      else expect(answer.body.items).toEqual(plain.body.items);
    }
  });
});

test.each(['%00', '%ED%A0%80', 'a%2Fb', '..', '%C3%28', '-', '%20', '%F0%9F%92%A9'])(
  'a tenant_id that no tenant can have is 422: %s',
  async (value) => {
    for (const { operation } of OPERATIONS) {
      if (!operation.query || !('tenant_id' in operation.query.shape) || operation.method !== 'GET') continue;
      const answer = await get(`${pathWith(operation, records)}?tenant_id=${value}`);
      expect(answer.status, operation.operationId).toBe(422);
      expect(answer.body.detail[0].loc).toEqual(['query', 'tenant_id']);
    }
  },
);
