import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedUses } from './recorded-uses.ts';
import { source } from './source.ts';

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
