import { describe, expect, test } from 'vitest';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { expectRead, type Row } from './genai-row.ts';
import { span } from './wire.ts';

const rows: { [name: string]: Row } = {
  'a chat names its model': {
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.conversation.id': 'conv_1',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 180,
      'server.address': 'API.OpenAI.com',
      'server.port': 443,
      'error.type': 'timeout',
    },
    facts: {
      operation: 'chat',
      vendor: 'openai',
      model: 'gpt-4o',
      responseModel: 'gpt-4o-2024-08-06',
      conversationId: 'conv_1',
      inputTokens: 100,
      outputTokens: 180,
      serverAddress: 'api.openai.com',
      serverPort: 443,
      errorType: 'timeout',
    },
    uses: [{ kind: 'model', name: 'gpt-4o' }],
  },
  "the response's model is read if there is no request model": {
    attributes: { 'gen_ai.operation.name': 'embeddings', 'gen_ai.response.model': 'text-embedding-3-small' },
    facts: { operation: 'embeddings', model: 'text-embedding-3-small', responseModel: 'text-embedding-3-small' },
    uses: [{ kind: 'model', name: 'text-embedding-3-small' }],
  },
  'a chat in the name of an agent counts its model alone': {
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'gen_ai.agent.name': 'planner' },
    facts: { operation: 'chat', model: 'm', agent: 'planner' },
    uses: [{ kind: 'model', name: 'm' }],
  },
  "a remote agent's invocation names its agent and its model": {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'planner',
      'gen_ai.agent.id': 'asst_1',
      'gen_ai.request.model': 'm',
    },
    facts: { operation: 'invoke_agent', agent: 'planner', agentId: 'asst_1', model: 'm' },
    uses: [
      { kind: 'agent', name: 'planner' },
      { kind: 'model', name: 'm' },
    ],
  },
  'an agent of this process repeats its model: the calls in it count, it does not': {
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'planner',
      'gen_ai.request.model': 'm',
    },
    facts: { operation: 'invoke_agent', agent: 'planner', model: 'm' },
    uses: [{ kind: 'agent', name: 'planner' }],
  },
  'an agent without a name counts by its id': {
    attributes: { 'gen_ai.operation.name': 'create_agent', 'gen_ai.agent.id': 'asst_1' },
    facts: { operation: 'create_agent', agentId: 'asst_1' },
    uses: [{ kind: 'agent', name: 'asst_1' }],
  },
  'a tool execution names its tool, not the model that asked for it': {
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_weather',
      'gen_ai.tool.type': 'function',
      'gen_ai.request.model': 'm',
    },
    facts: { operation: 'execute_tool', tool: 'get_weather', model: 'm' },
    uses: [{ kind: 'tool', name: 'get_weather' }],
  },
  'a workflow counts as an agent, and not the model that it repeats': {
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'support',
      'gen_ai.request.model': 'm',
    },
    facts: { operation: 'invoke_workflow', workflow: 'support', model: 'm' },
    uses: [{ kind: 'agent', name: 'support' }],
  },
  'a chat in the name of a workflow counts its model alone': {
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'gen_ai.workflow.name': 'support' },
    facts: { operation: 'chat', model: 'm', workflow: 'support' },
    uses: [{ kind: 'model', name: 'm' }],
  },
  'a managed prompt counts beside the model': {
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.prompt.name': 'analyze-code',
    },
    facts: { operation: 'chat', model: 'm', prompt: 'analyze-code' },
    uses: [
      { kind: 'model', name: 'm' },
      { kind: 'prompt', name: 'analyze-code' },
    ],
  },
  'an operation of another name is kept, and its model counts': {
    attributes: { 'gen_ai.operation.name': 'rerank', 'gen_ai.request.model': 'm' },
    facts: { operation: 'rerank', model: 'm' },
    uses: [{ kind: 'model', name: 'm' }],
  },
  'a span from before operation names counts by what it names': {
    attributes: { 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-4', 'gen_ai.usage.prompt_tokens': 5 },
    facts: { vendor: 'openai', model: 'gpt-4', inputTokens: 5 },
    uses: [{ kind: 'model', name: 'gpt-4' }],
  },
  'an MCP tool call of a client names its tool': {
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'get-weather',
      'mcp.session.id': 's',
      'server.address': 'mcp.example.com',
    },
    facts: {
      operation: 'execute_tool',
      mcpMethod: 'tools/call',
      tool: 'get-weather',
      serverAddress: 'mcp.example.com',
    },
    uses: [{ kind: 'tool', name: 'get-weather' }],
  },
  'a tool execution that carries the MCP attributes counts once': {
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'get-weather',
    },
    facts: { operation: 'execute_tool', mcpMethod: 'tools/call', tool: 'get-weather' },
    uses: [{ kind: 'tool', name: 'get-weather' }],
  },
  "an MCP server's span is read and counts as nothing": {
    kind: 'server',
    attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'get-weather' },
    facts: { operation: 'execute_tool', mcpMethod: 'tools/call', tool: 'get-weather' },
    uses: [],
  },
  'an MCP prompt is a prompt': {
    attributes: { 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'analyze-code' },
    facts: { mcpMethod: 'prompts/get', prompt: 'analyze-code' },
    uses: [{ kind: 'prompt', name: 'analyze-code' }],
  },
  'an MCP resource is a resource': {
    attributes: { 'mcp.method.name': 'resources/read', 'mcp.resource.uri': 'postgres://database/customers/schema' },
    facts: { mcpMethod: 'resources/read', mcpResource: 'postgres://database/customers/schema' },
    uses: [{ kind: 'resource', name: 'postgres://database/customers/schema' }],
  },
  'an MCP listing uses nothing': {
    attributes: { 'mcp.method.name': 'tools/list' },
    facts: { mcpMethod: 'tools/list' },
    uses: [],
  },
};

