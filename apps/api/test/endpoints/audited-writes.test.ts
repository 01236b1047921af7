import { TenantSettingsSchema } from '@quartermaster/contracts/tenants.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { operationsOf } from '../../src/http/trpc.ts';
import { isKept, keptValues } from '../../src/platform/audit/kept-values.ts';
import { agentIdOf } from '../../src/resources/agents/known-agents.ts';
import { appRouter } from '../../src/server/router.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { signedInBrowser } from '../support/browser.ts';
import { accountWithKey, registeredUser } from '../support/people.ts';
import { type Body, type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { sendSpans } from '../telemetry/traces/sending.ts';
import { auditOf } from './harness.ts';
import { chatSpan } from './spec-fixtures.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

/** An agent with a manifest, which was seen in the channel `webchat`. Returns its id. */
async function agentInChannel(as: { key: string }): Promise<string> {
  const body = { name: 'in-channel', kind: 'agent', spec: {} };
  const { tenantId } = await server.ok('POST', '/v1/manifests', { as, body });
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': body.name,
    'openclaw.channel': 'webchat',
  };
  await sendSpans(server, as, [{ name: 'invoke_agent', kind: 1, attributes }]);
  return agentIdOf({ tenantId, subTenantId: null, name: body.name });
}

/** Operations that change administrative records: all except reads and the receiver of telemetry. */
const WRITES = operationsOf(appRouter)
  .filter(({ method, operationId }) => method !== 'GET' && !/^search_|^introspect_|^ingest_|^plan_/.test(operationId))
  .map((operation) => operation.operationId);

/** A text in the request bodies that could be personal or secret, so no audit event may contain it. */
const VALUE = 'a-value-that-stays-out';
const RECORDED = 'Recorded';

type Step = {
  operationId: string;
  method: string;
  path: (made: Record<string, string>) => string;
  body?: object | ((made: Record<string, string>) => object);
  /** The name under which later steps find the id of the created record. */
  keep?: string;
  /** The target's type and the fields that changed, in the event of the operation's own record. */
  expected: [string, string[]];
  /** Field, value before and value after: the kept values that the same event has to contain. */
  kept?: [string, unknown, unknown][];
  as?: 'admin' | 'anonymous' | 'invited' | 'founder';
};

const email = `${VALUE}@example.com`;

