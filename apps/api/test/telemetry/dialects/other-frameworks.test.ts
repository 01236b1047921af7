import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans, recordedUses } from './recorded-uses.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from './source.ts';

// Two spans that report one call are two uses here. `calls` merges them.
test.each([
  [
    'tanstack-ai',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 3,
      'model openai/gpt-5-mini': 2,
      'model openai/text-embedding-3-small, 4 + 0 tokens': 1,
      'tool get_weather': 1,
      'tool echo': 1,
      'tool get-sum': 1,
    },
  ],
  [
    'openlit',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 5,
      'model openai/gpt-5-mini': 1,
      'model openai/text-embedding-3-small, 4 tokens': 1,
    },
  ],
  [
    'openai-openinference',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 4,
      'model openai/gpt-5-mini': 1,
      'model openai/text-embedding-3-small': 1,
      'tool web_search at the vendor': 1,
    },
  ],
  [
    'openai-opentelemetry',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 5,
      'model openai/gpt-5-mini': 1,
      'model openai/text-embedding-3-small, 4 tokens': 1,
    },
  ],
  [
    'openai-two-instrumentations',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 8,
      'model openai/gpt-5-mini': 1,
      'model openai/text-embedding-3-small': 1,
      'tool web_search at the vendor': 1,
    },
  ],
  [
    'openinference-mcp',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 3,
      'tool get_weather': 1,
      'tool echo': 1,
      'tool get-sum': 1,
      'agent weather_agent': 1,
    },
  ],
  [
    'langchain-openinference',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 4,
      'model openai/gpt-5-mini': 1,
      'tool get_weather': 1,
      'tool echo': 1,
      'tool get-sum': 1,
      'agent weather_agent': 1,
    },
  ],
  [
    'langchain-two-instrumentations',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 7,
      'model openai/gpt-5-mini': 2,
      'tool get_weather': 1,
      'tool echo': 1,
      'tool get-sum': 1,
      'agent weather_agent': 1,
    },
  ],
  [
    'openllmetry',
    {
      'model openai/gpt-5-mini, 21 + 8 tokens': 4,
      'model openai/gpt-5-mini': 1,
      'tool get_weather': 1,
      'tool echo': 2,
      'tool get-sum': 2,
      'agent weather_agent': 1,
      'agent forecast': 1,
    },
  ],
  ['llamaindex', { 'model openai/gpt-5-mini': 5 }],
])('%s', (name, uses) => {
  expect(recordedUses(name)).toEqual(uses);
});

test('openlit: a tool that a model only asks for is not a use', () => {
  const facts = recordedSpans('openlit').map((span) => readSpan(span).facts);
  expect(new Set(facts.map((one) => one?.tool))).toEqual(new Set([null]));
});

// The first is the form of LangWatch's SDK.
test.each([
  ['langwatch.metrics', { type: 'json', value: { promptTokens: 21, completionTokens: 8 } }],
  ['acme.usage', { input_tokens: 21, output_tokens: 8 }],
  ['acme.tokenUsage', { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29 }],
  ['acme.response.usage_metadata', { promptTokenCount: 21, candidatesTokenCount: 8 }],
  // Google's API, and Anthropic's
  ['acme.gemini.usage', { promptTokenCount: 21, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 29 }],
  [
    'acme.claude.usage',
    { input_tokens: 10, cache_read_input_tokens: 7, cache_creation_input_tokens: 4, output_tokens: 8 },
  ],
  // MLflow's token usage: of OpenAI's models, and of Anthropic's
  ['acme.tokenUsage', { input_tokens: 21, output_tokens: 8, total_tokens: 29, cache_read_input_tokens: 5 }],
  ['acme.tokenUsage', { input_tokens: 1, output_tokens: 8, total_tokens: 9, cache_read_input_tokens: 20 }],
])('reads tokens from the JSON text %s', (name, usage) => {
  const attributes = { 'acme.span.type': 'llm', 'gen_ai.request.model': 'gpt-5-mini', [name]: JSON.stringify(usage) };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
});

