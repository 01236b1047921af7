import * as sdk from '@quartermaster/client';
import { createClient } from '@quartermaster/client/client/index.ts';
import { afterAll, beforeAll, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import { accountWithKey } from './support/people.ts';
import { FURTHER_OPERATIONS } from '../src/server/document.ts';
import { OPERATIONS } from './support/records.ts';
import { startTestServer, type TestServer } from './support/server.ts';

type Client = ReturnType<typeof createClient>;

let server: TestServer;
let byKey: Client;
let byToken: Client;
let token: string;

beforeAll(async () => {
  server = await startTestServer();
  ({ token } = await server.tokenOf('admin@example.com'));
  // The client asks for a credential of each scheme of the operation. It may get only one of them.
  const auth = { baseUrl: server.url };
  byKey = createClient({ ...auth, auth: ({ scheme }) => (scheme === 'bearer' ? undefined : server.admin.key) });
  byToken = createClient({ ...auth, auth: ({ scheme }) => (scheme === 'bearer' ? token : undefined) });
});
afterAll(() => server.stop());

test('there is a function for every operation, named after it', () => {
  const camelCase = (id: string) => id.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const functions = Object.entries(sdk).filter(([, value]) => typeof value === 'function');
  const served = [...OPERATIONS.map(({ operation }) => operation), ...FURTHER_OPERATIONS];
  const expected = served.map(({ operationId }) => camelCase(operationId));
  expect(functions.map(([name]) => name).toSorted()).toEqual(expected.toSorted());
});

test('with an API key it creates, reads, updates, lists and deletes a record, with types', async () => {
  const client = byKey;
  const body = {
    name: 'models',
    kind: 'llm',
    baseUrl: 'https://models.example.com',
    metadata: { owner: 'me' },
  } as const;
  const { data: made, error } = await sdk.createProvider({ client, body });
  expect(error).toBeUndefined();
  if (!made) throw new Error('nothing was made');
  expectTypeOf(made).toEqualTypeOf<sdk.Provider>();
  expectTypeOf(made.kind).toEqualTypeOf<'llm' | 'mcp' | 'agent_runtime' | 'channel' | 'other'>();
  expectTypeOf(made.subTenantId).toEqualTypeOf<string | null>();
  expect(made).toMatchObject({ ...body, tenantId: 'default', status: 'active' });

  const path = { provider_id: made.id };
  const changed = await sdk.updateProvider({ client, path, body: { displayName: 'Models' } });
  expect(changed.data).toEqual({ ...made, displayName: 'Models', updatedAt: changed.data?.updatedAt });
  expect((await sdk.getProvider({ client, path })).data).toEqual(changed.data);

  const listed = await sdk.listProviders({ client, query: { kind: 'llm', limit: 10 } });
  expectTypeOf(listed.data?.nextCursor).toEqualTypeOf<string | null | undefined>();
  expect(listed.data).toEqual({ items: [changed.data], nextCursor: null });

  const deleted = await sdk.deleteProvider({ client, path, throwOnError: true });
  expectTypeOf(deleted.data).toEqualTypeOf<sdk.Provider>();
  expect(deleted.data.status).toBe('deleted');
  expect(deleted.response.status).toBe(200);
});

test('with a bearer token it acts as the user', async () => {
  const { data } = await sdk.updateMyProfile({ client: byToken, body: { locale: 'en-GB' }, throwOnError: true });
  expectTypeOf(data).toEqualTypeOf<sdk.User | sdk.ServiceAccount>();
  expect(data).toMatchObject({ email: 'admin@example.com', locale: 'en-GB' });
  const asAccount = await sdk.updateMyProfile({ client: byKey, body: {}, throwOnError: true });
  expect(asAccount.data).toMatchObject({ id: 'bootstrap' });
});

test('pages are read with their cursors', async () => {
  const client = byToken;
  for (const name of ['p1', 'p2', 'p3']) {
    await sdk.createGateway({ client, body: { name, tenantId: 'default' }, throwOnError: true });
  }
  const names: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const { data }: { data: sdk.GatewayPage } = await sdk.listGateways({
      client,
      query: { limit: 2, cursor },
      throwOnError: true,
    });
    names.push(...data.items.map(({ name }) => name));
    cursor = data.nextCursor;
    if (cursor === null) break;
  }
  expect(names).toEqual(['p3', 'p2', 'p1']);
});