const STEPS: Step[] = [
  {
    operationId: 'create_tenant',
    method: 'POST',
    path: () => '/v1/tenants',
    body: { displayName: VALUE },
    keep: 'tenant',
    as: 'admin',
    expected: ['tenant', ['displayName']],
  },
  {
    operationId: 'delete_tenant',
    method: 'DELETE',
    path: (made) => `/v1/tenants/${made.tenant}`,
    as: 'admin',
    expected: ['tenant', ['settings']],
    kept: [['settings.captureContent', false, null]],
  },
  {
    operationId: 'update_tenant',
    method: 'PUT',
    path: () => '/v1/tenants/writes',
    body: { displayName: VALUE, settings: { spanRetentionDays: 30 } },
    expected: ['tenant', ['displayName', 'settings.spanRetentionDays']],
    kept: [['settings.spanRetentionDays', null, 30]],
  },
  {
    operationId: 'update_tenant_limits',
    method: 'PUT',
    path: () => '/v1/tenants/writes/limits',
    body: { gateways: 100 },
    as: 'admin',
    expected: ['tenant', ['limits.gateways']],
    kept: [['limits.gateways', null, 100]],
  },
  {
    operationId: 'create_service_account',
    method: 'POST',
    path: () => '/v1/service-accounts',
    body: { name: VALUE, metadata: { note: VALUE } },
    keep: 'account',
    expected: ['service_account', ['metadata', 'name', 'platformAdministrator', 'status']],
  },
  {
    operationId: 'update_service_account',
    method: 'PUT',
    path: (made) => `/v1/service-accounts/${made.account}`,
    body: { description: VALUE },
    expected: ['service_account', ['description']],
  },
  {
    operationId: 'create_service_account_key',
    method: 'POST',
    path: (made) => `/v1/service-accounts/${made.account}/keys`,
    body: { scopes: ['traces:write'], name: VALUE },
    keep: 'key',
    expected: ['api_key', ['name', 'scopes']],
    kept: [['scopes', null, ['traces:write']]],
  },
  {
    operationId: 'rotate_service_account_key',
    method: 'POST',
    path: (made) => `/v1/service-accounts/${made.account}/keys/${made.key}/rotate`,
    keep: 'rotated',
    expected: ['api_key', ['expiresAt']],
  },
  {
    operationId: 'revoke_service_account_key',
    method: 'DELETE',
    path: (made) => `/v1/service-accounts/${made.account}/keys/${made.rotated}`,
    expected: ['api_key', ['revokedAt']],
  },
  {
    operationId: 'revoke_derived_access',
    method: 'POST',
    path: () => '/v1/derived-access/revoke',
    body: ({ caller }) => ({ source: caller, kinds: ['api_key'] }),
    expected: ['api_key', ['revokedAt']],
  },
  {
    operationId: 'disable_service_account',
    method: 'POST',
    path: (made) => `/v1/service-accounts/${made.account}/disable`,
    expected: ['service_account', ['status']],
    kept: [['status', 'active', 'disabled']],
  },
  {
    operationId: 'enable_service_account',
    method: 'POST',
    path: (made) => `/v1/service-accounts/${made.account}/enable`,
    expected: ['service_account', ['status']],
  },
  {
    operationId: 'delete_service_account',
    method: 'DELETE',
    path: (made) => `/v1/service-accounts/${made.account}`,
    expected: ['service_account', ['status']],
  },
  {
    operationId: 'update_my_profile',
    method: 'PUT',
    path: () => '/v1/me/profile',
    body: { displayName: VALUE },
    expected: ['service_account', ['displayName']],
  },
  {
    operationId: 'create_provider',
    method: 'POST',
    path: () => '/v1/providers',
    body: { name: VALUE, kind: 'llm' },
    keep: 'provider',
    expected: ['provider', ['kind', 'name', 'status']],
  },
  {
    operationId: 'update_provider',
    method: 'PUT',
    path: (made) => `/v1/providers/${made.provider}`,
    body: { description: VALUE, displayName: VALUE, baseUrl: `https://api.example.com/${VALUE}?key=${VALUE}` },
    expected: ['provider', ['baseUrl', 'description', 'displayName']],
    kept: [['baseUrl', null, 'https://api.example.com']],
  },
  {
    operationId: 'sync_provider_inventory',
    method: 'POST',
    path: (made) => `/v1/providers/${made.provider}/sync`,
    expected: ['provider', ['health', 'inventorySyncedAt']],
  },
  {
    operationId: 'put_provider_credential',
    method: 'PUT',
    path: (made) => `/v1/providers/${made.provider}/credential`,
    body: { secret: VALUE, name: VALUE },
    expected: ['provider_credential', ['name', 'secret', 'standby']],
  },
  {
    operationId: 'delete_provider_credential',
    method: 'DELETE',
    path: (made) => `/v1/providers/${made.provider}/credential`,
    expected: ['provider_credential', ['revokedAt']],
  },
  {
    operationId: 'put_provider_secret_header',
    method: 'PUT',
    path: (made) => `/v1/providers/${made.provider}/secret-headers/x-organization`,
    body: { secret: VALUE },
    expected: ['provider_credential', ['secret']],
  },
  {
    operationId: 'delete_provider_secret_header',
    method: 'DELETE',
    path: (made) => `/v1/providers/${made.provider}/secret-headers/x-organization`,
    expected: ['provider_credential', ['revokedAt']],
  },
  {
    operationId: 'create_inventory_item',
    method: 'POST',
    path: (made) => `/v1/providers/${made.provider}/inventory`,
    body: { kind: 'tool', name: VALUE },
    keep: 'item',
    expected: ['inventory_item', ['kind', 'name', 'status']],
  },
  {
    operationId: 'update_inventory_item',
    method: 'PUT',
    path: (made) => `/v1/providers/${made.provider}/inventory/${made.item}`,
    body: { title: VALUE },
    expected: ['inventory_item', ['title']],
  },
  {
    operationId: 'delete_inventory_item',
    method: 'DELETE',
    path: (made) => `/v1/providers/${made.provider}/inventory/${made.item}`,
    expected: ['inventory_item', ['kind', 'name', 'status']],
    kept: [['status', 'available', null]],
  },
  {
    operationId: 'review_runtime_observation',
    method: 'POST',
    path: (made) => `/v1/runtime-observations/${made.observation}/review`,
    body: { decision: 'approved', note: VALUE },
    expected: ['runtime_observation', ['review', 'status']],
  },
  {
    operationId: 'review_runtime_observations',
    method: 'POST',
    path: () => '/v1/runtime-observations/review',
    body: ({ observation }) => ({ decision: 'approved', note: VALUE, observationIds: [observation] }),
    expected: ['runtime_observation', ['review', 'status']],
  },
  {
    operationId: 'apply_provider_recommendations',
    method: 'POST',
    path: (made) => `/v1/providers/${made.provider}/recommendations/apply`,
    expected: ['recommendation', ['status']],
  },
  {
    operationId: 'undo_recommendation',
    method: 'POST',
    path: (made) => `/v1/recommendations/${made.recommendation}/undo`,
    expected: ['recommendation', ['status']],
  },
  {
    operationId: 'undo_recommendations',
    method: 'POST',
    path: (made) => `/v1/recommendations/applies/${made.apply}/undo`,
    expected: ['recommendation', ['status']],
    kept: [['status', 'applied', 'open']],
  },
  {
    operationId: 'dismiss_recommendation',
    method: 'POST',
    path: (made) => `/v1/recommendations/${made.recommendation}/dismiss`,
    body: { reason: VALUE },
    expected: ['recommendation', ['dismissal', 'status']],
    kept: [['status', 'open', 'dismissed']],
  },
  {
    operationId: 'update_runtime_observation',
    method: 'PUT',
    path: (made) => `/v1/runtime-observations/${made.observation}`,
    body: { note: `${VALUE} too` },
    expected: ['runtime_observation', ['review']],
  },
  {
    operationId: 'claim_operator_task',
    method: 'POST',
    path: (made) => `/v1/operator/tasks/${made.task}/claim`,
    expected: ['operator_task', ['assignee', 'leaseExpiresAt', 'status']],
  },
  {
    operationId: 'complete_operator_task',
    method: 'POST',
    path: (made) => `/v1/operator/tasks/${made.task}/complete`,
    body: { outcome: 'ignored', note: VALUE },
    expected: ['operator_task', ['completedAt', 'leaseExpiresAt', 'note', 'outcome', 'status']],
  },
  {
    operationId: 'cancel_operator_task',
    method: 'POST',
    path: (made) => `/v1/operator/tasks/${made.otherTask}/cancel`,
    body: { note: VALUE },
    expected: ['operator_task', ['assignee', 'completedAt', 'note', 'status']],
  },
  {
    operationId: 'dismiss_recommendations',
    method: 'POST',
    path: () => '/v1/recommendations/dismiss',
    body: ({ openRecommendation }) => ({ reason: VALUE, recommendationIds: [openRecommendation] }),
    expected: ['recommendation', ['dismissal', 'status']],
  },
  {
    operationId: 'set_price',
    method: 'POST',
    path: () => '/v1/prices',
    body: { modelPattern: VALUE, validFrom: '2026-01-01', inputPrice: 1, outputPrice: 2 },
    keep: 'price',
    expected: [
      'price',
      ['cacheReadPrice', 'cacheWritePrice', 'inputPrice', 'modelPattern', 'outputPrice', 'validFrom'],
    ],
  },
  {
    operationId: 'delete_price',
    method: 'DELETE',
    path: (made) => `/v1/prices/${made.price}`,
    expected: ['price', ['inputPrice', 'modelPattern', 'outputPrice', 'validFrom']],
    kept: [
      ['inputPrice', 1, null],
      ['outputPrice', 2, null],
      ['validFrom', '2026-01-01', null],
    ],
  },
  {
    operationId: 'create_manifest',
    method: 'POST',
    path: () => '/v1/manifests',
    body: { name: VALUE, kind: 'agent', spec: { 'x-note': VALUE } },
    keep: 'manifest',
    expected: ['manifest', ['kind', 'name', 'spec']],
  },
  {
    operationId: 'delete_manifest',
    method: 'DELETE',
    path: (made) => `/v1/manifests/${made.manifest}`,
    expected: ['manifest', ['status']],
  },
  {
    operationId: 'declare_agent_channel',
    method: 'POST',
    path: (made) => `/v1/agents/${made.agent}/channels/webchat/declare`,
    expected: ['manifest', ['kind', 'name', 'spec']],
  },
  {
    operationId: 'create_gateway',
    method: 'POST',
    path: () => '/v1/gateways',
    body: { name: VALUE },
    keep: 'gateway',
    expected: ['gateway', ['enforcement', 'mcpProxy', 'name', 'providerIds', 'sessionTtlSeconds', 'status']],
  },
  {
    operationId: 'update_gateway',
    method: 'PUT',
    path: (made) => `/v1/gateways/${made.gateway}`,
    body: { displayName: VALUE, sessionTtlSeconds: 600 },
    expected: ['gateway', ['displayName', 'sessionTtlSeconds']],
    kept: [['sessionTtlSeconds', expect.any(Number), 600]],
  },
  {
    operationId: 'create_gateway_session',
    method: 'POST',
    path: (made) => `/v1/gateways/${made.gateway}/sessions`,
    body: { metadata: { note: VALUE } },
    keep: 'session',
    expected: ['gateway_session', ['metadata']],
  },
  {
    operationId: 'revoke_gateway_session',
    method: 'DELETE',
    path: (made) => `/v1/gateways/${made.gateway}/sessions/${made.session}`,
    expected: ['gateway_session', ['revokedAt', 'revokedReason']],
    kept: [['revokedReason', null, 'revoked']],
  },
  {
    operationId: 'delete_gateway',
    method: 'DELETE',
    path: (made) => `/v1/gateways/${made.gateway}`,
    expected: ['gateway', ['status']],
  },
  {
    operationId: 'delete_provider',
    method: 'DELETE',
    path: (made) => `/v1/providers/${made.provider}`,
    expected: ['provider', ['status']],
  },
  {
    operationId: 'register_user',
    method: 'POST',
    path: () => '/v1/onboarding/register',
    body: { user: { email, displayName: VALUE } },
    as: 'anonymous',
    expected: ['user', ['displayName', 'email']],
  },
  {
    operationId: 'create_membership',
    method: 'POST',
    path: () => '/v1/tenants/writes/memberships',
    body: { email, role: 'viewer' },
    keep: 'user',
    expected: ['membership', ['email', 'role']],
  },
  {
    operationId: 'update_membership',
    method: 'PUT',
    path: (made) => `/v1/tenants/writes/memberships/${made.user}`,
    body: { role: 'operator' },
    expected: ['membership', ['role']],
    kept: [['role', 'viewer', 'operator']],
  },
  {
    operationId: 'accept_membership',
    method: 'POST',
    path: () => '/v1/me/memberships/writes/accept',
    as: 'invited',
    expected: ['membership', ['acceptedAt', 'status']],
  },
  {
    operationId: 'create_organization',
    method: 'POST',
    path: () => '/v1/onboarding/organization',
    body: { organization: { displayName: VALUE } },
    as: 'founder',
    expected: ['tenant', ['displayName']],
  },
  {
    operationId: 'revoke_my_session',
    method: 'DELETE',
    path: (made) => `/v1/me/sessions/${made.consoleSession}`,
    as: 'founder',
    expected: ['console_session', []],
  },
  {
    operationId: 'grant_platform_administrator',
    method: 'PUT',
    path: (made) => `/v1/users/${made.user}/platform-administrator`,
    as: 'admin',
    expected: ['user', ['platformAdministrator']],
    kept: [['platformAdministrator', false, true]],
  },
  {
    operationId: 'revoke_platform_administrator',
    method: 'DELETE',
    path: (made) => `/v1/users/${made.user}/platform-administrator`,
    as: 'admin',
    expected: ['user', ['platformAdministrator']],
  },
  {
    operationId: 'allow_identity_relink',
    method: 'PUT',
    path: (made) => `/v1/users/${made.user}/identity-relink`,
    as: 'admin',
    expected: ['user', ['identityRelink']],
  },
  {
    operationId: 'withdraw_identity_relink',
    method: 'DELETE',
    path: (made) => `/v1/users/${made.user}/identity-relink`,
    as: 'admin',
    expected: ['user', ['identityRelink']],
  },
  {
    operationId: 'disable_user',
    method: 'POST',
    path: (made) => `/v1/users/${made.user}/disable`,
    as: 'admin',
    expected: ['user', ['status']],
    kept: [['status', 'active', 'disabled']],
  },
  {
    operationId: 'enable_user',
    method: 'POST',
    path: (made) => `/v1/users/${made.user}/enable`,
    as: 'admin',
    expected: ['user', ['status']],
  },
  {
    operationId: 'delete_membership',
    method: 'DELETE',
    path: (made) => `/v1/tenants/writes/memberships/${made.user}`,
    expected: ['membership', ['acceptedAt', 'role', 'status']],
    kept: [['role', 'operator', null]],
  },
  {
    operationId: 'delete_user',
    method: 'DELETE',
    path: (made) => `/v1/users/${made.user}`,
    as: 'admin',
    expected: ['user', ['status']],
  },
];