test.each([
  ['acme.llm.token_count.prompt', 'acme.llm.token_count.completion'],
  ['acme.tokenCount.input', 'acme.tokenCount.output'],
])('reads tokens from %s and %s', (input, output) => {
  const attributes = {
    'acme.span.kind': 'llm',
    'acme.llm.model_name': 'gpt-5-mini',
    [input]: 21,
    [output]: 8,
    'acme.llm.token_count.total': 29,
    'acme.llm.token_count.cache_read': 5,
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
});

// Judgment's SDK reports the parts of the input, and the vendor's own usage as JSON.
test('reads the input tokens from JSON if only the output tokens have an attribute, and the vendor from the span’s name', () => {
  const attributes = {
    'judgment.span_kind': 'llm',
    'judgment.llm.model': 'gpt-5-mini',
    'judgment.usage.non_cached_input_tokens': 16,
    'judgment.usage.cache_read_input_tokens': 5,
    'judgment.usage.output_tokens': 8,
    'judgment.usage.metadata': '{"prompt_tokens":21,"completion_tokens":8}',
  };
  expect(readSpan(source(attributes, 'OPENAI_API_CALL'))).toMatchObject({
    facts: { vendor: 'openai', inputTokens: 21, outputTokens: 8 },
    uses: [{ kind: 'model', name: 'gpt-5-mini' }],
  });
});

// Judgment's SDK (github.com/JudgmentLabs/judgeval, commit 0e6fac2b) and Basalt's (github.com/basalt-ai/basalt-python, commit 72a833e)
test.each(['judgment.span_kind', 'basalt.span.kind'])('a function that %s marks is no tool', (name) => {
  const usesOf = (kind: string) => readSpan(source({ [name]: kind }, 'parse_report')).uses;
  expect(usesOf('function')).toEqual([]);
  expect(usesOf('tool')).toEqual([{ kind: 'tool', name: 'parse_report' }]);
});

// github.com/microsoft/promptflow, src/promptflow-tracing/promptflow/tracing/_trace.py: the calls of the model are traced as well
test('a function that Prompt flow traces is no tool, and its call of a model counts', () => {
  const usesOf = (attributes: Attributes, name: string) =>
    readSpan(source({ framework: 'promptflow', ...attributes }, name, { scope: 'promptflow' })).uses;
  expect(usesOf({ span_type: 'Function', function: 'parse_report', inputs: '{}' }, 'parse_report')).toEqual([]);
  const completion = { span_type: 'LLM', 'llm.response.model': 'gpt-5-mini', 'llm.usage.prompt_tokens': 21 };
  expect(usesOf(completion, 'openai_chat')).toEqual([{ kind: 'model', name: 'gpt-5-mini' }]);
});

// Recorded from judgeval 1.2.1: `Tracer.observe` with `fork: true`
test.each([
  ['in its own trace', 'judgment.link.source_span_id', [{ kind: 'agent', name: 'sub_agent' }]],
  ['in the trace that called it', 'judgment.link.target_span_id', []],
])('judgment: the span of a forked agent %s', (_case, link, uses) => {
  const attributes = { 'judgment.span_kind': 'agent', [link]: '8989521329d3837f', 'judgment.input': '{}' };
  expect(readSpan(source(attributes, 'sub_agent', { scope: 'judgeval' })).uses).toEqual(uses);
});

test.each([
  ['anthropic.messages.create', 'anthropic'],
  ['AzureOpenAI.chat', 'azure.ai.openai'],
  ['OpenAI-completion', null],
  ['together we plan', null],
  ['weather.answer', null],
])('the vendor in the name of the model call %s is %s', (name, vendor) => {
  const attributes = { 'acme.model.name': 'some-model', 'acme.input_tokens': 21 };
  expect(readSpan(source(attributes, name)).facts).toMatchObject({ vendor });
});

test.each([
  ['acme.usage', '{"input_tokens":"many"}'],
  ['acme.usage', 'not JSON'],
  ['acme.usage', '{"value":null}'],
  ['acme.prompt', '{"input_tokens":21}'],
])('reads no tokens from %s, which is %s', (name, text) => {
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5-mini', [name]: text };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens: null, outputTokens: null });
});

test.each([
  ['more cached tokens than input: they are added', 'gen_ai.usage.cache_read.input_tokens', 900, 916],
  ['fewer: the input includes them', 'gen_ai.usage.cache_read.input_tokens', 5, 16],
  ['the older name', 'gen_ai.usage.cache_read_input_tokens', 900, 916],
  ['written to the cache', 'gen_ai.usage.cache_creation.input_tokens', 900, 916],
  ['of traceAI for Bedrock', 'gen_ai.usage.input_tokens.cache_read', 900, 916],
])('input tokens with cached ones, %s', (_case, name, cached, inputTokens) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.usage.input_tokens': 16,
    [name]: cached,
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens });
});

