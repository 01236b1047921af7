import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('langfuse: reads models, tools and the agent of LangGraph', () => {
  expect(recordedUses('langgraph-langfuse')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get-sum': 1,
    'agent weather_agent': 1,
  });
});

test('langfuse: a wrapped OpenAI client names the vendor and the operation in the name of the span', () => {
  expect(recordedUses('openai-langfuse')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 1,
    'model openai/gpt-5-mini-2026-01-01, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini': 1,
    'model openai/text-embedding-3-small-2026-01-01': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get-sum': 1,
    'agent weather_agent': 1,
  });
  const operations = recordedSpans('openai-langfuse').map((span) => readSpan(span).facts?.operation);
  expect(operations.filter((operation) => operation === 'embeddings')).toHaveLength(1);
});

test.each([
  ['AzureOpenAI.chat', 'azure.ai.openai'],
  ['weather.answer', null],
])('langfuse: a generation that is named %s has the vendor %s', (name, vendor) => {
  const generation = { 'langfuse.observation.type': 'generation', 'langfuse.observation.model.name': 'gpt-5-mini' };
  expect(readSpan(source(generation, name)).facts).toMatchObject({ vendor });
});

test('langfuse: reads the requested and the answering model, and a failure that only the level shows', () => {
  const calls = recordedSpans('langgraph-langfuse').map((span) => ({
    status: span.status.code,
    ...readSpan(span).facts,
  }));
  const models = calls.filter(({ operation }) => operation === 'chat');
  const succeeded = models.filter(({ errorType }) => errorType === null);
  expect(new Set(succeeded.map(({ model, responseModel }) => `${model} ${responseModel}`))).toEqual(
    new Set(['gpt-5-mini gpt-5-mini-2026-01-01']),
  );
  expect(models.filter(({ errorType }) => errorType !== null)).toMatchObject([
    { status: 'unset', errorType: '_OTHER' },
  ]);
});

test('langfuse: reports input without cached tokens, which are added', () => {
  const usage = { input: 16, output: 5, total: 29, input_cache_read: 5, output_reasoning: 3 };
  const { facts } = readSpan(
    source({
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'gpt-5-mini',
      'langfuse.observation.usage_details': JSON.stringify(usage),
    }),
  );
  expect(facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
});

// Made from langfuse-python's langfuse/_client/span.py, not recorded: its decorators name what they observe.
test.each([
  ['agent', { operation: 'invoke_agent', agent: 'weather_agent' }, [{ kind: 'agent', name: 'weather_agent' }]],
  ['tool', { operation: 'execute_tool', tool: 'weather_agent' }, [{ kind: 'tool', name: 'weather_agent' }]],
  ['chain', { operation: null }, []],
])('langfuse: an observation of type %s', (type, facts, uses) => {
  const reading = readSpan(source({ 'langfuse.observation.type': type, 'session.id': 's' }, 'weather_agent'));
  expect(reading).toMatchObject({ dialect: 'langfuse', facts, uses });
});

test("langfuse: reads the observations that a program makes with Langfuse's SDK", () => {
  expect(recordedUses('langfuse-sdk')).toEqual({
    'model gpt-5-mini, 21 + 8 tokens': 1,
    'model gpt-5-mini': 1,
    'model claude-sonnet-5, 21 + 8 tokens': 1,
    // The client of Anthropic has spans of its own.
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 1,
    'model text-embedding-3-small, 4 tokens': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool failing_tool': 1,
    'agent weather_agent': 1,
  });
});

test.each([
  ['of OpenAI chats', { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29 }],
  ['of OpenAI responses', { input_tokens: 21, output_tokens: 8, total_tokens: 29 }],
  ['of Anthropic', { input_tokens: 16, output_tokens: 8, cache_read_input_tokens: 5, cache_creation_input_tokens: 0 }],
  ['of Langfuse', { input: 16, output: 5, input_cache_read: 5, output_reasoning: 3, total: 29 }],
])('langfuse: reads the usage in the spelling %s', (_whose, usage) => {
  const attributes = {
    'langfuse.observation.type': 'generation',
    'langfuse.observation.model.name': 'gpt-5-mini',
    'langfuse.observation.usage_details': JSON.stringify(usage),
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
});

test("langfuse: LangChain's client of DeepSeek names OpenAI as the vendor, and its own package", () => {
  const metadata = 'langfuse.observation.metadata';
  const { facts } = readSpan(
    source({
      'langfuse.observation.type': 'generation',
      [`${metadata}.ls_provider`]: 'openai',
      [`${metadata}.ls_model_name`]: 'deepseek-chat',
      [`${metadata}.versions`]: '{"@langchain/openai":"1.5.13","@langchain/deepseek":"1.1.13"}',
    }),
  );
  expect(facts).toMatchObject({ vendor: 'deepseek', model: 'deepseek-chat' });
});

test.each([
  ['queued', 'OpenAI.responses', []],
  ['in_progress', 'OpenAI.responses', []],
  ['completed', 'OpenAI.responses', [{ kind: 'model', name: 'gpt-5' }]],
  ['queued', 'answer', [{ kind: 'model', name: 'gpt-5' }]],
])('langfuse: a background response counts when it is complete: %s %s', (status, name, uses) => {
  const generation = {
    'langfuse.observation.type': 'generation',
    'langfuse.observation.model.name': 'gpt-5',
    'langfuse.observation.metadata.status': status,
  };
  expect(readSpan(source(generation, name)).uses).toEqual(uses);
});
