import { createGatewaySession } from '@quartermaster/contracts/gateway-sessions.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { document } from '../support/contract-check.ts';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import { OPERATIONS } from '../support/records.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { expectFields } from './harness.ts';
import { chatSpan, type Fixtures, fixturesFor, observationsQuery } from './spec-fixtures.ts';

let server: TestServer;
const fixtures: Partial<Record<'apiKeyAuth' | 'bearerAuth', Fixtures>> = {};

beforeAll(async () => {
  server = await startTestServer();
  const account = await accountWithKey(server, { tenantId: 'spec-key' });
  fixtures.apiKeyAuth = await fixturesFor(server, { key: account.key }, 'spec-key');
  await accountWithKey(server, { tenantId: 'spec-bearer' });
  const owner = await memberWithToken(server, { tenantId: 'spec-bearer' }, 'owner');
  fixtures.bearerAuth = await fixturesFor(server, { token: owner.token }, 'spec-bearer');
});
afterAll(() => server.stop());

const TENANCY = 'tenantId subTenantId createdAt updatedAt';
const ACCOUNT = `${TENANCY} id name displayName description status metadata lastUsedAt keyCount activeKeyCount soonestKeyExpiryAt telemetry`;
const PROVIDER = `${TENANCY} id name displayName description kind baseUrl status health inventorySyncedAt metadata`;
const ITEM = `${TENANCY} id kind name title description status source schemaDigest attributes firstSeenAt lastSeenAt`;
const OBSERVATION = `${TENANCY} id providerId kind name unknown status occurrences firstSeenAt lastSeenAt lastTraceId lastSpanId evidence risk inventoryItemId review`;
const RECOMMENDATION = `${TENANCY} id providerId kind status reason observationIds change appliedBy appliedAt`;
const SESSION = `${TENANCY} id gatewayId subject status token tokenType issuedAt expiresAt gatewayUrl grants metadata`;
const USER =
  'id email displayName status terms marketingConsent source memberships locale timeZone metadata lastSeenAt createdAt updatedAt';
const CREDENTIAL = `${TENANCY} id kind name ownerType ownerId prefix scopes status expiresAt lastUsedAt createdBy revokedAt rotationCount`;
const MANIFEST = `${TENANCY} id name kind version status digest spec createdBy`;
const TASK = `${TENANCY} id kind status title subject assignee priority dueAt attempts lastError completedAt`;
const SPAN =
  'traceId spanId parentSpanId tenantId subTenantId name kind startTime endTime durationMs status serviceName scope resource attributes events links genAi';

const USER_PROFILE = {
  displayName: 'Ada',
  locale: 'en-GB',
  timeZone: 'Europe/London',
  marketingConsent: { optedIn: true, consentVersion: '2026-01' },
  terms: { termsVersion: '2026-01', privacyVersion: '2026-02', accepted: true },
  metadata: { team: 'a' },
};
const ACCOUNT_PROFILE = { displayName: 'Ada', description: 'The first', metadata: { team: 'a' } };

type Row = {
  number: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: (made: Fixtures) => string;
  body?: (made: Fixtures) => unknown;
  fields: string | ((made: Fixtures) => string);
  record?: (answered: Body) => Body;
};

const first = (answered: Body) => answered.items[0];

