import { declaredKeys, nameKey, plainName } from '@quartermaster/db/name-key.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

/** A model's name as it is written, its provider, how it is shown, and its key. */
const ROWS: [string, string, string, string][] = [
  ['gpt-5', 'openai', 'gpt-5', 'gpt-5'],
  ['OpenAI/GPT-5', 'openai', 'GPT-5', 'gpt-5'],
  ['gpt-5', 'OpenAI', 'gpt-5', 'gpt-5'],
  // What is left once a prefix is taken away may begin with it again.
  ['openai/openai/gpt', 'openai', 'gpt', 'gpt'],
  ['models/google/models/gemini', 'gcp.gemini', 'gemini', 'gemini'],
  ['meta-llama/llama-3', 'openai', 'meta-llama/llama-3', 'meta-llama/llama-3'],
  ['meta-llama/openai/llama-3', 'openai', 'meta-llama/openai/llama-3', 'meta-llama/openai/llama-3'],
  ['ours/hub/gpt-5', 'Ours/Hub', 'gpt-5', 'gpt-5'],
  ['openai/', 'openai', 'openai/', 'openai/'],
  ['openai/openai/', 'openai', 'openai/', 'openai/'],
  ['openai', 'openai', 'openai', 'openai'],
  // Compatibility characters are what they stand for: another slash gets round no block.
  ['openai／gpt-5', 'openai', 'openai／gpt-5', 'gpt-5'],
  ['ＯpenAI/ÄÖ', 'openai', 'ÄÖ', 'äö'],
];

test.each(ROWS)('the model %s at %s is shown as %s, by the key %s', (name, provider, shown, key) => {
  expect([plainName('model', name, provider), nameKey('model', name, provider)]).toEqual([shown, key]);
});

test('what is no model is called by exactly its name', () => {
  for (const kind of ['tool', 'resource', 'prompt', 'agent', 'channel'] as const) {
    expect([plainName(kind, 'a/a/B', 'a'), nameKey(kind, 'a/a/B', 'a')]).toEqual(['a/a/B', 'a/a/B']);
    expect(declaredKeys(kind, 'a/B', 'a')).toEqual(['a/B']);
  }
});

// Slashes of both kinds, names and aliases of providers, what changes its length when it is folded, and anything else.
const piece = fc.oneof(
  fc.constantFrom('/', '／', 'openai', 'OPENAI', 'ΑΣ', 'models', 'google', 'gcp.gemini', 'ﬁ', 'İ', '℀', '\u0338', ' '),
  fc.string({ unit: 'binary', maxLength: 3 }),
);
const text = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''));
const provider = fc.option(fc.oneof(fc.constantFrom('openai', 'OpenAI', 'gcp.gemini', 'ΑΣ', 'a/a'), text));

test('however a name is written, what is shown of it has its key, and nothing is left to take away', () => {
  fc.assert(
    fc.property(text, provider, (name, providerName) => {
      const shown = plainName('model', name, providerName);
      expect(nameKey('model', shown, providerName)).toBe(nameKey('model', name, providerName));
      expect(plainName('model', shown, providerName)).toBe(shown);
      expect(name.endsWith(shown) && shown !== '').toBe(name !== '');
      const again = providerName === null ? name : `${providerName}/${name}`;
      if (name !== '') expect(nameKey('model', again, providerName)).toBe(nameKey('model', name, providerName));
    }),
    { numRuns: 5000 },
  );
});
