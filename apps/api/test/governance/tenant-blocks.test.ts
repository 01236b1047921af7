import { createHash } from 'node:crypto';
import { inBatches } from '@quartermaster/db/batches.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import {
  all,
  chat,
  newSpanId,
  newTraceId,
  nowInNanoseconds,
  type SpanInput,
  sendSpans,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { type Declared, declare, observedIn, TICKETS } from './match-support.ts';

// A provider that a sub-tenant declares does not hide what the whole tenant blocks.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const API = 'https://api.openai.com/v1';
const WITHOUT_ADDRESS: Declared = {
  name: 'OpenAI',
  kind: 'llm',
  models: ['gpt-5'],
  blocked: ['gpt-4o', 'house-model'].map((name) => ({ kind: 'model', name })),
};
const TENANT: Declared = { ...WITHOUT_ADDRESS, baseUrl: API };
const of = (provider: Declared): Declared => ({ ...provider, subTenantId: 'team' });
const by = (vendor: string, address?: string) => ({
  'gen_ai.provider.name': vendor,
  ...(address !== undefined && { 'server.address': address }),
});

const agentRun = (name: string): SpanInput => ({
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
});

/** Two spans of one call. */
function inside(outer: SpanInput, inner: SpanInput): SpanInput[] {
  const [traceId, spanId] = [newTraceId(), newSpanId()];
  return [
    { ...outer, traceId, spanId, scope: 'outer' },
    { ...inner, traceId, parentSpanId: spanId, scope: 'inner' },
  ];
}

const answeredBy = (model: string) => ({ 'gen_ai.response.model': model });

type Row = { name: string; declared: Declared[]; spans: SpanInput[]; observed: string[] };