const ROWS: Row[] = [
  {
    number: 1,
    method: 'GET',
    path: (made) =>
      `/v1/providers/${made.providerId}/observations?${observationsQuery(made)}&limit=25&cursor=${made.observationsCursor}`,
    fields: OBSERVATION,
    record: first,
  },
  {
    number: 2,
    method: 'POST',
    path: () => '/v1/service-accounts',
    body: ({ tenantId, subTenantId }) => ({
      name: 'worker',
      displayName: 'Worker',
      id: unique('worker'),
      tenantId,
      subTenantId,
      description: 'Works',
      status: 'active',
      metadata: { team: 'a' },
    }),
    fields: ACCOUNT,
  },
  {
    number: 3,
    method: 'PUT',
    path: (made) =>
      `/v1/service-accounts/${made.accountId}?tenant_id=${made.tenantId}&sub_tenant_id=${made.subTenantId}`,
    body: () => ({ displayName: 'Agent', description: 'Answers', metadata: { team: 'b' } }),
    fields: ACCOUNT,
  },
  {
    number: 4,
    method: 'POST',
    path: (made) => `/v1/providers/${made.providerId}/recommendations/apply`,
    body: () => ({}),
    fields: 'providerId dryRun applied skipped',
  },
  {
    number: 5,
    method: 'POST',
    path: (made) => `/v1/gateways/${made.gatewayId}/sessions`,
    body: () => ({}),
    fields: SESSION,
  },
  {
    number: 6,
    method: 'PUT',
    path: (made) => `/v1/providers/${made.providerId}`,
    body: () => ({
      name: unique('renamed'),
      displayName: 'Renamed',
      description: 'Of another name',
      kind: 'other',
      baseUrl: 'https://api.example.com/v2',
      status: 'active',
      metadata: { team: 'a' },
    }),
    fields: PROVIDER,
  },
  {
    number: 7,
    method: 'POST',
    path: () => '/v1/service-accounts/search',
    body: () => ({}),
    fields: ACCOUNT,
    record: first,
  },
  {
    number: 8,
    method: 'PUT',
    path: () => '/v1/me/profile',
    body: (made) => (isUser(made) ? USER_PROFILE : ACCOUNT_PROFILE),
    fields: (made) => (isUser(made) ? USER : ACCOUNT),
  },
  {
    number: 9,
    method: 'POST',
    path: () => '/v1/credentials/search',
    body: () => ({}),
    fields: CREDENTIAL,
    record: first,
  },
  { number: 11, method: 'GET', path: () => '/v1/operator/tasks', fields: TASK, record: first },
  { number: 12, method: 'GET', path: () => '/v1/manifests', fields: MANIFEST, record: first },
  {
    number: 13,
    method: 'GET',
    path: (made) => `/v1/providers/${made.providerId}/inventory`,
    fields: ITEM,
    record: (answered) => {
      expectFields(answered, 'providerId syncedAt items nextCursor');
      expect(answered.syncedAt).toBeNull();
      return answered.items[0];
    },
  },
  { number: 14, method: 'DELETE', path: (made) => `/v1/manifests/${made.doomedManifestId}`, fields: MANIFEST },
  {
    number: 15,
    method: 'GET',
    path: (made) => `/v1/traces/${made.traceId}/spans`,
    fields: SPAN,
    record: (answered) => {
      const [span] = answered.items;
      expectFields(span.status, 'code message');
      expectFields(span.genAi, 'operation provider model agent tool conversationId inputTokens outputTokens');
      expect(span.startTime).toMatch(/\.\d{9}Z$/);
      return span;
    },
  },
  { number: 16, method: 'DELETE', path: (made) => `/v1/users/${made.doomedUserId}`, fields: USER },
  { number: 17, method: 'GET', path: (made) => `/v1/users/${made.userId}`, fields: USER },
  { number: 18, method: 'GET', path: () => '/v1/providers', fields: PROVIDER, record: first },
];

const isUser = ({ as }: Fixtures) => as !== null && 'token' in as;

describe.each(['apiKeyAuth', 'bearerAuth'] as const)('with %s', (scheme) => {
  test.each(ROWS)('endpoint $number of the specification answers 200 with every field', async (row) => {
    const made = fixtures[scheme] as Fixtures;
    const { method, path, body, record = (answered: Body) => answered } = row;
    const answered = await server.ok(method, path(made), { as: made.as, ...(body && { body: body(made) }) });
    expectFields(record(answered), typeof row.fields === 'string' ? row.fields : row.fields(made));
    if (answered.items) expect(answered.nextCursor === null || typeof answered.nextCursor === 'string').toBe(true);
  });
});

test('applying a named recommendation answers it with every field', async () => {
  const made = await fixturesFor(server, server.admin, 'spec-apply');
  const path = `/v1/providers/${made.providerId}/recommendations`;
  const { items } = await server.ok('GET', path, { as: server.admin });
  expectFields(items[0], RECOMMENDATION);
  const body = { recommendationIds: [items[0].id] };
  const { applied, skipped } = await server.ok('POST', `${path}/apply`, { as: server.admin, body });
  expect(skipped).toEqual([]);
  expectFields(applied[0], RECOMMENDATION);
});

