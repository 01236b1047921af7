import { describe, expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { DIALECTS } from '../../../src/telemetry/frameworks/list.ts';
import type { Attributes, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import { span } from '../otlp/wire.ts';
import { attributesWith, CONTENT, SAFE, SAFE_IN_DIALECTS, SECRET, UNLISTED, without } from './attribute-names.ts';

// Content is not captured: which attributes of a span are stored, by their names.

const filter = contentFilter({ keepContent: false });
const filtered = (attributes: Attributes, dialect: string | null = null) =>
  filter(span({ attributes }), dialect).attributes;

describe.each([null, ...DIALECTS.map(({ name }) => name)])('in the dialect %s', (dialect) => {
  test('every attribute that may be content is removed from span, resource, scope, events and links', () => {
    const isSafe = (name: string) => SAFE_IN_DIALECTS.some(([of, safeName]) => of === dialect && safeName === name);
    for (const name of [...CONTENT, ...UNLISTED].filter((one) => !isSafe(one))) {
      const attributes = () => ({ ...attributesWith(name, SECRET), kept: 1 });
      const dirty = span({
        attributes: attributes(),
        resource: attributes(),
        scope: { name: 's', version: null, attributes: attributes() },
        events: [{ name: 'exception', time: 't', attributes: attributes() }],
        links: [{ traceId: 'a', spanId: 'b', attributes: attributes() }],
      });
      const clean = filter(dirty, dialect);
      expect(JSON.stringify(clean), name).not.toContain(SECRET);
      expect(clean.attributes, name).toEqual({ ...without(name, { kept: 1 }), 'quartermaster.omitted.count': 3 });
      expect(clean.resource, name).toEqual(without(name, { kept: 1 }));
      expect(clean.scope.attributes, name).toEqual(without(name, { kept: 1 }));
      expect(clean.events[0]?.attributes, name).toEqual({ kept: 1 });
      expect(clean.links[0]?.attributes, name).toEqual({ kept: 1 });
    }
  });

  test('every safe attribute is kept', () => {
    for (const name of SAFE) expect(filtered({ [name]: 'x' }, dialect)).toEqual({ [name]: 'x' });
  });
});

test.each(SAFE_IN_DIALECTS)('%s: %s is kept', (dialect, name) => {
  expect(filtered({ [name]: 'x' }, dialect)).toEqual({ [name]: 'x' });
});

test.each(DIALECTS.map(({ name, content: ofDialect = [] }) => [name, ofDialect] as const))(
  '%s: every attribute that it lists as content is removed, even numbers',
  (dialect, names) => {
    for (const listed of names) {
      const name = listed.replaceAll('*', 'any');
      for (const value of [SECRET, 7, true, [1], { a: 1 }]) {
        for (const below of [name, `${name}.0.more`, `${name}:more`, `${name}/more`]) {
          const isRead = DIALECTS.find((one) => one.name === dialect)?.safe?.includes(below);
          if (!isRead) expect(filtered({ [below]: value }, dialect)).toEqual(without(below));
        }
      }
    }
  },
);

test('content inside structured values is removed by its path and by its name', () => {
  const attributes = {
    gen_ai: { output: { messages: [SECRET] }, agent: { name: 'm', note: SECRET } },
    llm: { input_messages: [{ 'message.content': SECRET }] },
    list: [{ 'gen_ai.output.messages': SECRET, n: 1 }],
    free: { [SECRET]: 1, n: 1 },
  };
  expect(filtered(attributes)).toEqual({
    gen_ai: { agent: { name: 'm' } },
    llm: {},
    list: [{ n: 1 }],
    free: { n: 1 },
    'quartermaster.omitted': [
      'gen_ai.output',
      'gen_ai.agent.note',
      'llm.input_messages',
      'list.gen_ai.output.messages',
      'free',
    ],
    'quartermaster.omitted.count': 5,
  });
});

test('a removed attribute whose name may be content is counted, but its name is not stored', () => {
  expect(filtered({ [SECRET]: 1, note: 'x' })).toEqual({
    'quartermaster.omitted': ['note'],
    'quartermaster.omitted.count': 2,
  });
});

test('at most 64 names of removed attributes are stored', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`name.${i}`, SECRET]));
  const clean = filtered(many);
  expect(clean['quartermaster.omitted']).toHaveLength(64);
  expect(clean['quartermaster.omitted.count']).toBe(100);
});

test('a sender cannot forge the list of removed attributes', () => {
  expect(filtered({ 'quartermaster.omitted': 3, 'quartermaster.omitted.count': 9, n: 1 })).toEqual({ n: 1 });
});

test.each([
  'gen_ai.user.message',
  'gen_ai.system.message',
  'gen_ai.assistant.message',
  'gen_ai.tool.message',
  'gen_ai.choice',
  'gen_ai.content.prompt',
  'gen_ai.content.completion',
])('the event %s keeps its name and the attributes that are not content', (name) => {
  const attributes = { content: SECRET, message: { body: SECRET }, tool_calls: [SECRET], tokens: 1 };
  const event = { name, time: 't', attributes: { ...attributes, 'gen_ai.system': 'openai', index: 0 } };
  const clean = filter(span({ events: [event] }), 'genai');
  expect(clean.events).toEqual([{ name, time: 't', attributes: { 'gen_ai.system': 'openai', index: 0 } }]);
  expect(clean.attributes['quartermaster.omitted']).toEqual(['content', 'message', 'tool_calls', 'tokens']);
});

test('the status message and the trace state are removed', () => {
  const status: OtlpSpan['status'] = { code: 'error', message: SECRET };
  const clean = filter(span({ status, traceState: `acme=${SECRET}` }), 'genai');
  expect(clean).toMatchObject({ status: { code: 'error', message: null }, traceState: null });
  expect(clean.attributes['quartermaster.omitted']).toEqual(['status.message', 'traceState']);
});

test.each([
  '{"prompt":"x"}',
  '{"prompt":1}',
  '病人张伟艾滋病',
  'alice@example.com',
  'alice@example.com/diagnosis',
  Buffer.from('the secret prompt is here').toString('base64'),
  'card.4111111111111111',
  '....',
])('an attribute named %j is removed together with its name, also inside structured values', (name) => {
  for (const value of [1, true, SECRET]) {
    expect(filtered({ [name]: value })).toEqual({
      'quartermaster.omitted': [],
      'quartermaster.omitted.count': 1,
    });
    expect(filtered({ usage: { [name]: value } })).toEqual({ usage: {}, ...without('usage') });
  }
});

test('names of inherited members are copied as own properties', () => {
  const clean = filtered(JSON.parse(`{"__proto__":{"polluted":true},"constructor":1,"exception.message":"x"}`));
  expect(JSON.stringify(clean)).toMatch(/^\{"__proto__":\{"polluted":true\},"constructor":1,/);
  expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
});
