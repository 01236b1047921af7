import { expect, test } from 'vitest';
import { recordedUses } from '../reading/recorded-uses.ts';

test('ax: tools come from the names of spans, tokens from an event, with any scope', () => {
  expect(recordedUses('ax')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 3,
    'model openai/gpt-5-mini': 1,
    'model openai/text-embedding-3-small, 4 + 0 tokens': 1,
    'tool get_weather': 1,
  });
});
