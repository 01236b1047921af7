import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from './source.ts';

// Made from a recording of LangWatch 0.16 with LangChain that is not kept.
test.each([
  ['of OpenAI', { function_call: { tool_outputs: [{ type: 'web_search_call', id: 'ws_1' }] } }],
  ['of Anthropic', { function_call: { usage: { server_tool_use: { web_search_requests: 1 } } } }],
])('langwatch: a search %s is read in the lists of an answer', (_vendor, message) => {
  const value = [{ type: 'list', value: [{ type: 'json', value: { role: 'assistant', ...message } }] }];
  const attributes = {
    'langwatch.span.type': 'llm',
    'gen_ai.system': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'langwatch.output': JSON.stringify({ type: 'list', value }),
  };
  expect(readSpan(source(attributes)).uses).toEqual([
    { kind: 'model', name: 'claude-sonnet-5' },
    { kind: 'tool', name: 'web_search' },
  ]);
});

test('an answer of any depth is read', () => {
  const depth = 5000;
  const output = `${'{"value":['.repeat(depth)}"server_tool_use"${']}'.repeat(depth)}`;
  const attributes = { 'gen_ai.request.model': 'm', 'gen_ai.system': 'openai', 'acme.output': output };
  expect(readSpan(source(attributes)).uses).toEqual([{ kind: 'model', name: 'm' }]);
});

const SEARCH = { type: 'server_tool_call', id: 'srvtoolu_1', name: 'web_search', server_tool_call: {} };
const OF_AI_SDK = { type: 'tool-call', toolCallId: 'ws_1', toolName: 'web_search', input: {}, providerExecuted: true };
const MESSAGES = [{ role: 'assistant', finish_reason: 'stop', parts: [SEARCH, { type: 'text', content: 'Dry.' }] }];

test.each([
  ['a JSON text', JSON.stringify(MESSAGES)],
  ['a list', MESSAGES],
  ['messages of the Vercel AI SDK', JSON.stringify([{ role: 'assistant', content: [OF_AI_SDK] }])],
])('a tool that the vendor ran is read from gen_ai.output.messages as %s', (_form, messages) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.output.messages': messages,
  };
  expect(readSpan(source(attributes))).toMatchObject({
    facts: { toolRunsAt: 'vendor' },
    uses: [
      { kind: 'model', name: 'claude-sonnet-5' },
      { kind: 'tool', name: 'web_search' },
    ],
  });
});

test('a function is no tool of OpenAI, if a framework takes its name for the id of the call', () => {
  const partsOf = (...ids: string[]) => [{ parts: ids.map((id) => ({ type: 'tool_call', id, name: 'a_name' })) }];
  const usesOf = (messages: object) =>
    readSpan(source({ 'gen_ai.request.model': 'm', 'gen_ai.output.messages': JSON.stringify(messages) })).uses;
  expect(usesOf(partsOf('fs_read', 'ci_status', 'ig_1x'))).toEqual([{ kind: 'model', name: 'm' }]);
  expect(usesOf(partsOf('fs_68aa0c0d'))).toEqual([
    { kind: 'model', name: 'm' },
    { kind: 'tool', name: 'file_search' },
  ]);
});

test.each([
  [
    'judgment.output',
    {
      output: [
        { type: 'web_search_call', id: 'ws_1' },
        { type: 'message', content: [] },
      ],
    },
  ],
  ['acme.response', { content: [{ type: 'server_tool_use', name: 'web_search' }] }],
])('a tool that the vendor ran is read from the answer in %s', (name, answer) => {
  const attributes = { 'acme.span.type': 'llm', 'acme.model.name': 'gpt-5-mini', [name]: JSON.stringify(answer) };
  expect(readSpan(source(attributes, 'openai.responses'))).toMatchObject({
    facts: { vendor: 'openai', toolRunsAt: 'vendor' },
    uses: [
      { kind: 'model', name: 'gpt-5-mini' },
      { kind: 'tool', name: 'web_search' },
    ],
  });
});

// The items of OpenAI's Responses API, of Anthropic's MCP connector, of Azure's client, of Pydantic AI and of Google's Interactions API
test.each([
  [
    'acme.response',
    {
      output: [
        { type: 'mcp_list_tools', server_label: 'everything', tools: [{ name: 'echo' }] },
        { type: 'mcp_call', id: 'mcp_1', server_label: 'everything', name: 'echo' },
      ],
    },
  ],
  ['acme.response', { content: [{ type: 'mcp_tool_use', id: 'mcptoolu_1', server_name: 'everything', name: 'echo' }] }],
  [
    'gen_ai.output.messages',
    [{ parts: [{ type: 'tool_call', content: { type: 'mcp_call', server_label: 'everything', name: 'echo' } }] }],
  ],
  [
    'gen_ai.output.messages',
    [
      {
        parts: [
          { type: 'tool_call', builtin: true, name: 'mcp_server:everything', arguments: '{"action":"list_tools"}' },
          { type: 'tool_call', builtin: true, name: 'mcp_server:everything', arguments: { tool_name: 'echo' } },
        ],
      },
    ],
  ],
  ['acme.output', [{ type: 'mcp_server_tool_call', id: '1', server_name: 'everything', name: 'echo' }]],
])('a tool that the vendor called at an MCP server is read from the answer in %s', (name, answer) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'some-model',
    [name]: JSON.stringify(answer),
  };
  expect(readSpan(source(attributes)).uses).toEqual([
    { kind: 'model', name: 'some-model' },
    { kind: 'tool', name: 'mcp__everything__echo' },
  ]);
});

test('texts that cannot be the names of a server and its tool are not read from an answer', () => {
  const call = { type: 'mcp_call', server_label: 'everything', name: 'Jane Roe has hepatitis C' };
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'acme.output': JSON.stringify([call]),
  };
  expect(readSpan(source(attributes)).uses).toMatchObject([{ name: 'm' }, { name: 'server_tool' }]);
});

test('the messages of an agent repeat those of its model calls', () => {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'weather_agent',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.output.messages': JSON.stringify(MESSAGES),
  };
  expect(readSpan(source(attributes)).uses).toEqual([{ kind: 'agent', name: 'weather_agent' }]);
});

// eve 0.80.1 with a model of Anthropic. It calls its web search a tool of the framework.
test('eve: a tool call with an id of Anthropic is a tool of Anthropic', () => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'web_search',
    'gen_ai.tool.call.id': 'srvtoolu_b148a679f7bb4a4c8c3a4f8e',
    'agent.tool.is_framework': true,
  };
  const { facts, uses } = readSpan(source(attributes, 'execute_tool web_search', { scope: 'eve.agent' }));
  expect(facts).toMatchObject({ vendor: 'anthropic', toolRunsAt: 'vendor' });
  expect(uses).toEqual([{ kind: 'tool', name: 'web_search' }]);
});

test('calls of a vendor’s tool with an empty id are as many as the answer lists', () => {
  const parts = [1, 2].map(() => ({ type: 'server_tool_call', id: '', name: 'web_search' }));
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5' };
  const answer = JSON.stringify([{ role: 'assistant', parts }]);
  expect(readSpan(source({ ...attributes, 'gen_ai.output.messages': answer })).uses).toContainEqual({
    kind: 'tool',
    name: 'web_search',
    times: 2,
  });
});
