import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('openllmetry: tokens of Anthropic include cached ones, and a web search is a tool of the vendor', () => {
  expect(recordedUses('anthropic-openllmetry')).toEqual({
    'model anthropic/claude-sonnet-5, 21 + 8 tokens': 5,
    'model anthropic/claude-sonnet-5': 1,
    'tool web_search at the vendor': 1,
  });
});

// opentelemetry-instrumentation-openai for Python, shared/__init__.py
test.each(['gen_ai.openai.api_base', 'llm.openai.api_base'])('openllmetry: %s is the address of the model', (name) => {
  const attributes = {
    'llm.request.type': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'llama-3.3-70b',
    [name]: 'https://api.groq.com/openai/v1/',
  };
  expect(readSpan(source(attributes)).facts).toMatchObject({ serverAddress: 'api.groq.com' });
});

test("openllmetry: Google's count of output tokens is completed by the reasoning tokens", () => {
  expect(recordedUses('google-genai-openllmetry')).toEqual({
    'model gcp.gen_ai/gemini-3-flash, 21 + 8 tokens': 6,
    'model gcp.gen_ai/gemini-3-flash': 1,
  });
});

// Made from what @traceloop/instrumentation-mcp 0.27.0 sends.
test.each([
  ['resources/read.mcp', '{"uri":"demo://documents/features.md?key=1"}', 'resource', 'demo://documents/features.md'],
  ['prompts/get.mcp', '{"name":"simple-prompt"}', 'prompt', 'simple-prompt'],
])('openllmetry: %s of an MCP client names what it asks for in its input', (name, input, kind, used) => {
  const scope = '@traceloop/instrumentation-mcp';
  const attributes = { 'traceloop.entity.input': input };
  expect(readSpan(source(attributes, name, { scope, kind: 'client' })).uses).toEqual([{ kind, name: used }]);
});

test('openllmetry: the list of the tools of an MCP server is no use', () => {
  const scope = '@traceloop/instrumentation-mcp';
  expect(readSpan(source({}, 'tools/list.mcp', { scope, kind: 'client' })).uses).toEqual([]);
});

test('openllmetry: a handoff of LangGraph answers with a command, whose last message names the tool', () => {
  const message = (kwargs: object) => ({ lc: 1, type: 'constructor', kwargs });
  const messages = [message({ content: 'question' }), message({ name: 'transfer_to_writer', tool_call_id: 'call_1' })];
  const output = JSON.stringify({ lg_name: 'Command', update: { messages }, goto: [] });
  const span = source(
    { 'gen_ai.operation.name': 'execute_tool', 'traceloop.entity.output': output },
    'execute_tool DynamicStructuredTool',
    { scope: '@traceloop/instrumentation-langchain' },
  );
  expect(readSpan(span)).toMatchObject({
    facts: { callId: 'call_1' },
    uses: [{ kind: 'tool', name: 'transfer_to_writer' }],
  });
});
