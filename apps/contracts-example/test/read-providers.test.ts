import { expect, test } from 'vitest';
import { readProviders } from '../src/read-providers.ts';

test('a file of providers is read with the schema of the API', () => {
  const provider = { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', tenantId: 'acme' };
  expect(readProviders(JSON.stringify([provider]))).toMatchObject([provider]);
});

test('each wrong field is named', () => {
  const text = '[{"name":"openai","kind":"llm"},{"name":"","kind":"database"}]';
  expect(() => readProviders(text)).toThrow(/^1\.name: .+\n1\.kind: .+$/);
});