test('the steps contain every operation that writes', () => {
  expect(STEPS.map((step) => step.operationId).toSorted()).toEqual(WRITES.toSorted());
});

/** Fields that can hold a secret, free text or personal data, or whose content is too long. Events only name them. */
const NAMED_ONLY = new Set([
  // Names, descriptions and notes are free text.
  'name',
  'displayName',
  'title',
  'description',
  'aliases',
  'metadata',
  'attributes',
  'note',
  'lastError',
  'modelPattern',
  'dismissal',
  'reason',
  'context',
  'progress',
  'spec',
  'drift',
  'review',
  // Secrets, and how they are sent.
  'secret',
  'header',
  'headers',
  'scheme',
  // Personal data. An erasure of the user must not have to change events.
  'email',
  'identity',
  'identityRelink',
  'source',
  'locale',
  'timeZone',
  'terms',
  'marketingConsent',
  // A pruning counts what it removed in its task.
  'observations',
]);

/** Fields of bodies that say what to do, or where. They are no fields of the record. */
const NOT_OF_THE_RECORD = new Set([
  'owner',
  'id',
  'tenantId',
  'subTenantId',
  'createTenant',
  'overlapSeconds',
  'leaseSeconds',
  'ttlSeconds',
  'decision',
  'dryRun',
  'applyId',
  'recommendationIds',
  'kinds',
  'user',
  'organization',
]);

