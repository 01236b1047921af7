import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../src/config.ts';
import { FURTHER_OPERATIONS } from '../src/server/document.ts';
import type { document } from './support/contract-check.ts';
import { OPERATIONS } from './support/records.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { withSharedParts } from './support/shared-parts.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The endpoints of the specification, in its order. */
const SPECIFIED = [
  'GET /v1/providers/{provider_id}/observations list_provider_runtime_observations',
  'POST /v1/service-accounts create_service_account',
  'PUT /v1/service-accounts/{service_account_id} update_service_account',
  'POST /v1/providers/{provider_id}/recommendations/apply apply_provider_recommendations',
  'POST /v1/gateways/{gateway_id}/sessions create_gateway_session',
  'PUT /v1/providers/{provider_id} update_provider',
  'POST /v1/service-accounts/search search_service_accounts',
  'PUT /v1/me/profile update_my_profile',
  'POST /v1/credentials/search search_credentials',
  'POST /v1/onboarding/register register_user',
  'GET /v1/operator/tasks list_operator_tasks',
  'GET /v1/manifests list_manifests',
  'GET /v1/providers/{provider_id}/inventory get_provider_inventory',
  'DELETE /v1/manifests/{manifest_id} delete_manifest',
  'GET /v1/traces/{trace_id}/spans list_trace_spans',
  'DELETE /v1/users/{user_id} delete_user',
  'GET /v1/users/{user_id} get_user',
  'GET /v1/providers list_providers',
];

