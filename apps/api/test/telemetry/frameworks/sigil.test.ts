import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from '../reading/source.ts';

const JS = 'github.com/grafana/sigil/sdks/js';
const PYTHON = 'github.com/grafana/sigil/sdks/python';
const CACHE = { 'gen_ai.usage.cache_read_input_tokens': 5, 'gen_ai.usage.cache_write_input_tokens': 2 };
const REASONING = { 'gen_ai.usage.reasoning_tokens': 3 };
const OF_FRAMEWORK = { 'agento11y.framework.run_id': 'run-1' };

// Written by hand after github.com/grafana/sigil-sdk, July 2026.
test.each([
  ['Anthropic', JS, 'anthropic', CACHE, { inputTokens: 28, outputTokens: 8 }],
  ['Anthropic', PYTHON, 'anthropic', CACHE, { inputTokens: 28, outputTokens: 8 }],
  ['Gemini', JS, 'gemini', REASONING, { inputTokens: 21, outputTokens: 11 }],
  ['Gemini', PYTHON, 'gemini', REASONING, { inputTokens: 21, outputTokens: 8 }],
  ['OpenAI', JS, 'openai', { ...CACHE, ...REASONING }, { inputTokens: 21, outputTokens: 8 }],
  ['LangChain', JS, 'anthropic', { ...CACHE, ...OF_FRAMEWORK }, { inputTokens: 21, outputTokens: 8 }],
])('sigil: tokens of %s by %s', (_client, scope, vendor, more, tokens) => {
  const attributes = {
    'agento11y.sdk.name': 'sdk',
    'gen_ai.operation.name': 'generateText',
    'gen_ai.provider.name': vendor,
    'gen_ai.request.model': 'some-model',
    'gen_ai.agent.name': 'weather_agent',
    'gen_ai.usage.input_tokens': 21,
    'gen_ai.usage.output_tokens': 8,
    ...more,
  };
  const { facts, uses } = readSpan(source(attributes, 'generateText some-model', { scope, kind: 'client' }));
  expect(facts).toMatchObject(tokens);
  expect(uses).toEqual([{ kind: 'model', name: 'some-model' }]);
});
