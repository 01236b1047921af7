import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from '../reading/source.ts';

const scope = '@openlit/instrumentation-langchain';

test.each([
  ['echo', [{ kind: 'tool', name: 'echo', times: 1 }]],
  [
    'echo, get-sum, echo',
    [
      { kind: 'tool', name: 'echo', times: 2 },
      { kind: 'tool', name: 'get-sum', times: 1 },
    ],
  ],
  [' , ', []],
  [undefined, []],
])('the tools that the model asks for count: %s', (names, tools) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5-mini',
    ...(names !== undefined && { 'gen_ai.tool.name': names }),
  };
  const model = { kind: 'model', name: 'gpt-5-mini' };
  expect(readSpan(source(attributes, 'chat gpt-5-mini', { scope })).uses).toEqual([model, ...tools]);
});

test.each([
  ['call_1', []],
  [undefined, [{ kind: 'tool', name: 'DynamicTool' }]],
])('the span of a tool counts only if no model asked for it: call id %s', (callId, uses) => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'DynamicTool',
    ...(callId !== undefined && { 'gen_ai.tool.call.id': callId }),
  };
  expect(readSpan(source(attributes, 'execute_tool DynamicTool', { scope })).uses).toEqual(uses);
});