/** The operations beyond the specification. */
const FURTHER = [
  'GET /v1/runtime-observations list_runtime_observations',
  'PUT /v1/runtime-observations/{observation_id} update_runtime_observation',
  'POST /v1/runtime-observations/{observation_id}/review review_runtime_observation',
  'POST /v1/tenants create_tenant',
  'GET /v1/tenants list_tenants',
  'GET /v1/tenants/{tenant_id} get_tenant',
  'PUT /v1/tenants/{tenant_id} update_tenant',
  'DELETE /v1/tenants/{tenant_id} delete_tenant',
  'GET /v1/tenants/{tenant_id}/usage get_tenant_usage',
  'PUT /v1/tenants/{tenant_id}/limits update_tenant_limits',
  'POST /v1/tenants/{tenant_id}/memberships create_membership',
  'GET /v1/tenants/{tenant_id}/memberships list_memberships',
  'PUT /v1/tenants/{tenant_id}/memberships/{user_id} update_membership',
  'DELETE /v1/tenants/{tenant_id}/memberships/{user_id} delete_membership',
  'POST /v1/me/memberships/{tenant_id}/accept accept_membership',
  'POST /v1/onboarding/organization create_organization',
  'GET /v1/users list_users',
  'POST /v1/users/{user_id}/disable disable_user',
  'POST /v1/users/{user_id}/enable enable_user',
  'GET /v1/users/{user_id}/identity-relink get_identity_relink',
  'PUT /v1/users/{user_id}/identity-relink allow_identity_relink',
  'DELETE /v1/users/{user_id}/identity-relink withdraw_identity_relink',
  'GET /v1/service-accounts/{service_account_id} get_service_account',
  'DELETE /v1/service-accounts/{service_account_id} delete_service_account',
  'POST /v1/service-accounts/{service_account_id}/disable disable_service_account',
  'POST /v1/service-accounts/{service_account_id}/enable enable_service_account',
  'POST /v1/service-accounts/{service_account_id}/keys create_service_account_key',
  'GET /v1/service-accounts/{service_account_id}/keys list_service_account_keys',
  'POST /v1/service-accounts/{service_account_id}/keys/{key_id}/rotate rotate_service_account_key',
  'DELETE /v1/service-accounts/{service_account_id}/keys/{key_id} revoke_service_account_key',
  'POST /v1/providers create_provider',
  'GET /v1/providers/{provider_id} get_provider',
  'DELETE /v1/providers/{provider_id} delete_provider',
  'POST /v1/providers/{provider_id}/sync sync_provider_inventory',
  'PUT /v1/providers/{provider_id}/credential put_provider_credential',
  'DELETE /v1/providers/{provider_id}/credential delete_provider_credential',
  'PUT /v1/providers/{provider_id}/secret-headers/{header_name} put_provider_secret_header',
  'DELETE /v1/providers/{provider_id}/secret-headers/{header_name} delete_provider_secret_header',
  'POST /v1/providers/{provider_id}/inventory create_inventory_item',
  'GET /v1/providers/{provider_id}/inventory/{item_id} get_inventory_item',
  'PUT /v1/providers/{provider_id}/inventory/{item_id} update_inventory_item',
  'DELETE /v1/providers/{provider_id}/inventory/{item_id} delete_inventory_item',
  'GET /v1/providers/{provider_id}/recommendations list_provider_recommendations',
  'POST /v1/providers/{provider_id}/recommendations/plan plan_provider_recommendations',
  'GET /v1/recommendations/{recommendation_id} get_recommendation',
  'POST /v1/recommendations/{recommendation_id}/dismiss dismiss_recommendation',
  'POST /v1/recommendations/{recommendation_id}/undo undo_recommendation',
  'POST /v1/recommendations/applies/{apply_id}/undo undo_recommendations',
  'POST /v1/gateways create_gateway',
  'GET /v1/inventory-items list_inventory_items',
  'GET /v1/gateways list_gateways',
  'GET /v1/gateways/{gateway_id} get_gateway',
  'PUT /v1/gateways/{gateway_id} update_gateway',
  'DELETE /v1/gateways/{gateway_id} delete_gateway',
  'GET /v1/gateways/{gateway_id}/sessions list_gateway_sessions',
  'POST /v1/gateways/{gateway_id}/sessions/introspect introspect_gateway_session',
  'GET /v1/gateways/{gateway_id}/sessions/{session_id} get_gateway_session',
  'GET /v1/gateways/{gateway_id}/sessions/{session_id}/grants list_gateway_session_grants',
  'DELETE /v1/gateways/{gateway_id}/sessions/{session_id} revoke_gateway_session',
  'POST /v1/manifests create_manifest',
  'GET /v1/manifests/{manifest_id} get_manifest',
  'GET /v1/manifests/schema/{kind} get_manifest_schema',
  'GET /v1/operator/tasks/{task_id} get_operator_task',
  'POST /v1/operator/tasks/{task_id}/claim claim_operator_task',
  'POST /v1/operator/tasks/{task_id}/complete complete_operator_task',
  'POST /v1/operator/tasks/{task_id}/cancel cancel_operator_task',
  'POST /v1/traces ingest_traces',
  'POST /v1/logs ingest_logs',
  'POST /v1/metrics ingest_metrics',
  'GET /v1/traces list_traces',
  'GET /v1/telemetry-health list_telemetry_health',
  'GET /v1/usage list_usage',
  'GET /v1/prices list_prices',
  'POST /v1/prices set_price',
  'DELETE /v1/prices/{price_id} delete_price',
  'GET /v1/agents list_agents',
  'GET /v1/channels list_channels',
  'POST /v1/agents/{agent_id}/channels/{channel}/declare declare_agent_channel',
  'GET /v1/agents/{agent_id} get_agent',
  'GET /v1/graph get_graph',
  'GET /v1/runtime-observations/counts count_runtime_observations',
  'GET /v1/runtime-observations/groups group_runtime_observations',
  'GET /v1/runtime-observations/{observation_id} get_runtime_observation',
  'GET /v1/recommendations list_recommendations',
  'POST /v1/runtime-observations/review review_runtime_observations',
  'POST /v1/recommendations/dismiss dismiss_recommendations',
  'GET /v1/traces/{trace_id}/waterfall get_trace_waterfall',
  'PUT /v1/users/{user_id}/platform-administrator grant_platform_administrator',
  'DELETE /v1/users/{user_id}/platform-administrator revoke_platform_administrator',
  'GET /v1/me get_me',
  'GET /v1/me/sessions list_my_sessions',
  'DELETE /v1/me/sessions/{session_id} revoke_my_session',
  'GET /v1/derived-access list_derived_access',
  'POST /v1/derived-access/revoke revoke_derived_access',
  'GET /v1/audit-events list_audit_events',
  'GET /v1/audit-events/verify verify_audit_events',
  'GET /v1/coverage list_coverage',
  'GET /v1/gateways/{gateway_id}/denials list_gateway_denials',
  'GET /v1/runtime-observations/{observation_id}/denials list_observation_denials',
  'GET /v1/gateways/{gateway_id}/session get_own_gateway_session',
  'POST /v1/gateways/{gateway_id}/decisions decide_access',
  'GET /v1/gateways/{gateway_id}/authorize authorize_session',
  'GET /v1/gateways/{gateway_id}/authorize/{provider}/mcp authorize_mcp_request',
  'GET /v1/gateways/{gateway_id}/authorize/{provider}/models authorize_model_call',
  'POST /v1/gateways/{gateway_id}/mcp/{provider} send_mcp_message',
  'GET /v1/gateways/{gateway_id}/mcp/{provider} open_mcp_stream',
  'DELETE /v1/gateways/{gateway_id}/mcp/{provider} end_mcp_session',
  'POST /v1/gateways/{gateway_id}/access/v1/evaluation evaluate_access',
  'POST /v1/gateways/{gateway_id}/access/v1/evaluations evaluate_access_batch',
  'POST /v1/gateways/{gateway_id}/providers/{provider}/access/v1/evaluation evaluate_provider_access',
  'POST /v1/gateways/{gateway_id}/providers/{provider}/access/v1/evaluations evaluate_provider_access_batch',
  'POST /v1/gateways/{gateway_id}/access/v1/requests request_access',
  'GET /v1/gateways/{gateway_id}/access/v1/requests/{task_id} get_access_request',
  'POST /v1/gateways/{gateway_id}/providers/{provider}/access/v1/requests request_provider_access',
  'GET /v1/gateways/{gateway_id}/providers/{provider}/access/v1/requests/{task_id} get_provider_access_request',
  'POST /v1/gateways/{gateway_id}/opa/v1/data/{path} decide_as_opa',
  'POST /v1/gateways/{gateway_id}/toolhive/decision decide_for_toolhive',
  'POST /v1/gateways/{gateway_id}/hooks/{agent} decide_tool_hook',
  'POST /v1/gateways/{gateway_id}/litellm/beta/litellm_basic_guardrail_api decide_for_litellm',
  'POST /v1/gateways/{gateway_id}/providers/{provider}/litellm/beta/litellm_basic_guardrail_api decide_provider_for_litellm',
];

