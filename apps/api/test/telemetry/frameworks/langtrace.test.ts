import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { recordedSpans, recordedUses } from '../reading/recorded-uses.ts';
import { source } from '../reading/source.ts';

test('langtrace: reads the vendor and the address of the client', () => {
  expect(recordedUses('openai-langtrace')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 3,
    // Langtrace estimates the tokens of a stream by its words.
    'model openai/gpt-5-mini, 1 + 6 tokens': 1,
    'model openai/gpt-5-mini': 1,
    'model openai/text-embedding-3-small': 1,
  });
  const addresses = recordedSpans('openai-langtrace').map((span) => readSpan(span).facts?.serverAddress);
  expect(new Set(addresses)).toEqual(new Set(['127.0.0.1', undefined]));
});

test.each([
  ['llm', 'Groq', 'groq'],
  ['llm', 'arch', null],
  ['vectordb', 'Pinecone', null],
  ['framework', 'CrewAI', null],
  ['framework', 'awsbedrock', 'aws.bedrock'],
])('langtrace: a service of type %s that is named %s is the vendor %s', (type, name, vendor) => {
  const attributes = {
    'langtrace.service.type': type,
    'langtrace.service.name': name,
    'gen_ai.request.model': 'llama-3.3-70b',
  };
  expect(readSpan(source(attributes))).toMatchObject({ dialect: 'langtrace', facts: { vendor } });
});

// Made from recordings of Langtrace 6.3 that are not kept.
test.each([
  ['anthropic', 'messages.create', {}, true],
  ['ollama', 'chat', {}, true],
  ['mistral', 'chat.complete', {}, false],
  ['mistral', 'chat.stream', { 'gen_ai.request.stream': true }, true],
  ['gemini', 'GenerativeModel.generateContentStream', {}, true],
  ['groq', 'chat.completions.create', { 'gen_ai.request.stream': true }, false],
  ['cohere', 'chat', { 'url.path': '/v2/chat' }, false],
  ['cohere', 'embed', { 'url.path': '/v2/embed' }, true],
])(
  'langtrace: whether %s %s of the SDK for TypeScript exchanges input and output',
  (service, method, more, exchanges) => {
    const attributes = {
      'langtrace.service.type': 'llm',
      'langtrace.service.name': service,
      'gen_ai.request.model': 'a-model',
      'gen_ai.usage.input_tokens': 8,
      'gen_ai.usage.output_tokens': 16,
      ...more,
    };
    const tokensOf = (scope: string) => readSpan(source(attributes, `${service}.${method}`, { scope })).facts;
    const [inputTokens, outputTokens] = exchanges ? [16, 8] : [8, 16];
    expect(tokensOf('@langtrase/typescript-sdk')).toMatchObject({ inputTokens, outputTokens });
    expect(tokensOf('langtrace_python_sdk')).toMatchObject({ inputTokens: 8, outputTokens: 16 });
  },
);
