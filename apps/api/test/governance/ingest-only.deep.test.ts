import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { OPERATIONS, pathWith } from '../support/records.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, mcpCall, type SpanInput, sendSpans, toolRun } from '../telemetry/traces/sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const DECLARED = [
  ['openai', 'model', 'gpt-5', 'available'],
  ['openai', 'model', 'gpt-4', 'blocked'],
  ['openai', 'model', 'o1', 'retired'],
  ['openai', 'tool', 'web_search', 'available'],
  ['files', 'tool', 'read', 'available'],
  ['files', 'tool', 'write', 'blocked'],
  ['files', 'prompt', 'summarise', 'available'],
  ['files', 'resource', 'file:///a', 'available'],
  ['files', 'tool', 'delete', 'retired'],
] as const;

/** A tenant with two providers, a gateway that lists both, a session through it, and a key that may only send spans. */
async function newPlace() {
  const tenantId = unique('ingest');
  const as = await accountWithKey(server, { tenantId });
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  const post = (path: string, body: object = {}): Promise<Body> => server.ok('POST', path, { as, body });
  const providers: Record<'openai' | 'files', Body> = {
    openai: await post('/v1/providers', { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1' }),
    files: await post('/v1/providers', { name: 'files', kind: 'mcp', baseUrl: 'https://files.example.com/mcp' }),
  };
  for (const [provider, kind, name, status] of DECLARED) {
    await post(`/v1/providers/${providers[provider].id}/inventory`, { kind, name, status });
  }
  const gateway = await post('/v1/gateways', {
    name: 'edge',
    providerIds: Object.values(providers).map(({ id }) => id),
  });
  const path = `/v1/gateways/${gateway.id}`;
  const session = await post(`${path}/sessions`);
  const get = async (target: string): Promise<string> => (await server.call('GET', target, { as })).text;
  return {
    tenantId,
    as,
    sender,
    providers,
    gateway,
    session,
    /** The texts of all answers that show what agents may use. */
    policy: async () => ({
      granted: JSON.stringify((await post(`${path}/sessions`)).grants),
      stillGranted: JSON.stringify((await post(`${path}/sessions/introspect`, { token: session.token })).grants),
      session: await get(`${path}/sessions/${session.id}`),
      gateway: await get(path),
      providers: await Promise.all(Object.values(providers).map(({ id }) => get(`/v1/providers/${id}`))),
      inventories: await Promise.all(
        Object.values(providers).map(({ id }) => get(`/v1/providers/${id}/inventory?limit=100`)),
      ),
    }),
    discovered: (): Promise<Body[]> => all(server, '/v1/providers?status=discovered&limit=100', as),
    observations: (): Promise<Body[]> => all(server, '/v1/runtime-observations?limit=100', as),
    /** Applies the recommendations of every provider with the body `{}`. */
    applyAll: async (): Promise<Body[]> => {
      const answers: Body[] = [];
      for (const { id } of await all(server, '/v1/providers?limit=100', as)) {
        answers.push(await post(`/v1/providers/${id}/recommendations/apply`));
      }
      return answers;
    },
  };
}

type At = Awaited<ReturnType<typeof newPlace>>;

/** More than a hundred names, in every form in which a span can report them. */
function claims(): SpanInput[] {
  const openai = { 'gen_ai.provider.name': 'openai' };
  const address = { 'gen_ai.provider.name': 'azure.ai.openai', 'server.address': 'api.openai.com' };
  const files = { 'server.address': 'files.example.com' };
  const mcp = (method: string, rest: Record<string, string>): SpanInput => ({
    attributes: { 'mcp.method.name': method, ...rest, ...files },
  });
  const agent = (name: string, rest: Record<string, string> = {}): SpanInput => ({
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name, ...rest },
  });
  const numbers = Array.from({ length: 15 }, (_, index) => index);
  return [
    ...numbers.flatMap((index) => [
      chat(`new-model-${index}`, openai),
      chat(`addressed-model-${index}`, address),
      toolRun(`new-tool-${index}`, openai),
      mcpCall(`mcp-tool-${index}`, files),
      mcp('resources/read', { 'mcp.resource.uri': `file:///secret-${index}` }),
      mcp('prompts/get', { 'gen_ai.prompt.name': `prompt-${index}` }),
      agent(`agent-${index}`, openai),
      chat('m', { 'gen_ai.provider.name': `vendor-${index}` }),
      chat('m', { 'server.address': `host-${index}.example.com` }),
      { ...toolRun(`local-tool-${index}`), service: `service-${index}` },
    ]),
    // Declared, blocked and retired names, and variants of them.
    ...['gpt-5', 'GPT-5', 'openai/gpt-5', 'gpt-4', 'GPT-4', 'OpenAI/Gpt-4', 'o1', 'openai/O1'].map((name) =>
      chat(name, openai),
    ),
    ...['gpt-4', 'openai/gpt-4', 'o1'].map((name) => chat(name, address)),
    ...['write', 'Write', ' write', 'files/write', 'delete', 'read', 'web_search'].map((name) => mcpCall(name, files)),
    ...['write', 'delete', 'read'].map((name) => toolRun(name)),
    // Providers whose names resemble the declared ones.
    ...['OpenAI', ' openai', 'openai ', 'openai (discovered)', 'files', 'Files'].map((name) =>
      chat('gpt-4', { 'gen_ai.provider.name': name }),
    ),
    ...['*', 'gpt-*', 'openai/*'].map((name) => chat(name, openai)),
    agent('trip-planner'),
  ];
}

/** Requests that would widen what agents may use, if the key were allowed to send them. */
async function grantingRequests(at: At): Promise<[string, string, object][]> {
  const { as, providers, gateway, session } = at;
  const provider = `/v1/providers/${providers.openai.id}`;
  const [item] = await all(server, `${provider}/inventory?limit=100`, as);
  const recommendations = await all(server, `${provider}/recommendations?status=open&limit=100`, as);
  const recommendationIds = recommendations.map(({ id }) => id).slice(0, 100);
  const [observation] = await all(server, `${provider}/observations?unknown=true&limit=100`, as);
  const [task] = await all(server, '/v1/operator/tasks?kind=review_observation&status=open&limit=100', as);
  const [adoption] = await all(server, '/v1/operator/tasks?kind=adopt_provider&status=open&limit=100', as);
  const [discovered] = await at.discovered();
  return [
    ['POST', `${provider}/recommendations/apply`, {}],
    ['POST', `${provider}/recommendations/apply`, { recommendationIds }],
    ['POST', `${provider}/recommendations/apply`, { recommendationIds, dryRun: true }],
    ['POST', `/v1/recommendations/${recommendationIds[0]}/undo`, {}],
    ['POST', `/v1/runtime-observations/${observation.id}/review`, { decision: 'approved' }],
    ['PUT', `/v1/runtime-observations/${observation.id}`, { status: 'resolved' }],
    ['POST', `/v1/operator/tasks/${task.id}/claim`, {}],
    ['POST', `/v1/operator/tasks/${task.id}/complete`, { outcome: 'approved' }],
    ['POST', `/v1/operator/tasks/${adoption.id}/complete`, { outcome: 'adopted' }],
    ['POST', `${provider}/inventory`, { kind: 'tool', name: 'new-tool-0' }],
    ['PUT', `${provider}/inventory/${item.id}`, { status: 'available' }],
    ['POST', `${provider}/sync`, {}],
    ['PUT', `/v1/providers/${discovered.id}`, { status: 'active' }],
    ['POST', '/v1/providers', { name: 'own', kind: 'mcp', baseUrl: 'https://own.example.com' }],
    ['PUT', `/v1/gateways/${gateway.id}`, { providerIds: [discovered.id] }],
    ['POST', `/v1/gateways/${gateway.id}/sessions`, {}],
    ['POST', `/v1/gateways/${gateway.id}/sessions/introspect`, { token: session.token }],
    ['POST', '/v1/manifests', { name: 'own', kind: 'gateway', spec: {} }],
    ['POST', '/v1/service-accounts', { name: 'own' }],
    ['POST', `/v1/service-accounts/${at.sender.id}/keys`, { scopes: ['*'] }],
    ['POST', `/v1/service-accounts/${at.sender.id}/keys/${at.sender.keyId}/rotate`, {}],
    ['POST', `/v1/tenants/${at.tenantId}/memberships`, { email: 'me@example.com', role: 'owner' }],
  ];
}

test('spans of a key that may only send them grant nothing, even when recommendations are applied, until a person reviews them', async () => {
  const at = await newPlace();
  const before = await at.policy();
  expect(before.granted).toMatch(/gpt-5.*web_search.*read/);

  await sendSpans(server, at.sender, claims());
  await sendSpans(server, at.sender, claims());
  const observations = await at.observations();
  expect(observations.filter(({ unknown }) => unknown).length).toBeGreaterThan(100);
  expect(await at.policy()).toEqual(before);

  const answers = await at.applyAll();
  expect(answers.length).toBeGreaterThan(30);
  expect(answers.flatMap(({ applied }) => applied)).toEqual([]);
  const skipped = answers.flatMap((answer) => answer.skipped);
  expect(skipped.length).toBeGreaterThan(100);
  expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set(['needs_review']));
  expect(await at.policy()).toEqual(before);
  for (const { id, baseUrl } of await at.discovered()) {
    expect(baseUrl).toBeNull();
    expect(await server.ok('GET', `/v1/providers/${id}/inventory`, { as: at.as })).toMatchObject({ items: [] });
  }

  // One review grants only the approved model, and nothing else from the same spans.
  const approved = observations.find(({ name }) => name === 'addressed-model-3');
  const review = `/v1/runtime-observations/${approved.id}/review`;
  await server.ok('POST', review, { as: at.as, body: { decision: 'approved' } });
  expect(await at.policy()).toEqual(before);
  const applied = (await at.applyAll()).flatMap((answer) => answer.applied);
  expect(applied).toMatchObject([
    { kind: 'register_item', observationIds: [approved.id], providerId: at.providers.openai.id },
  ]);
  const after = await at.policy();
  expect(itemsOf(after.granted).toSorted()).toEqual(
    [...itemsOf(before.granted), 'openai model addressed-model-3'].toSorted(),
  );
  const [inventory, untouched] = after.inventories.map((text) => JSON.parse(text).items as Body[]);
  const added = inventory?.filter(({ name }) => name !== 'addressed-model-3');
  expect([added, untouched]).toEqual(before.inventories.map((text) => JSON.parse(text).items));
  const { granted: _granted, inventories: _inventories, ...rest } = after;
  expect(before).toMatchObject(rest);
});