test.each([
  ['excludes', 29, 21],
  ['includes', 24, 16],
])('input that %s cached tokens by the total', (_case, total, inputTokens) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'amazon.nova-pro-v1:0',
    'gen_ai.usage.input_tokens': 16,
    'gen_ai.usage.output_tokens': 8,
    'gen_ai.usage.total_tokens': total,
    'gen_ai.usage.cache_read.input_tokens': 5,
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens, outputTokens: 8 });
});

// Made from recordings of OpenLLMetry's instrumentation of Vertex AI and of Laminar's of Google's client that are not kept.
test.each(['gen_ai.usage.total_tokens', 'llm.usage.total_tokens'])(
  '%s of a Gemini model shows reasoning tokens',
  (name) => {
    const attributes = {
      'gen_ai.system': 'Google',
      'llm.request.type': 'completion',
      'gen_ai.request.model': 'gemini-3-flash',
      'gen_ai.usage.prompt_tokens': 21,
      'gen_ai.usage.completion_tokens': 5,
      [name]: 29,
    };
    const span = source(attributes, 'vertexai.completion', { scope: '@traceloop/instrumentation-vertexai' });
    expect(readSpan(span).facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
  },
);

test('the cached tokens in the total of a Gemini model are not reasoning tokens as well', () => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gemini-3-flash',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.total_tokens': 118,
    'gen_ai.usage.cache_read.input_tokens': 100,
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens: 110, outputTokens: 8 });
});

test('the total of Bedrock shows cached tokens that are not reported', () => {
  const tokensOf = (vendor: string) =>
    readSpan(
      source({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': vendor,
        'gen_ai.request.model': 'amazon.nova-pro-v1:0',
        'gen_ai.usage.input_tokens': 16,
        'gen_ai.usage.output_tokens': 8,
        'gen_ai.usage.total_tokens': 29,
      }),
    ).facts;
  expect(tokensOf('aws.bedrock')).toMatchObject({ inputTokens: 21, outputTokens: 8 });
  expect(tokensOf('acme')).toMatchObject({ inputTokens: 16, outputTokens: 8 });
});

// Made from recordings of OpenLIT 1.15 that are not kept.
test.each([
  ['anthropic', 16, 8],
  ['bedrock', 16, 8],
  ['google-ai', 21, 5],
])('openlit: input of %s includes cached tokens, output includes reasoning tokens', (client, input, output) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': 5,
    'gen_ai.usage.reasoning_tokens': 3,
  };
  const span = source(attributes, 'chat claude-sonnet-5', { scope: `@openlit/instrumentation-${client}` });
  expect(readSpan(span)).toMatchObject({ dialect: 'openlit', facts: { inputTokens: 21, outputTokens: 8 } });
});

// Made from a recording of OpenLIT 1.15 with Google ADK 2.0 that is not kept.
test.each([
  ['google-adk', 'google_adk', []],
  ['google-adk', 'weather_agent', [{ kind: 'agent', name: 'weather_agent' }]],
  ['strands', 'google_adk', [{ kind: 'agent', name: 'google_adk' }]],
])('openlit: the runner of Google ADK is no agent (%s, %s)', (instrumentation, agent, uses) => {
  const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent };
  const scope = `@openlit/instrumentation-${instrumentation}`;
  expect(readSpan(source(attributes, `invoke_agent ${agent}`, { scope })).uses).toEqual(uses);
});

