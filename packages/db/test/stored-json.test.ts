import { expect, test } from 'vitest';
import { jsonOf, parsedJson, storedJson } from '../src/stored-json.ts';

const STORED = { '2': 'first', b: [1, { c: null }], a: 'quote " and \\ and \u2028 and ä', d: -0.5, e: {}, f: [] };

test('what is stored is written as JSON.stringify would write it', () => {
  const text = JSON.stringify(STORED);
  const listed = { items: [1, 2, 3].map((id) => ({ id, metadata: storedJson(text), name: `"${id}"` })), next: null };
  const plain = { items: [1, 2, 3].map((id) => ({ id, metadata: STORED, name: `"${id}"` })), next: null };
  expect(jsonOf(listed)).toBe(JSON.stringify(plain));
  expect(jsonOf(plain)).toBe(JSON.stringify(plain));
  expect(jsonOf(storedJson(text))).toBe(text);
});

test('texts that look like a replacement pattern, or like what stands for a text, stay as they are', () => {
  const tricky = { a: "$& $1 $` $'", b: 'stored JSON', c: '"stored JSON ' };
  const [first, second] = [JSON.stringify(tricky), JSON.stringify({ other: true })];
  expect(jsonOf([storedJson(first), tricky, storedJson(second)])).toBe(
    JSON.stringify([tricky, tricky, { other: true }]),
  );
});

test('whoever writes JSON otherwise gets the value', () => {
  const record = { metadata: storedJson('{"a":1}') };
  expect(JSON.parse(JSON.stringify(record))).toEqual({ metadata: { a: 1 } });
  expect(parsedJson(record)).toEqual({ metadata: { a: 1 } });
  expect(parsedJson(undefined)).toBeUndefined();
});

test('what is no JSON is refused, and the next value is written as ever', () => {
  const refused: unknown[] = [undefined, () => {}, { a: 1n }];
  for (const value of refused) expect(() => jsonOf(value)).toThrow(TypeError);
  const broken = { toJSON: () => JSON.parse('{') as unknown };
  expect(() => jsonOf([storedJson('1'), broken])).toThrow(SyntaxError);
  expect(JSON.stringify(storedJson('{"a":1}'))).toBe('{"a":1}');
  expect(jsonOf([storedJson('{"a":1}')])).toBe('[{"a":1}]');
});
