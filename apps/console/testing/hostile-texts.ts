import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import type { TestServer } from '@quartermaster/api/test/support/server.ts';

/** What the markup would call if a browser ran it. */
export const TRAP = 'qmRan';

const MARKUP = `<img src=x onerror=${TRAP}()><script>${TRAP}()</script>"'><svg/onload=${TRAP}()>`;
const SCRIPT_URL = `javascript:${TRAP}()`;
const BIDIRECTIONAL = 'a\u202egnp\u202c\u2066';
const WITHOUT_WIDTH = 'ad\u200bmin\u2060\ufeff';

/** Where the server refuses invisible characters. */
const NAME = `hostile ${MARKUP}`;
/** Where it takes any text. */
const TEXT = `${NAME} ${SCRIPT_URL} ${BIDIRECTIONAL} ${WITHOUT_WIDTH}`;

const TENANT = 'hostile';
const TRACE = 'ab'.repeat(16);
const SPAN = 'cd'.repeat(8);

export type HostileScreen = {
  /** As the router of the console has it. */
  route: string;
  path: string;
  /** Keys that open a panel. */
  keys?: string[];
  /** Whether the screen shows only texts for which the server refuses invisible characters. */
  hasOnlyNames?: boolean;
};

/** Puts texts that attack a console wherever the API takes texts, and returns the screens that show them. */
export async function plantHostileTexts(server: TestServer): Promise<HostileScreen[]> {
  const as = server.admin;
  const post = (path: string, body: object) => server.ok('POST', path, { as, body });
  const metadata = { note: TEXT, [TEXT]: [TEXT] };
  const place = { tenantId: TENANT };
  await post('/v1/tenants', { id: TENANT, displayName: TEXT });
  const user = await server.tokenOf('admin@example.com');
  const me = await server.ok('PUT', '/v1/me/profile', {
    as: user,
    body: { displayName: TEXT, terms: { accepted: true } },
  });
  const account = await post('/v1/service-accounts', {
    ...place,
    id: 'sender',
    name: NAME,
    displayName: TEXT,
    description: TEXT,
    metadata,
  });
  const { key } = await post(`/v1/service-accounts/${account.id}/keys?tenant_id=${TENANT}`, {
    name: NAME,
    scopes: ['*'],
  });
  const toolServer = await startToolServer();
  const provider = await post('/v1/providers', {
    ...place,
    name: NAME,
    aliases: [`alias ${MARKUP}`],
    displayName: TEXT,
    description: TEXT,
    kind: 'mcp',
    baseUrl: toolServer.url,
    headers: [{ name: 'X-Note', value: NAME }],
    metadata,
  });
  await post(`/v1/providers/${provider.id}/inventory`, {
    kind: 'model',
    name: NAME,
    title: TEXT,
    description: TEXT,
    attributes: metadata,
  });
  await post(`/v1/providers/${provider.id}/sync`, {});
  toolServer.change();
  await post(`/v1/providers/${provider.id}/sync`, {});
  toolServer.fail();
  await server.call('POST', `/v1/providers/${provider.id}/sync`, { as, body: {} });
  await toolServer.stop();

  const manifest = await post('/v1/manifests', {
    ...place,
    name: NAME,
    kind: 'agent',
    spec: { description: TEXT, owner: TEXT, declares: [{ provider: NAME, kind: 'model', name: NAME }] },
  });
  await post('/v1/prices', { ...place, modelPattern: NAME, validFrom: '2026-01-01', inputPrice: 1, outputPrice: 2 });
  const gateway = await post('/v1/gateways', { ...place, name: NAME, displayName: TEXT, providerIds: [provider.id] });
  await post(`/v1/gateways/${gateway.id}/sessions`, { subject: `service_account:${TENANT}/${account.id}` });
  await server.ok('POST', '/v1/traces', { as: { key }, body: spans() });
  const { items } = await server.ok('GET', `/v1/runtime-observations?tenant_id=${TENANT}`, { as });
  for (const { id, drift } of items) {
    if (drift === null) await post(`/v1/runtime-observations/${id}/review`, { decision: 'approved', note: TEXT });
  }
  const { items: open } = await server.ok('GET', `/v1/recommendations?tenant_id=${TENANT}&status=open`, { as });
  // The task that asks whether to adopt the provider stays open.
  const applied = open.find(({ kind }: { kind: string }) => kind !== 'adopt_provider');
  await post(`/v1/providers/${applied.providerId}/recommendations/apply`, { recommendationIds: [applied.id] });
  await server.ok('POST', `/v1/service-accounts/${account.id}/keys?tenant_id=${TENANT}`, {
    as: user,
    body: { name: NAME, scopes: ['traces:write'] },
  });
  await post(`/v1/tenants/${TENANT}/memberships`, { email: 'admin@example.com', role: 'viewer' });
  await server.ok('POST', `/v1/me/memberships/${TENANT}/accept`, { as: user });
  const { items: agents } = await server.ok('GET', `/v1/agents?tenant_id=${TENANT}`, { as });
  const agent = agents.find(({ name }: { name: string }) => name.includes('\\u{202e}'));
  // The audit names the user.
  await server.ok('PUT', `/v1/tenants/${TENANT}`, { as: user, body: { displayName: `Tenant ${TEXT}` } });
  const screen = (route: string, path = route, keys: string[] = []): HostileScreen => ({
    route,
    path: `${path}${path.includes('?') ? '&' : '?'}tenant=${TENANT}`,
    keys,
  });
  const ofProvider = `/providers/${provider.id}`;
  return [
    screen('/inbox', '/inbox?view=changed_definition', ['j']),
    screen('/inbox', '/inbox?view=all', ['j']),
    screen('/inbox', '/inbox?view=all&group=agent'),
    screen('/inbox', '/inbox?view=all&group=provider'),
    screen('/connect', `/connect?framework=pydantic-ai&account=${account.id}&of=${TENANT}`),
    screen('/providers'),
    screen('/providers/$providerId', `${ofProvider}?view=inventory`, ['j']),
    ...['observations', 'credential', 'syncs'].map((view) =>
      screen('/providers/$providerId', `${ofProvider}?view=${view}`),
    ),
    screen('/providers/$providerId/plan', `${ofProvider}/plan`),
    screen('/traces'),
    screen('/traces/$traceId', `/traces/${TRACE}?span=${SPAN}`),
    screen('/agents'),
    screen('/agents/$agentId', `/agents/${agent.id}`),
    screen('/map'),
    screen('/map', '/map?as=table'),
    screen('/usage', '/usage?view=pairs'),
    screen('/accounts'),
    screen('/accounts/$accountId', `/accounts/${account.id}?of=${TENANT}`, ['j', 'Enter']),
    screen('/gateways'),
    screen('/coverage'),
    screen('/gateways/$gatewayId', `/gateways/${gateway.id}`, ['j', 'Enter']),
    screen('/changes'),
    screen('/changes', '/changes?view=applied', ['j']),
    screen('/people', '/people', ['j']),
    screen('/access', `/access?source=user:${me.id}`),
    screen('/tasks', '/tasks', ['j', 'Enter']),
    screen('/audit', '/audit', ['j', 'Enter']),
    screen('/tenants'),
    { ...screen('/tenants/$tenantId', `/tenants/${TENANT}?view=prices`), hasOnlyNames: true },
    ...['members', 'settings', 'limits'].map((view) => screen('/tenants/$tenantId', `/tenants/${TENANT}?view=${view}`)),
    { ...screen('/manifests'), hasOnlyNames: true },
    { ...screen('/manifests/$manifestId', `/manifests/${manifest.id}`), hasOnlyNames: true },
    // The editor shows invisible characters as dots.
    { ...screen('/manifests/$manifestId', `/manifests/${manifest.id}?edit=1`), hasOnlyNames: true },
    screen('/profile'),
  ];
}

