import { expect, test } from 'vitest';
import { readLogRecord, readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedLogs, recordedLogUses } from './recorded-uses.ts';
import { source } from './source.ts';

test('opencode: log records name the agent that a person speaks to, with the session as its call id', () => {
  // Once for each call of a model, in two sessions.
  expect(recordedLogUses('opencode')).toEqual({ 'agent build': 6 });
  const sessions = recordedLogs('opencode').flatMap((record) => readLogRecord(record).facts?.callId ?? []);
  expect(new Set(sessions).size).toBe(2);
});

const DATA = '{"session.id":"ses_1","small":"false","agent":"build","mode":"primary"}';

test.each([
  // Its name is a common word, so it says nothing about what sent it.
  ['another scope', 'app', ['stream', DATA], null],
  ['another message', 'opencode', ['loop', DATA], null],
  ['no data', 'opencode', ['stream'], 'opencode'],
  ['data that is no JSON', 'opencode', ['stream', '{"agent":undefined}'], 'opencode'],
  ['no list', 'opencode', 'stream', 'opencode'],
])('opencode: a log record with %s names no agent', (_what, scope, body, dialect) => {
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