/** Operations whose bodies choose the records. What they change is a field of an operation about one record, too. */
const CHOOSING = ['review_runtime_observations', 'dismiss_recommendations', 'revoke_derived_access'];

const isClassified = (field: string) => isKept(field) || NAMED_ONLY.has(field);

test('the audit keeps the values of each field that a write accepts, or the field is listed as left out', () => {
  for (const { operationId, body } of operationsOf(appRouter)) {
    if (!WRITES.includes(operationId) || CHOOSING.includes(operationId)) continue;
    const fields = body instanceof z.ZodObject ? Object.keys(body.shape) : [];
    const unknown = fields
      .map((field) => (operationId === 'update_tenant_limits' ? `limits.${field}` : field))
      .filter((field) => !isClassified(field) && !NOT_OF_THE_RECORD.has(field));
    expect(unknown, `${operationId}: add these fields to KEPT or to NAMED_ONLY`).toEqual([]);
  }
  for (const setting of TenantSettingsSchema.keyof().options) expect(isKept(`settings.${setting}`)).toBe(true);
});

test('a value that is too long, or is neither a scalar nor a list of texts, is only named', () => {
  const valuesOf = (field: string, after: unknown) =>
    keptValues({ fields: [field], before: {}, after: { [field]: after } });
  expect(valuesOf('providerIds', ['prov_1'])).toEqual([{ field: 'providerIds', before: null, after: ['prov_1'] }]);
  expect(
    valuesOf(
      'providerIds',
      Array.from({ length: 100 }, () => 'prov_01k0c5v7h2m4n8q3r6t9w1x2yz'),
    ),
  ).toEqual([]);
  expect(valuesOf('status', { text: VALUE })).toEqual([]);
  expect(valuesOf('description', VALUE)).toEqual([]);
});

