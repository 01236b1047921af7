import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test("datadog: the vendor is that of the client library if its address is not the vendor's own", () => {
  expect(recordedUses('datadog')).toMatchObject({
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 1,
    'model gcp.gen_ai/gemini-3-flash, 21 + 8 tokens': 1,
    'model openai/text-embedding-3-small, 4 + 0 tokens': 1,
  });
});

// Made from a recording of dd-trace 6.21 with AI SDK 7 that is not kept.
test.each([
  ['weather_agent', 'generateText', ['weather_agent']],
  ['weather_agent', 'streamText', ['weather_agent']],
  ['weather_agent', 'embed', []],
  ['generateText', 'generateText', []],
])('datadog: the function id of the AI SDK is an agent: %s of %s', (name, method, agents) => {
  const attributes = {
    component: 'ai_tracing_vercel_telemetry',
    'operation.name': method,
    'ai.request.model': 'claude-sonnet-5',
    'ai.request.model_provider': 'anthropic',
    'gen_ai.operation.name': 'workflow',
  };
  const { uses } = readSpan(source(attributes, name, { scope: 'dd-trace-js' }));
  expect(uses).toEqual(agents.map((agent) => ({ kind: 'agent', name: agent })));
});

// Made from a recording of dd-trace 6.21 with AI SDK 6 that is not kept.
test.each([
  ['weather_agent', 'ai.generateText', 'workflow', ['agent weather_agent']],
  ['weather_agent', 'ai.streamObject', 'workflow', ['agent weather_agent']],
  ['ai.generateText', 'ai.generateText', 'workflow', []],
  ['weather_agent', 'ai.toolCall', 'tool', []],
  ['ai.toolCall', 'ai.toolCall', 'tool', []],
])('datadog: the function id of AI SDK 6 is an agent, and not a tool: %s of %s', (name, method, operation, uses) => {
  const attributes = {
    component: 'ai_tracing_dd_telemetry',
    'operation.name': method,
    'gen_ai.operation.name': operation,
  };
  const read = readSpan(source(attributes, name, { scope: 'dd-trace-js' }));
  expect(read.uses.map((use) => `${use.kind} ${use.name}`)).toEqual(uses);
});
