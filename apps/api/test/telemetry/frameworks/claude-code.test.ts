import { expect, test } from 'vitest';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedLogs, recordedLogUses, recordedSpans, recordedUses } from '../reading/recorded-uses.ts';

const TOOLS = {
  'tool Bash at the agent': 1,
  'tool Read at the agent': 1,
  'tool WebSearch at the agent': 1,
  'tool Agent at the agent': 1,
};
const MCP_TOOLS = { 'tool everything/echo': 1, 'tool everything/get-sum': 1 };
const SPANS = { ...TOOLS, ...MCP_TOOLS, 'agent weather_agent': 1 };
const FAILED = { 'model anthropic/claude-sonnet-5': 1 };

test.each(['claude-code', 'claude-code-detailed'])(
  '%s: spans and log records report the same calls, and tokens include cached ones',
  (recording) => {
    expect(recordedUses(recording)).toEqual({
      ...SPANS,
      ...FAILED,
      'model anthropic/claude-sonnet-5, 21 + 8 tokens': 9,
    });
    expect(recordedLogUses(recording)).toEqual({
      ...SPANS,
      ...FAILED,
      'model anthropic/claude-sonnet-5-20260101, 21 + 8 tokens': 9,
    });
  },
);

test('claude-code: the spans and the log records of a call have one call id', () => {
  const idsOf = (readings: ReturnType<typeof readSpan>[]) =>
    new Set(readings.filter(({ uses }) => uses.length > 0).map(({ facts }) => facts?.callId));
  const ofSpans = idsOf(recordedSpans('claude-code').map(readSpan));
  expect(ofSpans.size).toBe(16);
  expect(ofSpans).toEqual(idsOf(recordedLogs('claude-code').map(readLogRecord)));
});

test('claude-agent-sdk: a tool of the program is a tool of its MCP server', () => {
  expect(recordedUses('claude-agent-sdk')).toEqual({
    ...SPANS,
    ...FAILED,
    'tool weather/get_weather': 1,
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 10,
  });
});

test('claude-code-events: tools with hidden names are not counted under their common placeholder', () => {
  expect(recordedUses('claude-code-events')).toEqual({});
  expect(recordedLogUses('claude-code-events')).toEqual({
    ...TOOLS,
    ...FAILED,
    'model anthropic/claude-sonnet-5-20260101, 21 + 8 tokens': 9,
  });
});

test('claude-code: a failed call has the type of its error', () => {
  const errors = [...recordedSpans('claude-code').map(readSpan), ...recordedLogs('claude-code').map(readLogRecord)]
    .filter(({ uses, facts }) => uses.length > 0 && facts?.errorType != null)
    .map(({ facts }) => [facts?.operation, facts?.tool ?? facts?.model, facts?.errorType]);
  expect(errors).toEqual([
    ['chat', 'claude-sonnet-5', 'auth_error'],
    ['execute_tool', 'Read', 'TelemetrySafeError'],
    ['chat', 'claude-sonnet-5', '403'],
  ]);
});

test.each([
  ['firstParty', 'anthropic'],
  ['bedrock', 'aws.bedrock'],
  ['vertex', 'gcp.vertex_ai'],
])('claude-code: a model at %s is a model of %s', (provider, vendor) => {
  const attributes = { 'anthropic.provider': provider, 'gen_ai.system': 'anthropic', model: 'claude-sonnet-5' };
  expect(readClaudeSpan('claude_code.llm_request', attributes).facts).toMatchObject({ operation: 'chat', vendor });
});

test('claude-code: in older versions a span has the full name of a tool', () => {
  const { facts, uses } = readClaudeSpan('claude_code.tool', { tool_name: 'mcp__my_server__do__it' });
  expect(facts).toMatchObject({ toolServer: 'my_server', tool: 'do__it', toolRunsAt: null });
  expect(uses).toEqual([{ kind: 'tool', name: 'do__it' }]);
});

test('claude-code: an agent called “custom” has no name', () => {
  const attributes = { tool_name: 'Agent', subagent_type: 'custom' };
  expect(readClaudeSpan('claude_code.tool', attributes).uses).toEqual([{ kind: 'tool', name: 'Agent' }]);
});

test('claude-code: an event with the same name from another program is ignored', () => {
  const scope = { name: 'billing', version: null, attributes: {} };
  const record = {
    eventName: 'api_request',
    body: null,
    attributes: { model: 'claude-sonnet-5' },
    scope,
    resource: {},
  };
  expect(readLogRecord(record).uses).toEqual([]);
});

function readClaudeSpan(name: string, attributes: Attributes) {
  const scope = { name: 'com.anthropic.claude_code.tracing', version: '1.0.0', attributes: {} };
  return readSpan({ name, kind: 'internal', attributes, scope, resource: {} });
}

test('claude-code: the rejection of a tool call is no call, although it names the tool', () => {
  const attributes = { tool_name: 'Bash', tool_use_id: 'toolu_1', decision: 'reject' };
  const { facts, uses } = readClaudeSpan('claude_code.tool.blocked_on_user', attributes);
  expect(facts?.operation).toBe('rejection');
  expect(uses).toEqual([]);
});