test('every request that could widen what agents may use answers 403 to such a key', async () => {
  const at = await newPlace();
  await sendSpans(server, at.sender, claims());
  const before = await at.policy();
  for (const [method, path, body] of await grantingRequests(at)) {
    const answer = await server.call(method, path, { as: at.sender, body });
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 403, 'scope_missing']);
  }
  expect(await at.policy()).toEqual(before);
});

test('every operation with another scope answers 403 to such a key', async () => {
  const at = await newPlace();
  const guarded = OPERATIONS.filter(
    ({ operation: { scope } }) => scope !== null && scope !== 'public' && !holdsScopes(['traces:write'], [scope]),
  );
  expect(guarded.length).toBeGreaterThan(50);
  const missingIds = new Proxy({}, { get: () => 'x' });
  for (const { operation } of guarded) {
    const sent = { as: at.sender, ...(operation.method !== 'GET' && { body: {} }) };
    const { status, body } = await server.call(operation.method, pathWith(operation, missingIds), sent);
    expect([operation.operationId, status, body.code]).toEqual([operation.operationId, 403, 'scope_missing']);
  }
});

function itemsOf(grants: string): string[] {
  return (JSON.parse(grants) as Body[]).flatMap(({ providerName, items }) =>
    items.map(({ kind, name }: Body) => `${providerName} ${kind} ${name}`),
  );
}