type Served = typeof document & { openapi: string; info: { version: string }; servers: object[] };

let server: TestServer;
let served: Served;

beforeAll(async () => {
  server = await startTestServer();
  served = (await server.call('GET', '/openapi.json')).body;
});
afterAll(() => server.stop());

test('the served document equals the committed one, except for the server address', async () => {
  const { servers, ...rest } = served;
  const committed = JSON.parse(await readFile(join(ROOT, 'packages/client/openapi.json'), 'utf8'));
  const { servers: _address, ...expected } = committed;
  expect(rest).toEqual(expected);
  expect(Object.keys(served)).toEqual(Object.keys(committed));
  expect(servers).toEqual([{ url: server.url }]);
});

test('the document is OpenAPI 3.1.0, and has the version of the product', async () => {
  expect([served.openapi, served.info.version]).toEqual(['3.1.0', VERSION]);
  expect(VERSION).toBe('0.1.0');
});

test('the document names the public address behind a proxy', async () => {
  const other = await startTestServer({ QM_PUBLIC_URL: 'https://qm.example.com/base/' });
  const { body } = await other.call('GET', '/openapi.json');
  await other.stop();
  expect(body.servers).toEqual([{ url: 'https://qm.example.com/base' }]);
});

function described(): string[] {
  return Object.entries(served.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
  );
}

test('the document has the 18 endpoints of the specification with their operationIds', () => {
  expect(SPECIFIED).toHaveLength(18);
  expect(described()).toEqual(expect.arrayContaining(SPECIFIED));
});

test('the document has no operations beyond the two lists', () => {
  expect(described().toSorted()).toEqual([...SPECIFIED, ...FURTHER].toSorted());
});