test('each write leaves audit events with its request id, actor, scheme, target, changed fields and only kept values', async () => {
  const caller = await accountWithKey(server, { tenantId: 'writes' });
  const founder = await registeredUser(server);
  const actors = {
    caller: { as: { key: caller.key }, actor: { type: 'service_account', id: caller.id }, scheme: 'api_key' },
    admin: { as: server.admin, actor: { type: 'service_account', id: 'bootstrap' }, scheme: 'api_key' },
    anonymous: { as: null as Credential, actor: { type: 'anonymous', id: null }, scheme: null },
    founder: { as: { token: founder.token }, actor: { type: 'user', id: founder.id }, scheme: 'bearer' },
  };
  const made: Record<string, string> = { caller: caller.principal };
  for (const { operationId, method, path, body, keep, expected, kept = [], as } of STEPS) {
    if (operationId === 'review_runtime_observation') made.observation = await observed({ key: caller.key });
    if (operationId === 'declare_agent_channel') made.agent = await agentInChannel({ key: caller.key });
    if (operationId === 'undo_recommendation') made.recommendation = await applied({ key: caller.key }, made.provider);
    if (operationId === 'undo_recommendations') made.apply = await appliedAgain({ key: caller.key }, made);
    if (operationId === 'sync_provider_inventory') await listens({ key: caller.key }, made.provider);
    if (operationId === 'claim_operator_task') Object.assign(made, await tasks({ key: caller.key }));
    if (operationId === 'dismiss_recommendations') made.openRecommendation = await openRecommendation();
    if (operationId === 'revoke_my_session') made.consoleSession = await consoleSession(founder);
    if (operationId === 'revoke_platform_administrator') await makeAdministrator(founder.id);
    const who = as === 'invited' ? await invited() : actors[as ?? 'caller'];
    const sent = { as: who.as, ...(body !== undefined && { body: typeof body === 'function' ? body(made) : body }) };
    const answered = await server.call(method, path(made), sent);
    expect(answered.status, `${operationId}: ${answered.text}`).toBe(200);
    if (keep !== undefined) made[keep] = answered.body.id ?? answered.body.userId;
    const requestId = answered.headers.get('x-request-id');
    const events = (await auditOf(server, { operation: operationId })).filter((one) => one.requestId === requestId);
    const [type, changedFields] = expected;
    expect(events, operationId).toContainEqual(
      expect.objectContaining({ target: expect.objectContaining({ type, id: expect.any(String) }), changedFields }),
    );
    const { actor, scheme } = who;
    for (const event of events)
      expect(event, operationId).toMatchObject({ actor, scheme, outcome: 'success', count: 1 });
    // The name of the target is not kept: it is read from the record.
    const stored = events.map((event) => ({ ...event, target: { ...event.target, name: null } }));
    expect(JSON.stringify(stored)).not.toContain(VALUE);
    const changes = events.flatMap((event) => event.changes);
    for (const [field, before, after] of kept) expect(changes, operationId).toContainEqual({ field, before, after });
    const unknown = events.flatMap((event) => event.changedFields).filter((field) => !isClassified(field));
    expect(unknown, `${operationId}: add these fields to KEPT or to NAMED_ONLY`).toEqual([]);
  }
});

