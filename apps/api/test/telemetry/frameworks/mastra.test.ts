import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('mastra: MCP tools belong to their server, the vendor’s search to the vendor, and a sub-agent is a delegating tool', () => {
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

test('mastra with OtelBridge: one span represents all requests of a run, and contains one for each', () => {
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

test('mastra: a failed request to the model has status ok, and is recognized by its finish reason', () => {
  const errors = recordedSpans('mastra').map((span) => ({ status: span.status.code, ...readSpan(span).facts }));
  expect(errors.filter(({ operation, errorType }) => operation === 'chat' && errorType !== null)).toMatchObject([
    { status: 'ok', model: 'gpt-5-mini', errorType: 'error' },
  ]);
});

const MODEL = JSON.stringify({ modelId: 'gemini-3-flash', modelProvider: 'google.generative-ai' });
const BODY = JSON.stringify({
  candidates: [{ content: { parts: [{ executableCode: {} }] }, groundingMetadata: { webSearchQueries: ['a', 'b'] } }],
});

// Made from recordings that are not kept. The code has a span of its own.
test.each([
  [
    'with its exporter',
    '@mastra/otel-exporter',
    'agent_step gemini',
    {
      'gen_ai.operation.name': 'agent_step',
      'mastra.span.type': 'model_step',
      'mastra.metadata.modelMetadata': MODEL,
      'mastra.metadata.body': BODY,
    },
    [],
  ],
  [
    'with OtelBridge',
    '@mastra/otel-bridge',
    'model_step gemini',
    {
      'gen_ai.operation.name': 'model_step',
      'mastra.span.type': 'model_step',
      'mastra.metadata.modelMetadata': MODEL,
      'mastra.metadata.body': BODY,
    },
    [{ kind: 'model', name: 'gemini-3-flash' }],
  ],
  [
    'with ArizeExporter',
    '@mastra/otel-exporter',
    'model_step gemini',
    {
      'openinference.span.kind': 'CHAIN',
      'mastra.span.type': 'model_step',
      metadata: JSON.stringify({ modelMetadata: MODEL, body: BODY }),
    },
    [{ kind: 'model', name: 'gemini-3-flash' }],
  ],
  [
    'with LaminarExporter',
    '@mastra/laminar',
    'step: 0',
    {
      'lmnr.association.properties.metadata.modelMetadata': MODEL,
      'lmnr.association.properties.metadata.body': BODY,
    },
    [{ kind: 'model', name: 'gemini-3-flash' }],
  ],
])('mastra %s: the body of the answer shows a search by Google', (_case, scope, name, attributes, models) => {
  const { uses, facts } = readSpan(source(attributes, name, { scope }));
  expect(uses).toEqual([...models, { kind: 'tool', name: 'google_search' }]);
  expect(facts).toMatchObject({ vendor: 'gcp.gemini', toolRunsAt: 'vendor' });
});