const ROWS: Row[] = [
  {
    name: 'a provider of the same name takes only what the tenant does not block',
    declared: [TENANT, of({ name: 'openai', kind: 'llm', models: ['gpt-4o', 'gpt-5'] })],
    spans: [chat('gpt-4o', by('openai')), chat('gpt-4o-2024-08-06', by('openai')), chat('gpt-5', by('openai'))],
    observed: ['OpenAI: model gpt-4o x1', 'OpenAI: model gpt-4o-2024-08-06 x1', 'openai@team: model gpt-5 x1'],
  },
  {
    name: 'a provider with another name at the same address',
    declared: [TENANT, of({ name: 'ours', kind: 'llm', baseUrl: API, models: ['gpt-4o'] })],
    spans: [chat('gpt-4o', { 'server.address': 'api.openai.com' }), chat('gpt-4o', by('openai', 'api.openai.com'))],
    observed: ['OpenAI: model gpt-4o x2'],
  },
  {
    name: 'a provider of the vendor, if the tenant’s provider is declared without an address',
    declared: [WITHOUT_ADDRESS, of({ name: 'ours', kind: 'llm', baseUrl: API, models: ['gpt-4o'] })],
    spans: [chat('gpt-4o', by('openai', 'api.openai.com'))],
    observed: ['OpenAI: model gpt-4o x1'],
  },
  {
    name: 'a second provider that has the model, for spans that name neither vendor nor address',
    declared: [TENANT, of({ name: 'decoy', kind: 'llm', models: ['house-model'] })],
    spans: [chat('house-model')],
    observed: ['OpenAI: model house-model x1'],
  },
  {
    name: 'a provider at an address of its own keeps its traffic',
    declared: [TENANT, of({ name: 'openai', kind: 'llm', baseUrl: 'https://llm.team.example/v1', models: ['gpt-4o'] })],
    spans: [chat('gpt-4o', by('openai', 'llm.team.example')), chat('gpt-4o', by('openai'))],
    observed: ['OpenAI: model gpt-4o x1', 'openai@team: model gpt-4o x1'],
  },
  {
    name: 'tools of an MCP server with the same name, or under another name at the same address',
    declared: [
      TICKETS,
      of({ name: 'tickets', kind: 'mcp', tools: ['delete_ticket', 'list_tickets'] }),
      of({ name: 'ours', kind: 'mcp', baseUrl: 'https://mcp.example.com/mcp', tools: ['delete_ticket'] }),
    ],
    spans: [
      toolRun('mcp__tickets__delete_ticket'),
      toolRun('delete_ticket', { 'mcp.server.name': 'tickets' }),
      toolRun('delete-ticket', { 'server.address': 'mcp.example.com' }),
      toolRun('delete_ticket'),
      toolRun('list_tickets', { 'mcp.server.name': 'tickets' }),
    ],
    observed: ['tickets: tool delete_ticket x4', 'tickets@team: tool list_tickets x1'],
  },
  {
    name: 'agents, prompts and tools of a service that the sub-tenant declares again',
    declared: [
      {
        name: 'worker',
        kind: 'agent_runtime',
        blocked: [
          { kind: 'agent', name: 'planner' },
          { kind: 'tool', name: 'book' },
        ],
      },
      of({ name: 'worker', kind: 'agent_runtime', tools: ['book'] }),
      { ...TICKETS, blocked: [{ kind: 'prompt', name: 'greet' }] },
      of({ ...TICKETS, blocked: [] }),
    ],
    spans: [
      { ...agentRun('planner'), service: 'worker' },
      { ...agentRun('writer'), service: 'worker' },
      { ...toolRun('book'), service: 'worker' },
      {
        attributes: {
          'mcp.method.name': 'prompts/get',
          'gen_ai.prompt.name': 'greet',
          'server.address': 'mcp.example.com',
        },
      },
    ],
    observed: [
      'tickets: prompt greet x1',
      'worker: agent planner x1',
      'worker: tool book x1',
      'worker@team: agent writer x1',
    ],
  },
  {
    name: 'a provider of the tenant that is disabled takes nothing',
    declared: [{ ...TENANT, status: 'disabled' }, of({ name: 'openai', kind: 'llm', models: ['gpt-5'] })],
    spans: [chat('gpt-5', by('openai'))],
    observed: ['openai@team: model gpt-5 x1'],
  },
  {
    name: 'a model that answers under another name, and that the tenant blocks',
    declared: [
      TENANT,
      of({ name: 'openai', kind: 'llm', models: ['our-model'] }),
      of({ name: 'ours', kind: 'llm', baseUrl: 'https://llm.team.example', models: ['our-model'] }),
    ],
    spans: [
      chat('our-model', { ...by('openai'), 'gen_ai.response.model': 'gpt-4o-2024-08-06' }),
      chat('our-model', { ...by('openai', 'api.openai.com'), 'gen_ai.response.model': 'openai/gpt-4o' }),
      chat('our-model', { 'gen_ai.response.model': 'house-model' }),
      chat('our-model', { ...by('openai'), 'gen_ai.response.model': 'gpt-5' }),
      chat('our-model', by('openai')),
      chat('our-model', { 'server.address': 'llm.team.example', 'gen_ai.response.model': 'gpt-4o' }),
    ],
    observed: ['OpenAI: model our-model x3', 'openai@team: model our-model x2', 'ours@team: model our-model x1'],
  },
  {
    name: 'a span inside the call that says less, or names another server of the sub-tenant',
    declared: [
      TENANT,
      TICKETS,
      of({ name: 'openai', kind: 'llm', models: ['our-model'] }),
      of({ name: 'ours', kind: 'llm', baseUrl: 'https://llm.team.example', models: ['our-model'] }),
      of({ name: 'decoy', kind: 'mcp', tools: ['delete_ticket'] }),
      of({ name: 'own', kind: 'mcp', baseUrl: 'https://mcp.team.example', tools: ['delete_ticket'] }),
    ],
    spans: [
      ...inside(chat('our-model', { ...by('openai'), ...answeredBy('gpt-4o') }), chat('our-model', by('openai'))),
      ...inside(
        chat('our-model', { ...by('openai', 'api.openai.com'), ...answeredBy('gpt-4o') }),
        chat('our-model', by('openai', 'api.openai.com')),
      ),
      ...inside(
        chat('our-model', { ...by('openai'), ...answeredBy('gpt-4o') }),
        chat('our-model', { 'server.address': 'llm.team.example' }),
      ),
      ...inside(toolRun('mcp__tickets__delete_ticket'), toolRun('delete_ticket', { 'mcp.server.name': 'decoy' })),
      ...inside(
        toolRun('mcp__tickets__delete_ticket'),
        toolRun('delete_ticket', { 'server.address': 'mcp.team.example' }),
      ),
    ],
    observed: [
      'OpenAI: model our-model x2',
      'ours@team: model our-model x1',
      'own@team: tool delete_ticket x1',
      'tickets: tool delete_ticket x1',
    ],
  },
  {
    name: 'a provider at another spelling of the tenant’s host',
    declared: [
      WITHOUT_ADDRESS,
      of({ name: 'ours', kind: 'llm', baseUrl: 'https://API.openai.com./v1', models: ['gpt-4o'] }),
      { name: 'lab', kind: 'llm', baseUrl: 'http://[2001:db8::1]/v1', blocked: [{ kind: 'model', name: 'gpt-6' }] },
      of({ name: 'our-lab', kind: 'llm', baseUrl: 'http://[2001:DB8:0::1]:81/v1', models: ['gpt-6'] }),
    ],
    spans: [
      ...['api.openai.com', 'api.openai.com.', 'https://API.openai.com.:443/v1'].map((address) =>
        chat('gpt-4o', { 'server.address': address }),
      ),
      ...['2001:db8::1', '[2001:DB8:0:0:0:0:0:1]', '[2001:db8:0::1]:81'].map((address) =>
        chat('gpt-6', { 'server.address': address }),
      ),
    ],
    observed: ['OpenAI: model gpt-4o x3', 'lab: model gpt-6 x3'],
  },
  {
    name: 'a provider at a loopback address, which identifies no provider',
    declared: [
      TENANT,
      of({ name: 'ours', kind: 'llm', baseUrl: 'http://localhost:4000', models: ['gpt-4o', 'gpt-6'] }),
    ],
    spans: [chat('gpt-4o', by('openai', 'localhost')), chat('gpt-6', by('openai', 'localhost'))],
    observed: ['OpenAI: model gpt-4o x1', 'ours@team: model gpt-6 x1'],
  },
  {
    name: 'the address of a provider of models does not decide for a tool',
    declared: [
      TICKETS,
      of({ name: 'ours', kind: 'llm', baseUrl: 'https://llm.team.example' }),
      of({ name: 'tickets', kind: 'mcp', tools: ['delete_ticket'] }),
    ],
    spans: [toolRun('delete_ticket', { 'mcp.server.name': 'tickets', 'server.address': 'llm.team.example' })],
    observed: ['tickets: tool delete_ticket x1'],
  },
  {
    name: 'a provider keeps what nothing blocks',
    declared: [of({ name: 'openai', kind: 'llm', models: ['gpt-4o'] })],
    spans: [chat('gpt-4o', by('openai')), chat('gpt-6', by('openai'))],
    observed: ['openai@team: model gpt-4o x1', 'openai@team: model gpt-6 x1'],
  },
];

