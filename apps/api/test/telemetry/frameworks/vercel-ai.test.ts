import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

const CALLS = {
  'model openai/gpt-5-mini, 21 + 8 tokens': 6,
  // The request that failed
  'model openai/gpt-5-mini': 1,
  'tool get_weather': 1,
  'tool echo': 1,
  'tool get-sum': 1,
  'agent weather_agent': 5,
};

const EMBEDDING = { 'model openai/text-embedding-3-small, 4 tokens': 1 };
const SEARCH = { 'tool web_search at the vendor': 1 };

test.each([
  // No span of version 4 contains the search.
  ['vercel-ai-4', { ...CALLS, ...EMBEDDING }],
  ['vercel-ai-5', { ...CALLS, ...EMBEDDING, ...SEARCH }],
  ['vercel-ai-6', { ...CALLS, ...EMBEDDING, ...SEARCH }],
  ['vercel-ai-7-legacy', { ...CALLS, ...EMBEDDING, ...SEARCH }],
  // Both spans of an embedding report a request to the model. One is inside the other.
  ['vercel-ai-7', { ...CALLS, ...EMBEDDING, ...SEARCH, 'model openai/text-embedding-3-small': 1 }],
  [
    'vercel-ai-7-laminar',
    // The outer spans repeat the model, as clients do.
    { ...CALLS, ...SEARCH, 'model openai/gpt-5-mini': 6, 'model openai/text-embedding-3-small': 1 },
  ],
  ['vercel-ai-7-openinference', { ...CALLS, ...EMBEDDING, ...SEARCH, 'model openai/text-embedding-3-small': 1 }],
])('%s: each request to a model and each tool call, models at their vendor', (recording, uses) => {
  expect(recordedUses(recording)).toEqual(uses);
});

test.each(['vercel-ai-4', 'vercel-ai-5', 'vercel-ai-6', 'vercel-ai-7-legacy'])(
  '%s: the outer span names the agent by its function id',
  (recording) => {
    const outer = recordedSpans(recording).filter(({ name }) => name === 'ai.generateText');
    for (const { facts } of outer.map(readSpan)) {
      expect(facts).toMatchObject({ operation: 'invoke_agent', agent: 'weather_agent', model: 'gpt-5-mini' });
    }
  },
);

