import { type Attributes, SpanKind } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import * as sdk from '@quartermaster/client';
import { type Client, createClient } from '@quartermaster/client/client/index.ts';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const TENANT = 'acme';
const AGENT = { 'service.name': 'trip-planner' };

test('the whole loop with the generated client: observe, review, register, grant; observe again, block, revoke, undo', async () => {
  // An administrator creates two accounts: an operator, and one that may only send spans.
  const admin = clientWith(server.admin.key);
  const operator = await accountOf(admin, 'operator', ['*']);
  const agents = await accountOf(admin, 'agents', ['traces:write']);
  const client = operator.client;

  // Declare a provider with one model, and a gateway that lists it.
  const declaration = { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1' } as const;
  const provider = await dataOf(sdk.createProvider({ client, body: declaration }));
  const path = { provider_id: provider.id };
  const declared = await dataOf(sdk.createInventoryItem({ client, path, body: { kind: 'model', name: 'gpt-5' } }));
  const edge = await dataOf(sdk.createGateway({ client, body: { name: 'edge', providerIds: [provider.id] } }));
  const gateway = { gateway_id: edge.id };
  const openSession = () => dataOf(sdk.createGatewaySession({ client, path: gateway }));
  const introspect = (token: string) =>
    dataOf(sdk.introspectGatewaySession({ client, path: gateway, body: { token } }));
  const firstSession = await openSession();
  expect(namesOf(firstSession)).toEqual(['gpt-5']);

  // Send spans with OpenTelemetry's exporter, about the declared model and about an undeclared one.
  await agents.chat('gpt-5');
  const traceId = await agents.chat('openai/GPT-5-mini');
  const spans = await dataOf(sdk.listTraceSpans({ client, path: { trace_id: traceId } }));
  expect(spans.items).toMatchObject([
    { name: 'chat', genAi: { model: 'openai/GPT-5-mini' }, serviceName: 'trip-planner' },
  ]);
  expect(spans.items[0]?.receivedFrom).toBe(agents.principal);

  // The undeclared model is an open observation with a risk factor and a review task.
  const unknown = await dataOf(sdk.listRuntimeObservations({ client, query: { unknown: true } }));
  expect(unknown.items).toMatchObject([
    {
      providerId: provider.id,
      kind: 'model',
      name: 'GPT-5-mini',
      status: 'open',
      occurrences: 1,
      lastTraceId: traceId,
      inventoryItemId: null,
      review: null,
      risk: { level: 'medium', factors: [{ factor: 'unknown_item' }] },
    },
  ]);
  const observation = only(unknown.items);
  const observed = { observation_id: observation.id };
  const tasks = await dataOf(sdk.listOperatorTasks({ client, query: { status: 'open' } }));
  expect(tasks.items).toMatchObject([{ kind: 'review_observation', subject: { id: observation.id } }]);

  // A recommendation is based on the observation, and needs a review.
  const open = () => dataOf(sdk.listProviderRecommendations({ client, path, query: { status: 'open' } }));
  const apply = (body: sdk.ApplyRecommendationsInput = {}) =>
    dataOf(sdk.applyProviderRecommendations({ client, path, body }));
  const register = only((await open()).items);
  expect(register).toMatchObject({ kind: 'register_item', observationIds: [observation.id], change: { before: null } });
  expect((await apply()).skipped).toEqual([{ id: register.id, reason: 'needs_review' }]);

  // Review: an approval also closes the task.
  const approval = { decision: 'approved', note: 'cheaper for summaries' } as const;
  const reviewed = await dataOf(sdk.reviewRuntimeObservation({ client, path: observed, body: approval }));
  expect(reviewed).toMatchObject({ status: 'approved', review: { ...approval, reviewedBy: operator.principal } });
  const answered = await dataOf(sdk.getOperatorTask({ client, path: { task_id: only(tasks.items).id } }));
  expect(answered.status).toBe('succeeded');

  // A dry run shows the change without making it.
  const inventory = async () => (await dataOf(sdk.getProviderInventory({ client, path }))).items;
  const shown = await apply({ dryRun: true });
  expect(shown).toMatchObject({ dryRun: true, applied: [{ id: register.id, status: 'open' }], skipped: [] });
  expect(await inventory()).toEqual([declared]);

  // Apply makes the same change.
  const registered = await apply();
  expect(registered).toMatchObject({
    dryRun: false,
    skipped: [],
    revokedSessions: [],
    applied: [{ id: register.id, status: 'applied', appliedBy: operator.principal }],
  });
  expect(only(registered.applied).change.after).toEqual(only(shown.applied).change.after);

  // The model is in the inventory, and its observation is resolved.
  const item = only((await inventory()).filter(({ id }) => id !== declared.id));
  expect(item).toMatchObject({ kind: 'model', name: 'GPT-5-mini', status: 'available', source: 'recommendation' });
  const resolved = await dataOf(sdk.listRuntimeObservations({ client, query: { name: 'GPT-5-mini' } }));
  expect(resolved.items).toMatchObject([{ unknown: false, status: 'resolved', inventoryItemId: item.id }]);

  // A new session is granted the model, also in its token. The earlier session keeps its grants.
  const session = await openSession();
  expect(namesOf(session)).toEqual(['GPT-5-mini', 'gpt-5']);
  expect(decodeJwt(session.token)['grants']).toEqual(session.grants);
  expect(await introspect(session.token)).toMatchObject({ active: true, grants: session.grants });
  expect(await introspect(firstSession.token)).toMatchObject({ active: true, grants: firstSession.grants });

  // The model is rejected later, and agents still use it: a block is recommended.
  const rejection = { decision: 'rejected', note: 'leaked a prompt' } as const;
  const rejected = await dataOf(sdk.reviewRuntimeObservation({ client, path: observed, body: rejection }));
  expect([rejected.status, (await open()).items]).toEqual(['rejected', []]);
  const later = new Date(Date.parse(rejected.review?.reviewedAt ?? '') + 1);
  await agents.chat('gpt-5-mini', later);
  const reopened = await dataOf(sdk.listRuntimeObservations({ client, query: { name: 'GPT-5-mini' } }));
  expect(reopened.items).toMatchObject([
    { id: observation.id, status: 'open', occurrences: 2, risk: { level: 'high' } },
  ]);
  expect(only(reopened.items).risk.factors.map(({ factor }) => factor)).toEqual(['rejected_again']);
  const block = only((await open()).items);
  expect(block).toMatchObject({
    kind: 'block_item',
    change: { target: { id: item.id }, before: { status: 'available' }, after: { status: 'blocked' } },
  });

  // Apply needs no further review, because of the rejection. It revokes the sessions that were granted the item, and lists them.
  const blocked = await apply();
  expect(blocked.applied.map(({ id }) => id)).toEqual([block.id]);
  expect(blocked.revokedSessions).toEqual([{ id: session.id, gatewayId: edge.id, subject: operator.principal }]);
  expect(await inventory()).toContainEqual(expect.objectContaining({ id: item.id, status: 'blocked' }));

  // Introspection shows it at once. The session without the item stays active, and a new session is not granted it.
  expect(await introspect(session.token)).toEqual({ active: false });
  expect(await introspect(firstSession.token)).toMatchObject({ active: true });
  const sessionPath = { ...gateway, session_id: session.id };
  const ended = await dataOf(sdk.getGatewaySession({ client, path: sessionPath }));
  expect(ended).toMatchObject({ status: 'revoked', revokedReason: 'item_blocked' });
  expect(namesOf(await openSession())).toEqual(['gpt-5']);

  // Undo restores the item, the observation and the recommendation.
  const undone = await dataOf(sdk.undoRecommendation({ client, path: { recommendation_id: block.id } }));
  expect(undone).toEqual({ ...block, updatedAt: undone.updatedAt });
  const restored = only((await inventory()).filter(({ id }) => id === item.id));
  expect(restored).toEqual({ ...item, updatedAt: restored.updatedAt });
  const afterUndo = only((await dataOf(sdk.listRuntimeObservations({ client, query: { name: 'GPT-5-mini' } }))).items);
  expect(afterUndo).toEqual({ ...only(reopened.items), updatedAt: afterUndo.updatedAt });

  // The revoked session stays revoked. A new session is granted the item again.
  expect(await introspect(session.token)).toEqual({ active: false });
  const again = await openSession();
  expect(again.grants).toEqual(session.grants);
  expect(await introspect(again.token)).toMatchObject({ active: true, grants: session.grants });
});

function clientWith(key: string): Client {
  // The client asks for a credential of each scheme of the operation. It may get only one of them.
  return createClient({ baseUrl: server.url, auth: ({ scheme }) => (scheme === 'bearer' ? undefined : key) });
}

/** A service account with a key of these scopes, and an agent that sends its spans with the key. */
async function accountOf(client: Client, id: string, scopes: sdk.Scope[]) {
  await dataOf(sdk.createServiceAccount({ client, body: { id, name: id, tenantId: TENANT } }));
  const path = { service_account_id: id };
  const { key } = await dataOf(
    sdk.createServiceAccountKey({ client, path, query: { tenant_id: TENANT }, body: { scopes } }),
  );
  return {
    client: clientWith(key),
    principal: `service_account:${TENANT}/${id}`,
    /** Records a chat with a model of OpenAI and exports it, as an SDK does. Returns the trace id. */
    chat: (model: string, startTime?: Date) => {
      const provider = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' };
      return exported(key, { ...provider, 'gen_ai.request.model': model }, startTime);
    },
  };
}

async function exported(key: string, attributes: Attributes, startTime = new Date()): Promise<string> {
  const exporter = new OTLPTraceExporter({ url: `${server.url}/v1/traces`, headers: { 'x-api-key': key } });
  const tracing = new TracerProvider({
    resource: resourceFromAttributes(AGENT),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const span = tracing.getTracer('agent').startSpan('chat', { kind: SpanKind.CLIENT, attributes, startTime });
  span.end(new Date(startTime.getTime() + 5));
  await tracing.forceFlush();
  await tracing.shutdown();
  return span.spanContext().traceId;
}

/** The data of an answer. An error fails the test with its body. */
async function dataOf<T>(call: Promise<{ data?: T | undefined; error?: unknown }>): Promise<T> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data;
}

/** The only element of a list. */
function only<T>(list: readonly T[]): T {
  expect(list).toHaveLength(1);
  return list[0] as T;
}

function namesOf({ grants }: Pick<sdk.GatewaySession, 'grants'>): string[] {
  return grants.flatMap(({ items }) => items.map(({ name }) => name)).toSorted();
}
