import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';

test('voltagent: reads agents and sub-agents, and the delegated task as a delegating tool', () => {
  expect(recordedUses('voltagent')).toEqual({
    // One span represents all requests of a run.
    'model gpt-5-mini': 5,
    'tokens of model gpt-5-mini, 84 + 32 tokens': 1,
    'tokens of model gpt-5-mini, 21 + 8 tokens': 3,
    'tool get_weather': 1,
    // Counts only if no agent's span is inside it.
    'tool delegate_task': 1,
    'tool everything_echo': 1,
    'tool everything_get-sum': 1,
    'agent weather_agent': 1,
    'agent search_agent': 1,
    'agent umbrella_agent': 3,
  });
});

test('voltagent: calls inside a sub-agent belong to the sub-agent', () => {
  const spans = recordedSpans('voltagent');
  const own = spans.find(({ name }) => name === 'subagent:umbrella_agent');
  const inside = spans.filter(({ parentSpanId }) => own !== undefined && parentSpanId === own.spanId);
  expect(inside.length).toBeGreaterThan(0);
  expect(inside.map((span) => readSpan(span).facts?.agent)).toEqual(inside.map(() => 'umbrella_agent'));
});

test('voltagent: a model of the model router has its provider as prefix', () => {
  const read = readSpan({
    name: 'llm:generateText',
    kind: 'client',
    scope: { name: '@voltagent/core', version: null, attributes: {} },
    resource: {},
    attributes: { 'span.type': 'llm', 'llm.model': 'google/gemini-3-flash', 'llm.provider': 'google' },
  });
  expect(read.facts).toMatchObject({ vendor: 'gcp.gen_ai', model: 'gemini-3-flash' });
});