const PROVIDERS = [
  ['openai.chat', 'openai'],
  ['openai.responses', 'openai'],
  ['openai.embedding', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['azure-openai.chat', 'azure.ai.openai'],
  ['google.vertex.interactions', 'gcp.vertex_ai'],
  ['googleVertex.xai.chat', 'gcp.vertex_ai'],
  ['vertex.maas.chat', 'gcp.vertex_ai'],
  ['azure.deepseek', 'azure.ai.inference'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock.anthropic.messages', 'aws.bedrock'],
  ['bedrock-mantle.responses', 'aws.bedrock'],
  ['xai.video', 'x_ai'],
  ['openai.speech-translation', 'openai'],
  ['anthropic.decision', 'anthropic'],
  ['mistral.conversation', 'mistral_ai'],
  ['vercel.chat', 'vercel'],
  ['mistral.chat', 'mistral_ai'],
  ['my-company.chat', 'my-company'],
] as const;

test.each(PROVIDERS)('ai.model.provider %s is the vendor %s', (provider, vendor) => {
  const read = readSpan(
    doGenerate({ 'ai.model.provider': provider, 'ai.model.id': 'some-model', 'gen_ai.system': provider }),
  );
  expect(read.facts?.vendor).toBe(vendor);
});

const ANTHROPIC_USAGE = {
  input_tokens: 21,
  output_tokens: 8,
  cache_read_input_tokens: 10,
  cache_creation_input_tokens: 5,
};
const GOOGLE_USAGE = { promptTokenCount: 21, candidatesTokenCount: 8, thoughtsTokenCount: 12, totalTokenCount: 41 };

test.each([
  ['version 4, Anthropic', { anthropic: { cacheReadInputTokens: 10, cacheCreationInputTokens: 5 } }, [36, 8]],
  ['version 4, Bedrock', { bedrock: { usage: { cacheReadInputTokens: 10, cacheWriteInputTokens: 5 } } }, [36, 8]],
  ['version 5, Anthropic', { anthropic: { usage: ANTHROPIC_USAGE, cacheCreationInputTokens: 5 } }, [36, 8]],
  ['version 5, Google', { google: { usageMetadata: GOOGLE_USAGE } }, [21, 20]],
])('%s: the metadata of an answer has tokens that the attributes leave out', (_, metadata, [input, output]) => {
  const { facts } = readSpan(
    doGenerate({
      'ai.model.id': 'some-model',
      'ai.usage.promptTokens': 21,
      'ai.usage.completionTokens': 8,
      'ai.response.providerMetadata': JSON.stringify(metadata),
    }),
  );
  expect(facts).toMatchObject({ inputTokens: input, outputTokens: output });
});

test('version 6: tokens in the metadata of an answer are not added to numbers that include them', () => {
  const { facts } = readSpan(
    doGenerate({
      'ai.model.id': 'some-model',
      'ai.usage.inputTokens': 36,
      'ai.usage.outputTokens': 20,
      'ai.response.providerMetadata': JSON.stringify({
        anthropic: { usage: ANTHROPIC_USAGE, cacheCreationInputTokens: 5 },
        google: { usageMetadata: GOOGLE_USAGE },
      }),
    }),
  );
  expect(facts).toMatchObject({ inputTokens: 36, outputTokens: 20 });
});

test('version 5: the total shows reasoning tokens that the output excludes', () => {
  const { facts } = readSpan(
    doGenerate({
      'ai.model.id': 'some-model',
      'ai.usage.inputTokens': 21,
      'ai.usage.outputTokens': 8,
      'ai.usage.reasoningTokens': 12,
      'ai.usage.totalTokens': 41,
    }),
  );
  expect(facts).toMatchObject({ inputTokens: 21, outputTokens: 20 });
});

test('version 7: a transcription has the names of the vendor for its tokens', () => {
  const attributes = { 'ai.operationId': 'ai.transcribe', 'ai.model.id': 'gpt-4o-transcribe' };
  const tokens = { 'ai.usage.input_tokens': 4, 'ai.usage.output_tokens': 3 };
  expect(readSpan(doGenerate({ ...attributes, ...tokens })).facts).toMatchObject({ inputTokens: 4, outputTokens: 3 });
});

test('a provider tool that the application runs does not belong to the vendor', () => {
  const read = readSpan(
    doGenerate({
      'ai.model.provider': 'anthropic.messages',
      'ai.model.id': 'claude-sonnet-5',
      'ai.prompt.tools': [
        '{"type":"provider","name":"shell","id":"anthropic.bash_20250124","args":{}}',
        '{"type":"provider","name":"find","id":"anthropic.web_search_20250305","args":{}}',
      ],
      'ai.response.toolCalls': '[{"toolName":"shell"},{"toolName":"find"},{"toolName":"find"},null]',
    }),
  );
  expect(read.uses).toEqual([
    { kind: 'model', name: 'claude-sonnet-5' },
    { kind: 'tool', name: 'web_search', times: 2 },
  ]);
  expect(read.facts).toMatchObject({ vendor: 'anthropic', tool: 'web_search', toolRunsAt: 'vendor' });
});

// Made from recordings of AI SDK 6.0.324 and 7.0.173 that are not kept.
test.each([
  ['openai', '[{"toolCallId":"mcp_1","toolName":"mcp.echo"}]', 'mcp__everything__echo'],
  ['anthropic', '[{"toolCallId":"mcptoolu_1","toolName":"echo"}]', 'echo'],
])('a tool that %s calls at an MCP server counts', (vendor, calls, tool) => {
  const { uses } = readSpan(
    doGenerate({
      'ai.model.provider': vendor,
      'ai.model.id': 'some-model',
      'ai.response.toolCalls': calls,
      'ai.prompt.tools': ['{"type":"provider","name":"mcp","id":"openai.mcp","args":{"serverLabel":"everything"}}'],
    }),
  );
  expect(uses).toEqual([
    { kind: 'model', name: 'some-model' },
    { kind: 'tool', name: tool },
  ]);
});

test('vercel-ai-7: a tool that OpenAI calls at an MCP server belongs to the server', () => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'mcp.echo',
    'gen_ai.tool.type': 'extension',
    'gen_ai.tool.call.result': '{"type":"call","serverLabel":"everything","name":"echo"}',
  };
  const { facts, uses } = readSpan(source(attributes, 'execute_tool mcp.echo', { scope: 'gen_ai' }));
  expect(uses).toEqual([{ kind: 'tool', name: 'echo' }]);
  expect(facts?.toolServer).toBe('everything');
});

function doGenerate(attributes: Attributes) {
  return {
    name: 'ai.generateText.doGenerate',
    kind: 'internal' as const,
    scope: { name: 'ai', version: null, attributes: {} },
    resource: {},
    attributes: { 'ai.operationId': 'ai.generateText.doGenerate', ...attributes },
  };
}

test.each([
  source(
    { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.model.provider': 'gateway', 'ai.model.id': 'openai/gpt-5' },
    'ai.generateText.doGenerate',
    { scope: 'ai' },
  ),
  source(
    { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'gateway', 'gen_ai.request.model': 'openai/gpt-5' },
    'chat openai/gpt-5',
    { scope: 'gen_ai', kind: 'client' },
  ),
])("vercel-ai: the vendor `gateway` is Vercel's AI Gateway, $scope.name", (span) => {
  expect(readSpan(span)).toMatchObject({
    facts: { vendor: 'vercel_ai_gateway', model: 'openai/gpt-5' },
    uses: [{ kind: 'model', name: 'openai/gpt-5' }],
  });
});

test('vercel-ai: tokens and searches of Anthropic and Google', () => {
  expect(recordedUses('vercel-ai-6-vendors')).toMatchObject({
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 5,
    'model gcp.gemini/gemini-3-flash, 21 + 8 tokens': 5,
    'tool web_search at the vendor': 2,
    'tool google_search at the vendor': 2,
  });
});

test('vercel-ai-7: the metadata of the answer shows a search of Gemini', () => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.request.model': 'gemini-3-flash',
    'ai.response.providerMetadata': JSON.stringify({
      google: { groundingMetadata: { webSearchQueries: ['weather'] } },
    }),
  };
  const { uses } = readSpan(source(attributes, 'chat gemini-3-flash', { scope: 'gen_ai', kind: 'client' }));
  expect(uses).toEqual([
    { kind: 'model', name: 'gemini-3-flash' },
    { kind: 'tool', name: 'google_search' },
  ]);
});
