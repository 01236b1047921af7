import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from '../reading/source.ts';

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
  ['openai:gpt-5-mini', null, 'gpt-5-mini', 'openai'],
  ['mistral:mistral-small-latest', null, 'mistral-small-latest', 'mistral_ai'],
  ['huggingface:openai/gpt-oss-20b', null, 'openai/gpt-oss-20b', 'huggingface'],
  ['openai:gpt-5-mini', 'openai', 'gpt-5-mini', 'openai'],
  // Models of Ollama, with their tags
  ['mistral:7b', null, 'mistral:7b', null],
  ['mistral:latest', null, 'mistral:latest', null],
  ['qwen:v1.5', null, 'qwen:v1.5', null],
  ['mistral:mistral-small', 'ollama', 'mistral:mistral-small', 'ollama'],
  ['acme:gpt-5-mini', null, 'acme:gpt-5-mini', null],
  ['anthropic.claude-3-haiku-20240307-v1:0', null, 'anthropic.claude-3-haiku-20240307-v1:0', null],
])('the model %s at %s is %s of %s', (written, provider, model, vendor) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': written,
    ...(provider !== null && { 'gen_ai.provider.name': provider }),
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ model, vendor });
});

// The second is a turn of Trigger.dev (npm @trigger.dev/sdk 4.8.3), whose calls of models have spans of their own.
test.each([
  ['chat gpt-5-mini', 'client', { 'gen_ai.provider.name': 'openai' }, ['gpt-5-mini']],
  ['chat action', 'internal', { 'gen_ai.usage.input_tokens': 21 }, []],
  ['chat about Zoe', 'client', { 'gen_ai.provider.name': 'openai' }, []],
] as const)('the span %s of the kind %s without the attribute of a model', (name, kind, own, models) => {
  const { uses } = readSpan(source({ 'gen_ai.operation.name': 'chat', ...own }, name, { kind }));
  expect(uses).toEqual(models.map((model) => ({ kind: 'model', name: model })));
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
