import { expect, test } from 'vitest';
import { recordedUses } from '../reading/recorded-uses.ts';

test('logfire: a span that is sent when it begins is not counted, whatever instrumentation made it', () => {
  expect(recordedUses('openai-logfire')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get-sum': 1,
    'agent weather_agent': 1,
  });
});
