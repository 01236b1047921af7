import { expect, test } from 'vitest';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedLogs, recordedLogUses, recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

const TOOLS = {
  'tool everything/echo': 1,
  'tool everything/get-sum': 1,
  'tool run_shell_command at the agent': 1,
  'tool google_web_search at the agent': 1,
  'tool invoke_agent at the agent': 1,
};
const MODEL = { 'model gcp.gemini/gemini-3-flash-preview': 10 };
const AGENT = { 'agent weather_agent': 1 };

test('gemini-cli: spans report the calls, and a session is not a prompt', () => {
  expect(recordedSpans('gemini-cli').some(({ attributes }) => attributes['gen_ai.prompt.name'] !== undefined)).toBe(
    true,
  );
  expect(recordedUses('gemini-cli')).toEqual({ ...TOOLS, ...MODEL, ...AGENT });
});

test('gemini-cli: log records report the same calls, a tool without a span, and the tokens including thinking', () => {
  expect(recordedLogUses('gemini-cli')).toEqual({
    ...TOOLS,
    ...MODEL,
    ...AGENT,
    'tool read_file at the agent': 1,
    'tokens of model gcp.gemini/gemini-3-flash-preview, 21 + 8 tokens': 9,
  });
});

test('gemini-cli: the record of a request names the span of the call, the record of a tool its enclosing span', () => {
  const spans = new Map(recordedSpans('gemini-cli').map((span) => [span.spanId, readSpan(span).uses]));
  const named = (event: string) =>
    recordedLogs('gemini-cli')
      .filter(({ eventName }) => eventName === event)
      .map(({ spanId }) => spans.get(spanId ?? '')?.map(({ kind }) => kind));
  expect(named('gemini_cli.api_request')).toEqual(Array.from({ length: 10 }, () => ['model']));
  expect(named('gemini_cli.agent.start')).toEqual([['agent']]);
  expect(named('gemini_cli.tool_call')).toEqual(Array.from({ length: 6 }, () => []));
});

test('gemini-cli: a failed request and a failed tool have the type of their error', () => {
  const failed = recordedLogs('gemini-cli').filter((record) => readLogRecord(record).facts?.errorType != null);
  expect(failed.map(({ eventName }) => eventName)).toEqual(['gemini_cli.tool_call', 'gemini_cli.api_error']);
  expect(failed.map((record) => readLogRecord(record).facts?.errorType)).toEqual([expect.any(String), 'ApiError']);
  const failedSpans = recordedSpans('gemini-cli').filter(({ status }) => status.code === 'error');
  expect(failedSpans.map((span) => readSpan(span).facts?.operation)).toEqual(['chat']);
});

test('gemini-cli: the record of an error counts no call, and stands in the span of the request that it is about', () => {
  const [error, ...others] = recordedLogs('gemini-cli').filter(({ eventName }) => eventName === 'gemini_cli.api_error');
  if (error === undefined) throw new Error('there is no such record');
  const model = 'gemini-3-flash-preview';
  expect(others).toEqual([]);
  expect(readLogRecord(error)).toMatchObject({
    facts: { vendor: 'gcp.gemini', model },
    uses: [],
    failureOf: { kind: 'model', name: model },
  });
  const inSpan = recordedLogs('gemini-cli').filter(({ spanId }) => spanId === error.spanId);
  expect(inSpan.flatMap((record) => readLogRecord(record).uses)).toEqual([{ kind: 'model', name: model }]);
});

test('gemini-cli: a call that the user refused does not count', () => {
  const scope = { name: 'gemini-cli', version: null, attributes: {} };
  const attributes = { function_name: 'run_shell_command', decision: 'reject', success: false };
  const record = { eventName: 'gemini_cli.tool_call', body: null, attributes, scope, resource: {} };
  expect(readLogRecord(record).uses).toEqual([]);
});

test.each([
  ['a sentence', 'please keep this to yourself', 'everything', null, 'everything'],
  ['a sentence as the server', 'echo', 'please keep this to yourself', 'echo', null],
  ['several lines', 'echo\nand more', 'every\nthing', null, null],
  ['names', 'get-sum', 'GitHub MCP Server', 'get-sum', 'GitHub MCP Server'],
])('gemini-cli: an invalid name of a tool or a server is not read: %s', (_what, name, named, tool, toolServer) => {
  const scope = { name: 'gemini-cli', version: null, attributes: {} };
  const attributes = { function_name: name, mcp_server_name: named, success: true };
  const record = { eventName: 'gemini_cli.tool_call', body: null, attributes, scope, resource: {} };
  expect(readLogRecord(record).facts).toMatchObject({ tool, toolServer });
  const onSpan = { 'gen_ai.operation.name': 'tool_call', 'gen_ai.tool.name': name };
  const span = { name: 'tool_call', kind: 'internal' as const, attributes: onSpan, scope, resource: {} };
  expect(readSpan(span).facts?.tool).toBe(tool);
});

const SERVER_WITH_UNDERSCORE = 'mcp_second_server_get-sum';

test('gemini-cli: the record of a call names a server with an underscore', () => {
  const scope = { name: 'gemini-cli', version: null, attributes: {} };
  const attributes = { function_name: SERVER_WITH_UNDERSCORE, mcp_server_name: 'second_server', success: true };
  const record = { eventName: 'gemini_cli.tool_call', body: null, attributes, scope, resource: {} };
  expect(readLogRecord(record).facts).toMatchObject({ toolServer: 'second_server', tool: 'get-sum' });
});

test('gemini-cli: the tool of a span keeps such a name, unless its content names the server', () => {
  const attributes = { 'gen_ai.operation.name': 'tool_call', 'gen_ai.tool.name': SERVER_WITH_UNDERSCORE };
  const read = (display: string) => {
    const input = JSON.stringify({ display: { name: display } });
    return readSpan(source({ ...attributes, 'gen_ai.input.messages': input }, 'tool_call', { scope: 'gemini-cli' }));
  };
  expect(read('get-sum (second_server MCP Server)')).toMatchObject({
    facts: { toolServer: 'second_server', tool: 'get-sum' },
    uses: [{ kind: 'tool', name: 'get-sum' }],
  });
  // The matcher finds the server by the whole name. `second` is a guess.
  expect(read('')).toMatchObject({
    facts: { toolServer: 'second' },
    uses: [{ kind: 'tool', name: SERVER_WITH_UNDERSCORE }],
  });
});
