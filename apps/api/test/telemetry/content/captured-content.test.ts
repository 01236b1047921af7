import { expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import type { OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import { span } from '../otlp/wire.ts';
import { attributesWith, CONTENT, SECRET, UNLISTED } from './attribute-names.ts';

// Content is captured: content is stored completely, and other texts are truncated.

const filter = contentFilter({ keepContent: true });

test('content is kept completely, and other texts are truncated', () => {
  const long = 'x'.repeat(5000);
  const filtered = filter(
    span({
      attributes: { 'gen_ai.input.messages': [{ content: long }], 'exception.message': long, other: long },
      events: [{ name: 'gen_ai.choice', time: 't', attributes: { message: long } }],
      status: { code: 'error', message: 'boom' },
    }),
    'genai',
  );
  expect(filtered.attributes).toEqual({
    'gen_ai.input.messages': [{ content: long }],
    'exception.message': long,
    other: long.slice(0, 1024),
  });
  expect(filtered.events[0]?.attributes.message).toBe(long);
  expect(filtered.status.message).toBe('boom');
});

const notSecret = CONTENT.filter((name) => !/authorization$|cookie$/.test(name));
test.each([...notSecret, ...UNLISTED])('%s is kept', (name) => {
  const attributes = attributesWith(name, SECRET);
  expect(filter(span({ attributes }), null).attributes).toEqual(attributes);
});

test.each([
  ['url.full', 'https://user:hunter2@llm.example.com/v1?key=k#f', 'https://llm.example.com/v1?key=k#f'],
  ['http.url', 'https://hunter2@llm.example.com', 'https://llm.example.com'],
  ['url.full', 'https://a@b:hunter2@llm.example.com/x@y', 'https://llm.example.com/x@y'],
  ['url.full', 'https://llm.example.com/?mail=a@b', 'https://llm.example.com/?mail=a@b'],
  ['http.target', '/v1/chat?api_key=k', '/v1/chat?api_key=k'],
  ['server.address', 'https://user:hunter2@llm.example.com', 'https://llm.example.com'],
  ['note', 'it called https://user:hunter2@a.example.com then', 'it called https://a.example.com then'],
])('user and password are removed from URLs in %s: %s', (name, url, plain) => {
  expect(filter(span({ attributes: { [name]: url } }), null).attributes).toEqual({ [name]: plain });
});

test('user and password are removed from URLs in the name and status of a span', () => {
  const url = 'https://user:hunter2@llm.example.com/v1';
  const status: OtlpSpan['status'] = { code: 'error', message: `refused by ${url}` };
  expect(filter(span({ name: `POST ${url}`, status }), null)).toMatchObject({
    name: 'POST https://llm.example.com/v1',
    status: { message: 'refused by https://llm.example.com/v1' },
  });
});

test('secrets inside content are removed', () => {
  const input = { user: 'alice', password: 'x', list: [{ apiKey: 'x', text: 'y' }], max_tokens: 3 };
  expect(filter(span({ attributes: { input } }), null).attributes).toEqual({
    input: { user: 'alice', list: [{ text: 'y' }], max_tokens: 3 },
  });
});

test('every other string is truncated to 1,024 bytes of UTF-8, between code points', () => {
  const long = `${'x'.repeat(1022)}😀${'x'.repeat(1000)}`;
  const short = 'x'.repeat(1022);
  const filtered = filter(
    span({
      name: long,
      traceState: long,
      attributes: { plain: long, nested: [{ deep: [long] }], [long]: 1, exact: 'é'.repeat(512) },
      resource: { long },
      scope: { name: long, version: long, attributes: { long } },
      events: [{ name: long, time: 't', attributes: { long } }],
      links: [{ traceId: 'a', spanId: 'b', attributes: { long } }],
    }),
    null,
  );
  expect(filtered).toMatchObject({
    name: short,
    traceState: short,
    attributes: { plain: short, nested: [{ deep: [short] }], [short]: 1, exact: 'é'.repeat(512) },
    resource: { long: short },
    scope: { name: short, version: short, attributes: { long: short } },
    events: [{ name: short, attributes: { long: short } }],
    links: [{ attributes: { long: short } }],
  });
});
