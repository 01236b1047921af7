import { expect, test } from 'vitest';
import { recordedUses } from '../reading/recorded-uses.ts';

test('aws-distro: searches of the vendors count, and a run without a name is no agent', () => {
  expect(recordedUses('aws-distro')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 6,
    // The refused request. Two spans of the AI SDK report it, as they do for a streamed answer.
    'model openai/gpt-5-mini': 2,
    'model openai/gpt-5-mini-2026-01-01, 21 + 8 tokens': 3,
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 4,
    'tool get_weather': 3,
    'tool echo': 1,
    'tool get-sum': 1,
    'tool web_search at the vendor': 3,
    'agent travel_agent': 3,
    'agent weather_agent': 1,
    'agent umbrella_agent': 1,
    'agent claude_agent': 1,
  });
});