test.each(Object.entries(rows))('%s', (_name, row) => expectRead(row));

test.each<[string, Attributes]>([
  ['of HTTP', { 'http.request.method': 'GET', 'server.address': 'api.openai.com', 'error.type': '500' }],
  ['of a database', { 'db.system.name': 'postgresql', 'server.port': 5432 }],
  ['with a tool.name outside of OpenInference', { 'tool.name': 'hammer', 'agent.name': 'Smith' }],
  ['with a session.id of a browser', { 'session.id': 's' }],
  ['of an OpenLLMetry task', { 'traceloop.span.kind': 'task', 'traceloop.entity.name': 'step' }],
  ['of an OpenInference chain', { 'openinference.span.kind': 'CHAIN' }],
  ['with metadata that is not of a LangChain run', { 'openinference.span.kind': 'CHAIN', metadata: '{"user":"u"}' }],
  ['with metadata that is not an object', { 'openinference.span.kind': 'CHAIN', metadata: '["lc_agent_name"]' }],
  ['with metadata that is not JSON', { 'openinference.span.kind': 'CHAIN', metadata: '{"lc_agent_name":"planner"' }],
  ['with metadata that is not a text', { 'openinference.span.kind': 'CHAIN', metadata: { lc_agent_name: 'planner' } }],
  [
    'with names of LangChain that are not strings',
    { 'openinference.span.kind': 'CHAIN', metadata: '{"lc_agent_name":["planner"],"ls_provider":" "}' },
  ],
  [
    'with metadata that is too long to be parsed',
    { 'openinference.span.kind': 'CHAIN', metadata: `{"lc_agent_name":"planner","more":"${'x'.repeat(65_536)}"}` },
  ],
  ['with metadata of another kind', { metadata: '{"lc_agent_name":"planner","ls_provider":"openai"}' }],
  ['with names that are not strings', { 'gen_ai.request.model': 5, 'gen_ai.tool.name': ['a'], 'mcp.method.name': {} }],
  ['with names that are blank', { 'gen_ai.request.model': '', 'gen_ai.tool.name': ' ', 'gen_ai.provider.name': '' }],
  ['without attributes', {}],
])('a span %s is no GenAI span', (_name, attributes) => {
  expect(readSpan(span({ attributes })).facts).toBeNull();
});

