import { expect, test } from 'vitest';
import { expandStoredJson, storedJson, stringifyWithStoredJson } from '../src/stored-json.ts';

const STORED = { '2': 'first', b: [1, { c: null }], a: 'quote " and \\ and \u2028 and ä', d: -0.5, e: {}, f: [] };

test('stored texts are inserted into the same JSON that JSON.stringify writes', () => {
  const text = JSON.stringify(STORED);
  const listed = { items: [1, 2, 3].map((id) => ({ id, metadata: storedJson(text), name: `"${id}"` })), next: null };
  const plain = { items: [1, 2, 3].map((id) => ({ id, metadata: STORED, name: `"${id}"` })), next: null };
  expect(stringifyWithStoredJson(listed)).toBe(JSON.stringify(plain));
  expect(stringifyWithStoredJson(plain)).toBe(JSON.stringify(plain));
  expect(stringifyWithStoredJson(storedJson(text))).toBe(text);
});

test('texts that look like a replacement pattern or a placeholder are kept', () => {
  const tricky = { a: "$& $1 $` $'", b: '\x7F', c: '"\x7F"' };
  const [first, second] = [JSON.stringify(tricky), JSON.stringify({ other: true })];
  expect(stringifyWithStoredJson([storedJson(first), tricky, storedJson(second)])).toBe(
    JSON.stringify([tricky, tricky, { other: true }]),
  );
});

test('JSON.stringify itself writes the parsed value', () => {
  const record = { metadata: storedJson('{"a":1}') };
  expect(JSON.parse(JSON.stringify(record))).toEqual({ metadata: { a: 1 } });
  expect(expandStoredJson(record)).toEqual({ metadata: { a: 1 } });
  expect(expandStoredJson(undefined)).toBeUndefined();
});

test('a value that is not JSON is refused, and the next value is written correctly', () => {
  const refused: unknown[] = [undefined, () => {}, { a: 1n }];
  for (const value of refused) expect(() => stringifyWithStoredJson(value)).toThrow(TypeError);
  const broken = { toJSON: () => JSON.parse('{') as unknown };
  expect(() => stringifyWithStoredJson([storedJson('1'), broken])).toThrow(SyntaxError);
  expect(JSON.stringify(storedJson('{"a":1}'))).toBe('{"a":1}');
  expect(stringifyWithStoredJson([storedJson('{"a":1}')])).toBe('[{"a":1}]');
});
