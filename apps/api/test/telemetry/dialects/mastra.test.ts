import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans, recordedUses } from './recorded-uses.ts';

test('mastra: MCP tools at their server, the vendor’s search at the vendor, a sub-agent as a tool that delegates', () => {
  expect(recordedUses('mastra')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 7,
    'model openai/gpt-5-mini': 1,
    'tool get_weather': 1,
    'tool everything/everything_echo': 1,
    'tool everything/everything_get-sum': 1,
    'tool web_search at the vendor': 1,
    // Counts only if no agent's span is inside it.
    'tool agent-umbrella_agent': 1,
    'agent weather_agent': 3,
    'agent search_agent': 1,
    'agent umbrella_agent': 1,
  });
});

test('mastra with OtelBridge: a span for all requests of a run, and one for each inside it', () => {
  expect(recordedUses('mastra-bridge')).toEqual({
    'model openai/gpt-5-mini, 84 + 32 tokens': 1,
    'model openai/gpt-5-mini, 21 + 8 tokens': 3,
    // The steps, and the outer span of the run that failed
    'model openai/gpt-5-mini': 8 + 1,
    'tool get_weather': 1,
    'tool everything/everything_echo': 1,
    'tool everything/everything_get-sum': 1,
    'tool web_search at the vendor': 1,
    // Counts only if no agent's span is inside it.
    'tool agent-umbrella_agent': 1,
    'agent weather_agent': 3,
    'agent search_agent': 1,
    'agent umbrella_agent': 1,
  });
});

test('mastra: a failed request to the model ends as ok, and is known by its finish reason', () => {
  const errors = recordedSpans('mastra').map((span) => ({ status: span.status.code, ...readSpan(span).facts }));
  expect(errors.filter(({ operation, errorType }) => operation === 'chat' && errorType !== null)).toMatchObject([
    { status: 'ok', model: 'gpt-5-mini', errorType: 'error' },
  ]);
});