describe.each(ROWS)('$name', ({ declared, spans, observed }) => {
  test('over the API', async () => {
    const tenantId = unique('blocks');
    for (const provider of declared) await declare(server, tenantId, provider);
    const sender = await accountWithKey(server, { tenantId, subTenantId: 'team' }, ['traces:write']);
    await sendSpans(server, sender, spans);
    expect(await observedIn(server, tenantId)).toEqual(observed.toSorted());
  });
});

test('a use that a sub-tenant declared, and the tenant blocks, is a blocked use with a task, until the block ends', async () => {
  const tenantId = unique('blocks');
  const id = await declare(server, tenantId, TENANT);
  const own = of({ name: 'openai', kind: 'llm', models: ['gpt-4o'] });
  await declare(server, tenantId, own);
  const place = { tenantId, subTenantId: 'team' };
  const sender = await accountWithKey(server, place, ['traces:write']);
  server.travel(1000);
  await sendSpans(server, sender, [{ ...chat('gpt-4o', by('openai')), start: nowInNanoseconds(server) }]);
  const reader = await accountWithKey(server, place);
  expect(await all(server, '/v1/runtime-observations?view=blocked', reader)).toMatchObject([
    { providerId: id, name: 'gpt-4o', subTenantId: 'team', risk: { level: 'high' } },
  ]);
  const tasks = await all(
    server,
    `/v1/operator/tasks?tenant_id=${tenantId}&kind=investigate_blocked_use`,
    server.admin,
  );
  expect(tasks).toMatchObject([{ status: 'open', subTenantId: 'team' }]);

  const [item] = (await all(server, `/v1/providers/${id}/inventory`, server.admin)).filter(
    ({ name }) => name === 'gpt-4o',
  );
  const body = { status: 'available' };
  await server.ok('PUT', `/v1/providers/${id}/inventory/${item?.id}`, { as: server.admin, body });
  await sendSpans(server, sender, [chat('gpt-4o', by('openai'))]);
  expect(await observedIn(server, tenantId)).toEqual(['OpenAI: model gpt-4o x1', 'openai@team: model gpt-4o x1']);
});

