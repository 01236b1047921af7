import { expect, test } from 'vitest';
import { recordedUses } from '../reading/recorded-uses.ts';

test('beeai: the several events of a call are one use, the final answer is none', () => {
  expect(recordedUses('beeai')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 3,
    'model openai/gpt-5-mini': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'agent ToolCallingAgent': 1,
  });
});
