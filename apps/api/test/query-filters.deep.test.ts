import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { makeRecords, OPERATIONS, pathWith, TENANT } from './support/records.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

/** The operations of the specification. They ignore unknown query parameters. */
const LENIENT = [
  'list_provider_runtime_observations',
  'create_service_account',
  'update_service_account',
  'apply_provider_recommendations',
  'create_gateway_session',
  'update_provider',
  'search_service_accounts',
  'update_my_profile',
  'search_credentials',
  'register_user',
  'list_operator_tasks',
  'list_manifests',
  'get_provider_inventory',
  'delete_manifest',
  'list_trace_spans',
  'delete_user',
  'get_user',
  'list_providers',
];

/** The specification types this one filter as a string. */
const FREE_FILTERS = ['list_provider_runtime_observations status'];

type Def = { type: string; innerType?: z.ZodType; shape?: Record<string, z.ZodType>; element?: z.ZodType };

function defOf(schema: z.ZodType): Def {
  const def = schema._zod.def as unknown as Def;
  return def.innerType ? defOf(def.innerType) : def;
}

function shapeOf(schema: unknown): Record<string, z.ZodType> {
  return schema === undefined ? {} : (defOf(schema as z.ZodType).shape ?? {});
}

function camelCased(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The filters of lists and searches whose field in the listed records is an enum. */
const CLOSED_FILTERS = OPERATIONS.flatMap(({ operation, procedure, type }) => {
  const { items } = shapeOf(operation.output);
  const item = items && defOf(items).element;
  if (!item) return [];
  const record = shapeOf(item);
  const part = operation.query ? 'query' : 'body';
  return Object.entries(shapeOf(operation[part]))
    .filter(([name]) => {
      const field = record[camelCased(name)];
      return field !== undefined && defOf(field).type === 'enum';
    })
    .map(([name, filter]) => ({ operation, procedure, type, part, name, filter, id: operation.operationId }));
});
const REFUSING = CLOSED_FILTERS.filter(({ id, name }) => !FREE_FILTERS.includes(`${id} ${name}`));
const STRICT = OPERATIONS.filter(
  ({ operation }) => !LENIENT.includes(operation.operationId) && operation.transport === 'rest',
);

let server: TestServer;
let records: Record<string, string>;

beforeAll(async () => {
  server = await startTestServer();
  records = await makeRecords(server);
});
afterAll(() => server.stop());

function call(method: string, path: string, body?: object) {
  return server.call(method, path, { as: server.admin, ...(body && { body }) });
}

/** A tRPC error has the body of the REST answer in `data`. */
async function callProcedure(procedure: string, type: 'query' | 'mutation', input: object) {
  const text = JSON.stringify(input);
  const { status, body } =
    type === 'query'
      ? await call('GET', `/trpc/${procedure}?input=${encodeURIComponent(text)}`)
      : await call('POST', `/trpc/${procedure}`, input);
  return { status, detail: body.error?.data.detail };
}

function locsOf(body: Body): string[] {
  return (body.detail as Body[]).map(({ loc, type }) => `${type} ${JSON.stringify(loc)}`);
}

test('the contracts have filters with closed sets of values', () => {
  const names = CLOSED_FILTERS.map(({ id, name }) => `${id} ${name}`);
  expect(names).toEqual(expect.arrayContaining(['list_providers status', 'search_credentials kind', ...FREE_FILTERS]));
  expect(names.length).toBeGreaterThan(20);
});

describe.each(REFUSING)(
  'regression: the filter $name of $id is an enum',
  ({ operation, procedure, type, part, name }) => {
    const expected = expect.objectContaining({ type: 'enum', loc: [part, name], input: 'opne' });

    test('another value is 422 instead of an empty list', async () => {
      const path = pathWith(operation, records);
      const answer =
        part === 'query'
          ? await call(operation.method, `${path}?${name}=opne`)
          : await call(operation.method, path, { [name]: 'opne' });
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toEqual([expected]);
      expect(answer.body.detail[0].msg).toMatch(/^Input should be '.*'$/);
    });

    test('over tRPC, too', async () => {
      const path = Object.fromEntries(Object.keys(operation.params?.shape ?? {}).map((key) => [key, records[key]]));
      const answer = await callProcedure(procedure, type, { path, [part]: { [name]: 'opne' } });
      expect(answer).toEqual({ status: 422, detail: [expected] });
    });
  },
);

test.each(REFUSING)('every value of the filter $name of $id is answered', async ({ operation, part, name, filter }) => {
  const { entries } = defOf(filter) as unknown as { entries: Record<string, string> };
  for (const value of Object.values(entries)) {
    const path = pathWith(operation, records);
    const answer =
      part === 'query'
        ? await call(operation.method, `${path}?${name}=${value}`)
        : await call(operation.method, path, { [name]: value });
    expect(answer.status, value).toBe(200);
  }
});

test.each(['', 'null', 'OPEN', 'open ', 'open,applied'])('the status %j is refused', async (value) => {
  const path = `/v1/providers/${records['provider_id']}/recommendations?status=${encodeURIComponent(value)}`;
  expect(locsOf((await call('GET', path)).body)).toEqual(['enum ["query","status"]']);
});

test('the filter that the specification declares as a string answers an empty list for an unknown value', async () => {
  const path = `/v1/providers/${records['provider_id']}/observations`;
  expect((await call('GET', `${path}?status=open`)).body.items).not.toEqual([]);
  const answer = await call('GET', `${path}?status=opne`);
  expect([answer.status, answer.body.items]).toEqual([200, []]);
});

test.each(STRICT)('regression: $operation.operationId answers 422 for an unknown query parameter', async (served) => {
  const { operation, procedure, type } = served;
  const path = pathWith(operation, records);
  const answer = await call(operation.method, `${path}?statuz=open`, operation.body && {});
  expect(answer.status).toBe(422);
  const fault = expect.objectContaining({
    type: 'extra_forbidden',
    msg: 'Extra inputs are not permitted',
    loc: ['query', 'statuz'],
    ctx: { allowed: Object.keys(operation.query?.shape ?? {}) },
  });
  expect(answer.body.detail).toContainEqual(fault);

  const params = Object.fromEntries(Object.keys(operation.params?.shape ?? {}).map((key) => [key, records[key]]));
  const { detail } = await callProcedure(procedure, type, { path: params, query: { statuz: 'open' } });
  expect(detail).toContainEqual(fault);
});

test('regression: over tRPC a filter beside `query` is 422', async () => {
  const { detail } = await callProcedure('gateways.list', 'query', { status: 'active' });
  expect(detail).toEqual([
    expect.objectContaining({
      type: 'extra_forbidden',
      loc: ['status'],
      ctx: { allowed: ['path', 'query', 'body'] },
    }),
  ]);
});

test('the operations of the specification, and the OTLP receiver, ignore unknown query parameters', () => {
  const lenient = OPERATIONS.filter(({ operation }) => operation.ignoresUnknownQuery);
  expect(lenient.map(({ operation }) => operation.operationId).toSorted()).toEqual(LENIENT.toSorted());
});

const STRANGE = ['__proto__', 'constructor', 'limit[]', 'a[b][c]', 'tenantId', '', '%ff', ' limit', 'Limit', 'api_key'];

test.each(STRANGE)('the unknown query parameter %j is 422', async (name) => {
  const answer = await call('GET', `/v1/gateways?${name}=x`);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toHaveLength(1);
  expect(answer.body.detail[0].loc[0]).toBe('query');
});

test('at most 100 unknown query parameters are named, each once', async () => {
  const many = Array.from({ length: 1500 }, (_, index) => `p${index}=1&p${index}=2`).join('&');
  const answer = await call('GET', `/v1/gateways?${many.slice(0, 15_000)}`);
  expect(answer.status).toBe(422);
  expect(new Set(locsOf(answer.body)).size).toBe(100);
  expect(answer.body.detail).toHaveLength(100);
});

test('a secret that is sent as an unknown query parameter is not repeated', async () => {
  const answer = await call('GET', '/v1/gateways?access_token=abc.def');
  expect(answer.status).toBe(422);
  expect(JSON.stringify(answer.body)).not.toContain('abc.def');
});

test('an unknown query parameter is refused after the credentials and the scope', async () => {
  expect((await server.call('GET', '/v1/gateways?statuz=open')).status).toBe(401);
});

test('a cursor works only with the same filter', async () => {
  for (const name of ['one', 'two']) {
    await server.ok('POST', '/v1/gateways', { as: server.admin, body: { name, tenantId: TENANT } });
  }
  const first = await call('GET', '/v1/gateways?status=active&limit=1');
  const cursor = first.body.nextCursor;
  expect((await call('GET', `/v1/gateways?status=active&limit=1&cursor=${cursor}`)).status).toBe(200);
  const other = await call('GET', `/v1/gateways?status=disabled&limit=1&cursor=${cursor}`);
  expect(locsOf(other.body)).toEqual(['value_error ["query","cursor"]']);
});
