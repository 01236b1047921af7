import { expect, test } from 'vitest';
import type { Dialect } from '../../../src/telemetry/reading/dialect.ts';
import { genai } from '../../../src/telemetry/reading/genai.ts';
import { readSpan as readAnySpan } from '../../../src/telemetry/frameworks/read.ts';
import { dialectReader } from '../../../src/telemetry/reading/reader.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { span } from '../otlp/wire.ts';

const acme: Dialect = {
  name: 'acme',
  scopes: ['acme', /^@acme\//],
  signature: ['acme.kind', 'x-acme.*'],
  attributes: {
    operation: ['acme.kind'],
    vendor: ['acme.vendor'],
    model: ['acme.model', 'acme.settings#model.id'],
    toolServer: ['acme.server'],
    agent: ['acme.agent'],
  },
  ignores: ['gen_ai.prompt.name'],
  operations: { llm: 'chat', run: 'invoke_agent', outer: 'chat', step: null },
  spanNames: [{ pattern: /^tool (?<tool>.+)$/, operation: 'execute_tool' }],
  wrappers: ['outer'],
  vendors: { acme: null, oai: 'openai' },
  defaults: { vendor: 'anthropic' },
  agentTools: ['Bash', 'Edit*'],
  logs: {
    'acme.request': {
      operation: 'chat',
      attributes: { model: ['model'], inputTokens: ['input_tokens'], errorType: ['error'] },
      counts: ({ attributes }) => attributes['cached'] !== true,
    },
    'acme.answer': {
      operation: 'chat',
      attributes: { model: ['model'], outputTokens: ['output_tokens'] },
      tokensOnly: ({ attributes }) => attributes['output_tokens'] !== undefined,
    },
    'acme.rejection': { operation: 'execute_tool', attributes: { tool: ['tool'] }, isRejection: true },
  },
};

const { readSpan, readLogRecord, readNames } = dialectReader([acme, genai]);

const scope = (name: string) => ({ name, version: null, attributes: {} });
const inScope = (attributes: Attributes, name = 'a span') => readSpan(span({ name, attributes, scope: scope('acme') }));

test.each<[string, string, Attributes, string | null]>([
  ['its scope', 'acme', {}, 'acme'],
  ['a pattern of its scope', '@acme/sdk', {}, 'acme'],
  ['its scope comes before the signature of another dialect', 'acme', { 'gen_ai.request.model': 'm' }, 'acme'],
  ['an attribute of its signature', 'other', { 'acme.kind': 'llm' }, 'acme'],
  ['a prefix of its signature', 'other', { 'x-acme.any': 1 }, 'acme'],
  ['the first signature of the list', 'other', { 'gen_ai.request.model': 'm', 'acme.kind': 'llm' }, 'acme'],
  ['the generic conventions', 'other', { 'gen_ai.request.model': 'm' }, 'genai'],
  ['nothing', 'other', { 'acme.kindness': 'llm', __proto__: 1 }, null],
])('a dialect is recognised by %s', (_what, name, attributes, dialect) => {
  expect(readSpan(span({ attributes, scope: scope(name) })).dialect).toBe(dialect);
});

test('an exact scope precedes a pattern of another dialect, whatever their order is', () => {
  const exact: Dialect = { name: 'exact', scopes: ['acme.sdk'] };
  const pattern: Dialect = { name: 'pattern', scopes: [/^acme/] };
  for (const dialects of [
    [exact, pattern],
    [pattern, exact],
  ]) {
    const reader = dialectReader(dialects);
    expect(reader.readSpan(span({ scope: scope('acme.sdk') })).dialect).toBe('exact');
    expect(reader.readSpan(span({ scope: scope('acme.other') })).dialect).toBe('pattern');
  }
});

const decorator: Dialect = { name: 'decorator', signature: ['note.*'], attributes: { agent: ['note.agent'] } };
const unlisted: Dialect = {
  name: 'unlisted',
  endings: { model: ['model.name'], inputTokens: ['input.tokens'] },
};
const alone: Dialect = { name: 'alone', scopes: ['alone'], attributes: { model: ['alone.model'] }, readsAlone: true };

test.each<[string, string, Attributes, string]>([
  ['of a known scope in names of another dialect', 'acme', { 'note.agent': 'a' }, 'decorator'],
  ['that is decorated, by the endings of its own names', 'x', { 'note.id': 1, 'my.model.name': 'gpt-5' }, 'unlisted'],
  ['of a known scope, never by endings', 'acme', { 'my.model.name': 'gpt-5' }, 'acme'],
  ['of a dialect that reads alone, by no other one', 'alone', { 'note.agent': 'a' }, 'alone'],
])('a span in which its dialect reads nothing is read, %s', (_what, scopeName, attributes, dialect) => {
  const reader = dialectReader([acme, decorator, alone, genai, unlisted]);
  const reading = reader.readSpan(span({ attributes, scope: scope(scopeName) }));
  expect([reading.dialect, reading.facts === null]).toEqual([dialect, dialect === 'acme' || dialect === 'alone']);
});

test('a recognised span without readable attributes has a dialect and no facts', () => {
  expect(inScope({ other: 1 })).toEqual({ dialect: 'acme', facts: null, uses: [] });
});

test.each<[string, Attributes, object]>([
  ['an operation of the dialect', { 'acme.kind': 'LLM' }, { operation: 'chat' }],
  [
    'the next operation attribute if the first one is absent',
    { 'acme.kind': 'step', 'gen_ai.operation.name': 'x' },
    { operation: 'x' },
  ],
  [
    'attributes of the dialect before the generic ones',
    { 'acme.model': 'a', 'gen_ai.request.model': 'b' },
    { model: 'a' },
  ],
  ['the generic attributes too', { 'gen_ai.request.model': 'b' }, { model: 'b' }],
  ['inside a JSON attribute', { 'acme.settings': '{"model":{"id":"m"}}' }, { model: 'm' }],
  ['except an attribute that it ignores', { 'acme.model': 'm', 'gen_ai.prompt.name': 'a session' }, { prompt: null }],
  ['a vendor in the spelling of the dialect', { 'acme.vendor': 'OAI' }, { vendor: 'openai' }],
  [
    'the default provider if the vendor is a framework',
    { 'acme.vendor': 'acme', 'acme.model': 'm' },
    { vendor: 'anthropic' },
  ],
  ["a vendor without an API's suffix", { 'acme.vendor': 'openai.responses' }, { vendor: 'openai' }],
  ['a tool that the agent runs', { 'gen_ai.tool.name': 'EditFile' }, { toolRunsAt: 'agent' }],
  [
    'a tool of a server',
    { 'gen_ai.tool.name': 'Bash', 'acme.server': 'everything' },
    { toolRunsAt: null, toolServer: 'everything' },
  ],
])('facts: %s', (_what, attributes, facts) => {
  expect(inScope(attributes).facts).toMatchObject(facts);
});

test('a span name is read if attributes are missing', () => {
  expect(inScope({ 'acme.agent': 'planner' }, 'tool search').facts).toMatchObject({
    operation: 'execute_tool',
    tool: 'search',
    agent: 'planner',
  });
  expect(inScope({ 'gen_ai.tool.name': 'find' }, 'tool search').facts?.tool).toBe('find');
});

test('the model of a wrapper is shown, but is not a use', () => {
  const { facts, uses } = inScope({ 'acme.kind': 'outer', 'acme.model': 'm' });
  expect(facts).toMatchObject({ operation: 'chat', model: 'm' });
  expect(uses).toEqual([]);
});

test.each<[string, Attributes, object]>([
  [
    'a single word is the name of a server',
    { 'server.address': 'Everything' },
    { toolServer: 'everything', serverAddress: null },
  ],
  ['a command that runs any server is no name', { 'server.address': 'npx' }, { toolServer: null, serverAddress: null }],
  [
    'a single word with a port is a host',
    { 'server.address': 'tools', 'server.port': 80 },
    { toolServer: null, serverAddress: 'tools' },
  ],
  [
    'a name with a dot is a host',
    { 'server.address': 'mcp.example.com' },
    { toolServer: null, serverAddress: 'mcp.example.com' },
  ],
  ['localhost is a host', { 'server.address': 'localhost' }, { serverAddress: 'localhost' }],
  ['an IP address is a host', { 'server.address': '[::1]' }, { serverAddress: '::1' }],
  [
    'a URL has a host',
    { 'server.address': 'https://user@Mcp.example.com:8080/mcp' },
    { serverAddress: 'mcp.example.com' },
  ],
])('the address of a tool: %s', (_what, attributes, facts) => {
  expect(
    inScope({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 't', ...attributes }).facts,
  ).toMatchObject(facts);
});

test('a single word is also accepted as the address of a model', () => {
  expect(inScope({ 'acme.model': 'm', 'server.address': 'ollama' }).facts).toMatchObject({ serverAddress: 'ollama' });
});

test('a log event is read if a dialect lists it', () => {
  const record = (eventName: string | null, attributes: Attributes) =>
    readLogRecord({ eventName, body: null, attributes, scope: scope('any'), resource: {} });
  const read = record('acme.request', { model: 'm', input_tokens: '12', error: 'timeout' });
  expect(read).toMatchObject({ dialect: 'acme', uses: [{ kind: 'model', name: 'm' }] });
  expect(read.facts).toMatchObject({ operation: 'chat', vendor: 'anthropic', inputTokens: 12, errorType: 'timeout' });
  expect(record('acme.request', { model: 'm', cached: true })).toEqual({ dialect: 'acme', facts: null, uses: [] });
  expect(record('acme.other', { model: 'm' })).toEqual({ dialect: null, facts: null, uses: [] });
  expect(record(null, { model: 'm' }).dialect).toBeNull();
});

test('a record that only adds tokens names the use that they belong to, and is not a use itself', () => {
  const record = (attributes: Attributes) =>
    readLogRecord({ eventName: 'acme.answer', body: null, attributes, scope: scope('any'), resource: {} });
  expect(record({ model: 'm', output_tokens: 8 })).toMatchObject({ uses: [], tokensOf: { kind: 'model', name: 'm' } });
  expect(record({ model: 'm' })).toMatchObject({ uses: [{ kind: 'model', name: 'm' }] });
  expect(record({ model: 'm' }).tokensOf).toBeUndefined();
});

test('a record of a rejection names the call that was rejected, and is not a use itself', () => {
  const attributes = { tool: 'deploy' };
  expect(
    readLogRecord({ eventName: 'acme.rejection', body: null, attributes, scope: scope('any'), resource: {} }),
  ).toMatchObject({ uses: [], rejected: { kind: 'tool', name: 'deploy' } });
});

test.each([
  ['cli-agent-trace', 'denied', []],
  ['github.copilot', 'rejected', []],
  // A tool of an application may reject what it was asked to do.
  ['payments', 'rejected', [{ kind: 'tool', name: 'pay' }]],
])('whether a tool ran in scope %s with the error type %s', (name, errorType, uses) => {
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'pay', 'error.type': errorType };
  const read = readAnySpan(span({ attributes, scope: scope(name) }));
  expect(read).toMatchObject({ facts: { tool: 'pay' }, uses });
  expect(read.uses).toHaveLength(uses.length);
});

test('decoders keep every attribute that dialects read', () => {
  for (const name of ['acme.kind', 'acme.settings', 'input_tokens', 'gen_ai.request.model'])
    expect(readNames).toContain(name);
  expect(readNames).not.toContain('gen_ai.*');
});