/** The invited user, who signs in for the first time. */
async function invited() {
  const as = await server.tokenOf(email);
  const { id } = await server.ok('PUT', '/v1/me/profile', { as, body: { terms: { accepted: true } } });
  return { as, actor: { type: 'user', id }, scheme: 'bearer' };
}

/** The id of an open recommendation. */
async function openRecommendation(): Promise<string> {
  const path = '/v1/recommendations?status=open&tenant_id=writes';
  const { items } = await server.ok('GET', path, { as: server.admin });
  return items.map((item: Body) => item.id)[0];
}

/** Signs the user in with a browser. Returns the id of the console session. */
async function consoleSession({ email: ofUser, token }: { email: string; token: string }): Promise<string> {
  await signedInBrowser(server, ofUser);
  const { items } = await server.ok('GET', '/v1/me/sessions', { as: { token } });
  return items.map((item: Body) => item.id)[0];
}

/** Makes another platform administrator, because the last one cannot be revoked. */
async function makeAdministrator(id: string): Promise<void> {
  await server.ok('PUT', `/v1/users/${id}/platform-administrator`, { as: server.admin });
}

/** Reports the use of an undeclared model. Returns the id of its observation. */
async function observed(as: { key: string }): Promise<string> {
  const span = chatSpan('ef'.repeat(16), RECORDED, VALUE);
  await server.ok('POST', '/v1/traces', { as, body: span });
  const { items } = await server.ok('GET', `/v1/runtime-observations?name=${RECORDED}`, { as });
  return items.map((item: Body) => item.id)[0];
}

