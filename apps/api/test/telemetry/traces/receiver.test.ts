import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromProtobuf, toProtobuf } from '../otlp/wire.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, exportRequest, newSpanId, newTraceId } from './sending.ts';

const MAX_BYTES = 64 * 1024;

const ENCODINGS = ['application/x-protobuf', 'application/json'] as const;
type MediaType = (typeof ENCODINGS)[number];

let server: TestServer;
let as: { key: string };

beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_MAX_BYTES: String(MAX_BYTES) });
  as = await accountWithKey(server, { tenantId: 'receiver' }, ['traces:write', 'traces:read']);
});
afterAll(() => server.stop());

/** Sends bytes and decodes the answer of either encoding. */
async function post(
  mediaType: string,
  raw: Uint8Array,
  { headers = {}, credential = as }: { headers?: Record<string, string>; credential?: { key: string } | null } = {},
) {
  const sent = { as: credential, raw: Buffer.from(raw), headers: { 'content-type': mediaType, ...headers } };
  const url = `${server.url}/v1/traces`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...sent.headers, ...(credential !== null && { 'x-api-key': credential.key }) },
    body: sent.raw,
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const type = response.status === 200 ? 'Response' : 'RpcStatus';
  const isProtobuf = response.headers.get('content-type') === 'application/x-protobuf';
  const message = isProtobuf ? fromProtobuf(type, bytes) : JSON.parse(bytes.toString());
  return { status: response.status, headers: response.headers, bytes, message };
}

function encoded(mediaType: MediaType, request: object): Buffer {
  if (mediaType === 'application/json') return Buffer.from(JSON.stringify(request));
  return Buffer.from(toProtobuf(request as Record<string, unknown>));
}

describe.each(ENCODINGS)('%s', (mediaType) => {
  const good = () => encoded(mediaType, exportRequest([chat('gpt-5')]));

  test.each([false, true])('spans are stored (gzip: %s), and the answer has no partial success', async (gzip) => {
    const raw = gzip ? gzipSync(good()) : good();
    const answer = await post(mediaType, raw, { headers: gzip ? { 'content-encoding': 'gzip' } : {} });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(mediaType);
    expect(answer.bytes.toString()).toBe(mediaType === 'application/json' ? '{}' : '');
  });

  test('an empty request succeeds', async () => {
    expect((await post(mediaType, encoded(mediaType, {}))).status).toBe(200);
    expect((await post(mediaType, encoded(mediaType, { resourceSpans: [] }))).status).toBe(200);
  });

  test('parameters and case of the media type do not matter', async () => {
    const answer = await post(`${mediaType.toUpperCase()}; charset=utf-8`, good());
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(mediaType);
  });

  test('only spans that violate the protocol are rejected', async () => {
    const traceId = newTraceId();
    const request = exportRequest([
      { ...chat('gpt-5'), traceId },
      { ...chat('gpt-5'), traceId: '0'.repeat(32) },
      { ...chat('gpt-5'), traceId, spanId: '0'.repeat(16) },
    ]);
    const answer = await post(mediaType, encoded(mediaType, request));
    expect(answer.status).toBe(200);
    expect(answer.message).toEqual({
      partialSuccess: { rejectedSpans: '2', errorMessage: expect.stringMatching(/trace id.*span id/s) },
    });
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as });
    expect(items).toHaveLength(1);
  });

  test.each([
    ['not a message', Buffer.from('hello')],
    ['truncated', null],
  ])('what cannot be decoded is 400: %s', async (_name, bytes) => {
    const answer = await post(mediaType, bytes ?? good().subarray(0, -3));
    expect(answer.status).toBe(400);
    expect(answer.message).toEqual({ code: 3, message: expect.stringContaining('body') });
  });

  test('invalid gzip is 400', async () => {
    const packed = gzipSync(good());
    packed.writeUInt8(packed.readUInt8(20) ^ 0xff, 20);
    for (const raw of [packed, packed.subarray(0, -9), good()]) {
      const answer = await post(mediaType, raw, { headers: { 'content-encoding': 'gzip' } });
      expect(answer.status).toBe(400);
      expect(answer.message.code).toBe(3);
    }
  });

  test('a body beyond the limit is 413, compressed or decompressed', async () => {
    const large = Buffer.alloc(MAX_BYTES + 1, ' ');
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(MAX_BYTES);
    for (const [raw, headers] of [
      [large, {}],
      [bomb, { 'content-encoding': 'gzip' }],
    ] as const) {
      const answer = await post(mediaType, raw, { headers });
      expect(answer.status).toBe(413);
      expect(answer.message).toEqual({ code: 8, message: expect.stringContaining(String(MAX_BYTES)) });
    }
  });

  test('an unknown content encoding is 415', async () => {
    const answer = await post(mediaType, good(), { headers: { 'content-encoding': 'br' } });
    expect(answer.status).toBe(415);
    expect(answer.message.code).toBe(3);
    expect(answer.headers.get('accept-encoding')).toBe('gzip, deflate, zstd');
  });

  test('a request without a valid credential is 401 before the body is read', async () => {
    for (const credential of [null, { key: 'qm_nonsense' }]) {
      const answer = await post(mediaType, Buffer.from('hello'), { credential });
      expect(answer.status).toBe(401);
      expect(answer.message.code).toBe(16);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });

  test('a missing scope is 403 and named', async () => {
    const reader = await accountWithKey(server, { tenantId: 'receiver' }, ['traces:read']);
    const answer = await post(mediaType, good(), { credential: reader });
    expect(answer.status).toBe(403);
    expect(answer.message).toEqual({ code: 7, message: expect.stringContaining('traces:write') });
    expect(answer.headers.get('www-authenticate')).toContain('insufficient_scope');
  });

  test('retries change nothing', async () => {
    const span = { traceId: newTraceId(), ...chat(unique('retried')) };
    const raw = encoded(mediaType, exportRequest([span, span]));
    for (let round = 0; round < 3; round += 1) expect((await post(mediaType, raw)).status).toBe(200);
    const { items } = await server.ok('GET', `/v1/traces/${span.traceId}/spans`, { as });
    expect(items).toHaveLength(2);
    const model = encodeURIComponent(String(span.attributes?.['gen_ai.request.model']));
    const observed = await server.ok('GET', `/v1/runtime-observations?name=${model}`, { as: server.admin });
    expect(observed.items).toMatchObject([{ occurrences: 2 }]);
  });
});

