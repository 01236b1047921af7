import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('langsmith: reads models, tools and the agent; a streamed call has no span', () => {
  expect(recordedUses('langgraph-langsmith')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get-sum': 1,
    'tool web_search at the vendor': 1,
    'agent weather_agent': 1,
  });
});

test('langsmith: a failed call has status ok, and is recognized by its exception', () => {
  const failed = recordedSpans('langgraph-langsmith')
    .map((span) => ({ status: span.status.code, ...readSpan(span).facts }))
    .filter(({ errorType }) => errorType !== null);
  expect(failed).toMatchObject([{ status: 'ok', model: 'gpt-5-mini', errorType: 'Error' }]);
});

// Made from python/langsmith/_internal/otel/_otel_exporter.py, not recorded: Python's runs of LangChain have spans too.
test.each([
  ['retriever', { 'gen_ai.operation.name': 'embeddings', 'gen_ai.system': 'langchain' }, []],
  ['prompt', { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5-mini' }, []],
  [
    'embedding',
    { 'gen_ai.request.model': 'text-embedding-3-small' },
    [{ kind: 'model', name: 'text-embedding-3-small' }],
  ],
])('langsmith: a run of type %s', (kind, attributes, uses) => {
  const reading = readSpan(source({ 'langsmith.span.kind': kind, ...attributes }, 'run', { scope: 'langsmith' }));
  expect(reading).toMatchObject({ dialect: 'langsmith', uses });
});

// Made from @orq-ai/node 4.15.11, langchain/span-builder.mjs, which writes spans as LangSmith does.
test.each([
  ['get_weather', [{ kind: 'tool', name: 'get_weather' }]],
  ['Ask Jane Roe whether she still has hepatitis C', []],
])('langsmith: a tool without a name is named after its span, %s', (name, uses) => {
  const attributes = {
    'langsmith.span.kind': 'tool',
    'langsmith.trace.name': name,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.system': 'langchain',
    'gen_ai.serialized.name': 'DynamicStructuredTool',
  };
  expect(readSpan(source(attributes, name, { scope: 'langsmith' }))).toMatchObject({ dialect: 'langsmith', uses });
});

// Made from what wrapGemini of langsmith 0.12.0 sends.
test.each([
  [29, 8],
  [26, 5],
])('langsmith: with a total of %i tokens, an output of 5 with 3 reasoning tokens is %i', (total, outputTokens) => {
  const attributes = {
    'langsmith.span.kind': 'llm',
    'gen_ai.request.model': 'gemini-3-flash',
    'gen_ai.usage.input_tokens': 21,
    'gen_ai.usage.output_tokens': 5,
    'langsmith.usage_metadata': JSON.stringify({ total_tokens: total, output_token_details: { reasoning: 3 } }),
  };
  expect(readSpan(source(attributes, 'run', { scope: 'langsmith' })).facts).toMatchObject({ outputTokens });
});

// What wrapAISDK of langsmith 0.12.0 sends of streamed answers: the calls have lost their type.
test.each([
  [{ name: 'web_search', times: 2 }, { anthropic: { usage: { server_tool_use: { web_search_requests: 2 } } } }],
  [{ name: 'google_search' }, { google: { groundingMetadata: { webSearchQueries: ['weather', 'rain'] } } }],
])('langsmith: the metadata of a streamed answer shows $name', (tool, providerMetadata) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'langsmith.span.kind': 'llm',
    'gen_ai.completion': JSON.stringify({ content: 'dry', role: 'assistant', tool_calls: [], providerMetadata }),
  };
  const { uses } = readSpan(source(attributes, 'anthropic.messages', { scope: 'langsmith' }));
  expect(uses).toEqual([
    { kind: 'model', name: 'm' },
    { kind: 'tool', ...tool },
  ]);
});

// What wrapAnthropic of langsmith 0.12.0 sends of a stream inside `traceable`.
test.each([
  ['weather_agent', [{ kind: 'agent', name: 'weather_agent' }]],
  ['ChatAnthropic', []],
])('langsmith: a streamed call that is written into the span %s', (name, agents) => {
  const attributes = {
    'langsmith.span.kind': 'llm',
    'langsmith.trace.name': 'ChatAnthropic',
    'langsmith.metadata.lc_agent_name': 'weather_agent',
    'langsmith.metadata.ls_provider': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
  };
  const { uses } = readSpan(source(attributes, name, { scope: 'langsmith' }));
  expect(uses).toEqual([{ kind: 'model', name: 'claude-sonnet-5' }, ...agents]);
});
