import { expect, test } from 'vitest';
import { recordedUses } from '../reading/recorded-uses.ts';

test('promptlayer: reads models, tools and agents of the OpenAI Agents SDK', () => {
  expect(recordedUses('openai-agents-promptlayer')).toEqual({
    'model openai/gpt-5-mini-2026-01-01, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini, 21 + 8 tokens': 1,
    'tool get_weather': 1,
    'tool everything/echo': 1,
    'tool everything/get_sum': 1,
    'tool web_search at the vendor': 1,
    'agent weather_agent': 2,
    'agent umbrella_agent': 1,
  });
});