test('a block of a tool covers a name of other case that a sync listed', async () => {
  const tenantId = unique('blocks');
  const blocked = [{ kind: 'tool', name: 'Delete_Ticket' }];
  await declare(server, tenantId, { ...TICKETS, blocked, tools: ['delete_ticket'] });
  await server.services.db
    .updateTable('inventory_items')
    .set({ source: 'sync' })
    .where('tenant_id', '=', tenantId)
    .where('name', '=', 'delete_ticket')
    .execute();
  await declare(server, tenantId, of({ name: 'tickets', kind: 'mcp', tools: ['delete_ticket'] }));
  const sender = await accountWithKey(server, { tenantId, subTenantId: 'team' }, ['traces:write']);
  await sendSpans(server, sender, [toolRun('mcp__tickets__delete_ticket')]);
  expect(await observedIn(server, tenantId)).toEqual(['tickets: tool delete_ticket x1']);
});

test('a block of a model that answered raises the risk at the tenant’s provider', async () => {
  const tenantId = unique('blocks');
  const id = await declare(server, tenantId, TENANT);
  await declare(server, tenantId, of({ name: 'openai', kind: 'llm', models: ['our-model'] }));
  const place = { tenantId, subTenantId: 'team' };
  const sender = await accountWithKey(server, place, ['traces:write']);
  await sendSpans(server, sender, [chat('our-model', { ...by('openai'), 'gen_ai.response.model': 'gpt-4o' })]);
  const reader = await accountWithKey(server, place);
  expect(await all(server, '/v1/runtime-observations?view=blocked', reader)).toMatchObject([
    { providerId: id, name: 'our-model', evidence: { responseModels: ['gpt-4o'] }, risk: { level: 'high' } },
  ]);
});

test('a discovered provider with an address hides no block either', async () => {
  const tenantId = unique('blocks');
  const id = await declare(server, tenantId, WITHOUT_ADDRESS);
  const place = { tenantId, subTenantId: 'team' };
  const sender = await accountWithKey(server, place, ['traces:write']);
  await sendSpans(server, sender, [chat('house-llm', { 'server.address': 'llm.team.example' })]);
  const [discovered] = await all(server, `/v1/providers?tenant_id=${tenantId}&status=discovered`, server.admin);
  const operator = await accountWithKey(server, place);
  await server.ok('PUT', `/v1/providers/${discovered?.id}`, { as: operator, body: { baseUrl: API } });
  await sendSpans(server, sender, [chat('gpt-4o', { 'server.address': 'api.openai.com' })]);
  expect(await all(server, '/v1/runtime-observations?view=blocked', operator)).toMatchObject([
    { providerId: id, name: 'gpt-4o', occurrences: 1 },
  ]);
});

test('a hashed name finds the blocked tool among more tools than are compared', async () => {
  const tenantId = unique('blocks');
  await declare(server, tenantId, TICKETS);
  await declareManyTools(tenantId);
  const sender = await accountWithKey(server, { tenantId, subTenantId: 'team' }, ['traces:write']);
  const hashed = createHash('sha256').update('mcp__tickets__delete_ticket').digest('hex');
  await sendSpans(server, sender, [toolRun(hashed)]);
  expect(await observedIn(server, tenantId)).toEqual(['tickets: tool delete_ticket x1']);
});

async function declareManyTools(tenantId: string): Promise<void> {
  const id = await declare(server, tenantId, { name: 'many', kind: 'mcp', tools: ['tool'] });
  const { db } = server.services;
  const tool = await db
    .selectFrom('inventory_items')
    .selectAll()
    .where('provider_id', '=', id)
    .executeTakeFirstOrThrow();
  const rows = Array.from({ length: 1000 }, (_, index) => {
    const key = `a_tool_${index}`;
    return { ...tool, id: unique('item'), name: key, name_key: key, name_family: key };
  });
  for await (const batch of inBatches(rows, 100)) await db.insertInto('inventory_items').values(batch).execute();
}
