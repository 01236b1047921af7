import { describe, expect, test } from 'vitest';
import type { Attributes, OtlpSpan } from '../../src/otlp/span.ts';
import { type GenAi, readGenAi, type Subject, subjectsOf } from '../../src/traces/genai.ts';
import { span } from './wire.ts';

type Row = {
  attributes: Attributes;
  kind?: OtlpSpan['kind'];
  /** Fields that are not null; every other one must be. */
  genAi: Partial<GenAi>;
  subjects: Subject[];
};

const NOTHING: GenAi = {
  operation: null,
  provider: null,
  model: null,
  responseModel: null,
  agent: null,
  agentId: null,
  tool: null,
  prompt: null,
  workflow: null,
  mcpResource: null,
  mcpMethod: null,
  conversationId: null,
  inputTokens: null,
  outputTokens: null,
  serverAddress: null,
  serverPort: null,
  errorType: null,
};

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
    genAi: {
      operation: 'chat',
      provider: 'openai',
      model: 'gpt-4o',
      responseModel: 'gpt-4o-2024-08-06',
      conversationId: 'conv_1',
      inputTokens: 100,
      outputTokens: 180,
      serverAddress: 'api.openai.com',
      serverPort: 443,
      errorType: 'timeout',
    },
    subjects: [{ kind: 'model', name: 'gpt-4o' }],
  },
  "the response's model stands in for a request model that is absent": {
    attributes: { 'gen_ai.operation.name': 'embeddings', 'gen_ai.response.model': 'text-embedding-3-small' },
    genAi: { operation: 'embeddings', model: 'text-embedding-3-small', responseModel: 'text-embedding-3-small' },
    subjects: [{ kind: 'model', name: 'text-embedding-3-small' }],
  },
  'a chat in the name of an agent counts its model alone': {
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'gen_ai.agent.name': 'planner' },
    genAi: { operation: 'chat', model: 'm', agent: 'planner' },
    subjects: [{ kind: 'model', name: 'm' }],
  },
  'an agent invocation names its agent and its model': {
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'planner',
      'gen_ai.agent.id': 'asst_1',
      'gen_ai.request.model': 'm',
    },
    genAi: { operation: 'invoke_agent', agent: 'planner', agentId: 'asst_1', model: 'm' },
    subjects: [
      { kind: 'agent', name: 'planner' },
      { kind: 'model', name: 'm' },
    ],
  },
  'an agent without a name counts by its id': {
    attributes: { 'gen_ai.operation.name': 'create_agent', 'gen_ai.agent.id': 'asst_1' },
    genAi: { operation: 'create_agent', agentId: 'asst_1' },
    subjects: [{ kind: 'agent', name: 'asst_1' }],
  },
  'a tool execution names its tool, not the model that asked for it': {
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_weather',
      'gen_ai.tool.type': 'function',
      'gen_ai.request.model': 'm',
    },
    genAi: { operation: 'execute_tool', tool: 'get_weather', model: 'm' },
    subjects: [{ kind: 'tool', name: 'get_weather' }],
  },
  'a workflow is read and counts as nothing': {
    attributes: { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': 'support' },
    genAi: { operation: 'invoke_workflow', workflow: 'support' },
    subjects: [],
  },
  'a managed prompt counts beside the model': {
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.prompt.name': 'analyze-code',
    },
    genAi: { operation: 'chat', model: 'm', prompt: 'analyze-code' },
    subjects: [
      { kind: 'model', name: 'm' },
      { kind: 'prompt', name: 'analyze-code' },
    ],
  },
  'an operation of another name is kept, and its model counts': {
    attributes: { 'gen_ai.operation.name': 'rerank', 'gen_ai.request.model': 'm' },
    genAi: { operation: 'rerank', model: 'm' },
    subjects: [{ kind: 'model', name: 'm' }],
  },
  'a span from before operation names counts by what it names': {
    attributes: { 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-4', 'gen_ai.usage.prompt_tokens': 5 },
    genAi: { provider: 'openai', model: 'gpt-4', inputTokens: 5 },
    subjects: [{ kind: 'model', name: 'gpt-4' }],
  },
  'an MCP tool call of a client names its tool': {
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'get-weather',
      'mcp.session.id': 's',
      'server.address': 'mcp.example.com',
    },
    genAi: {
      operation: 'execute_tool',
      mcpMethod: 'tools/call',
      tool: 'get-weather',
      serverAddress: 'mcp.example.com',
    },
    subjects: [{ kind: 'tool', name: 'get-weather' }],
  },
  'a tool execution that carries the MCP attributes counts once': {
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'get-weather',
    },
    genAi: { operation: 'execute_tool', mcpMethod: 'tools/call', tool: 'get-weather' },
    subjects: [{ kind: 'tool', name: 'get-weather' }],
  },
  "an MCP server's span is read and counts as nothing": {
    kind: 'server',
    attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'get-weather' },
    genAi: { operation: 'execute_tool', mcpMethod: 'tools/call', tool: 'get-weather' },
    subjects: [],
  },
  'an MCP prompt is a prompt': {
    attributes: { 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'analyze-code' },
    genAi: { mcpMethod: 'prompts/get', prompt: 'analyze-code' },
    subjects: [{ kind: 'prompt', name: 'analyze-code' }],
  },
  'an MCP resource is a resource': {
    attributes: { 'mcp.method.name': 'resources/read', 'mcp.resource.uri': 'postgres://database/customers/schema' },
    genAi: { mcpMethod: 'resources/read', mcpResource: 'postgres://database/customers/schema' },
    subjects: [{ kind: 'resource', name: 'postgres://database/customers/schema' }],
  },
  'an MCP listing uses nothing': {
    attributes: { 'mcp.method.name': 'tools/list' },
    genAi: { mcpMethod: 'tools/list' },
    subjects: [],
  },
  'OpenInference: a model call': {
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gpt-4o',
      'llm.provider': 'azure',
      'llm.system': 'openai',
      'llm.token_count.prompt': 10,
      'llm.token_count.completion': 15,
      'session.id': 'sess',
    },
    genAi: {
      operation: 'chat',
      provider: 'azure.ai.openai',
      model: 'gpt-4o',
      inputTokens: 10,
      outputTokens: 15,
      conversationId: 'sess',
    },
    subjects: [{ kind: 'model', name: 'gpt-4o' }],
  },
  'OpenInference: an embedding': {
    attributes: { 'openinference.span.kind': 'EMBEDDING', 'embedding.model_name': 'ada' },
    genAi: { operation: 'embeddings', model: 'ada' },
    subjects: [{ kind: 'model', name: 'ada' }],
  },
  'OpenInference: a tool': {
    attributes: { 'openinference.span.kind': 'TOOL', 'tool.name': 'WeatherAPI', 'tool.parameters': '{}' },
    genAi: { operation: 'execute_tool', tool: 'WeatherAPI' },
    subjects: [{ kind: 'tool', name: 'WeatherAPI' }],
  },
  'OpenInference: an agent': {
    attributes: { 'openinference.span.kind': 'AGENT', 'agent.name': 'researcher' },
    genAi: { operation: 'invoke_agent', agent: 'researcher' },
    subjects: [{ kind: 'agent', name: 'researcher' }],
  },
  'OpenLLMetry: a model call': {
    attributes: {
      'llm.request.type': 'completion',
      'gen_ai.system': 'Anthropic',
      'gen_ai.request.model': 'claude-2',
      'gen_ai.usage.prompt_tokens': 3,
      'gen_ai.usage.completion_tokens': 4,
      'traceloop.entity.name': 'not_a_name_of_this_span',
    },
    genAi: {
      operation: 'text_completion',
      provider: 'anthropic',
      model: 'claude-2',
      inputTokens: 3,
      outputTokens: 4,
    },
    subjects: [{ kind: 'model', name: 'claude-2' }],
  },
  'OpenLLMetry: a tool': {
    attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search' },
    genAi: { operation: 'execute_tool', tool: 'search' },
    subjects: [{ kind: 'tool', name: 'search' }],
  },
  'OpenLLMetry: an agent': {
    attributes: { 'traceloop.span.kind': 'agent', 'traceloop.entity.name': 'planner' },
    genAi: { operation: 'invoke_agent', agent: 'planner' },
    subjects: [{ kind: 'agent', name: 'planner' }],
  },
  'OpenLLMetry: a workflow': {
    attributes: { 'traceloop.span.kind': 'workflow', 'traceloop.entity.name': 'joke' },
    genAi: { operation: 'invoke_workflow', workflow: 'joke' },
    subjects: [],
  },
};

