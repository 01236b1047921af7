import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import {
  all,
  chat,
  mcpCall,
  newSpanId,
  newTraceId,
  SERVER,
  type SpanInput,
  sendSpans,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { type Declared, declare, observedIn } from './match-support.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Row = {
  name: string;
  declared?: Declared[];
  spans: SpanInput[] | (() => SpanInput[]);
  /** `provider: kind name xoccurrences`, sorted. Discovered providers have a `?` after their name. */
  observed: string[];
  /** The sub-tenant of the sender. */
  subTenantId?: string;
};

const OPENAI: Declared = { name: 'OpenAI', kind: 'llm', baseUrl: 'https://api.openai.com/v1' };
const SEARCH: Declared = { name: 'search', kind: 'mcp', baseUrl: 'https://mcp.example.com:8443/mcp', tools: ['find'] };

const ROWS: Row[] = [
  {
    name: '1: the address matches the host of a base URL',
    declared: [OPENAI],
    spans: [chat('m', { 'server.address': 'api.openai.com' }), chat('m', { 'server.address': 'API.OpenAI.com' })],
    observed: ['OpenAI: model m x2'],
  },
  {
    name: '1: the address comes before the name of another declared provider',
    declared: [OPENAI, { name: 'azure', baseUrl: 'https://eu.example.net' }],
    spans: [chat('m', { 'server.address': 'eu.example.net', 'gen_ai.provider.name': 'openai' })],
    observed: ['azure: model m x1'],
  },
  {
    name: '1: an unknown address comes before the name: a provider is discovered by address',
    declared: [OPENAI],
    spans: [chat('m', { 'server.address': 'llm.internal', 'gen_ai.provider.name': 'openai' })],
    observed: ['llm.internal?: model m x1'],
  },
  {
    name: '1: the port decides between two providers with the same host',
    declared: [
      { name: 'first', baseUrl: 'http://localhost:8001/v1' },
      { name: 'second', baseUrl: 'http://localhost:8002/v1' },
    ],
    spans: [
      chat('a', { 'server.address': 'localhost', 'server.port': 8001 }),
      chat('b', { 'server.address': 'localhost', 'server.port': 8002 }),
    ],
    observed: ['first: model a x1', 'second: model b x1'],
  },
  {
    name: '1: a URL without a port has the default port of its scheme',
    declared: [
      { name: 'odd', baseUrl: 'https://llm.example.com:9000' },
      { name: 'plain', baseUrl: 'https://llm.example.com' },
    ],
    spans: [chat('m', { 'server.address': 'llm.example.com', 'server.port': 443 })],
    observed: ['plain: model m x1'],
  },
  {
    name: '1: a host matches if no provider declares the port',
    declared: [SEARCH],
    spans: [mcpCall('find', { 'server.address': 'mcp.example.com', 'server.port': 1 })],
    observed: ['search: tool find x1'],
  },
  {
    name: '1: an IPv6 address matches with and without brackets',
    declared: [{ name: 'local', baseUrl: 'http://[::1]:11434/v1' }],
    spans: [chat('m', { 'server.address': '::1' }), chat('m', { 'server.address': '[::1]' })],
    observed: ['local: model m x2'],
  },
  {
    name: '2: without an address the name matches, ignoring case',
    declared: [OPENAI, { name: 'ŻÓŁĆ' }],
    spans: [
      chat('m', { 'gen_ai.provider.name': 'openai' }),
      chat('m', { 'gen_ai.provider.name': 'OPENAI' }),
      chat('m', { 'gen_ai.system': 'openai' }),
      chat('n', { 'gen_ai.provider.name': 'żółć' }),
    ],
    observed: ['OpenAI: model m x3', 'ŻÓŁĆ: model n x1'],
  },
  {
    name: '2: a disabled provider keeps its traffic',
    declared: [{ ...OPENAI, status: 'disabled' }],
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' })],
    observed: ['OpenAI: model m x1'],
  },
  {
    name: '1: of two providers at a host, the active one gets the traffic of a model that none or both have',
    declared: [
      { ...OPENAI, name: 'former', status: 'disabled', models: ['m'] },
      { ...OPENAI, name: 'current', models: ['m'] },
    ],
    spans: [chat('m', { 'server.address': 'api.openai.com' }), chat('new', { 'server.address': 'api.openai.com' })],
    observed: ['current: model m x1', 'current: model new x1'],
  },
  {
    name: '1: of two providers with a model or a tool that no span attributes, the active one gets the traffic',
    declared: [
      { name: 'former', status: 'disabled', models: ['m'], tools: ['t'] },
      { name: 'current', models: ['m'], tools: ['t'] },
    ],
    spans: [chat('m'), toolRun('t')],
    observed: ['current: model m x1', 'current: tool t x1'],
  },
  {
    name: '2: an older name is mapped to the current one',
    declared: [{ name: 'azure.ai.openai' }],
    spans: [chat('m', { 'gen_ai.system': 'az.ai.openai' })],
    observed: ['azure.ai.openai: model m x1'],
  },
  {
    name: '3: a tool span belongs to the server that its child, an MCP client span, calls; server spans do not count',
    declared: [SEARCH],
    spans: () => {
      const [run, call] = [newSpanId(), newSpanId()];
      return [
        { ...toolRun('lookup'), spanId: run },
        { ...mcpCall('lookup', { 'server.address': 'mcp.example.com' }), spanId: call, parentSpanId: run },
        { ...mcpCall('lookup'), kind: SERVER, parentSpanId: call, service: 'search-server' },
      ];
    },
    observed: ['search: tool lookup x1'],
  },
  {
    name: '3: a span of another trace with the same parent id is not a child',
    declared: [SEARCH],
    spans: () => {
      const run = newSpanId();
      return [
        { ...toolRun('lookup'), spanId: run, traceId: newTraceId() },
        { ...mcpCall('lookup', { 'server.address': 'mcp.example.com' }), parentSpanId: run, traceId: newTraceId() },
      ];
    },
    observed: ['search: tool lookup x1', 'travel-agent?: tool lookup x1'],
  },
  {
    name: '3: MCP calls that are each the parent of the other belong to their server',
    declared: [SEARCH],
    spans: () => {
      const [one, other] = [newSpanId(), newSpanId()];
      const call = mcpCall('lookup', { 'server.address': 'mcp.example.com' });
      return [
        { ...call, spanId: one, parentSpanId: other },
        { ...call, spanId: other, parentSpanId: one },
      ];
    },
    observed: ['search: tool lookup x2'],
  },
  {
    name: '3: a child that calls another tool does not decide',
    declared: [SEARCH],
    spans: () => {
      const run = newSpanId();
      const other = mcpCall('other', { 'server.address': 'mcp.example.com' });
      return [
        { ...toolRun('lookup'), spanId: run },
        { ...other, parentSpanId: run },
      ];
    },
    observed: ['search: tool other x1', 'travel-agent?: tool lookup x1'],
  },
  {
    name: '3: a tool belongs to the only declared provider that has it',
    declared: [SEARCH, { name: 'shop', tools: ['buy'] }],
    spans: [toolRun('find')],
    observed: ['search: tool find x1'],
  },
  {
    name: '3: if two providers have the tool, neither is chosen',
    declared: [SEARCH, { name: 'shop', tools: ['find'] }],
    spans: [toolRun('find')],
    observed: ['travel-agent?: tool find x1'],
  },
  {
    name: '3: if the span names an address, the address decides',
    declared: [SEARCH],
    spans: [toolRun('find', { 'server.address': 'elsewhere.example.com' })],
    observed: ['elsewhere.example.com?: tool find x1'],
  },
  {
    name: '4: providers are discovered by name, address or service, once each',
    spans: [
      chat('m', { 'gen_ai.provider.name': 'Anthropic' }),
      chat('n', { 'gen_ai.provider.name': 'anthropic' }),
      chat('m', { 'server.address': 'llm.internal' }),
      chat('n', { 'server.address': 'LLM.internal' }),
      toolRun('t'),
      { attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' }, service: 'agents' },
    ],
    observed: [
      'anthropic?: model m x1',
      'anthropic?: model n x1',
      'agents?: agent planner x1',
      'llm.internal?: model m x1',
      'llm.internal?: model n x1',
      'travel-agent?: tool t x1',
    ],
  },
  {
    name: '4: a name of a declared provider with another address is not reused',
    declared: [OPENAI, { name: 'llm.internal', baseUrl: 'https://elsewhere.example.com' }],
    spans: [chat('m', { 'server.address': 'llm.internal', 'gen_ai.provider.name': 'openai' })],
    observed: ['llm.internal (discovered)?: model m x1'],
  },
  {
    name: '4: if the name with “(discovered)” is declared too, that provider is used',
    declared: [
      { name: 'llm.internal', baseUrl: 'https://elsewhere.example.com' },
      { name: 'llm.internal (discovered)', baseUrl: 'https://third.example.com' },
    ],
    spans: [chat('m', { 'server.address': 'llm.internal' })],
    observed: ['llm.internal (discovered): model m x1'],
  },
  {
    name: 'two agents of one service in one batch are two',
    spans: ['planner', 'writer'].map((agent) => ({
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent },
      service: 'agents',
    })),
    observed: ['agents?: agent planner x1', 'agents?: agent writer x1'],
  },
  {
    name: 'spans without models, tools or agents lead to no observation',
    declared: [OPENAI],
    spans: [
      { attributes: { 'server.address': 'api.openai.com', 'http.request.method': 'POST' } },
      { attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' } },
      { attributes: { 'mcp.method.name': 'initialize' } },
      { ...mcpCall('find'), kind: SERVER },
    ],
    observed: [],
  },
  {
    name: 'the sub-tenant’s provider comes before the tenant’s',
    declared: [OPENAI, { ...OPENAI, name: 'openai', subTenantId: 'team' }],
    subTenantId: 'team',
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' }), chat('m', { 'server.address': 'api.openai.com' })],
    observed: ['openai@team: model m x2'],
  },
  {
    name: 'another sub-tenant’s provider does not match',
    declared: [{ ...OPENAI, subTenantId: 'other' }],
    subTenantId: 'team',
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' })],
    observed: ['openai?@team: model m x1'],
  },
  {
    name: 'a sub-tenant’s provider does not match for a sender of the whole tenant',
    declared: [{ ...OPENAI, subTenantId: 'team' }],
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' })],
    observed: ['openai?: model m x1'],
  },
];

describe.each(ROWS)('$name', ({ declared = [], spans, observed, subTenantId }) => {
  test('over the API', async () => {
    const tenantId = unique('match');
    for (const provider of declared) await declare(server, tenantId, provider);
    const place = { tenantId, subTenantId };
    const sender = await accountWithKey(server, place, ['traces:write']);
    await sendSpans(server, sender, typeof spans === 'function' ? spans() : spans);
    expect(await observedIn(server, tenantId)).toEqual(observed.toSorted());
  });
});

test('a provider declared for the tenant comes before what a sub-tenant discovered earlier', async () => {
  const tenantId = unique('match');
  const sender = await accountWithKey(server, { tenantId, subTenantId: 'team' }, ['traces:write']);
  await sendSpans(server, sender, [chat('m', { 'gen_ai.provider.name': 'openai' })]);
  await declare(server, tenantId, OPENAI);
  await sendSpans(server, sender, [chat('m', { 'gen_ai.provider.name': 'openai' })]);
  expect(await observedIn(server, tenantId)).toEqual(['OpenAI: model m x1', 'openai?@team: model m x1']);
});

test('an adopted provider still gets the traffic from which it was discovered', async () => {
  const tenantId = unique('match');
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  const spans = [toolRun('t'), chat('m', { 'server.address': 'llm.internal' })];
  await sendSpans(server, sender, spans);
  for (const provider of await all(server, `/v1/providers?tenant_id=${tenantId}`, server.admin)) {
    await server.ok('PUT', `/v1/providers/${provider.id}`, { as: server.admin, body: { status: 'active' } });
  }
  await sendSpans(server, sender, spans);
  expect(await observedIn(server, tenantId)).toEqual(['llm.internal: model m x2', 'travel-agent: tool t x2']);
});

test('hostile names stay separate observations and break nothing', async () => {
  const tenantId = unique('match');
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  const crabs = `x${'🦀'.repeat(500)}`;
  const names = ['a:b', 'a', '\u0000\u001b[31m', ' ', '__proto__', 'constructor', '"; drop table spans; --', crabs];
  const spans = names.flatMap((name) => [
    chat(name, { 'gen_ai.provider.name': name }),
    chat(name, { 'server.address': name }),
    { ...toolRun(name), service: name },
  ]);
  for (let round = 0; round < 2; round += 1) await sendSpans(server, sender, spans);
  const items = await all(server, `/v1/runtime-observations?tenant_id=${tenantId}&limit=100`, server.admin);
  expect(items.every(({ occurrences }) => occurrences % 2 === 0)).toBe(true);
  // A blank name counts as no name.
  expect(new Set(items.map(({ name }) => name)).size).toBe(names.length - 1);
  expect(items.every(({ name }) => name.length <= 256 && name.isWellFormed())).toBe(true);
  const providers = await all(server, `/v1/providers?tenant_id=${tenantId}&limit=100`, server.admin);
  expect(providers.every(({ name }) => name.length <= 200 && name.isWellFormed())).toBe(true);
  const tasks = await all(
    server,
    `/v1/operator/tasks?kind=review_observation&tenant_id=${tenantId}&limit=100`,
    server.admin,
  );
  expect(tasks).toHaveLength(items.length);
});