function spans() {
  const value = { stringValue: TEXT };
  const attribute = (key: string, stringValue = TEXT) => ({ key, value: { stringValue } });
  const now = BigInt(Date.now()) * 1_000_000n;
  const span = (spanId: string, names: object[]) => ({
    traceId: TRACE,
    spanId,
    name: TEXT,
    kind: 3,
    startTimeUnixNano: String(now),
    endTimeUnixNano: String(now + 1_000_000n),
    attributes: [...names, attribute(`x.${TEXT}`), attribute('url.full', SCRIPT_URL), attribute('server.address')],
    events: [{ name: TEXT, timeUnixNano: String(now), attributes: [{ key: TEXT, value }] }],
    status: { code: 2, message: TEXT },
  });
  const agent = attribute('gen_ai.agent.name');
  const provider = attribute('gen_ai.provider.name');
  return {
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name'), attribute('service.version')] },
        scopeSpans: [
          {
            scope: { name: TEXT, version: TEXT },
            spans: [
              span(SPAN, [
                attribute('gen_ai.operation.name', 'chat'),
                attribute('gen_ai.request.model'),
                provider,
                agent,
              ]),
              span('ce'.repeat(8), [
                attribute('gen_ai.operation.name', 'execute_tool'),
                attribute('gen_ai.tool.name'),
                attribute('mcp.method.name', 'tools/call'),
                agent,
              ]),
              span('cf'.repeat(8), [attribute('gen_ai.operation.name', 'invoke_agent'), agent, provider]),
            ],
          },
        ],
      },
    ],
  };
}

/** A minimal MCP server whose only tool has hostile texts in its definition. */
async function startToolServer() {
  let description = TEXT;
  let isFailing = false;
  const answers: Record<string, () => object> = {
    initialize: () => ({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: TEXT, version: TEXT },
    }),
    'tools/list': () => ({
      tools: [
        {
          name: 'hostile_tool',
          title: TEXT,
          description,
          inputSchema: { type: 'object', properties: { [TEXT]: { type: 'string', description } } },
        },
      ],
    }),
  };
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method } = (await json(request)) as { id?: number; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    const result = isFailing ? undefined : answers[method]?.();
    const error = { code: -32_601, message: TEXT };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    change: () => {
      description = `Changed. ${TEXT}`;
    },
    fail: () => {
      isFailing = true;
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
