import { describe, expect, test } from 'vitest';
import type { ReadSource } from '../../../src/telemetry/reading/dialect.ts';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from './source.ts';

const TOOL = 'get_weather';

// Each is made from what the framework's packages sent, not recorded.
const OPENINFERENCE = { 'openinference.span.kind': 'TOOL', 'tool.name': TOOL };
const CONVENTIONS = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': TOOL };
const LANGFUSE = {
  'langfuse.observation.type': 'tool',
  'langfuse.observation.level': 'ERROR',
  'langfuse.observation.metadata.langgraph_node': 'tools',
};
const INTERRUPTS = '[\n  {\n    "id": "71799f2befd81bed89d005e6e04add77",\n    "value": "ok?"\n  }\n]';
const INTERRUPT = `${INTERRUPTS}\n\nGraphInterrupt: ${INTERRUPTS}\n    at interrupt (interrupt.js:93:8)`;
const NOT_APPROVED = 'Tool execution was not approved.';
const DATA = '{"tool_name":"get_weather","error":"Tool execution for call_1 was manually rejected by user."}';

const OPENAI_AGENTS = {
  openinference: '@arizeai/openinference-instrumentation-openai-agents',
  microsoft: 'microsoft-otel-openai-agents',
  aws: '@aws/aws-distro-opentelemetry-instrumentation-openai-agents',
};
const LANGCHAIN = {
  openinference: '@arizeai/openinference-instrumentation-langchain',
  microsoft: 'microsoft-otel-langchain',
};
const NODE = { 'telemetry.sdk.language': 'nodejs' };

type Parts = { scope: string; error?: string; exception?: string; resource?: ReadSource['resource'] };

function toolsIn(attributes: ReadSource['attributes'], { scope, error, exception, resource = {} }: Parts): string[] {
  const events = exception === undefined ? [] : [exceptionOf(exception)];
  const status =
    error === undefined ? { code: 'ok' as const, message: null } : { code: 'error' as const, message: error };
  return readSpan({ ...source(attributes, TOOL, { scope, resource }), status, events }).uses.map(({ name }) => name);
}

function exceptionOf(type: string) {
  return { name: 'exception', time: '2026-11-26T14:00:00.000000000Z', attributes: { 'exception.type': type } };
}

