import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from '../reading/source.ts';

// What @sentry/node 10.78.0 sends for the methods of Anthropic's client
const SPAN = { 'gen_ai.system': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-5' };
const CHAT = { ...SPAN, 'sentry.op': 'gen_ai.chat', 'gen_ai.operation.name': 'chat' };
const CALL = [{ kind: 'model', name: 'claude-sonnet-5' }];

test.each([
  ['a count of tokens', { ...CHAT, 'gen_ai.response.text': '21' }, []],
  ['the description of a model', { ...SPAN, 'sentry.op': 'gen_ai.models', 'gen_ai.operation.name': 'models' }, []],
  ['an answer that is a number', { ...CHAT, 'gen_ai.response.text': '21', 'gen_ai.response.id': 'msg_1' }, CALL],
  ['a call that failed', CHAT, CALL],
  ["Google's answer has no id", { ...CHAT, 'gen_ai.system': 'google_genai', 'gen_ai.response.text': '21' }, CALL],
])('sentry: %s', (_, attributes, uses) => {
  expect(readSpan(source(attributes, 'chat claude-sonnet-5', { scope: '@sentry/node' })).uses).toEqual(uses);
});
