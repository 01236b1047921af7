import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from '../reading/source.ts';

const SCOPE = { scope: 'so.latitude.instrumentation.openai-agents' };

// Made from a recording of @latitude-data/telemetry 3.6 with @openai/agents 0.20 that is not kept.
test.each<[string, Attributes, string[]]>([
  [
    'agent weather_agent',
    { 'latitude.span.kind': 'agents.agent', 'openai.agents.name': 'weather_agent' },
    ['agent weather_agent'],
  ],
  [
    'function echo',
    {
      'latitude.span.kind': 'agents.function',
      'openai.agents.function.name': 'echo',
      'openai.agents.function.mcp_data': '{"server":"everything"}',
    },
    ['tool everything/echo'],
  ],
  [
    'mcp.list_tools everything',
    { 'latitude.span.kind': 'agents.mcp_tools', 'openai.agents.mcp.server': 'everything' },
    [],
  ],
  ['agent.handoff a -> b', { 'latitude.span.kind': 'agents.handoff', 'openai.agents.handoff.to': 'b' }, []],
  [
    'gen_ai.response gpt-5-mini',
    {
      'latitude.span.kind': 'agents.response',
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-5-mini',
    },
    ['model gpt-5-mini'],
  ],
])('latitude: %s', (name, attributes, expected) => {
  const { facts, uses } = readSpan(source(attributes, name, SCOPE));
  const server = facts?.toolServer ? `${facts.toolServer}/` : '';
  expect(uses.map((use) => `${use.kind} ${server}${use.name}`)).toEqual(expected);
});
