import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';

test('anthropic-sdk: each request to a model and each tool is a use; counting tokens is not', () => {
  expect(recordedSpans('anthropic-sdk').map(({ name }) => name)).toContain('anthropic.messages.count_tokens');
  expect(recordedUses('anthropic-sdk')).toEqual({
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 5,
    'model anthropic/claude-sonnet-5': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get-sum': 1,
    'tool web_search at the vendor': 1,
  });
});

test('anthropic-sdk: a refused request has the type of the error', () => {
  const errors = recordedSpans('anthropic-sdk').map((span) => readSpan(span).facts?.errorType);
  expect(errors.filter((error) => error != null)).toEqual(['permission_error']);
});