test('registration needs no credentials, and the client does not ask for any', async () => {
  const requestedSchemes: unknown[] = [];
  const client = createClient({
    baseUrl: server.url,
    auth: (scheme) => {
      requestedSchemes.push(scheme);
      return undefined;
    },
  });
  const body = { user: { email: 'new@example.com', terms: { accepted: true } } };
  const { data } = await sdk.registerUser({ client, body, throwOnError: true });
  expect(data).toMatchObject({ user: { email: 'new@example.com' }, registration: { status: 'pending_identity' } });
  expect(requestedSchemes).toEqual([]);
});

test('an optional body may be left out, and path parameters are encoded', async () => {
  const found = await sdk.searchServiceAccounts({ client: byKey });
  expect(found.data?.items.map(({ id }) => id)).toContain('bootstrap');
  const { error, response } = await sdk.getProvider({ client: byKey, path: { provider_id: '../tenants?x=#y' } });
  expect([response?.status, error && 'code' in error && error.code]).toEqual([404, 'provider_not_found']);
});

test('a refusal is a typed problem with its code', async () => {
  const { data, error, response } = await sdk.getProvider({ client: byKey, path: { provider_id: 'none' } });
  expect(data).toBeUndefined();
  expect(response?.status).toBe(404);
  expectTypeOf(error).toEqualTypeOf<sdk.Problem | sdk.HttpValidationError | undefined>();
  if (!error || !('code' in error)) throw new Error('it is no problem');
  expectTypeOf(error.code).toExtend<string>();
  // Codes are typed: a code that does not exist does not compile.
  // @ts-expect-error no such code
  expect(error.code === 'no_such_code').toBe(false);
  expect(error).toMatchObject({
    code: 'provider_not_found',
    status: 404,
    instance: response?.headers.get('x-request-id'),
  });
});

test('invalid values are a typed list of errors with their places', async () => {
  const body = { name: '', kind: 'telephone' as 'llm' };
  const { error } = await sdk.createProvider({ client: byKey, body });
  if (!error || !('detail' in error) || !Array.isArray(error.detail)) throw new Error('it is no list');
  expectTypeOf(error.detail).toEqualTypeOf<sdk.ValidationError[]>();
  expect(error.detail.map(({ loc, type }) => [loc.join('.'), type])).toEqual([
    ['body.name', 'string_too_short'],
    ['body.kind', 'enum'],
  ]);
});

test('missing and wrong credentials are 401 problems; throwOnError throws them', async () => {
  const anonymous = createClient({ baseUrl: server.url });
  const { error } = await sdk.listProviders({ client: anonymous });
  expect(error).toMatchObject({ code: 'credentials_missing' });
  const wrong = createClient({
    baseUrl: server.url,
    auth: ({ scheme }) => (scheme === 'bearer' ? 'wrong' : undefined),
  });
  await expect(sdk.listProviders({ client: wrong, throwOnError: true })).rejects.toMatchObject({
    code: 'credentials_invalid',
  });
});

test('a callback that returns credentials for both schemes gets an error that asks for one', async () => {
  const { key } = await accountWithKey(server, { tenantId: 'default' }, ['providers:read']);
  const both = createClient({ baseUrl: server.url, auth: ({ scheme }) => (scheme === 'bearer' ? token : key) });
  const { error, response } = await sdk.listProviders({ client: both });
  expect(response?.status).toBe(400);
  expect(error).toMatchObject({ code: 'credentials_ambiguous' });
});

test('invalid input does not compile', () => {
  const checkedOnly = () => [
    // @ts-expect-error a required field is missing
    sdk.createProvider({ body: { name: 'x' } }),
    // @ts-expect-error no such field
    sdk.createProvider({ body: { name: 'x', kind: 'llm', colour: 'red' } }),
    // @ts-expect-error the path's parameter is missing
    sdk.getProvider({}),
    // @ts-expect-error a limit is a number
    sdk.listProviders({ query: { limit: '1' } }),
  ];
  expect(checkedOnly).toBeInstanceOf(Function);
});

test('regression: no request gets the option `client`, which Deno takes for its own HTTP client and refuses', async () => {
  const given: unknown[] = [];
  class NotedRequest extends Request {
    constructor(input: string | URL | Request, init?: RequestInit & { client?: unknown }) {
      super(input, init);
      given.push(init?.client);
    }
  }
  vi.stubGlobal('Request', NotedRequest);
  onTestFinished(() => void vi.unstubAllGlobals());
  expect((await sdk.listTenants({ client: byKey })).error).toBeUndefined();
  expect(given).toEqual([undefined]);
});