test('the same span twice in one request counts once', async () => {
  const span = { ...chat(unique('twice')), traceId: newTraceId(), spanId: newSpanId() };
  await server.ok('POST', '/v1/traces', { as, body: exportRequest([span, span]) });
  const model = String(span.attributes?.['gen_ai.request.model']);
  const { items } = await server.ok('GET', `/v1/runtime-observations?name=${model}`, { as: server.admin });
  expect(items).toMatchObject([{ occurrences: 1 }]);
});

test('a repeated span is stored once; a different span with the same id is stored too, and marked', async () => {
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  for (const model of ['first', 'second', 'first']) {
    await server.ok('POST', '/v1/traces', { as, body: exportRequest([{ ...chat(model), ...ids }]) });
  }
  const { items } = await server.ok('GET', `/v1/traces/${ids.traceId}/spans`, { as });
  expect(items).toMatchObject([
    { genAi: { model: 'first' }, conflicting: true },
    { genAi: { model: 'second' }, conflicting: true },
  ]);
});

test.each(['text/plain', 'application/protobuf', 'application/jsonx', ''])('the media type %j is 415', async (type) => {
  const answer = await server.call('POST', '/v1/traces', {
    as,
    raw: Buffer.from('{}'),
    headers: { 'content-type': type },
    unchecked: true,
  });
  expect(answer.status).toBe(415);
  expect(answer.body).toEqual({ code: 3, message: expect.stringContaining('application/x-protobuf') });
  expect(answer.headers.get('accept')).toBe('application/x-protobuf, application/json');
});

test('ids in upper and lower case are the same span', async () => {
  const traceId = newTraceId();
  const spanId = newSpanId();
  const upper = { traceId: traceId.toUpperCase(), spanId: spanId.toUpperCase() };
  await server.ok('POST', '/v1/traces', { as, body: exportRequest([upper]) });
  await server.ok('POST', '/v1/traces', { as, body: exportRequest([{ traceId, spanId }]) });
  const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as });
  expect(items).toMatchObject([{ traceId, spanId }]);
});

test('unknown fields are ignored, and nesting is limited', async () => {
  const nested = '['.repeat(20_000) + ']'.repeat(20_000);
  const body = JSON.stringify({ ...exportRequest([chat('gpt-5')]), later: 1 }).replace(
    '"later":1',
    `"later":${nested}`,
  );
  const answer = await post('application/json', Buffer.from(body));
  expect([200, 400]).toContain(answer.status);
  const traceId = newTraceId();
  let value: object = { stringValue: 'deep' };
  for (let depth = 0; depth < 200; depth += 1) value = { arrayValue: { values: [value] } };
  const request = exportRequest([{ traceId }]);
  const [span] = request.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
  span?.attributes.push({ key: 'gen_ai.prompt.name', value });
  expect((await post('application/json', encoded('application/json', request))).status).toBe(200);
  const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as });
  expect(JSON.stringify(items[0].attributes['gen_ai.prompt.name'])).toContain('[too deep]');
});

test('GET and HEAD answer the list of traces, and other methods are 405 with Allow', async () => {
  expect((await server.call('GET', '/v1/traces', { as })).status).toBe(200);
  const head = await server.call('HEAD', '/v1/traces', { as });
  expect([head.status, head.text]).toEqual([200, '']);
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const answer = await server.call(method, '/v1/traces', { as });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')?.split(', ').toSorted()).toEqual(expect.arrayContaining(['GET', 'POST']));
  }
});
