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
  /** `provider: kind name xoccurrences`, sorted; discovered providers are marked by `?`. */
  observed: string[];
  /** Where the sender stands. */
  subTenantId?: string;
};

const OPENAI: Declared = { name: 'OpenAI', kind: 'llm', baseUrl: 'https://api.openai.com/v1' };
const SEARCH: Declared = { name: 'search', kind: 'mcp', baseUrl: 'https://mcp.example.com:8443/mcp', tools: ['find'] };

const ROWS: Row[] = [
  {
    name: '1: the address is the host of the base URL',
    declared: [OPENAI],
    spans: [chat('m', { 'server.address': 'api.openai.com' }), chat('m', { 'server.address': 'API.OpenAI.com' })],
    observed: ['OpenAI: model m x2'],
  },
  {
    name: '1: the address beats the name of another declared provider',
    declared: [OPENAI, { name: 'azure', baseUrl: 'https://eu.example.net' }],
    spans: [chat('m', { 'server.address': 'eu.example.net', 'gen_ai.provider.name': 'openai' })],
    observed: ['azure: model m x1'],
  },
  {
    name: '1: an address of nobody beats the name, and is discovered by the address',
    declared: [OPENAI],
    spans: [chat('m', { 'server.address': 'llm.internal', 'gen_ai.provider.name': 'openai' })],
    observed: ['llm.internal?: model m x1'],
  },
  {
    name: '1: the port decides between two of one host',
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
    name: '1: the port of a URL without one is its scheme’s',
    declared: [
      { name: 'odd', baseUrl: 'https://llm.example.com:9000' },
      { name: 'plain', baseUrl: 'https://llm.example.com' },
    ],
    spans: [chat('m', { 'server.address': 'llm.example.com', 'server.port': 443 })],
    observed: ['plain: model m x1'],
  },
  {
    name: '1: another port than any declared one is still the host',
    declared: [SEARCH],
    spans: [mcpCall('find', { 'server.address': 'mcp.example.com', 'server.port': 1 })],
    observed: ['search: tool find x1'],
  },
  {
    name: '1: an IPv6 address, with brackets or without',
    declared: [{ name: 'local', baseUrl: 'http://[::1]:11434/v1' }],
    spans: [chat('m', { 'server.address': '::1' }), chat('m', { 'server.address': '[::1]' })],
    observed: ['local: model m x2'],
  },
  {
    name: '2: without an address the name, in any case',
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
    name: '2: an older name is mapped to the current one',
    declared: [{ name: 'azure.ai.openai' }],
    spans: [chat('m', { 'gen_ai.system': 'az.ai.openai' })],
    observed: ['azure.ai.openai: model m x1'],
  },
  {
    name: '3: a tool span is where its MCP client child goes, and the server’s span does not count',
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
    name: '3: a child of the same id in another trace is not its child',
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
    name: '3: a child that calls another tool says nothing of this one',
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
    name: '3: the one declared provider that has the tool',
    declared: [SEARCH, { name: 'shop', tools: ['buy'] }],
    spans: [toolRun('find')],
    observed: ['search: tool find x1'],
  },
  {
    name: '3: not when two have it',
    declared: [SEARCH, { name: 'shop', tools: ['find'] }],
    spans: [toolRun('find')],
    observed: ['travel-agent?: tool find x1'],
  },
  {
    name: '3: not when the span names an address',
    declared: [SEARCH],
    spans: [toolRun('find', { 'server.address': 'elsewhere.example.com' })],
    observed: ['elsewhere.example.com?: tool find x1'],
  },
  {
    name: '4: discovered by name, address, service; one for each',
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
    name: '4: a name that belongs to a declared provider of another address is passed over',
    declared: [OPENAI, { name: 'llm.internal', baseUrl: 'https://elsewhere.example.com' }],
    spans: [chat('m', { 'server.address': 'llm.internal', 'gen_ai.provider.name': 'openai' })],
    observed: ['llm.internal (discovered)?: model m x1'],
  },
  {
    name: '4: when even that name was declared, it is that one',
    declared: [
      { name: 'llm.internal', baseUrl: 'https://elsewhere.example.com' },
      { name: 'llm.internal (discovered)', baseUrl: 'https://third.example.com' },
    ],
    spans: [chat('m', { 'server.address': 'llm.internal' })],
    observed: ['llm.internal (discovered): model m x1'],
  },
  {
    name: 'two agents of one service are two, also in one batch',
    spans: ['planner', 'writer'].map((agent) => ({
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent },
      service: 'agents',
    })),
    observed: ['agents?: agent planner x1', 'agents?: agent writer x1'],
  },
  {
    name: 'what says nothing of models, tools or agents is observed nowhere',
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
    name: 'the sub-tenant’s provider before the tenant’s',
    declared: [OPENAI, { ...OPENAI, name: 'openai', subTenantId: 'team' }],
    subTenantId: 'team',
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' }), chat('m', { 'server.address': 'api.openai.com' })],
    observed: ['openai@team: model m x2'],
  },
  {
    name: 'another sub-tenant’s provider is not in question',
    declared: [{ ...OPENAI, subTenantId: 'other' }],
    subTenantId: 'team',
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' })],
    observed: ['openai?@team: model m x1'],
  },
  {
    name: 'a sub-tenant’s provider is not in question for the tenant as a whole',
    declared: [{ ...OPENAI, subTenantId: 'team' }],
    spans: [chat('m', { 'gen_ai.provider.name': 'openai' })],
    observed: ['openai?: model m x1'],
  },
];

describe.each(ROWS)('$name', ({ declared = [], spans, observed, subTenantId }) => {
  test('over the API', async () => {
    const tenantId = unique('match');
    for (const provider of declared) await declare(server, tenantId, provider);
    const place = { tenantId, ...(subTenantId !== undefined && { subTenantId }) };
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

test('an adopted provider keeps the traffic that it was discovered by', async () => {
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

test('hostile names are kept apart, and harm nobody', async () => {
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
  // A blank name is no name.
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
