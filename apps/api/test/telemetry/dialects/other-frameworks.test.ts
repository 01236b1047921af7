import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans, recordedUses } from './recorded-uses.ts';

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
