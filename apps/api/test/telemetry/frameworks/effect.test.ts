import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from '../reading/source.ts';

// What effect 4.0.0 to 4.1.0 write (packages/effect/src/ai/LanguageModel.ts, Toolkit.ts, src/rpc/RpcServer.ts)
const MODEL = {
  'gen_ai.provider.name': 'openai',
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'gpt-5-mini',
};
const TOOL = { tool: 'get_weather', parameters: '{"city":"Paris"}' };
const SERVER = { 'rpc.system.name': 'effect_rpc', 'rpc.method': '@effect/mcp/2025-06-18/tools/call', ...TOOL };

const OF_4_0 = { concurrency: 'unbounded', toolChoice: 'auto' };
const OF_4_1 = { 'effect.ai.concurrency': 'unbounded', 'effect.ai.tool_choice': 'auto' };

const model = { kind: 'model', name: 'gpt-5-mini' };
const tool = { kind: 'tool', name: 'get_weather' };

test.each([
  ['a model', 'LanguageModel.generateText', 'client', { ...MODEL, ...OF_4_1 }, [model]],
  ['a model and its tool', 'LanguageModel.generateText', 'client', { ...MODEL, ...OF_4_1, ...TOOL }, [model, tool]],
  ['the same in 4.0.0', 'LanguageModel.generateText', 'internal', { ...MODEL, ...OF_4_0, ...TOOL }, [model, tool]],
  ['a span around a streamed answer that asked for a tool', 'answer', 'internal', TOOL, [tool]],
  ['a span of the application with an attribute `tool`', 'answer', 'internal', { tool: 'hammer' }, []],
  ['an MCP server', 'McpServer.@effect/mcp/2025-06-18/tools/call', 'server', SERVER, []],
  ['an MCP server in 4.0.0', 'McpServer.tools/call', 'internal', TOOL, []],
] as const)('effect: %s', (_, name, kind, attributes, uses) => {
  for (const scope of ['effect', 'weather-service']) {
    expect(readSpan(source(attributes, name, { scope, kind })).uses).toEqual(uses);
  }
});
