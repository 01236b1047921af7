import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

const hash = (name: string) => createHash('sha256').update(name).digest('hex');

const CALLS = {
  'model openai/gpt-5-mini, 21 + 8 tokens': 6,
  'model openai/gpt-5-mini': 1,
  'tool bash at the agent': 1,
  'tool view at the agent': 1,
  'tool task at the agent': 1,
  'agent weather_agent': 1,
};

test('copilot-cli: the tool of an MCP server is the hash of its name, at the hash of the server’s name', () => {
  expect(recordedUses('copilot-cli')).toEqual({
    ...CALLS,
    [`tool ${hash('everything')}/${hash('echo')}`]: 1,
    [`tool ${hash('everything')}/${hash('get-sum')}`]: 1,
  });
});

test('copilot-cli-content: with content capture, servers and tools have names', () => {
  expect(recordedUses('copilot-cli-content')).toEqual({
    ...CALLS,
    'tool everything/echo': 1,
    'tool everything/get-sum': 1,
  });
});

test('vscode-copilot-chat: models belong to GitHub, tools to their server or to the agent', () => {
  expect(recordedUses('vscode-copilot-chat')).toEqual({
    'model github/gpt-5-mini, 21 + 8 tokens': 2,
    'model github/gpt-5-mini': 1,
    'tool run_in_terminal at the agent': 1,
    'tool read_file at the agent': 1,
    'tool runSubagent at the agent': 1,
    'tool everything/echo': 1,
    'tool everything/get-sum': 1,
    'agent copilot': 1,
    'agent weather_agent': 1,
  });
});

test('copilot-cli: a failed request and a failed tool have the type of their error', () => {
  const failed = recordedSpans('copilot-cli')
    .map(readSpan)
    .filter(({ facts, uses }) => facts?.errorType != null && uses.length > 0);
  expect(failed.map(({ facts }) => facts?.errorType)).toEqual(['ToolError', 'ModelCallError']);
});

test('copilot: a call with tokens counts, also without the name of the model that answered', () => {
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5' };
  const usesOf = (more: object) =>
    readSpan(source({ ...attributes, ...more }, 'chat gpt-5', { scope: 'github.copilot', kind: 'client' })).uses;
  expect(usesOf({})).toEqual([]);
  expect(usesOf({ 'gen_ai.usage.input_tokens': 21 })).toEqual([{ kind: 'model', name: 'gpt-5' }]);
});