/** The recommendation that was applied for a provider. */
async function applied(as: { key: string }, provider: string | undefined): Promise<string> {
  const { items } = await server.ok('GET', `/v1/providers/${provider}/recommendations?status=applied`, { as });
  return items.map((item: Body) => item.id)[0];
}

/** Applies a recommendation that was undone. Returns the id of the apply. */
async function appliedAgain(
  as: { key: string },
  { provider, recommendation }: Record<string, string>,
): Promise<string> {
  const path = `/v1/providers/${provider}/recommendations/apply`;
  const { applied: again } = await server.ok('POST', path, { as, body: { recommendationIds: [recommendation] } });
  return again.map((item: Body) => item.applyId)[0];
}

/** Gives a provider the base URL of a running server. */
async function listens(as: { key: string }, provider: string | undefined): Promise<void> {
  const { url: baseUrl } = await startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
  await server.ok('PUT', `/v1/providers/${provider}`, { as, body: { baseUrl } });
}

/** Reports the use of two undeclared models. Returns the ids of their review tasks. */
async function tasks(as: { key: string }): Promise<{ task: string; otherTask: string }> {
  for (const model of ['one', 'other']) {
    await server.ok('POST', '/v1/traces', { as, body: chatSpan('ab'.repeat(16), model, VALUE) });
  }
  const { items } = await server.ok('GET', '/v1/operator/tasks?kind=review_observation&status=open', { as });
  const [task, otherTask] = items.map((item: Body) => item.id);
  return { task, otherTask };
}