// Made from a recording of LangWatch 0.16 with LangChain that is not kept.
test.each([
  ['of OpenAI', { function_call: { tool_outputs: [{ type: 'web_search_call', id: 'ws_1' }] } }],
  ['of Anthropic', { function_call: { usage: { server_tool_use: { web_search_requests: 1 } } } }],
])('langwatch: a search %s is read in the lists of an answer', (_vendor, message) => {
  const value = [{ type: 'list', value: [{ type: 'json', value: { role: 'assistant', ...message } }] }];
  const attributes = {
    'langwatch.span.type': 'llm',
    'gen_ai.system': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'langwatch.output': JSON.stringify({ type: 'list', value }),
  };
  expect(readSpan(source(attributes)).uses).toEqual([
    { kind: 'model', name: 'claude-sonnet-5' },
    { kind: 'tool', name: 'web_search' },
  ]);
});

test('an answer of any depth is read', () => {
  const depth = 5000;
  const output = `${'{"value":['.repeat(depth)}"server_tool_use"${']}'.repeat(depth)}`;
  const attributes = { 'gen_ai.request.model': 'm', 'gen_ai.system': 'openai', 'acme.output': output };
  expect(readSpan(source(attributes)).uses).toEqual([{ kind: 'model', name: 'm' }]);
});

const SEARCH = { type: 'server_tool_call', id: 'srvtoolu_1', name: 'web_search', server_tool_call: {} };
const OF_AI_SDK = { type: 'tool-call', toolCallId: 'ws_1', toolName: 'web_search', input: {}, providerExecuted: true };
const MESSAGES = [{ role: 'assistant', finish_reason: 'stop', parts: [SEARCH, { type: 'text', content: 'Dry.' }] }];

test.each([
  ['a JSON text', JSON.stringify(MESSAGES)],
  ['a list', MESSAGES],
  ['messages of the Vercel AI SDK', JSON.stringify([{ role: 'assistant', content: [OF_AI_SDK] }])],
])('a tool that the vendor ran is read from gen_ai.output.messages as %s', (_form, messages) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.output.messages': messages,
  };
  expect(readSpan(source(attributes))).toMatchObject({
    facts: { toolRunsAt: 'vendor' },
    uses: [
      { kind: 'model', name: 'claude-sonnet-5' },
      { kind: 'tool', name: 'web_search' },
    ],
  });
});

test('a function is no tool of OpenAI, if a framework takes its name for the id of the call', () => {
  const partsOf = (...ids: string[]) => [{ parts: ids.map((id) => ({ type: 'tool_call', id, name: 'a_name' })) }];
  const usesOf = (messages: object) =>
    readSpan(source({ 'gen_ai.request.model': 'm', 'gen_ai.output.messages': JSON.stringify(messages) })).uses;
  expect(usesOf(partsOf('fs_read', 'ci_status', 'ig_1x'))).toEqual([{ kind: 'model', name: 'm' }]);
  expect(usesOf(partsOf('fs_68aa0c0d'))).toEqual([
    { kind: 'model', name: 'm' },
    { kind: 'tool', name: 'file_search' },
  ]);
});

test.each([
  [
    'judgment.output',
    {
      output: [
        { type: 'web_search_call', id: 'ws_1' },
        { type: 'message', content: [] },
      ],
    },
  ],
  ['acme.response', { content: [{ type: 'server_tool_use', name: 'web_search' }] }],
])('a tool that the vendor ran is read from the answer in %s', (name, answer) => {
  const attributes = { 'acme.span.type': 'llm', 'acme.model.name': 'gpt-5-mini', [name]: JSON.stringify(answer) };
  expect(readSpan(source(attributes, 'openai.responses'))).toMatchObject({
    facts: { vendor: 'openai', toolRunsAt: 'vendor' },
    uses: [
      { kind: 'model', name: 'gpt-5-mini' },
      { kind: 'tool', name: 'web_search' },
    ],
  });
});

