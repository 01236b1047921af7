import { expect, test } from 'vitest';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { recordedLogs, recordedLogUses, recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

const BUILT_IN = { 'tool exec_command at the agent': 1, 'tool view_image at the agent': 1 };

test('codex: log records report each attempt and the vendor’s search, and tokens separately', () => {
  expect(recordedLogUses('codex')).toEqual({
    ...BUILT_IN,
    'model openai/gpt-5-mini': 5,
    'tokens of model openai/gpt-5-mini, 21 + 8 tokens': 4,
    'tool web_search at the vendor': 1,
    'tool everything/echo': 1,
    'tool everything/get_sum': 1,
  });
});

test('codex: spans report requests, and each MCP call twice with the same call id', () => {
  const uses = recordedUses('codex');
  expect(uses).toEqual({
    ...BUILT_IN,
    'model openai/gpt-5-mini': 4,
    'tool everything/echo': 2,
    'tool everything/get-sum': 1,
    'tool everything/get_sum': 1,
  });
  const mcpCalls = recordedSpans('codex')
    .map(readSpan)
    .filter(({ facts, uses: used }) => facts?.toolServer != null && used.length > 0);
  expect(new Set(mcpCalls.map(({ facts }) => facts?.callId)).size).toBe(2);
});

test('codex: the record of a request names its span, and a repeated attempt has a different id', () => {
  const spans = new Set(
    recordedSpans('codex')
      .filter((span) => readSpan(span).uses.some(({ kind }) => kind === 'model'))
      .map(({ spanId }) => spanId),
  );
  const requests = recordedLogs('codex').filter(({ eventName }) => eventName === 'codex.api_request');
  expect(requests.every(({ spanId }) => spans.has(spanId ?? ''))).toBe(true);
  const attempts = requests.map((record) => readLogRecord(record).facts);
  expect(attempts.map((facts) => [facts?.errorType, facts?.callId === null])).toEqual([
    ['500', false],
    [null, true],
    [null, true],
    [null, true],
    [null, true],
  ]);
});

test('codex: the span of a request has no call id, even if its last attempt failed', () => {
  const attempt = { 'event.name': 'codex.api_request', model: 'gpt-5-mini', 'http.response.status_code': 500 };
  const attributes = { ...attempt, 'conversation.id': 'c', 'event.timestamp': '2026-11-22T11:21:41.739Z' };
  const { facts } = readSpan({
    ...source({}, 'endpoint_session.stream_encoded_json_with', { scope: 'codex_exec' }),
    events: [{ name: 'event', time: '', attributes }],
  });
  expect(facts).toMatchObject({ operation: 'chat', errorType: '500', callId: null });
  expect(readEvent('codex.api_request', attributes).facts?.callId).not.toBe(null);
});

test('codex: a failed tool is recognized by its result', () => {
  const failed = [...recordedSpans('codex').map(readSpan), ...recordedLogs('codex').map(readLogRecord)].filter(
    ({ facts }) => facts?.operation === 'execute_tool' && facts.errorType !== null,
  );
  expect(failed.map(({ facts }) => facts?.tool)).toEqual(['view_image', 'view_image']);
});

test.each([
  [{ tool_name: 'everything__echo' }, { toolServer: 'everything', tool: 'echo', toolRunsAt: null }],
  [{ tool_name: 'mcp__everything__echo' }, { toolServer: 'everything', tool: 'echo', toolRunsAt: null }],
  [
    { tool_name: 'echo', tool_namespace: 'mcp__everything', mcp_server: '' },
    { toolServer: 'everything', tool: 'echo', toolRunsAt: null },
  ],
  [
    { tool_name: 'shell', tool_namespace: 'functions', mcp_server: '' },
    { toolServer: null, tool: 'shell', toolRunsAt: 'agent' },
  ],
])('codex: the server in the result of a tool %j', (attributes, facts) => {
  expect(readEvent('codex.tool_result', attributes).facts).toMatchObject(facts);
});

test.each([
  ['codex.tool_decision', { tool_name: 'exec_command', decision: 'denied' }, 'exec_command'],
  ['codex.tool_decision', { tool_name: 'echo', tool_namespace: 'mcp__everything', decision: 'abort' }, 'echo'],
  ['codex.tool_decision', { tool_name: 'exec_command', decision: 'approved_for_session' }, undefined],
  [
    'codex.tool_result',
    { tool_name: 'exec_command', output: 'exec_command failed: CreateProcess { message: "Rejected(' },
    undefined,
  ],
])('codex: a call that the user or a rule rejects does not count: %s %j', (eventName, attributes, rejected) => {
  const reading = readEvent(eventName, attributes);
  expect(reading.uses).toEqual([]);
  expect(reading.rejected?.name).toBe(rejected);
});

test('codex: the output of an MCP server’s tool cannot say that the call was rejected', () => {
  const output = 'exec_command failed: CreateProcess { message: "Rejected(';
  const { uses } = readEvent('codex.tool_result', { tool_name: 'echo', mcp_server: 'everything', output });
  expect(uses).toEqual([{ kind: 'tool', name: 'echo' }]);
});

test('codex: a command without a process is no call, nor is the dispatch of an MCP call that failed or was rejected', () => {
  const exec = source({ outcome: 'failed' }, 'unified_exec.open_session', { scope: 'codex_exec' });
  expect(readSpan(exec).facts?.operation).toBe('rejection');
  const result = { 'event.name': 'codex.tool_result', tool_name: 'echo', tool_namespace: 'mcp__everything' };
  const dispatch = (more: Attributes) =>
    readSpan({
      ...source({}, 'dispatch_tool_call_with_state', { scope: 'codex_exec' }),
      events: [{ name: 'event', time: '', attributes: { ...result, ...more } }],
    });
  expect(dispatch({}).uses).toEqual([{ kind: 'tool', name: 'echo' }]);
  expect(dispatch({ mcp_tool: true, success: 'true' }).uses).toEqual([{ kind: 'tool', name: 'echo' }]);
  expect(dispatch({ mcp_tool: true, success: 'false' })).toMatchObject({ facts: { tool: 'echo' }, uses: [] });
});

test('codex: a model that OpenAI does not offer has no vendor', () => {
  expect(readEvent('codex.api_request', { model: 'gpt-oss:20b' }).facts?.vendor).toBe(null);
  expect(readEvent('codex.websocket_request', { model: 'gpt-5-codex' }).facts?.vendor).toBe('openai');
});

function readEvent(eventName: string, attributes: Attributes) {
  const scope = { name: 'codex_otel.log_only', version: null, attributes: {} };
  return readLogRecord({ eventName, body: null, attributes, scope, resource: {} });
}
