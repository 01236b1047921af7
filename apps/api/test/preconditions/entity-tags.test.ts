import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { entityTagOf, entityTagsIn, matchesStrongly, matchesWeakly } from '../../src/http/preconditions/entity-tags.ts';
import { expectProblem } from '../endpoints/harness.ts';
import { chatSpan } from '../endpoints/spec-fixtures.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let as: { key: string };
let accountId: string;

beforeAll(async () => {
  server = await startTestServer();
  const account = await accountWithKey(server, { tenantId: 'acme' });
  as = { key: account.key };
  accountId = account.id;
});
afterAll(() => server.stop());

const ME = () => `/v1/service-accounts/${accountId}`;

async function tagOf(path: string): Promise<string> {
  const { status, headers } = await server.call('GET', path, { as });
  expect(status).toBe(200);
  return headers.get('etag') ?? '';
}

async function provider(): Promise<string> {
  const { id } = await server.ok('POST', '/v1/providers', { as, body: { name: unique('provider'), kind: 'llm' } });
  return `/v1/providers/${id}`;
}

test('of two concurrent updates with the same tag one is refused', async () => {
  const path = await provider();
  for (let round = 0; round < 20; round += 1) {
    const headers = { 'if-match': await tagOf(path) };
    const put = (who: string) =>
      server.call('PUT', path, { as, headers, body: { description: `${who} in round ${round}` } });
    const answers = await Promise.all([put('one'), put('another')]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412]);
    const won = answers.find(({ status }) => status === 200);
    expect((await server.ok('GET', path, { as })).description).toBe(won?.body.description);
  }
});

test('the tag of a write equals the tag of the next read, and changes with each change', async () => {
  const path = await provider();
  const seen = new Set([await tagOf(path)]);
  for (const body of [{ description: 'a' }, { description: 'b' }, { metadata: { z: 1, a: [{ y: 1, b: 2 }] } }]) {
    const { headers } = await server.call('PUT', path, { as, body });
    const tag = headers.get('etag') ?? '';
    expect(await tagOf(path)).toBe(tag);
    seen.add(tag);
  }
  expect(seen.size).toBe(4);
  // An update that changes nothing keeps the tag, because the tag depends only on the state.
  const tag = await tagOf(path);
  expect((await server.call('PUT', path, { as, body: {} })).headers.get('etag')).toBe(tag);
});

test('the tag of a new record equals the tag of its first read, for every resource', async () => {
  const rows: [string, object, string?][] = [
    ['/v1/providers', { name: unique('provider'), kind: 'llm', metadata: { b: 1, a: 2 } }],
    ['/v1/gateways', { name: unique('gateway') }],
    ['/v1/manifests', { name: unique('manifest'), kind: 'agent', spec: { 'x-b': 1, 'x-a': 2 } }],
    ['/v1/service-accounts', { name: unique('account'), metadata: { '10': 1, '9': 2 } }],
  ];
  for (const [path, body] of rows) {
    const made = await server.call('POST', path, { as, body });
    expect(made.status, made.text).toBe(200);
    expect(await tagOf(`${path}/${made.body.id}`), path).toBe(made.headers.get('etag'));
  }
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: unique('gateway') } });
  const sessions = `/v1/gateways/${gateway.id}/sessions`;
  const session = await server.call('POST', sessions, { as });
  expect(await tagOf(`${sessions}/${session.body.id}`)).toBe(session.headers.get('etag'));
});

test('use, keys, counts, health and time do not change the tag', async () => {
  const before = await tagOf(ME());
  const record = await server.ok('GET', ME(), { as });
  await server.ok('POST', `${ME()}/keys`, { as, body: { scopes: ['traces:write'] } });
  server.travel(3 * 60_000);
  await server.ok('GET', '/v1/providers', { as });
  // The last use is stored concurrently with the request.
  await expect.poll(async () => (await server.ok('GET', ME(), { as })).lastUsedAt).not.toBe(record.lastUsedAt);
  const after = await server.ok('GET', ME(), { as });
  expect(after.keyCount).toBe(record.keyCount + 1);
  expect(await tagOf(ME())).toBe(before);

  const span = chatSpan('cd'.repeat(16), unique('model'), 'x');
  await server.ok('POST', '/v1/traces', { as, body: span });
  const [observation] = (await server.ok('GET', '/v1/runtime-observations', { as })).items;
  const path = `/v1/runtime-observations/${observation.id}`;
  const tag = (await server.call('PUT', path, { as, body: {} })).headers.get('etag') ?? '';
  const seen = JSON.parse(JSON.stringify(span).replaceAll(/"spanId":"[0-9a-f]+"/g, '"spanId":"abcdefabcdefabcd"'));
  await server.ok('POST', '/v1/traces', { as, body: seen });
  const [again] = (await server.ok('GET', '/v1/runtime-observations', { as })).items;
  expect(again.occurrences).toBe(observation.occurrences + 1);
  const reviewed = await server.call('POST', `${path}/review`, {
    as,
    body: { decision: 'ignored' },
    headers: { 'if-match': tag },
  });
  expect(reviewed.status, reviewed.text).toBe(200);
  const late = { as, body: { decision: 'approved' }, headers: { 'if-match': tag } };
  expectProblem(await server.call('POST', `${path}/review`, late), 412, 'precondition_failed');
});

