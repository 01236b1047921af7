import { expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { DIALECTS } from '../../../src/telemetry/frameworks/list.ts';
import type { Attributes, AttributeValue } from '../../../src/telemetry/otlp/span.ts';
import { span } from '../otlp/wire.ts';
import { SAFE, SECRET, without } from './attribute-names.ts';

// Content is not captured: which values of attributes with safe names are stored.

const filter = contentFilter({ keepContent: false });
const filtered = (attributes: Attributes, dialect: string | null = null) =>
  filter(span({ attributes }), dialect).attributes;

test.each<[string, AttributeValue]>([
  ['texts', ['a', 'b']],
  ['numbers and a text', [1, 'a']],
  ['many numbers, which may be an embedding', Array.from({ length: 17 }, () => 0.5)],
])('a list of %s is removed', (_what, value) => {
  expect(filtered({ list: value })).toEqual(without('list'));
});

test('a short list of numbers is kept, and so is a list with a safe name', () => {
  const attributes = { list: [1, 2.5, true], 'gen_ai.response.finish_reasons': ['stop', 'length'] };
  expect(filtered(attributes)).toEqual(attributes);
});

test('error.type is kept if it is one word', () => {
  expect(filtered({ 'error.type': 'java.net.UnknownHostException' })).toEqual({
    'error.type': 'java.net.UnknownHostException',
  });
  expect(filtered({ 'error.type': SECRET })).toEqual(without('error.type'));
});

test.each([
  ['url.full', 'https://user:hunter2@llm.example.com:8443/v1/secret?key=k#f', 'https://llm.example.com:8443'],
  ['http.url', 'https://hunter2@llm.example.com', 'https://llm.example.com'],
])('only scheme and host of %s are kept: %s', (name, url, origin) => {
  expect(filtered({ [name]: url })).toEqual({ [name]: origin });
});

const URL_WITH_SECRETS = 'https://user:hunter2@h.example.com:8443/docs?token=hunter2#hunter2';
const readNames = [
  ...SAFE,
  ...DIALECTS.flatMap(({ safe = [], attributes = {} }) => [...safe, ...Object.values(attributes).flat()]),
];

test.each([null, ...DIALECTS.map(({ name }) => name)])(
  'dialect %s: user, query and fragment of a URL are removed from every attribute with a safe name',
  (dialect) => {
    const attributes = Object.fromEntries(readNames.map((name) => [name, URL_WITH_SECRETS]));
    expect(JSON.stringify(filtered(attributes, dialect))).not.toContain('hunter2');
  },
);

test.each([
  ['server.address', URL_WITH_SECRETS, 'h.example.com:8443'],
  ['server.address', 'user:hunter2@h.example.com', 'h.example.com'],
  ['http.host', 'h.example.com/secret?x=1', 'h.example.com'],
  ['server.address', '2001:db8::1', '2001:db8::1'],
  ['server.address', '[2001:db8::1]:443', '[2001:db8::1]:443'],
  ['server.address', '/var/run/agent.sock', '/var/run/agent.sock'],
  ['mcp.resource.uri', 'file:///home/docs/a.pdf?token=x', 'file:///home/docs/a.pdf'],
  ['mcp.resource.uri', 'https://user:pa/ss@h/x', 'https://'],
  ['http.route', '/users/{id}/orders', '/users/{id}/orders'],
  ['gen_ai.agent.name', 'Senior Market Research Analyst', 'Senior Market Research Analyst'],
  ['os.version', 'Darwin 23.1', 'Darwin 23.1'],
  ['error.type', 'grpc::StatusCode', 'grpc::StatusCode'],
])('%s: %j is stored as %j', (name, value, kept) => {
  expect(filtered({ [name]: value })[name]).toBe(kept);
});

test.each([
  ['rpc.method', 'prose of a user'],
  ['code.function', 'prose of a user'],
  ['gen_ai.operation.name', 'Please translate this text'],
  ['gen_ai.data_source.id', 'the document about Jane'],
  ['db.operation.name', 'SELECT * FROM patients'],
  ['db.name', 'all of the patients of Jane'],
  ['error.type', 'user:alice/pw:hunter2'],
  ['http.route', '/users/alice@example.com/reset'],
  ['http.route', '/users/alice?token=x'],
  ['gen_ai.openai.request.response_format', '{"schema":{"description":"some prose"}}'],
  ['session.id', '请告诉我病人张伟的艾滋病检测结果'],
  ['host.name', '{"prompt":"x"}'],
  ['server.address', 'not a host at all'],
])('%s: %j is removed', (name, value) => {
  expect(filtered({ [name]: value })).toEqual(without(name));
});

test('a JSON value is kept if it contains only counts', () => {
  const name = 'langfuse.observation.usage_details';
  const counts = { [name]: '{"input":3,"output":{"cached":1}}' };
  expect(filtered(counts, 'langfuse')).toEqual(counts);
  for (const text of ['{"note":"some prose"}', '{"alice@example.com":3}', 'prose that a person wrote', '["a b"]']) {
    expect(filtered({ [name]: text }, 'langfuse')).toEqual(without(name));
  }
});

test('a value that is not a URL is removed from a URL attribute', () => {
  expect(filtered({ 'url.full': SECRET })).toEqual(without('url.full'));
  expect(filtered({ 'http.target': `/v1/${SECRET}` })).toEqual(without('http.target'));
});

test.each([
  [false, `${'x'.repeat(200_000)}.input`],
  [true, 'x'.repeat(200_000)],
])(
  '8,000 nested values below a name of 200,000 characters take less than a second, with content kept: %s',
  (keepContent, name) => {
    const numbers = Object.fromEntries(Array.from({ length: 62 }, (_, index) => [`n${index.toString(36)}`, 1]));
    const lists = Object.fromEntries(Array.from({ length: 127 }, (_, index) => [`l${index.toString(36)}`, numbers]));
    const started = process.cpuUsage();
    const { attributes } = contentFilter({ keepContent })(span({ attributes: { [name]: lists } }), null);
    const { user, system } = process.cpuUsage(started);
    expect(attributes).toEqual({ ['x'.repeat(1024)]: lists });
    expect((user + system) / 1e6).toBeLessThan(1);
  },
);
