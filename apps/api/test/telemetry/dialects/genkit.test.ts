import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans, recordedUses } from './recorded-uses.ts';

test('genkit: vendors and MCP servers come from the names of actions, tokens from the output', () => {
  expect(recordedUses('genkit')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini': 1,
    'model openai/text-embedding-3-small': 1,
    'tool get_weather': 1,
    'tool everything/echo': 1,
    'tool everything/get-sum': 1,
    'agent forecast': 1,
    'agent weather_agent': 1,
  });
});

test('genkit: spans around a request to the model do not report it', () => {
  const generate = recordedSpans('genkit').filter(({ name }) => name === 'generate');
  expect(generate.length).toBeGreaterThan(0);
  expect(generate.map((span) => readSpan(span).facts)).toEqual(generate.map(() => null));
});