test('endpoint 10 of the specification answers 200 without credentials, with every field', async () => {
  const body = {
    user: {
      email: 'new@example.com',
      displayName: 'New',
      terms: { termsVersion: '1', privacyVersion: '1', accepted: false },
      marketingConsent: { optedIn: false, consentVersion: '1' },
    },
    source: 'saas_registration',
    metadata: { campaign: 'spring' },
  };
  const answered = await server.ok('POST', '/v1/onboarding/register', { body });
  expectFields(answered, 'user registration signIn');
  expectFields(answered.user, 'id email displayName');
  expectFields(answered.registration, 'status receivedAt');
  expectFields(answered.signIn, 'issuer');
});

test('the document lists both security schemes for endpoints 1 to 9 and 11 to 18, and none for endpoint 10', () => {
  const made = new Proxy({} as Fixtures, { get: (_target, name) => `{${String(name)}}` });
  const shape = (path: string) => (path.split('?')[0] ?? '').replaceAll(/\{[^}]*\}/g, '{}');
  for (const { number, method, path } of ROWS) {
    const template = Object.keys(document.paths).find((one) => shape(one) === shape(path(made))) ?? '';
    const operation = document.paths[template]?.[method.toLowerCase()];
    expect(
      operation?.security.flatMap((one) => Object.keys(one)),
      `endpoint ${number}`,
    ).toEqual(expect.arrayContaining(['bearerAuth', 'apiKeyAuth']));
  }
  expect(document.paths['/v1/onboarding/register']?.post?.security ?? []).toEqual([]);
});

const OPTIONAL = OPERATIONS.map(({ operation }) => operation).filter((operation) => operation.bodyOptional);
const BODIES = { '{}': '{}', null: 'null', empty: '', absent: undefined };
const TYPES = ['application/json', 'application/json; charset=utf-8', 'text/plain', undefined];
const CASES = OPTIONAL.flatMap(({ operationId, method, path }) =>
  Object.entries(BODIES).flatMap(([name, sent]) =>
    TYPES.map((type) => ({ operationId, method, path, name, sent, type })),
  ),
);

test('the list of operations with an optional body is complete', () => {
  expect(OPTIONAL.map((operation) => operation.operationId)).toContain(createGatewaySession.operationId);
});

test.each(CASES)(
  '$operationId accepts the body $name with the content type $type',
  async ({ method, path, sent, type }) => {
    const made = fixtures.apiKeyAuth as Fixtures;
    // A key is rotated once.
    const keyId = path.includes('{key_id}') ? await newKey(made.accountId) : '';
    // A task is cancelled once, and claimed by one.
    const taskId = path.includes('{task_id}') ? await newTask(made) : '';
    const filled = path
      .replace('{task_id}', taskId)
      .replace('{provider_id}', made.providerId)
      .replace('{gateway_id}', made.gatewayId)
      .replace('{service_account_id}', made.accountId)
      .replace('{key_id}', () => keyId);
    // Sent as bytes, because fetch would add a Content-Type to a string.
    const raw = sent === undefined ? {} : { raw: new TextEncoder().encode(sent) };
    const headers = type === undefined ? {} : { 'content-type': type };
    await server.ok(method, filled, { as: server.admin, ...raw, headers });
  },
);

async function newTask(made: Fixtures): Promise<string> {
  const model = unique('model');
  const [as, traceId] = [made.as, made.traceId];
  await server.ok('POST', '/v1/traces', { as, body: chatSpan(traceId, model, unique('provider')) });
  const [observation] = (await server.ok('GET', `/v1/runtime-observations?name=${model}`, { as })).items;
  return (await server.ok('GET', `/v1/operator/tasks?subject_id=${observation.id}`, { as })).items[0].id;
}

async function newKey(accountId: string): Promise<string> {
  const body = { scopes: ['traces:write'] };
  const { id } = await server.ok('POST', `/v1/service-accounts/${accountId}/keys`, { as: server.admin, body });
  return id;
}