test.each(Object.entries(rows))('%s', (_name, { attributes, kind = 'client', genAi, subjects }) => {
  const read = span({ attributes, kind });
  const actual = readGenAi(read);
  expect(actual).toEqual({ ...NOTHING, ...genAi });
  expect(actual && subjectsOf(read, actual)).toEqual(subjects);
});

test.each<[string, Attributes]>([
  ['of HTTP', { 'http.request.method': 'GET', 'server.address': 'api.openai.com', 'error.type': '500' }],
  ['of a database', { 'db.system.name': 'postgresql', 'server.port': 5432 }],
  ['with a tool.name that is no OpenInference tool', { 'tool.name': 'hammer', 'agent.name': 'Smith' }],
  ['with a session.id of a browser', { 'session.id': 's' }],
  ['of an OpenLLMetry task', { 'traceloop.span.kind': 'task', 'traceloop.entity.name': 'step' }],
  ['of an OpenInference chain', { 'openinference.span.kind': 'CHAIN' }],
  ['with names that are not strings', { 'gen_ai.request.model': 5, 'gen_ai.tool.name': ['a'], 'mcp.method.name': {} }],
  ['with names that are blank', { 'gen_ai.request.model': '', 'gen_ai.tool.name': ' ', 'gen_ai.provider.name': '' }],
  ['without attributes', {}],
])('a span %s is no GenAI span', (_name, attributes) => {
  expect(readGenAi(span({ attributes }))).toBeNull();
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
    expect(readGenAi(span({ attributes: { 'gen_ai.system': older } }))?.provider).toBe(provider);
  });

  test('gen_ai.provider.name is taken as it is, before the older names', () => {
    const attributes = { 'gen_ai.provider.name': 'gemini', 'gen_ai.system': 'openai', 'llm.system': 'cohere' };
    expect(readGenAi(span({ attributes }))?.provider).toBe('gemini');
  });

  test('_OTHER is no name: the next attribute decides', () => {
    const attributes: Attributes = { 'gen_ai.system': '_OTHER', 'gen_ai.request.model': 'm' };
    expect(readGenAi(span({ attributes }))?.provider).toBeNull();
    expect(readGenAi(span({ attributes: { ...attributes, 'llm.system': 'cohere' } }))?.provider).toBe('cohere');
  });
});

test('names are cut at 256 characters, never inside a character', () => {
  const attributes = { 'gen_ai.request.model': 'x'.repeat(300), 'gen_ai.tool.name': `${'x'.repeat(255)}😀` };
  const genAi = readGenAi(span({ attributes }));
  expect(genAi?.model).toBe('x'.repeat(256));
  expect(genAi?.tool).toHaveLength(256);
  expect(genAi?.tool?.isWellFormed()).toBe(true);
});

test.each([[-1], [1.5], ['12'], [Number.MAX_VALUE], [true]])('%j is no token count and no port', (value) => {
  const attributes = { 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': value, 'server.port': value };
  expect(readGenAi(span({ attributes }))).toMatchObject({ inputTokens: null, serverPort: null });
});

test.each([0, 65_536])('%i is no port', (port) => {
  expect(readGenAi(span({ attributes: { 'gen_ai.request.model': 'm', 'server.port': port } }))?.serverPort).toBeNull();
});