test('recommendations are applied only if the tag of the provider matches', async () => {
  const path = await provider();
  const tag = await tagOf(path);
  await server.ok('PUT', path, { as, body: { description: 'changed meanwhile' } });
  const apply = (match: string) =>
    server.call('POST', `${path}/recommendations/apply`, { as, headers: { 'if-match': match } });
  expectProblem(await apply(tag), 412, 'precondition_failed');
  expect((await apply(await tagOf(path))).status).toBe(200);
});

test('a retry with an Idempotency-Key gets the first answer, although its tag is stale', async () => {
  const path = await provider();
  const headers = { 'if-match': await tagOf(path), 'idempotency-key': randomUUID() };
  const put = () => server.call('PUT', path, { as, headers, body: { description: 'once' } });
  const first = await put();
  const again = await put();
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
  expect([again.headers.get('idempotency-replayed'), again.headers.get('etag')]).toEqual([
    'true',
    first.headers.get('etag'),
  ]);
});

test('If-Match works over tRPC too', async () => {
  const path = await provider();
  const [id] = path.split('/').slice(-1);
  const tag = await tagOf(path);
  const update = (match: string) =>
    server.call('POST', '/trpc/providers.update', {
      as,
      headers: { 'if-match': match },
      body: { path: { provider_id: id }, body: { description: 'by tRPC' } },
    });
  const refused = await update('"stale"');
  expect([refused.status, refused.body.error.data.code]).toEqual([412, 'precondition_failed']);
  expect((await update(tag)).status).toBe(200);
});

test('HEAD answers the tag, and a stranger gets none', async () => {
  const path = await provider();
  const head = await server.call('HEAD', path, { as });
  expect([head.status, head.headers.get('etag')]).toEqual([200, await tagOf(path)]);
  const stranger = await server.call('GET', path, { headers: { 'if-none-match': await tagOf(path) } });
  expect([stranger.status, stranger.headers.get('etag')]).toEqual([401, null]);
  const { key } = await accountWithKey(server, { tenantId: 'elsewhere' });
  const missing = await server.call('GET', path, { as: { key }, headers: { 'if-none-match': '*' } });
  expect([missing.status, missing.headers.get('etag')]).toEqual([404, null]);
});

test('a tag depends on the fields and not on their order, and leaves out the excluded fields', () => {
  const record = { id: 'a', metadata: { x: 1, y: [1, 2] }, updatedAt: 'now', count: 1 };
  const tag = entityTagOf(record, { tagExcludes: ['count'] });
  const same = { count: 2, updatedAt: 'later', metadata: { y: [1, 2], x: 1 }, id: 'a' };
  expect(entityTagOf(same, { tagExcludes: ['count'] })).toBe(tag);
  expect(entityTagOf({ ...record, metadata: { x: 1, y: [2, 1] } }, { tagExcludes: ['count'] })).not.toBe(tag);
  expect(entityTagOf(record, { tagExcludes: [] })).not.toBe(tag);
});

test.each([
  ['"a"', true, true],
  ['*', true, true],
  [' * ', true, true],
  ['W/"a"', false, true],
  ['"b", "a"', true, true],
  ['"b",,"a",', true, true],
  [' "b" ,\t, "a" ', true, true],
  ['"b" , W/"a"', false, true],
  ['"b"', false, false],
  ['"A"', false, false],
  ['""', false, false],
  ['"a,b"', false, false],
  ['"b,", "a"', true, true],
])('%s against "a": If-Match %s, If-None-Match names it %s', (header, matches, named) => {
  const tags = entityTagsIn('If-Match', header);
  expect([matchesStrongly(tags, '"a"'), matchesWeakly(tags, '"a"')]).toEqual([matches, named]);
});

test.each([
  ['a'],
  [''],
  [','],
  ['"a'],
  ['a"'],
  ['"a" "b"'],
  ['w/"a"'],
  ['W/ "a"'],
  ['*, "a"'],
  ['"a\tb"'],
  [Array.from({ length: 101 }, () => '"a"').join()],
])('%s is not a list of entity tags', (header) => {
  expect(() => entityTagsIn('If-None-Match', header)).toThrow('entity tags');
});

// Regression: the regular expression took quadratic time for blanks, so a head of 16 KiB blocked the process for a second.
test.each([
  ['between tags', `"a",${' '.repeat(16_000)}x`],
  ['after a tag', `"a"${' '.repeat(16_000)}x`],
  ['tabs', `"a",${'\t'.repeat(16_000)}x`],
  ['an unclosed quote', `"a", "${'b'.repeat(16_000)}`],
])('a malformed list is refused in linear time: %s', (_, header) => {
  const before = process.threadCpuUsage();
  expect(() => entityTagsIn('If-Match', header)).toThrow('entity tags');
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(50);
});
