import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans, recordedUses } from './recorded-uses.ts';
import { source } from './source.ts';

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
  ['amazon-bedrock', 'aws.bedrock'],
  ['mistral.chat', 'mistral_ai'],
  ['my-company.chat', 'my-company'],
] as const;

test.each(PROVIDERS)('ai.model.provider %s is the vendor %s', (provider, vendor) => {
  const read = readSpan(
    doGenerate({ 'ai.model.provider': provider, 'ai.model.id': 'some-model', 'gen_ai.system': provider }),
  );
  expect(read.facts?.vendor).toBe(vendor);
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

function doGenerate(attributes: Record<string, string | string[]>) {
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
