import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('google-adk: the framework is not a vendor, “merged tools” is not a tool, and output includes thinking', () => {
  expect(recordedUses('google-adk')).toEqual({
    'model gemini-3-flash, 21 + 8 tokens': 4,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get-sum': 1,
    'agent weather_agent': 1,
    'agent streaming_agent': 1,
    'agent failing_agent': 1,
  });
});

test('google-adk: ADK-TS writes the agent into the name of its span', () => {
  expect(recordedUses('iqai-adk')).toEqual({
    'model gpt-5-mini': 4,
    'tool get_weather': 1,
    'tool echo': 1,
    'agent weather_agent': 1,
    'agent failing_agent': 1,
  });
});

// Made from adk-python's src/google/adk/telemetry/tracing.py, not recorded.
test('google-adk: the Python version writes tool calls without an id', () => {
  const { facts } = readSpan(
    source(
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'get_weather',
        'gen_ai.tool.call.id': '<not specified>',
      },
      'execute_tool get_weather',
      { scope: 'gcp.vertex.agent' },
    ),
  );
  expect(facts).toMatchObject({ tool: 'get_weather', callId: null, vendor: null });
});

// @google/adk 2.0.0 sets the attributes when the tool has answered.
test('google-adk: the span of a tool that failed has only its name', () => {
  const { uses } = readSpan(source({}, 'execute_tool get_weather', { scope: 'gcp.vertex.agent' }));
  expect(uses).toEqual([{ kind: 'tool', name: 'get_weather' }]);
});