describe('the provider', () => {
  test.each([
    ['az.ai.openai', 'azure.ai.openai'],
    ['az.ai.inference', 'azure.ai.inference'],
    ['vertex_ai', 'gcp.vertex_ai'],
    ['gemini', 'gcp.gemini'],
    ['xai', 'x_ai'],
    ['OpenAI', 'openai'],
    ['MistralAI', 'mistral_ai'],
    ['aws.bedrock', 'aws.bedrock'],
    ['Our Own Gateway', 'Our Own Gateway'],
  ])('%s of gen_ai.system is %s', (older, provider) => {
    expect(readSpan(span({ attributes: { 'gen_ai.system': older } })).facts?.vendor).toBe(provider);
  });

  test('gen_ai.provider.name comes before the older attributes, and its value is canonicalized', () => {
    const attributes = { 'gen_ai.provider.name': 'gemini', 'gen_ai.system': 'openai', 'llm.system': 'cohere' };
    expect(readSpan(span({ attributes })).facts?.vendor).toBe('gcp.gemini');
  });

  test('_OTHER is ignored, and the next attribute decides', () => {
    const attributes: Attributes = { 'gen_ai.system': '_OTHER', 'gen_ai.request.model': 'm' };
    expect(readSpan(span({ attributes })).facts?.vendor).toBeNull();
    expect(readSpan(span({ attributes: { ...attributes, 'llm.system': 'cohere' } })).facts?.vendor).toBe('cohere');
  });
});

test('names are truncated to 256 characters, never inside a character', () => {
  const attributes = { 'gen_ai.request.model': 'x'.repeat(300), 'gen_ai.tool.name': `${'x'.repeat(255)}😀` };
  const genAi = readSpan(span({ attributes })).facts;
  expect(genAi?.model).toBe('x'.repeat(256));
  expect(genAi?.tool).toHaveLength(256);
  expect(genAi?.tool?.isWellFormed()).toBe(true);
});

// Regression: names with invisible characters or wildcards were observed unchanged, and could be granted.
test.each([
  ['gpt\u200b-5', 'gpt\\u{200b}-5'],
  ['gpt\u202e5-', 'gpt\\u{202e}5-'],
  ['gpt-5\u{e0041}', 'gpt-5\\u{e0041}'],
  ['gpt\u00a05', 'gpt\\u{a0}5'],
  ['gpt\n5', 'gpt\\u{a}5'],
  [' gpt 5  ', '\\u{20}gpt 5\\u{20}\\u{20}'],
  ['*', '\\u{2a}'],
  ['openai/*', 'openai/\\u{2a}'],
  ['gpt\\u{200b}-5', 'gpt\\u{5c}u{200b}-5'],
  ['App\\Tools\\user', 'App\\Tools\\user'],
  ['gpt-*', 'gpt-*'],
])('invisible characters in the name %j are escaped, and different names stay different', (said, name) => {
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': said, 'gen_ai.provider.name': said };
  expectRead({
    attributes,
    facts: { operation: 'chat', model: name, vendor: name },
    uses: [{ kind: 'model', name }],
  });
});

test('a name that becomes longer when it is escaped is truncated again, without a space at its end', () => {
  const attributes = { 'gen_ai.request.model': `${'\u200b'.repeat(31)}${'x'.repeat(7)} y` };
  const name = `${'\\u{200b}'.repeat(31)}${'x'.repeat(7)}`;
  expectRead({ attributes, facts: { model: name }, uses: [{ kind: 'model', name }] });
});

test.each([[-1], [1.5], ['1.5'], [' 12'], [Number.MAX_VALUE], [true]])(
  '%j is not accepted as a token count or port',
  (value) => {
    const attributes = { 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': value, 'server.port': value };
    expect(readSpan(span({ attributes })).facts).toMatchObject({ inputTokens: null, serverPort: null });
  },
);

test.each([0, 65_536])('%i is not accepted as a port', (port) => {
  expect(
    readSpan(span({ attributes: { 'gen_ai.request.model': 'm', 'server.port': port } })).facts?.serverPort,
  ).toBeNull();
});

test('digits in a text are a token count, because Micrometer writes every value as a text', () => {
  const attributes = { 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': '12', 'server.port': '443' };
  expect(readSpan(span({ attributes })).facts).toMatchObject({ inputTokens: 12, serverPort: 443 });
});
