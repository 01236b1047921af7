import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('openai-agents: agents are named by their graph node; handoffs and listed tools are not uses of tools', () => {
  expect(recordedUses('openai-agents')).toEqual({
    // The span of a response has only this name of the model.
    'model openai/gpt-5-mini-2026-01-01, 21 + 8 tokens': 4,
    'model openai/gpt-5-mini, 21 + 8 tokens': 1,
    'tool get_weather': 1,
    'tool echo': 1,
    'tool get_sum': 1,
    'tool web_search at the vendor': 1,
    'agent weather_agent': 3,
    'agent umbrella_agent': 1,
  });
});

// What @arizeai/openinference-instrumentation-openai-agents 0.2.15 sends with @openai/agents-extensions 0.18.0.
test.each([
  ['anthropic.messages:claude-sonnet-5', { vendor: 'anthropic', model: 'claude-sonnet-5' }],
  ['google.generative-ai:gemini-3-flash', { vendor: 'gcp.gemini', model: 'gemini-3-flash' }],
  ['mistral:7b', { vendor: 'openai', model: 'mistral:7b' }],
  ['ft:gpt-4o-mini-2024-07-18:acme::id', { vendor: 'openai', model: 'ft:gpt-4o-mini-2024-07-18:acme::id' }],
])('openai-agents: the model %s of the AI SDK has its provider in front', (model, facts) => {
  const attributes = { 'openinference.span.kind': 'LLM', 'llm.system': 'openai', 'llm.model_name': model };
  const span = source(attributes, 'generation', { scope: '@arizeai/openinference-instrumentation-openai-agents' });
  expect(readSpan(span)).toMatchObject({ facts, uses: [{ kind: 'model', name: facts.model }] });
});

// @openai/agents 0.20.0
test('openai-agents: a hosted MCP tool belongs to its server', () => {
  const output = [
    { type: 'mcp_call', id: 'mcp_1', server_label: 'everything', name: 'echo' },
    { type: 'web_search_call', id: 'ws_1' },
  ];
  const attributes = {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'gpt-5-mini',
    'output.value': JSON.stringify({ output }),
  };
  const span = source(attributes, 'response', { scope: '@arizeai/openinference-instrumentation-openai-agents' });
  expect(readSpan(span).uses).toEqual([
    { kind: 'model', name: 'gpt-5-mini' },
    { kind: 'tool', name: 'mcp__everything__echo' },
    { kind: 'tool', name: 'web_search' },
  ]);
});

// promptlayer 1.3.6, @microsoft/opentelemetry 1.4.0
test.each(['promptlayer.integrations.openai_agents', 'microsoft-otel-openai-agents'])(
  '%s: a model of the AI SDK has its provider in front, and OpenAI is written as the vendor',
  (scope) => {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'google.generative-ai:gemini-3-flash',
    };
    const facts = { vendor: 'gcp.gemini', model: 'gemini-3-flash' };
    const uses = [{ kind: 'model', name: 'gemini-3-flash' }];
    expect(readSpan(source(attributes, 'chat', { scope, kind: 'client' }))).toMatchObject({ facts, uses });
  },
);