// The items of OpenAI's Responses API, of Anthropic's MCP connector, of Azure's client, of Pydantic AI and of Google's Interactions API
test.each([
  [
    'acme.response',
    {
      output: [
        { type: 'mcp_list_tools', server_label: 'everything', tools: [{ name: 'echo' }] },
        { type: 'mcp_call', id: 'mcp_1', server_label: 'everything', name: 'echo' },
      ],
    },
  ],
  ['acme.response', { content: [{ type: 'mcp_tool_use', id: 'mcptoolu_1', server_name: 'everything', name: 'echo' }] }],
  [
    'gen_ai.output.messages',
    [{ parts: [{ type: 'tool_call', content: { type: 'mcp_call', server_label: 'everything', name: 'echo' } }] }],
  ],
  [
    'gen_ai.output.messages',
    [
      {
        parts: [
          { type: 'tool_call', builtin: true, name: 'mcp_server:everything', arguments: '{"action":"list_tools"}' },
          { type: 'tool_call', builtin: true, name: 'mcp_server:everything', arguments: { tool_name: 'echo' } },
        ],
      },
    ],
  ],
  ['acme.output', [{ type: 'mcp_server_tool_call', id: '1', server_name: 'everything', name: 'echo' }]],
])('a tool that the vendor called at an MCP server is read from the answer in %s', (name, answer) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'some-model',
    [name]: JSON.stringify(answer),
  };
  expect(readSpan(source(attributes)).uses).toEqual([
    { kind: 'model', name: 'some-model' },
    { kind: 'tool', name: 'mcp__everything__echo' },
  ]);
});

test('texts that cannot be the names of a server and its tool are not read from an answer', () => {
  const call = { type: 'mcp_call', server_label: 'everything', name: 'Jane Roe has hepatitis C' };
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'acme.output': JSON.stringify([call]),
  };
  expect(readSpan(source(attributes)).uses).toMatchObject([{ name: 'm' }, { name: 'server_tool' }]);
});

test('the messages of an agent repeat those of its model calls', () => {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'weather_agent',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.output.messages': JSON.stringify(MESSAGES),
  };
  expect(readSpan(source(attributes)).uses).toEqual([{ kind: 'agent', name: 'weather_agent' }]);
});

test.each([
  ['tool.failure_kind', 'plan_mode_blocked', []],
  ['acme.tool.status', 'denied', []],
  ['tool.failure_kind', 'tool_error', [{ kind: 'tool', name: 'deploy' }]],
  ['error.type', 'permission_denied', [{ kind: 'tool', name: 'deploy' }]],
])('a tool with %s %s was rejected, or counts', (name, status, uses) => {
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'deploy', [name]: status };
  expect(readSpan(source(attributes)).uses).toEqual(uses);
});

test('the span of an MCP server is no call, also if its kind does not say that it is a server', () => {
  const attributes = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'forecast' };
  expect(readSpan(source(attributes)).uses).toEqual([{ kind: 'tool', name: 'forecast' }]);
  const withClient = { ...attributes, 'client.address': '192.0.2.2' };
  expect(readSpan(source(withClient)).uses).toEqual([]);
  expect(readSpan(source(withClient, 'tools/call forecast', { kind: 'client' })).uses).toHaveLength(1);
});

test.each([
  ['gen_ai.tool.name', 'transfer_to_agent', []],
  ['mcp.server.name', 'callcenter', [{ kind: 'tool', name: 'transfer_to_agent' }]],
  ['mcp.method.name', 'tools/call', [{ kind: 'tool', name: 'transfer_to_agent' }]],
])('a tool that is called like a handoff, with %s %s', (name, value, uses) => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'transfer_to_agent',
    [name]: value,
  };
  expect(readSpan(source(attributes)).uses).toEqual(uses);
});

