import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from './support/server.ts';

type Answer = { status: number | undefined; headers: IncomingHttpHeaders; bytes: Buffer };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Sends a request without fetch, which would choose and decode encodings itself. */
function get(headers: Record<string, string> = {}, { path = '/openapi.json', method = 'GET' } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { method, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, bytes: Buffer.concat(chunks) }));
    });
    sent.on('error', reject).end();
  });
}

test('regression: /openapi.json has a strong ETag, and is compressed if the client accepts it', async () => {
  const plain = await get();
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(plain.headers['content-length']).toBe(String(plain.bytes.length));
  const zipped = await get({ 'accept-encoding': 'gzip' });
  expect(zipped.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true);
  const brotli = await get({ 'accept-encoding': 'gzip, deflate, br, zstd' });
  expect(brotli.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
  expect(brotli.bytes.length).toBeLessThan(plain.bytes.length / 7);

  const tags = [plain, zipped, brotli].map(({ headers }) => headers.etag);
  for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
  expect(new Set(tags).size).toBe(3);
  for (const { headers } of [plain, zipped, brotli]) {
    expect([headers.vary, headers['cache-control']]).toEqual(['Accept-Encoding', 'no-cache']);
  }
  expect((await get()).headers.etag).toBe(tags[0]);
});

test.each([
  ['', undefined],
  ['identity', undefined],
  ['br', 'br'],
  ['BR', 'br'],
  ['*', 'br'],
  ['gzip;q=0', undefined],
  ['gzip;q=0.000, br;q=0', undefined],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['*;q=0', undefined],
  ['identity;q=0, gzip;q=0.1', 'gzip'],
  ['identity;q=0', undefined],
  ['x-unknown', undefined],
  ['gzip;q=junk, ;;,', undefined],
])('Accept-Encoding %j is answered in the coding %j', async (accepted, coding) => {
  const answer = await get({ 'accept-encoding': accepted });
  expect([answer.status, answer.headers['content-encoding']]).toEqual([200, coding]);
});

test('If-None-Match answers 304 for the same encoding, with the weak comparison', async () => {
  const accept = { 'accept-encoding': 'br' };
  const { headers } = await get(accept);
  const tag = headers.etag ?? '';
  for (const known of [tag, `W/${tag}`, '*', `"other", ${tag}`, `"a",W/${tag} , "b"`]) {
    const answer = await get({ ...accept, 'if-none-match': known });
    expect([answer.status, answer.bytes.length], known).toEqual([304, 0]);
    expect(answer.headers.etag).toBe(tag);
    expect([answer.headers.vary, answer.headers['cache-control']]).toEqual(['Accept-Encoding', 'no-cache']);
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers['x-request-id']).toEqual(expect.any(String));
  }
  for (const known of ['"other"', tag.slice(1, -1), `${tag}x`, '']) {
    expect((await get({ ...accept, 'if-none-match': known })).status, known).toBe(200);
  }
  expect((await get({ 'if-none-match': tag })).status).toBe(200);
  expect((await get({ ...accept, 'if-none-match': tag, 'cache-control': 'no-cache' })).status).toBe(200);
});

test('HEAD answers only the headers of GET', async () => {
  const accept = { 'accept-encoding': 'gzip' };
  const [got, head] = [await get(accept), await get(accept, { method: 'HEAD' })];
  expect(head.bytes).toHaveLength(0);
  for (const name of ['etag', 'content-length', 'content-encoding', 'vary']) {
    expect(head.headers[name]).toBe(got.headers[name]);
  }
  const tag = got.headers.etag ?? '';
  expect((await get({ ...accept, 'if-none-match': tag }, { method: 'HEAD' })).status).toBe(304);
});

test.each([
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8', 'br'],
  ['swagger-ui.css', 'text/css; charset=utf-8', 'br'],
  ['favicon-32x32.png', 'image/png', undefined],
])('the reference page is served %s as %s', async (name, contentType, coding) => {
  const path = `/docs/${name}`;
  const accept = { 'accept-encoding': 'gzip, br' };
  const { status, headers, bytes } = await get(accept, { path });
  expect([status, headers['content-type'], headers['content-encoding']]).toEqual([200, contentType, coding]);
  expect(headers['cache-control']).toBe('public, max-age=86400');
  expect(coding ? brotliDecompressSync(bytes).length : bytes.length).toBeGreaterThan(coding ? 100_000 : 100);
  expect((await get({ ...accept, 'if-none-match': headers.etag ?? '' }, { path })).status).toBe(304);
});
