import { expect, test } from 'vitest';
import { recordedUses } from './recorded-uses.ts';

test('ax: tools by the name of their spans, under any scope', () => {
  expect(recordedUses('ax')).toEqual({
    'model openai/gpt-5-mini': 4,
    'model openai/text-embedding-3-small': 1,
    'tool get_weather': 1,
  });
});