test('a model call with the id of an Azure run counts, also without tokens', () => {
  const attributes = { 'gen_ai.request.model': 'gpt-5', 'gen_ai.thread.run.id': 'run_1' };
  const usesOf = (operation: string) => readSpan(source({ ...attributes, 'gen_ai.operation.name': operation })).uses;
  expect(usesOf('chat')).toEqual([{ kind: 'model', name: 'gpt-5' }]);
  expect(usesOf('get_thread_run')).toEqual([]);
});

// eve 0.80.1 with a model of Anthropic. It calls its web search a tool of the framework.
test('eve: a tool call with an id of Anthropic is a tool of Anthropic', () => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'web_search',
    'gen_ai.tool.call.id': 'srvtoolu_b148a679f7bb4a4c8c3a4f8e',
    'agent.tool.is_framework': true,
  };
  const { facts, uses } = readSpan(source(attributes, 'execute_tool web_search', { scope: 'eve.agent' }));
  expect(facts).toMatchObject({ vendor: 'anthropic', toolRunsAt: 'vendor' });
  expect(uses).toEqual([{ kind: 'tool', name: 'web_search' }]);
});

// @microsoft/agents-a365-observability 1.0.0
test('the agent that calls another agent is not the agent that runs', () => {
  const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'microsoft.a365.caller.agent.name': 'planner' };
  expect(readSpan(source(attributes, 'invoke_agent', { scope: 'Agent365Sdk', kind: 'client' })).uses).toEqual([]);
});

test('the model and the tool of a framework called caller count', () => {
  const usesOf = (attributes: Record<string, string | number>) => readSpan(source(attributes, 'tool')).uses;
  expect(
    usesOf({ 'llm_caller.model': 'gpt-5', 'llm_caller.provider': 'openai', 'llm_caller.input_tokens': 3 }),
  ).toEqual([{ kind: 'model', name: 'gpt-5' }]);
  expect(usesOf({ 'caller.tool.name': 'deploy', 'caller.operation': 'execute_tool' })).toEqual([
    { kind: 'tool', name: 'deploy' },
  ]);
});

test.each([
  ['langgenius/openai/openai', 'openai'],
  ['langgenius/bedrock/bedrock', 'aws.bedrock'],
  // The form of an API, which many vendors have.
  ['langgenius/openai_api_compatible/openai_api_compatible', null],
  ['openai-compatible', null],
])('Dify: the vendor of %s', (provider, vendor) => {
  const attributes = {
    'gen_ai.span.kind': 'LLM',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.provider.name': provider,
  };
  expect(readSpan(source(attributes, 'LLM 2')).facts?.vendor).toBe(vendor);
});

// @juspay/neurolink 9.80.2
test('neurolink: a stream of Vertex AI with tokens is a call, and one without them has another span', () => {
  const attributes = {
    'gen_ai.operation.name': 'stream',
    'gen_ai.request.model': 'gemini-2.5-pro',
    'neurolink.provider': 'vertex',
  };
  const usesOf = (more: Record<string, number>) =>
    readSpan(source({ ...attributes, ...more }, 'neurolink.provider.stream', { scope: 'neurolink.provider' })).uses;
  expect(usesOf({ 'gen_ai.usage.output_tokens': 3 })).toEqual([{ kind: 'model', name: 'gemini-2.5-pro' }]);
  expect(usesOf({})).toEqual([]);
});

test.each([
  ['tool_github_create_issue', 'github_create_issue'],
  ['tool_aBcDeFgH_echo', 'echo'],
  ['tool_search', 'tool_search'],
  ['search', 'search'],
])('cloudflare-agents: the name of the tool %s', (written, tool) => {
  const attributes = { 'cloudflare.agents.operation.name': 'tool.call', 'gen_ai.tool.name': written };
  expect(readSpan(source({ ...attributes, 'gen_ai.operation.name': 'execute_tool' })).facts?.tool).toBe(tool);
});

