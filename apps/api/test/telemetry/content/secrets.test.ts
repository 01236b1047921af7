import { describe, expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { span } from '../otlp/wire.ts';
import { CONTENT, SAFE, SECRET, SECRETS } from './attribute-names.ts';

const entries = (names: string[]): Attributes => Object.fromEntries(names.map((name) => [name, SECRET]));

describe.each([true, false])('keepContent %s', (keepContent) => {
  test.each(SECRETS)('the secret %s is removed everywhere', (name) => {
    const attributes = { [name]: SECRET, nested: { [name]: [SECRET] }, kept: 1 };
    const dirty = span({
      attributes,
      resource: { ...attributes },
      events: [{ name: 'exception', time: 't', attributes: { ...attributes } }],
    });
    const clean = contentFilter({ keepContent })(dirty, null);
    expect(JSON.stringify(clean)).not.toContain(SECRET);
    expect(clean.attributes).toMatchObject({ nested: {}, kept: 1 });
    expect(clean.resource).toMatchObject({ nested: {}, kept: 1 });
  });

  test('numbers and booleans are kept under any name', () => {
    const counts = {
      'llm.token_count.prompt': 7,
      'usage.completion': 2,
      'cache.token': 3,
      'http.cookie': true,
      result: 0,
    };
    const counted = span({ attributes: counts });
    expect(contentFilter({ keepContent })(counted, null)).toBe(counted);
  });

  test('a span without content and secrets is returned unchanged', () => {
    const clean = span({
      attributes: { ...Object.fromEntries(SAFE.map((name) => [name, 'x'])), list: [1, { a: 2 }] },
      resource: { 'service.name': 'agents' },
      events: [{ name: 'exception', time: 't', attributes: { n: 1 } }],
      links: [{ traceId: 'a', spanId: 'b', attributes: {} }],
    });
    expect(contentFilter({ keepContent })(clean, null)).toBe(clean);
  });

  test('the input is not modified', () => {
    const dirty = span({ attributes: entries([...CONTENT, 'x'.repeat(2000)]), resource: entries(CONTENT) });
    const before = structuredClone(dirty);
    contentFilter({ keepContent })(dirty, null);
    expect(dirty).toEqual(before);
  });

  test('objects that several spans share are still shared afterwards, in any dialect', () => {
    const resource = { 'exception.message': SECRET, long: 'x'.repeat(2000) };
    const scope = { name: 'x'.repeat(2000), version: null, attributes: {} };
    const filter = contentFilter({ keepContent });
    const [a, b] = [filter(span({ resource, scope }), null), filter(span({ resource, scope }), 'genai')];
    expect(a.resource).not.toBe(resource);
    expect(a.resource).toBe(b.resource);
    expect(a.scope).toBe(b.scope);
  });
});
