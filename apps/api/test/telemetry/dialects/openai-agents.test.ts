import { expect, test } from 'vitest';
import { recordedUses } from './recorded-uses.ts';

test('openai-agents: agents are named by their graph node; handoffs and listed tools are not uses of tools', () => {
  expect(recordedUses('openai-agents')).toEqual({
    // The span of a response has only this name of the model.
    'model openai/gpt-5-mini-2026-01-01, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini, 21 + 8 tokens': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get_sum': 1,
    'tool web_search at the vendor': 1,
    'agent weather_agent': 3,
    'agent umbrella_agent': 1,
  });
});
