import { describe, expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from './source.ts';

const MODEL = { kind: 'model', name: 'gpt-4o' };
const tool = (name: string) => ({ kind: 'tool', name });

const chat = (attributes: Attributes = {}): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'gpt-4o',
  ...attributes,
});

describe('a client span of a request to a model counts, whatever other attributes it has', () => {
  test.each<Attributes>([
    {},
    { 'openinference.span.kind': 'AGENT' },
    { 'openinference.span.kind': 'CHAIN' },
    { 'langfuse.observation.type': 'span' },
    { 'langfuse.observation.type': 'guardrail' },
    { 'langsmith.span.kind': 'chain' },
    { 'traceloop.span.kind': 'workflow' },
    { 'mcp.method.name': 'ping' },
    { 'tanstack.ai.iterations': 1 },
    { 'beeai.version': '1' },
    { 'gen_ai.operation.name': 'Chat' },
    { 'gen_ai.operation.name': 'EMBEDDINGS' },
    { 'gen_ai.operation.name': 'invoke_workflow' },
  ])('%o', (beside) => {
    const { uses } = readSpan(source(chat(beside), 'chat', { kind: 'client' }));
    expect(uses.filter(({ kind }) => kind === 'model')).toEqual([MODEL]);
  });

  test('an inner span counts by its more reliable attribute, although another one says that it is a wrapper', () => {
    expect(readSpan(source(chat({ 'openinference.span.kind': 'CHAIN' }))).uses).toEqual([MODEL]);
    expect(readSpan(source({ 'openinference.span.kind': 'CHAIN', 'llm.model_name': 'gpt-4o' })).uses).toEqual([]);
  });
});

describe('a span with a tool name counts with any operation', () => {
  test.each(['execute_tool', 'EXECUTE_TOOL', 'execute_tool ', 'call_tool', 'tool', 'handoff', 'chat'])(
    '%s',
    (operation) => {
      const attributes = { 'gen_ai.operation.name': operation, 'gen_ai.tool.name': 'rm_rf' };
      expect(readSpan(source(attributes)).uses).toEqual([tool('rm_rf')]);
    },
  );

  test('also with the name of the model that asked for it, and with an MCP method that calls nothing', () => {
    for (const beside of [{ 'gen_ai.request.model': 'gpt-5' }, { 'mcp.method.name': 'resources/list' }]) {
      const operation = { 'gen_ai.operation.name': 'EXECUTE_TOOL', 'gen_ai.tool.name': 'rm_rf' };
      expect(readSpan(source({ ...operation, ...beside })).uses).toEqual([tool('rm_rf')]);
    }
  });

  test.each([
    ['agent-shell', '@mastra/otel', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'agent-shell' }],
    [
      'workflow-deploy',
      '@mastra/otel',
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'workflow-deploy' },
    ],
    ['delegate_task', '@voltagent/core', { 'span.type': 'tool', 'tool.name': 'delegate_task' }],
    [
      'handoff_to_human',
      '@arizeai/openinference-instrumentation-langchain',
      { 'openinference.span.kind': 'TOOL', 'tool.name': 'handoff_to_human' },
    ],
    [
      'handoff_to_human',
      'openinference.instrumentation.openai_agents',
      { 'openinference.span.kind': 'TOOL', 'tool.name': 'handoff_to_human' },
    ],
  ])('%s in %s', (name, scope, attributes) => {
    expect(readSpan(source(attributes, name, { scope })).uses).toEqual([tool(name)]);
  });

  test('except the handoff of OpenAI Agents, which has its own span kind', () => {
    const attributes = { 'openinference.span.kind': 'TOOL', 'tool.name': 'handoff_to_helper' };
    const scope = 'openinference.instrumentation.openai_agents';
    expect(readSpan(source(attributes, 'handoff to helper', { scope })).uses).toEqual([]);
  });

  test.each(['default_api.delete_file', 'functions.delete_file', 'default_api:delete_file'])('%s', (name) => {
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name };
    expect(readSpan(source(attributes)).uses).toEqual([tool('delete_file')]);
  });
});
