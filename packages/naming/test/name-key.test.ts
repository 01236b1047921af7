import { declaredKeys, nameKey, plainName } from '../src/name-key.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

/** Columns: a model's name as written, its provider, the name as shown, the name key. */
const ROWS: [string, string, string, string][] = [
  ['gpt-5', 'openai', 'gpt-5', 'gpt-5'],
  ['OpenAI/GPT-5', 'openai', 'GPT-5', 'gpt-5'],
  ['gpt-5', 'OpenAI', 'gpt-5', 'gpt-5'],
  // After a prefix is removed, the rest may begin with the same prefix.
  ['openai/openai/gpt', 'openai', 'gpt', 'gpt'],
  ['models/google/models/gemini', 'gcp.gemini', 'gemini', 'gemini'],
  ['meta-llama/llama-3', 'openai', 'meta-llama/llama-3', 'meta-llama/llama-3'],
  ['meta-llama/openai/llama-3', 'openai', 'meta-llama/openai/llama-3', 'meta-llama/openai/llama-3'],
  ['ours/hub/gpt-5', 'Ours/Hub', 'gpt-5', 'gpt-5'],
  ['openai/', 'openai', 'openai/', 'openai/'],
  ['openai/openai/', 'openai', 'openai/', 'openai/'],
  ['openai', 'openai', 'openai', 'openai'],
  // Compatibility characters are normalized (NFKC), so a full-width slash does not circumvent a block.
  ['openai／gpt-5', 'openai', 'openai／gpt-5', 'gpt-5'],
  ['ＯpenAI/ÄÖ', 'openai', 'ÄÖ', 'äö'],
];

test.each(ROWS)('the model %s of %s is shown as %s and has the key %s', (name, provider, shown, key) => {
  expect([plainName('model', name, provider), nameKey('model', name, provider)]).toEqual([shown, key]);
});

test('names of tools, agents and other kinds are their own keys, unchanged', () => {
  for (const kind of ['tool', 'resource', 'prompt', 'agent', 'channel'] as const) {
    expect([plainName(kind, 'a/a/B', 'a'), nameKey(kind, 'a/a/B', 'a')]).toEqual(['a/a/B', 'a/a/B']);
    expect(declaredKeys(kind, 'a/B', 'a')).toEqual(['a/B']);
  }
});

// Slashes of both kinds, provider names and aliases, characters whose length changes with case folding, any text.
const piece = fc.oneof(
  fc.constantFrom('/', '／', 'openai', 'OPENAI', 'ΑΣ', 'models', 'google', 'gcp.gemini', 'ﬁ', 'İ', '℀', '\u0338', ' '),
  fc.string({ unit: 'binary', maxLength: 3 }),
);
const text = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''));
const provider = fc.option(fc.oneof(fc.constantFrom('openai', 'OpenAI', 'gcp.gemini', 'ΑΣ', 'a/a'), text));

test('for any spelling, the shown name has the same key, and contains no prefix that could still be removed', () => {
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
