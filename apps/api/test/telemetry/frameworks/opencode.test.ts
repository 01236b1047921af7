import { expect, test } from 'vitest';
import type { Use } from '../../../src/telemetry/reading/facts.ts';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedLogs, recordedLogUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('opencode: log records name the model that is called, and the agent that a person speaks to', () => {
  // Nine calls in two sessions. A subagent makes one of them, and two write titles.
  expect(recordedLogUses('opencode')).toEqual({ 'model openai/gpt-5-mini': 9, 'agent build': 6 });
  const agents = recordedLogs('opencode').flatMap((record) => readLogRecord(record).uses.filter(isAgent));
  expect(new Set(agents.map(({ callId }) => callId)).size).toBe(2);
});

function isAgent({ kind }: Use): boolean {
  return kind === 'agent';
}

const DATA =
  '{"providerID":"openai","modelID":"gpt-5-mini","session.id":"ses_1","small":"false","agent":"build","mode":"primary"}';

test.each([
  // Its name is a common word, so it says nothing about what sent it.
  ['another scope', 'app', ['stream', DATA], null],
  ['another message', 'opencode', ['loop', DATA], null],
  ['no data', 'opencode', ['stream'], 'opencode'],
  ['data that is no JSON', 'opencode', ['stream', '{"agent":undefined}'], 'opencode'],
  ['no list', 'opencode', 'stream', 'opencode'],
])('opencode: a log record with %s reports no call', (_what, scope, body, dialect) => {
  const record = { scope: { name: scope, version: null, attributes: {} }, resource: {}, attributes: {}, body };
  const eventName = Array.isArray(body) ? (body[0] ?? null) : body;
  expect(readLogRecord({ ...record, eventName })).toEqual({ dialect, facts: null, uses: [] });
});

test.each([
  ['PermissionRejectedError', []],
  ['Error', [{ kind: 'tool', name: 'bash' }]],
])('opencode: a tool that failed with %s', (type, uses) => {
  const span = source({ 'tool.name': 'bash', 'tool.call_id': 'call_1' }, 'Tool.execute', { scope: 'opencode' });
  const events = [{ name: 'exception', time: '', attributes: { 'exception.type': type } }];
  expect(readSpan({ ...span, events }).uses).toEqual(uses);
});
