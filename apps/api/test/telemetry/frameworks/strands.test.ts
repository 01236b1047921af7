import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test.each(['strands', 'strands-latest'])(
  '%s: the service is not a vendor, and the span of an agent does not count its model',
  (name) => {
    expect(recordedUses(name)).toEqual({
      'model gpt-5-mini, 21 + 8 tokens': 4,
      'model gpt-5-mini': 1,
      'tool get_weather': 1,
      'tool echo': 1,
      'tool get-sum': 1,
      'agent weather_agent': 1,
      'agent failing_agent': 1,
    });
  },
);

// Made from sdk-typescript's src/telemetry/tracer.ts (startMultiAgentSpan), not recorded.
test('strands: several agents at once are a workflow, named by its id', () => {
  const attributes = {
    'gen_ai.operation.name': 'invoke_graph',
    'gen_ai.agent.name': 'graph',
    'gen_ai.agent.id': 'forecast',
    'gen_ai.event.start_time': '2026-11-22T10:00:00.000Z',
  };
  const { uses } = readSpan(source(attributes, 'invoke_graph forecast', { scope: 'weather-service' }));
  expect(uses).toEqual([{ kind: 'agent', name: 'forecast' }]);
});

// Made from sdk-python's src/strands/telemetry/tracer.py, not recorded.
test('strands: reads spans of the Python version', () => {
  const attributes = {
    'gen_ai.system': 'strands-agents',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'us.anthropic.claude-sonnet-5',
  };
  expect(readSpan(source(attributes, 'chat', { scope: 'strands.telemetry.tracer' }))).toMatchObject({
    dialect: 'strands',
    facts: { vendor: null, model: 'us.anthropic.claude-sonnet-5' },
  });
});
