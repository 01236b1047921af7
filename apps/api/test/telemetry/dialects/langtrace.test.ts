import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans, recordedUses } from './recorded-uses.ts';
import { source } from './source.ts';

test('langtrace: reads the vendor and the address of the client', () => {
  expect(recordedUses('openai-langtrace')).toEqual({
    'model openai/gpt-5-mini, 21 + 8 tokens': 3,
    // Langtrace estimates the tokens of a stream.
    'model openai/gpt-5-mini, 6 + 1 tokens': 1,
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
])('langtrace: a service of type %s that is named %s is the vendor %s', (type, name, vendor) => {
  const attributes = {
    'langtrace.service.type': type,
    'langtrace.service.name': name,
    'gen_ai.request.model': 'llama-3.3-70b',
  };
  expect(readSpan(source(attributes))).toMatchObject({ dialect: 'langtrace', facts: { vendor } });
});

// Made from langtrace-typescript-sdk's src/instrumentation/anthropic/patch.ts, not recorded.
test('langtrace: the instrumentation of Anthropic for TypeScript exchanges input and output', () => {
  const attributes = {
    'langtrace.service.type': 'llm',
    'langtrace.service.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.usage.input_tokens': 8,
    'gen_ai.usage.output_tokens': 16,
  };
  const tokensOf = (scope: string) => readSpan(source(attributes, 'anthropic.messages.create', { scope })).facts;
  expect(tokensOf('@langtrase/typescript-sdk')).toMatchObject({ inputTokens: 16, outputTokens: 8 });
  expect(tokensOf('langtrace_python_sdk')).toMatchObject({ inputTokens: 8, outputTokens: 16 });
});