test('calls of a vendor’s tool with an empty id are as many as the answer lists', () => {
  const parts = [1, 2].map(() => ({ type: 'server_tool_call', id: '', name: 'web_search' }));
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5' };
  const answer = JSON.stringify([{ role: 'assistant', parts }]);
  expect(readSpan(source({ ...attributes, 'gen_ai.output.messages': answer })).uses).toContainEqual({
    kind: 'tool',
    name: 'web_search',
    times: 2,
  });
});

// Confident AI's attributes (github.com/confident-ai/deepeval, deepeval/tracing/otel/attributes.py)
test('reads the tokens of attributes that count tokens in the singular', () => {
  const attributes = {
    'confident.span.type': 'llm',
    'confident.span.provider': 'openai',
    'confident.llm.model': 'gpt-5-mini',
    'confident.llm.input_token_count': 21,
    'confident.llm.output_token_count': 8,
  };
  expect(readSpan(source(attributes))).toMatchObject({
    facts: { vendor: 'openai', model: 'gpt-5-mini', inputTokens: 21, outputTokens: 8 },
    uses: [{ kind: 'model', name: 'gpt-5-mini' }],
  });
});

test.each([
  ['a request by HTTP that HoneyHive marks as a tool is no tool', 'instrumentation.httpx', {}, []],
  ['a span of HoneyHive is a tool', 'honeyhive.140234866534672', {}, ['lookup']],
  ['a span that is marked by HoneyHive and by its sender is a tool', 'acme', { 'acme.span.kind': 'TOOL' }, ['lookup']],
])('%s', (_title, scope, own, tools) => {
  const { uses } = readSpan(source({ honeyhive_event_type: 'tool', ...own }, 'lookup', { scope }));
  expect(uses).toEqual(tools.map((name) => ({ kind: 'tool', name })));
});

test('the model of a request that MLflow records is read for calls of models alone', () => {
  const read = (type: string) =>
    readSpan(source({ 'mlflow.spanType': `"${type}"`, 'mlflow.spanInputs': '{"model":"gpt-5-mini"}' })).uses;
  expect(read('CHAT_MODEL')).toEqual([{ kind: 'model', name: 'gpt-5-mini' }]);
  expect(['AGENT', 'CHAIN', 'PARSER', 'UNKNOWN'].flatMap(read).filter(({ kind }) => kind === 'model')).toEqual([]);
});

// What gateways write: developers.cloudflare.com/ai-gateway/observability/otel-integration, developer.konghq.com/ai-gateway/llm-open-telemetry,
// github.com/alibaba/higress (plugins/wasm-go/extensions/ai-statistics), github.com/apache/apisix (apisix/plugins/opentelemetry.lua)
test.each([
  [
    "Cloudflare's AI Gateway",
    {
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.model.provider': 'openai',
      'gen_ai.usage.input_tokens': 21,
      'gen_ai.usage.output_tokens': 8,
      'gen_ai.usage.cost': 0.1,
    },
    'openai',
  ],
  [
    'Kong, whose span names the tool that the model asks for',
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.tool.name': 'get_weather',
      'gen_ai.tool.call.id': 'call_1',
      'gen_ai.usage.input_tokens': 21,
      'gen_ai.usage.output_tokens': 8,
    },
    'openai',
  ],
  [
    'Higress',
    {
      'gen_ai.span.kind': 'LLM',
      'gen_ai.model_name': 'gpt-5-mini',
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.usage.input_tokens': '21',
      'gen_ai.usage.output_tokens': '8',
    },
    null,
  ],
  [
    'APISIX, with variables as additional attributes',
    { llm_model: 'gpt-5-mini', llm_prompt_tokens: '21', llm_completion_tokens: '8', 'apisix.route_id': '1' },
    null,
  ],
])('a gateway calls a model once: %s', (_title, attributes, vendor) => {
  expect(readSpan(source(attributes, 'request', { kind: 'client' }))).toMatchObject({
    facts: { vendor, model: 'gpt-5-mini', inputTokens: 21, outputTokens: 8 },
    uses: [{ kind: 'model', name: 'gpt-5-mini' }],
  });
});
