import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

// Made from what @arizeai/openinference-instrumentation-bedrock 0.5.1 sends for a call of the Converse API.
const CONVERSE = {
  'openinference.span.kind': 'LLM',
  'llm.provider': 'aws',
  'llm.system': 'anthropic',
  'llm.model_name': 'anthropic',
  'input.value': '{"modelId":"us.anthropic.claude-sonnet-4-5-20250929-v1:0","messages":[]}',
  'llm.token_count.prompt': 16,
  'llm.token_count.completion': 8,
  'llm.token_count.total': 29,
};
const scope = '@arizeai/openinference-instrumentation-bedrock';

test('openinference: a call of Bedrock has the whole id of the model, and its input includes cached tokens', () => {
  expect(readSpan(source(CONVERSE, 'bedrock.converse', { scope })).facts).toMatchObject({
    vendor: 'aws.bedrock',
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    inputTokens: 21,
    outputTokens: 8,
  });
});

test('openinference: a text of a request to Bedrock that cannot be an id is not the model', () => {
  const attributes = { ...CONVERSE, 'input.value': '{"modelId":"what is the weather?"}' };
  expect(readSpan(source(attributes, 'bedrock.converse', { scope })).facts).toMatchObject({ model: 'anthropic' });
});

test("openinference: the tokens of an answer of Anthropic's API on Bedrock, which has no total, include cached ones", () => {
  const { 'llm.token_count.total': _total, ...attributes } = CONVERSE;
  const span = source({ ...attributes, 'llm.token_count.prompt_details.cache_read': 5 }, 'bedrock.invoke_model', {
    scope,
  });
  expect(readSpan(span).facts).toMatchObject({ inputTokens: 21, outputTokens: 8 });
});

test('openinference: LangChain names the model of some clients only in the metadata; a Gemini total includes the reasoning tokens', () => {
  expect(recordedUses('langchain-vendors-openinference')).toMatchObject({
    'model gcp.gen_ai/gemini-3-flash, 21 + 8 tokens': 4,
    'tool google_search at the vendor': 1,
    'tool web_search at the vendor': 2,
  });
});

const langchain = '@arizeai/openinference-instrumentation-langchain';

test.each([
  // `createReactAgent` and agents that are called as a tool
  [[{ kwargs: { name: 'news', content: 'dry' } }], 'invoke_agent'],
  [[{ name: 'news', content: 'dry', type: 'ai' }], 'invoke_agent'],
  // The node that runs one tool
  [[{ kwargs: { name: 'news', content: 'dry', tool_call_id: 'call_1' } }], null],
  [[{ kwargs: { name: 'news' } }, { kwargs: { name: 'boss' } }], null],
])('openinference: a graph of LangChain whose last message has its name is an agent: %j', (messages, operation) => {
  const graph = { 'openinference.span.kind': 'CHAIN', 'output.value': JSON.stringify({ messages }) };
  const metadata = JSON.stringify({ lc_agent_name: 'boss' });
  const { facts } = readSpan(source({ ...graph, metadata }, 'news', { scope: langchain }));
  expect(facts).toMatchObject({ operation, agent: operation === null ? 'boss' : 'news' });
});

test("openinference: LangChain's client of DeepSeek names OpenAI as the vendor, and its own package", () => {
  const versions = { '@langchain/core': '1.4.0', '@langchain/openai': '1.5.13', '@langchain/deepseek': '1.1.13' };
  const metadata = { ls_provider: 'openai', ls_model_name: 'deepseek-chat', versions };
  const attributes = { 'openinference.span.kind': 'LLM', metadata: JSON.stringify(metadata) };
  const { facts } = readSpan(source(attributes, 'answer', { scope: langchain }));
  expect(facts).toMatchObject({ vendor: 'deepseek', model: 'deepseek-chat' });
});

// Braintrust's processors for OpenTelemetry write both attributes on every span.
test('openinference: a span under a scope of the application stays one if Braintrust marks it', () => {
  const marks = { 'braintrust.parent': 'project_name:weather', 'braintrust.context_json': '{"environment":"ci"}' };
  const attributes = {
    'openinference.span.kind': 'LLM',
    'llm.system': 'openai',
    'llm.model_name': 'gpt-5-mini',
    'llm.token_count.prompt': 21,
    ...marks,
  };
  expect(readSpan(source(attributes, 'ChatCompletion', { scope: 'weather-app' }))).toMatchObject({
    dialect: 'openinference',
    facts: { vendor: 'openai', model: 'gpt-5-mini', inputTokens: 21 },
    uses: [{ kind: 'model', name: 'gpt-5-mini' }],
  });
});

// The name of the span is the same for every chat of TanStack AI (@arizeai/openinference-tanstack-ai 0.2.13).
test('a chat of TanStack AI names no agent', () => {
  const scope = '@arizeai/openinference-tanstack-ai';
  const attributes = { 'openinference.span.kind': 'AGENT', 'tanstack.ai.source': 'server' };
  expect(readSpan(source(attributes, 'ai.chat', { scope })).uses).toEqual([]);
  expect(readSpan(source({ ...attributes, 'agent.name': 'weather_agent' }, 'ai.chat', { scope })).uses).toEqual([
    { kind: 'agent', name: 'weather_agent' },
  ]);
});
