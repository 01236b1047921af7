import { expect, test } from 'vitest';
import { exchange, send, serve } from './server.ts';

const MIB = 1024 * 1024;

test('a client that is still sending 10 MB gets its 413, with or without Content-Length', async () => {
  const server = await serve();
  const large = Buffer.alloc(10 * MIB, 'x');
  expect((await send(server, '/v1/widgets', { body: large })).status).toBe(413);
  const chunked =
    'POST /v1/widgets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nTransfer-Encoding: chunked\r\n\r\n';
  const parts = [chunked, `${large.length.toString(16)}\r\n`, large, '\r\n0\r\n\r\n'];
  expect(await exchange(server, parts)).toMatch(/^HTTP\/1\.1 413 .*body_too_large/s);
});

test('a client without valid credentials that is still sending 10 MB gets a 401, not a 413', async () => {
  const server = await serve();
  const answer = await fetch(`${server.url}/v1/widgets`, { method: 'POST', body: Buffer.alloc(10 * MIB, 'x') });
  expect(answer.status).toBe(401);
});

test('a million levels of nesting are 422, even if the JSON is incomplete', async () => {
  const levels = 1_000_000;
  const server = await serve({ bodyLimit: 8 * MIB });
  const lists = `${'['.repeat(levels)}${']'.repeat(levels)}`;
  for (const body of [lists, '['.repeat(levels), `{"a":${lists}}`, '{"a":'.repeat(levels)]) {
    for (const path of ['/v1/widgets', '/v1/widgets/search']) {
      expect((await send(server, path, { body })).status).toBe(422);
    }
  }
  expect(server.errors).toEqual([]);
});
