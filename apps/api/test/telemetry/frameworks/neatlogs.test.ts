import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from '../reading/source.ts';

/** A model call as the wrappers of clients write it. */
function call(provider: string, counts: Attributes): Attributes {
  const named = Object.entries(counts).map(([name, count]) => [`neatlogs.llm.token_count.${name}`, count]);
  return {
    'neatlogs.span.kind': 'llm',
    'neatlogs.llm.provider': provider,
    'neatlogs.llm.model_name': 'some-model',
    ...Object.fromEntries(named),
  };
}

// Made from recordings of neatlogs 1.1.15 that are not kept.
test.each<[string, string, Attributes]>([
  ['neatlogs.openai', 'openai', { prompt: 21, completion: 8, total: 29, cache_read: 5, reasoning: 3 }],
  ['neatlogs.anthropic', 'anthropic', { prompt: 16, completion: 8, cache_read: 4, cache_write: 1 }],
  ['neatlogs.claude_agent_sdk', 'anthropic', { prompt: 16, completion: 8, total: 24, cache_read: 5 }],
  ['neatlogs.google_genai', 'google', { prompt: 21, completion: 5, total: 29, cache_read: 5, reasoning: 3 }],
  ['neatlogs.bedrock', 'bedrock', { prompt: 16, completion: 8, total: 29, cache_read: 5 }],
])('%s: cached and reasoning tokens are counted once', (scope, provider, counts) => {
  const { facts, uses } = readSpan(source(call(provider, counts), 'chat', { scope }));
  expect(facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
  expect(uses).toEqual([{ kind: 'model', name: 'some-model' }]);
});

test.each<[string, Attributes, unknown[]]>([
  [
    'openai_agents.agent.weather_agent',
    { 'neatlogs.span.kind': 'agent', 'neatlogs.agent.name': 'weather_agent' },
    [{ kind: 'agent', name: 'weather_agent' }],
  ],
  ['openai_agents.handoff', { 'neatlogs.span.kind': 'agent', 'neatlogs.agent.handoff_from': 'weather_agent' }, []],
  [
    'openai_agents.tool.echo',
    { 'neatlogs.span.kind': 'tool', 'neatlogs.tool.name': 'echo' },
    [{ kind: 'tool', name: 'echo' }],
  ],
  ['workflow', { 'neatlogs.span.kind': 'workflow', 'neatlogs.llm.provider': 'openai' }, []],
])('%s', (name, attributes, uses) => {
  expect(readSpan(source(attributes, name, { scope: 'neatlogs.openai_agents' })).uses).toEqual(uses);
});