describe('a tool call that a person rejected, or that waits for an answer, does not count', () => {
  test.each<[what: string, attributes: ReadSource['attributes'], parts: Parts]>([
    [
      'OpenAI Agents, OpenInference',
      OPENINFERENCE,
      { scope: OPENAI_AGENTS.openinference, error: `${NOT_APPROVED}: ${DATA}` },
    ],
    ['OpenAI Agents, Microsoft', CONVENTIONS, { scope: OPENAI_AGENTS.microsoft, error: NOT_APPROVED }],
    ['OpenAI Agents, AWS', CONVENTIONS, { scope: OPENAI_AGENTS.aws, error: NOT_APPROVED }],
    [
      'OpenAI Agents for Python, OpenTelemetry',
      CONVENTIONS,
      { scope: 'opentelemetry.instrumentation.openai_agents', error: `${NOT_APPROVED}: {'tool_name': 'get_weather'}` },
    ],
    ['LangGraph, OpenInference', OPENINFERENCE, { scope: LANGCHAIN.openinference, error: INTERRUPT }],
    [
      'LangGraph for Python, OpenInference',
      OPENINFERENCE,
      { scope: 'openinference.instrumentation.langchain', error: '', exception: 'langgraph.errors.GraphInterrupt' },
    ],
    [
      'LangGraph for Python, OpenLLMetry',
      { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': TOOL },
      { scope: 'opentelemetry.instrumentation.langchain', error: '', exception: 'langgraph.errors.GraphInterrupt' },
    ],
    [
      'LangGraph for Python, AWS',
      { ...CONVENTIONS, 'error.type': 'GraphInterrupt' },
      { scope: 'amazon.opentelemetry.distro.instrumentation.langchain', error: '' },
    ],
    [
      'LangGraph for Python, Splunk',
      { ...CONVENTIONS, 'gen_ai.finish_reason': 'interrupted' },
      { scope: 'opentelemetry.util.genai.handler' },
    ],
    ['LangGraph, Microsoft', { ...CONVENTIONS, 'error.message': INTERRUPT }, { scope: LANGCHAIN.microsoft, error: '' }],
    [
      'LangGraph, Langfuse',
      { ...LANGFUSE, 'langfuse.observation.status_message': `GraphInterrupt: ${INTERRUPTS}` },
      { scope: 'langfuse-sdk', resource: NODE },
    ],
    [
      'Genkit',
      { 'genkit:type': 'action', 'genkit:metadata:subtype': 'tool', 'genkit:name': TOOL },
      { scope: 'genkit-tracer', error: '', exception: 'ToolInterruptError' },
    ],
    [
      'Genkit for Go',
      { 'genkit:type': 'action', 'genkit:metadata:subtype': 'tool.v2', 'genkit:name': TOOL },
      { scope: 'genkit-tracer', error: '', exception: '*ai.toolInterruptError' },
    ],
    ['Strands', { ...CONVENTIONS, 'gen_ai.event.start_time': '2026-11-26T14:00:00Z' }, { scope: 'weather-service' }],
  ])('%s', (_what, attributes, parts) => {
    expect(toolsIn(attributes, parts)).toEqual([]);
  });
});

describe('a tool cannot hide its call', () => {
  const FAILED = 'Error running tool (non-fatal)';
  const failing = (text: string) => `${text}\n\nToolException: ${text}\n    at callTool (tools.js:308:8)`;
  test.each<[what: string, attributes: ReadSource['attributes'], parts: Parts]>([
    [
      'its error has the data of a rejection',
      OPENINFERENCE,
      { scope: OPENAI_AGENTS.openinference, error: `${FAILED}: ${DATA}` },
    ],
    [
      'its server answers with the message and the data of a rejection',
      OPENINFERENCE,
      { scope: OPENAI_AGENTS.openinference, error: `MCP error -32000: ${NOT_APPROVED}: ${DATA}` },
    ],
    [
      'its result is the message of a rejection',
      { ...CONVENTIONS, 'gen_ai.tool.call.result': NOT_APPROVED },
      { scope: OPENAI_AGENTS.aws },
    ],
    [
      'its server answers with the class of an interrupt',
      { ...CONVENTIONS, 'mcp.method.name': 'tools/call', 'error.type': 'GraphInterrupt' },
      { scope: 'acme', error: '' },
    ],
    ['another framework has the message', CONVENTIONS, { scope: 'acme', error: NOT_APPROVED }],
    [
      'its error has the text of an interrupt',
      OPENINFERENCE,
      { scope: LANGCHAIN.openinference, error: failing(INTERRUPT) },
    ],
    [
      'its error has the class',
      OPENINFERENCE,
      { scope: LANGCHAIN.openinference, error: failing(`x\n\nGraphInterrupt: x\n    at y`) },
    ],
    [
      'its error has the text',
      { ...CONVENTIONS, 'error.message': failing(INTERRUPT) },
      { scope: LANGCHAIN.microsoft, error: '' },
    ],
    [
      'the handler for Python does not write the class of an error',
      { ...LANGFUSE, 'langfuse.observation.status_message': `GraphInterrupt: ${INTERRUPTS}` },
      { scope: 'langfuse-sdk' },
    ],
    [
      'it failed without a result',
      { ...CONVENTIONS, 'gen_ai.event.start_time': '2026-11-26T14:00:00Z' },
      { scope: 'weather-service', error: 'failed' },
    ],
    [
      'it ended',
      { ...CONVENTIONS, 'gen_ai.event.start_time': '2026-11-26T14:00:00Z', 'gen_ai.tool.status': 'error' },
      { scope: 'weather-service' },
    ],
  ])('%s', (_what, attributes, parts) => {
    expect(toolsIn(attributes, parts)).toEqual([TOOL]);
  });

  test.each([
    OPENAI_AGENTS.openinference,
    OPENAI_AGENTS.microsoft,
    LANGCHAIN.openinference,
    'genkit-tracer',
    'langfuse-sdk',
    'mistral_vibe',
    'opencode',
    'strands-agents',
  ])('its error has the type `rejected`: %s', (scope) => {
    const attributes = { ...CONVENTIONS, 'gen_ai.tool.status': 'error', 'error.type': 'rejected' };
    expect(toolsIn(attributes, { scope, error: 'The order was rejected.' })).toEqual([TOOL]);
  });
});

describe('mastra: a model call counts once if a person has to approve the tool that it asks for', () => {
  const RUN = { 'mastra.metadata.resumedFromSpanId': '4bf67fd8616a2a55' };
  const CALL = {
    'gen_ai.operation.name': 'chat',
    'mastra.span.type': 'model_inference',
    'gen_ai.request.model': 'gpt-5-mini',
  };
  const ANSWER = { ...CALL, 'gen_ai.response.finish_reasons': '["tool-calls"]' };
  const STEP = {
    'gen_ai.operation.name': 'model_step',
    'mastra.span.type': 'model_step',
    'mastra.metadata.modelMetadata': '{"modelId":"gpt-5-mini","modelProvider":"openai.responses"}',
    'mastra.model_step.output': '{}',
  };
  const OPENINFERENCE_STEP = {
    'openinference.span.kind': 'LLM',
    'mastra.span.type': 'model_step',
    metadata: '{"resumedFromSpanId":"4bf67fd8616a2a55","modelMetadata":"{\\"modelId\\":\\"gpt-5-mini\\"}"}',
    'mastra.model_step.output': '{}',
  };
  test.each<[what: string, attributes: ReadSource['attributes'], times: number | undefined]>([
    ['the call that waits', CALL, undefined],
    ['a call after it that waits', { ...CALL, ...RUN }, undefined],
    ['the repeated answer', { ...ANSWER, ...RUN }, 0],
    ['a call after it', { ...ANSWER, ...RUN, 'mastra.completion_start_time': '2026-11-26T14:00:00Z' }, undefined],
    ['a step', STEP, undefined],
    ['the repeated step', { ...STEP, ...RUN }, 0],
    ['a step after it', { ...STEP, ...RUN, 'mastra.model_step.input': '[]' }, undefined],
    ['the repeated step in OpenInference', OPENINFERENCE_STEP, 0],
  ])('%s', (_what, attributes, times) => {
    const { uses } = readSpan(source(attributes, 'chat gpt-5-mini', { scope: '@mastra/otel-exporter' }));
    expect(uses).toEqual([{ kind: 'model', name: 'gpt-5-mini', ...(times !== undefined && { times }) }]);
  });
});
