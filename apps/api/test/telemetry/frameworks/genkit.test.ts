import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';

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

test("genkit: input and output tokens include what Anthropic and Google count separately, and the answers name the vendors' tools", () => {
  expect(recordedUses('genkit-vendors')).toMatchObject({
    'model gcp.gen_ai/gemini-3-flash, 21 + 8 tokens': 5,
    'model anthropic/claude-sonnet-4-5, 21 + 8 tokens': 5,
    'tool google_search at the vendor': 1,
    'tool web_search at the vendor': 1,
  });
});

test('genkit: spans around a request to the model do not report it', () => {
  const generate = recordedSpans('genkit').filter(({ name }) => name === 'generate');
  expect(generate.length).toBeGreaterThan(0);
  expect(generate.map((span) => readSpan(span).facts)).toEqual(generate.map(() => null));
});