/** Decisions whose only credential is the token of a gateway session. */
const OF_SESSIONS = new Set(
  FURTHER_OPERATIONS.filter(({ scope }) => scope === 'public').map(({ operationId }) => operationId),
);

/** What reverse proxies and MCP clients ask: they expect no bodies of ours. */
const WITHOUT_BODIES = new Set([
  'authorize_session',
  'authorize_mcp_request',
  'authorize_model_call',
  'send_mcp_message',
  'open_mcp_stream',
  'end_mcp_session',
]);

test('every operation has both security schemes, and registration has none', () => {
  for (const [path, methods] of Object.entries(served.paths)) {
    for (const { operationId, security } of Object.values(methods)) {
      if (operationId === 'register_user') expect(security).toEqual([]);
      else
        expect(
          security.map((one) => Object.keys(one)),
          path,
        ).toEqual(OF_SESSIONS.has(operationId) ? [['bearerAuth']] : [['bearerAuth'], ['apiKeyAuth']]);
    }
  }
});

/** Operations whose success is not 200. */
const SUCCESSES: Record<string, string[]> = { request_access: ['201', '202'], request_provider_access: ['201', '202'] };

/** GET operations of the decision receiver, whose input is the path alone. */
const WITHOUT_INPUT = new Set(['get_own_gateway_session', 'get_access_request', 'get_provider_access_request']);

test('every operation declares its success and, except for the OTLP receiver, 422 with the body of the specification', () => {
  for (const methods of Object.values(withSharedParts(served).paths)) {
    for (const { operationId, responses } of Object.values(methods)) {
      if (WITHOUT_BODIES.has(operationId)) continue;
      const declared = Object.keys(responses).filter((status) => status.startsWith('2'));
      expect(declared, operationId).toEqual(SUCCESSES[operationId] ?? ['200']);
      for (const status of declared)
        expect(responses[status]?.content?.['application/json'], operationId).toBeDefined();
      if (operationId?.startsWith('ingest_') || WITHOUT_INPUT.has(operationId)) continue;
      const schema = { $ref: '#/components/schemas/HTTPValidationError' };
      expect(responses['422']?.content, operationId).toEqual({ 'application/json': { schema } });
    }
  }
});

test('the body of a 422 has the fields of the specification, with the same ones required', () => {
  const { HTTPValidationError, ValidationError } = served.components.schemas as Record<string, Record<string, object>>;
  expect(HTTPValidationError).toMatchObject({ type: 'object', properties: { detail: { type: 'array' } } });
  expect(HTTPValidationError?.['required']).toBeUndefined();
  expect(Object.keys(ValidationError?.['properties'] ?? {}).toSorted()).toEqual(['ctx', 'input', 'loc', 'msg', 'type']);
  expect(ValidationError?.['required']).toEqual(['loc', 'msg', 'type']);
});

test('the router serves exactly the operations that the contracts export', async () => {
  const folder = join(ROOT, 'packages/contracts/src');
  const exported = new Set<Operation>();
  for (const file of await readdir(folder)) {
    const contract = (await import(join(folder, file))) as Record<string, unknown>;
    for (const value of Object.values(contract)) {
      if (isOperation(value) && value.transport !== 'decision') exported.add(value);
    }
  }
  const names = (operations: Iterable<Operation>) => [...operations].map(({ operationId }) => operationId).toSorted();
  expect(names(exported)).toEqual(names(OPERATIONS.map(({ operation }) => operation)));
  for (const { operation } of OPERATIONS)
    expect(described()).toContain(`${operation.method} ${operation.path} ${operation.operationId}`);
});

test('every operation has a procedure: without credentials it is 401, never 404 or 405', async () => {
  for (const { operation } of OPERATIONS) {
    if (operation.scope === 'public') continue;
    const path = operation.path.replaceAll(/\{\w+\}/g, 'x');
    const answer = await server.call(operation.method, path);
    // The errors of the OTLP receiver have no code.
    if (operation.transport === 'otlp') expect(answer.status).toBe(401);
    else expect([answer.status, answer.body.code], operation.operationId).toEqual([401, 'credentials_missing']);
  }
});
