import { describe, expect, test } from 'vitest';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedLogs, recordedSpans } from './recorded-uses.ts';
import { source } from './source.ts';

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
  ['acme.llm.tokens_in', 'acme.llm.tokens_out'],
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

const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5-mini' };
const COUNTED = { ...CHAT, 'gen_ai.usage.input_tokens': 21, 'gen_ai.usage.output_tokens': 8 };
const NAMES_OF_OPENINFERENCE = {
  'openinference.span.kind': 'LLM',
  'llm.model_name': 'gpt-5-mini',
  'llm.token_count.prompt': 21,
  'llm.token_count.completion': 8,
  'llm.token_count.prompt_details.cache_read': 5,
  'llm.token_count.prompt_details.cache_write': 2,
  'llm.token_count.completion_details.reasoning': 3,
};

describe('the parts of the input and of the output', () => {
  test.each([
    [
      'OpenTelemetry',
      {
        ...COUNTED,
        'gen_ai.usage.cache_read.input_tokens': 5,
        'gen_ai.usage.cache_creation.input_tokens': 2,
        'gen_ai.usage.reasoning.output_tokens': 3,
      },
    ],
    ['OpenInference', NAMES_OF_OPENINFERENCE],
    [
      'Vercel’s AI SDK',
      {
        'ai.operationId': 'ai.generateText.doGenerate',
        'ai.model.id': 'gpt-5-mini',
        'ai.usage.inputTokens': 21,
        'ai.usage.outputTokens': 8,
        'ai.usage.inputTokenDetails.cacheReadTokens': 5,
        'ai.usage.inputTokenDetails.cacheWriteTokens': 2,
        'ai.usage.outputTokenDetails.reasoningTokens': 3,
      },
    ],
    [
      'Langfuse',
      {
        'langfuse.observation.type': 'generation',
        'langfuse.observation.model.name': 'gpt-5-mini',
        'langfuse.observation.usage_details': JSON.stringify({
          input: 14,
          input_cache_read: 5,
          input_cache_creation: 2,
          output: 5,
          output_reasoning: 3,
        }),
      },
    ],
    [
      'LangSmith',
      {
        ...COUNTED,
        'langsmith.span.kind': 'llm',
        'gen_ai.usage.input_token_details': '{"cache_read":5,"cache_creation":2}',
        'gen_ai.usage.output_token_details': '{"reasoning":3}',
      },
    ],
    [
      'Anthropic’s usage as JSON',
      {
        ...CHAT,
        'acme.usage': JSON.stringify({
          input_tokens: 14,
          cache_read_input_tokens: 5,
          cache_creation_input_tokens: 2,
          output_tokens: 5,
          thoughtsTokenCount: 3,
        }),
      },
    ],
  ])('are read from the attributes of %s', (_framework, attributes) => {
    expect(readSpan(source(attributes)).facts).toMatchObject({
      inputTokens: 21,
      outputTokens: 8,
      cacheReadTokens: 5,
      cacheWriteTokens: 2,
      reasoningTokens: 3,
    });
  });

  // The recorded answers report 5 cached tokens and 3 of reasoning.
  test.each(['codex', 'gemini-cli', 'langgraph-langsmith', 'mastra', 'openai-agents', 'opencode', 'vercel-ai-6'])(
    'are in the recording of %s',
    (recording) => {
      const spans = recordedSpans(recording).map(readSpan);
      const records = recordedLogs(recording).map(readLogRecord);
      const withTokens = [...spans, ...records].filter(
        ({ facts, uses, tokensOf }) =>
          facts?.inputTokens === 21 && [...uses, tokensOf].some((use) => use?.kind === 'model'),
      );
      const exact = withTokens.filter(({ facts }) => facts?.cacheReadTokens === 5 && facts.reasoningTokens === 3);
      expect(exact.length).toBeGreaterThan(withTokens.length / 2);
    },
  );

  test('never exceed the whole, and are not known without it', () => {
    const parts = { 'gen_ai.usage.cache_read.input_tokens': 5, 'gen_ai.usage.reasoning.output_tokens': 30 };
    expect(readSpan(source({ ...CHAT, ...parts })).facts).toMatchObject({
      cacheReadTokens: null,
      reasoningTokens: null,
    });
    expect(readSpan(source({ ...COUNTED, ...parts })).facts).toMatchObject({ cacheReadTokens: 5, reasoningTokens: 8 });
  });

  test('of a Gemini model are shown by the total', () => {
    const attributes = { ...COUNTED, 'gen_ai.request.model': 'gemini-3-flash', 'gen_ai.usage.total_tokens': 32 };
    expect(readSpan(source(attributes)).facts).toMatchObject({ outputTokens: 11, reasoningTokens: 3 });
  });
});
