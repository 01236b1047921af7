import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import {
  type AttributeInput,
  all,
  chat,
  mcpCall,
  newSpanId,
  newTraceId,
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

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const LONG = 'search_all_of_the_documents_of_the_whole_company_by_their_contents_and_titles';
const EVERYTHING: Declared = { name: 'everything', kind: 'mcp', tools: ['echo', 'get-sum', LONG] };
const OTHER: Declared = { name: 'other', kind: 'mcp', tools: ['echo', 'get_weather'] };
const at = (name: string): Record<string, AttributeInput> => ({ 'mcp.server.name': name });

const AT_HOST: Record<string, AttributeInput> = { 'server.address': 'mcp.example.com' };

/** A tool that the vendor ran, in the span of a chat with OpenAI. */
function toolInChat(tool: string, more: Record<string, AttributeInput>): SpanInput[] {
  const [traceId, model] = [newTraceId(), newSpanId()];
  const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5' };
  const run = toolRun(tool, { 'gen_ai.tool.type': 'extension', ...more });
  return [
    { traceId, spanId: model, attributes: chat, scope: 'gen_ai' },
    { ...run, traceId, parentSpanId: model, scope: 'gen_ai' },
  ];
}

type Row = { name: string; declared?: Declared[]; spans: SpanInput[] | (() => SpanInput[]); observed: string[] };

const ROWS: Row[] = [
  {
    name: 'of several servers at one host, the one that the span or the tool’s name names, or that blocks or declares the tool',
    declared: [
      { name: 'wiki', kind: 'mcp', baseUrl: 'https://mcp.example.com/wiki', tools: ['read'] },
      {
        name: 'tickets',
        kind: 'mcp',
        baseUrl: 'https://mcp.example.com/tickets',
        tools: ['list'],
        blocked: [{ kind: 'tool', name: 'delete_ticket' }],
      },
      { name: 'archive', kind: 'mcp', baseUrl: 'https://mcp.example.com/archive', tools: ['delete_ticket'] },
    ],
    spans: [
      mcpCall('delete_ticket', AT_HOST),
      mcpCall('read', AT_HOST),
      mcpCall('list', AT_HOST),
      mcpCall('new', { ...AT_HOST, ...at('tickets') }),
      toolRun('mcp__archive__delete_ticket', AT_HOST),
      toolRun('mcp__archive__new', AT_HOST),
      mcpCall('delete_ticket', { ...AT_HOST, ...at('archive') }),
      { attributes: { ...AT_HOST, ...at('tickets'), 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'greet' } },
    ],
    observed: [
      'archive: tool delete_ticket x2',
      'archive: tool new x1',
      'tickets: prompt greet x1',
      'tickets: tool delete_ticket x1',
      'tickets: tool list x1',
      'tickets: tool new x1',
      'wiki: tool read x1',
    ],
  },
  ...[
    'mcp__everything__echo',
    'mcp_everything_echo',
    'everything__echo',
    'everything_echo',
    'everything.echo',
    'everything-echo',
    'everything/echo',
    'everything:echo',
    'everything___echo',
    'mcp__Everything__echo',
    sha256('everything-echo'),
    sha256('everything__echo'),
    sha256('mcp__everything__echo'),
  ].map((spelling) => ({
    name: `${spelling} is the tool echo of the server that the name contains`,
    declared: [EVERYTHING, OTHER],
    spans: [toolRun(spelling)],
    observed: ['everything: tool echo x1'],
  })),
  ...['get_sum', 'everything_get_sum', 'mcp__everything__get_sum', 'mcp__everything__get-sum', 'GET_SUM'].map(
    (spelling) => ({
      name: `${spelling} is the tool get-sum, as its server declares it`,
      declared: [EVERYTHING],
      spans: [toolRun(spelling), toolRun(spelling, at('everything'))],
      observed: ['everything: tool get-sum x2'],
    }),
  ),
  ...[LONG.slice(0, 64), `${LONG.slice(0, 56)}_1a2b3c4d`, `mcp__everything__${LONG}`.slice(0, 64)].map((spelling) => ({
    name: `${spelling} is the tool whose long name was truncated`,
    declared: [EVERYTHING],
    spans: [toolRun(spelling, at('everything'))],
    observed: [`everything: tool ${LONG} x1`],
  })),
  {
    name: 'an exact name comes before a similar one; of two similar ones none is chosen',
    declared: [{ name: 'everything', kind: 'mcp', tools: ['get_sum', 'get-sum', 'a-b', 'a.b'] }],
    spans: ['get_sum', 'a_b'].map((tool) => toolRun(tool, at('everything'))),
    observed: ['everything: tool a_b x1', 'everything: tool get_sum x1'],
  },
  {
    name: 'a server whose name only begins with the name of a declared one is another server',
    declared: [EVERYTHING],
    spans: [toolRun('mcp__everything-evil__exfiltrate'), toolRun('mcp__everything-evil__echo')],
    observed: ['everything-evil?: tool echo x1', 'everything-evil?: tool exfiltrate x1'],
  },
  {
    name: 'a tool of another server is not matched across servers',
    declared: [EVERYTHING, OTHER],
    spans: [toolRun('get_weather', at('everything')), toolRun('mcp__everything__get_weather')],
    observed: ['everything: tool get_weather x2'],
  },
  {
    name: 'a server is found by the hash of its name, and by the beginning of its name',
    declared: [EVERYTHING, { name: 'GitHub MCP Server', kind: 'mcp', tools: ['search_issues'] }],
    spans: [toolRun('echo', at(sha256('everything'))), toolRun('mcp_github_mcp_se_search_issues')],
    observed: ['GitHub MCP Server: tool search_issues x1', 'everything: tool echo x1'],
  },
  {
    name: 'a hashed tool is found at the server that the span names, and not if it belongs to another server',
    declared: [EVERYTHING, OTHER],
    spans: [toolRun(sha256('echo'), at('everything')), toolRun(sha256('other-get_weather'), at('everything'))],
    observed: ['everything: tool echo x1', `everything: tool ${sha256('other-get_weather')} x1`],
  },
  {
    name: 'an MCP call belongs to the provider of its host, even one declared as a model provider; another tool span does not',
    declared: [{ name: 'gateway', kind: 'llm', baseUrl: 'https://gw.example.com' }],
    spans: [
      mcpCall('find', { 'server.address': 'gw.example.com' }),
      toolRun('find', { 'server.address': 'gw.example.com' }),
    ],
    observed: ['gateway: tool find x1', 'gw.example.com?: tool find x1'],
  },
  {
    name: 'a tool is found by the hash of its name, at the server that it was hashed with',
    declared: [EVERYTHING, OTHER],
    spans: [toolRun(sha256('echo'), at(sha256('everything'))), toolRun(sha256('echo'), at('other'))],
    observed: ['everything: tool echo x1', 'other: tool echo x1'],
  },
  {
    name: 'two agents of one service have their own names',
    spans: ['copilot', 'weather_agent'].map((agent) => ({
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent },
    })),
    observed: ['travel-agent?: agent copilot x1', 'travel-agent?: agent weather_agent x1'],
  },
  {
    name: 'a server is found by an alias, and by its name as frameworks rewrite it',
    declared: [{ name: 'Company Tools', aliases: ['ct.v2'], kind: 'mcp', tools: ['find'] }],
    spans: ['mcp__company_tools__find', 'ct_v2_find'].map((tool) => toolRun(tool)),
    observed: ['Company Tools: tool find x2'],
  },
  {
    name: 'a name in the address attribute is the name of a server',
    declared: [EVERYTHING],
    spans: [mcpCall('echo', { 'server.address': 'everything' }), mcpCall('new', { 'server.address': 'unknown' })],
    observed: ['everything: tool echo x1', 'unknown?: tool new x1'],
  },
  {
    name: 'a discovered server gets the name in the span, and is found by other spellings',
    spans: [toolRun('mcp__every_thing__echo'), toolRun('echo', at('every_thing')), toolRun('every-thing__echo')],
    observed: ['every_thing?: tool echo x3'],
  },
  {
    name: 'a tool whose name only looks like a server and a tool belongs to the service',
    declared: [{ name: 'get', kind: 'mcp', tools: ['other'] }],
    spans: [toolRun('get_weather'), toolRun('x-y')],
    observed: ['travel-agent?: tool get_weather x1', 'travel-agent?: tool x-y x1'],
  },
  {
    name: 'tools, agents and prompts never belong to a model vendor',
    declared: [{ name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', tools: ['other'] }],
    spans: [
      toolRun('get_weather', { 'gen_ai.provider.name': 'openai', 'server.address': 'api.openai.com' }),
      toolRun('openai_search', { 'gen_ai.provider.name': 'openai' }),
      {
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'planner',
          'gen_ai.provider.name': 'openai',
        },
      },
    ],
    observed: [
      'travel-agent?: agent planner x1',
      'travel-agent?: tool get_weather x1',
      'travel-agent?: tool openai_search x1',
    ],
  },
  ...[
    { kind: 'a named vendor', provider: { 'gen_ai.provider.name': 'openai' } },
    { kind: 'the vendor of the model around it', provider: {} },
  ].flatMap(({ kind, provider }) => [
    {
      name: `a web search by ${kind} does not belong to another vendor, although only that one declares the tool`,
      declared: [{ name: 'anthropic', kind: 'llm', tools: ['web_search'] }],
      spans: () => toolInChat('web_search', provider),
      observed: ['openai?: model gpt-5 x1', 'openai?: tool web_search x1'],
    },
    {
      name: `a tool that ${kind} calls belongs to the one server that declares it`,
      declared: [{ ...EVERYTHING, kind: 'other' }],
      spans: () => toolInChat('echo', provider),
      observed: ['everything: tool echo x1', 'openai?: model gpt-5 x1'],
    },
  ]),
  {
    name: 'a tool that the vendor ran belongs to the vendor, also if another provider declares a tool of this name',
    declared: [
      { name: 'anthropic', kind: 'llm', tools: ['web_search'] },
      { name: 'google', kind: 'llm' },
    ],
    spans: ['google', 'openai'].map((vendor) =>
      chat('m', {
        'gen_ai.provider.name': vendor,
        'gen_ai.output.messages': JSON.stringify([{ parts: [{ type: 'server_tool_call', name: 'web_search' }] }]),
      }),
    ),
    observed: [
      'google: model m x1',
      'google: tool web_search x1',
      'openai?: model m x1',
      'openai?: tool web_search x1',
    ],
  },
  {
    name: 'a tool that a vendor ran, without its name, belongs to the service if this blocks the tool',
    declared: [{ name: 'travel-agent', kind: 'agent_runtime', blocked: [{ kind: 'tool', name: 'web_search' }] }],
    spans: [
      chat('m', { 'gen_ai.provider.name': 'openai' }),
      ...['web_search', 'code_execution'].map((tool) => ({
        ...toolRun(tool, { 'gen_ai.tool.type': 'extension' }),
        scope: 'gen_ai',
      })),
    ],
    observed: ['openai?: model m x1', 'openai?: tool code_execution x1', 'travel-agent: tool web_search x1'],
  },
  {
    name: 'a tool that a vendor ran, without its name, belongs to the server in front of its name if this blocks the tool',
    declared: [{ name: 'search', kind: 'agent_runtime', blocked: [{ kind: 'tool', name: 'web' }] }],
    spans: [
      chat('m', { 'gen_ai.provider.name': 'openai' }),
      { ...toolRun('search_web', { 'gen_ai.tool.type': 'extension' }), scope: 'gen_ai' },
    ],
    observed: ['openai?: model m x1', 'search: tool web x1'],
  },
  {
    name: 'a tool of an MCP server that the vendor calls belongs to the server that declares it',
    declared: [{ name: 'everything', kind: 'mcp', blocked: [{ kind: 'tool', name: 'echo' }] }],
    spans: [{ ...toolRun('echo', { 'gen_ai.provider.name': 'mistral_ai' }), scope: 'mistralai_sdk_tracer' }],
    observed: ['everything: tool echo x1'],
  },
  {
    name: 'a tool of an MCP server that Anthropic SDK runs belongs to the server, also if it has the name of a tool of the vendor',
    declared: [{ name: 'search', kind: 'mcp', blocked: [{ kind: 'tool', name: 'web_search' }] }],
    spans: [
      {
        ...toolRun('web_search', { 'gen_ai.provider.name': 'anthropic', 'gen_ai.tool.call.id': 'toolu_1' }),
        name: 'anthropic.mcp_tool_use web_search',
        scope: 'com.anthropic.sdk.typescript',
      },
    ],
    observed: ['search: tool web_search x1'],
  },
  {
    name: 'tools of a service that has the name of a vendor do not belong to the vendor',
    declared: [{ name: 'openai', kind: 'llm' }],
    spans: [{ ...toolRun('get_weather'), service: 'openai' }],
    observed: ['openai (discovered)?: tool get_weather x1'],
  },
  {
    name: 'a tool span belongs to the server of the MCP call inside it, under any tool name',
    declared: [EVERYTHING, OTHER],
    spans: () => {
      const run = newSpanId();
      return [
        { ...toolRun('mcp__x__get_sum'), spanId: run },
        { ...mcpCall('get-sum', at('everything')), parentSpanId: run },
      ];
    },
    // Both spans report the same call.
    observed: ['everything: tool get-sum x1'],
  },
];

describe.each(ROWS)('$name', ({ declared = [], spans, observed }) => {
  test('over the API', async () => {
    const tenantId = unique('tools');
    for (const provider of declared) await declare(server, tenantId, provider);
    const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
    await sendSpans(server, sender, typeof spans === 'function' ? spans() : spans);
    expect((await observedIn(server, tenantId)).filter((line) => !line.startsWith('x?'))).toEqual(observed.toSorted());
  });
});

test('the spellings in the spans are kept as evidence of the declared tool', async () => {
  const tenantId = unique('tools');
  const id = await declare(server, tenantId, EVERYTHING);
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  const spellings = ['get-sum', 'get_sum', 'mcp__everything__get_sum'];
  await sendSpans(
    server,
    sender,
    spellings.map((tool) => toolRun(tool)),
  );
  const [observation, ...others] = await all(server, `/v1/providers/${id}/observations`, server.admin);
  expect(others).toEqual([]);
  expect(observation).toMatchObject({ name: 'get-sum', occurrences: 3, unknown: false });
  expect(observation?.['evidence'].names.toSorted()).toEqual(spellings);
});
