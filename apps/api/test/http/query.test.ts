import { expect, test } from 'vitest';
import { z } from 'zod';
import { queryReader } from '../../src/http/messages/query.ts';

const query = z.object({
  int: z.int().min(1).default(25),
  oldInt: z.number().int().optional(),
  number: z.number().nullish(),
  flag: z.boolean().nullish(),
  text: z.string().nullish(),
  list: z.array(z.int()).optional(),
  piped: z.preprocess((value) => value, z.int()),
  prefault: z.int().prefault(3),
  __proto__: z.string().optional(),
});
const read = queryReader({ query, ignoresUnknownQuery: true });

test.each([
  ['int=5', { int: 5 }],
  ['int=%205%20', { int: 5 }],
  ['int=+5', { int: 5 }],
  ['int=%2B5', { int: 5 }],
  ['int=1.0', { int: 1 }],
  ['int=-0', { int: 0 }],
  ['int=007', { int: 7 }],
  ['oldInt=5&prefault=6&piped=7', { oldInt: 5, prefault: 6, piped: 7 }],
  ['int=1&int=2&int=x', { int: 'x' }],
  ['int=x&int=2', { int: 2 }],
  ...['', 'null', 'abc', '1.5', '1e2', '0x10', '1 2', '1_000', '٣', '--1', '1.', '.0'].map((text) => [
    `int=${text}`,
    { int: text },
  ]),
  ['number=1.5', { number: 1.5 }],
  ['number=1e2', { number: 100 }],
  ['number=NaN', { number: 'NaN' }],
  ['number=Infinity', { number: 'Infinity' }],
  ...['true', '1', 'yes', 'on', 't', 'y', 'TRUE', 'Yes', 'oN'].map((text) => [`flag=${text}`, { flag: true }]),
  ...['false', '0', 'no', 'off', 'f', 'n', 'FALSE', 'No', 'oFF'].map((text) => [`flag=${text}`, { flag: false }]),
  ...['', 'null', '2', ' true'].map((text) => [`flag=${text}`, { flag: text }]),
  ['text=', { text: '' }],
  ['text', { text: '' }],
  ['text=null', { text: 'null' }],
  ['text=5', { text: '5' }],
  ['text=a%20b%C3%A9+c', { text: 'a bé c' }],
  ['list=1&list=x&list=3', { list: [1, 'x', 3] }],
  ['list=1', { list: [1] }],
  ['unknown=1&int=2&constructor=3', { int: 2 }],
  ['', {}],
] as [string, object][])('?%s is read as %j', (search, expected) => {
  const { query: found } = read(search);
  expect(found).toEqual(expected);
  expect(Object.values(found).some((value) => Object.is(value, -0))).toBe(false);
});

test('the original text of each value is kept', () => {
  expect(read('int=%2005&list=1&list=2&flag=ON&other=1').text).toEqual({ int: ' 05', list: ['1', '2'], flag: 'ON' });
});

test('an operation without query parameters that ignores unknown ones reads nothing', () => {
  expect(queryReader({ ignoresUnknownQuery: true })('a=1')).toEqual({ query: {}, text: {} });
});

test('unknown parameters are kept as texts, each once, so that the schema can refuse them', () => {
  const { query: found, text } = queryReader({ query, ignoresUnknownQuery: false })('int=2&a=1&a=2&constructor=3');
  expect(found).toEqual({ int: 2, a: '2', constructor: '3' });
  expect(text).toEqual({ int: '2', a: '2', constructor: '3' });
  const hostile = queryReader({ ignoresUnknownQuery: false })('__proto__=x');
  expect(Object.keys(hostile.query)).toEqual(['__proto__']);
});
