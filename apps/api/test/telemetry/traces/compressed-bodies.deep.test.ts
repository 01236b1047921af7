import { once } from 'node:events';
import { connect } from 'node:http2';
import { constants, createZstdCompress, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { toProtobuf } from '../otlp/wire.ts';
import { CODINGS, COMPRESS, json, MAX_BYTES, MIB, padded } from './compressed.ts';
import { chat, exportRequest } from './sending.ts';

/** Gzip whose last four bytes declare `bytes` as the size of the content. */
function declaring(bytes: number, packed: Buffer): Buffer {
  const copy = Buffer.from(packed);
  copy.writeUInt32LE(bytes, copy.length - 4);
  return copy;
}

/** Zstandard of a stream whose frame asks for a window of 16 MiB. */
async function wideZstd(body: Buffer): Promise<Buffer> {
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 24 } });
  stream.write(body);
  stream.end();
  return Buffer.concat(await stream.toArray());
}

let server: TestServer;
let sender: Awaited<ReturnType<typeof accountWithKey>>;

beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_MAX_BYTES: String(MAX_BYTES), QM_OTLP_GRPC_PORT: '0' });
  sender = await accountWithKey(server, { tenantId: 'compressed' }, ['traces:write', 'credentials:read']);
});
afterAll(() => server.stop());

const post = (coding: string, raw: Uint8Array, as = sender) =>
  server.call('POST', '/v1/traces', {
    as,
    raw: new Uint8Array(raw),
    headers: { 'content-type': 'application/json', 'content-encoding': coding },
  });

describe.each(CODINGS)('%s', (coding) => {
  const compress = COMPRESS[coding] ?? gzipSync;

  test.each([
    ['small', json()],
    ['large', padded(3 * MIB)],
    ['as large as allowed', padded(MAX_BYTES)],
  ])('a %s body is stored', async (_name, body) => {
    const answer = await post(coding, compress(body));
    expect(answer.body).toEqual({});
    expect(answer.status).toBe(200);
  });

  test('a body that decompresses to more than the limit is 413', async () => {
    for (const bytes of [MAX_BYTES + 1, 50 * MIB]) {
      const answer = await post(coding, compress(padded(bytes)));
      expect([answer.status, answer.body.message]).toEqual([413, `The body has more than ${MAX_BYTES} bytes.`]);
    }
  });

  test.each([
    ['twenty other bytes', () => Buffer.alloc(20, 'x'), /is not/],
    ['an empty body', () => Buffer.alloc(0), /ends before/],
    ['a truncated body', () => compress(json()).subarray(0, -6), /ends before/],
    ['a truncated large body', () => compress(padded(3 * MIB)).subarray(0, -6), /ends before/],
    [
      'bytes after the compressed ones',
      () => Buffer.concat([compress(json()), Buffer.from('more')]),
      /other bytes after/,
    ],
    ['bytes of another coding', () => (coding === 'deflate' ? gzipSync : deflateSync)(json()), /is not/],
    ['two megabytes of other bytes', () => Buffer.alloc(2 * MIB, 'x'), /is not/],
  ])('regression: %s is 400 with the reason', async (_name, raw, reason) => {
    const answer = await post(coding, raw());
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ code: 3, message: expect.stringMatching(reason) });
    expect(answer.body.message).toContain(coding === 'x-gzip' ? 'gzip' : coding);
  });
});

test.each([
  ['too large', 0xffff_ffff],
  ['too small', 1],
])('regression: gzip that declares a size which is %s is not 413', async (_name, bytes) => {
  for (const body of [json(), padded(3 * MIB)]) {
    const answer = await post('gzip', declaring(bytes, gzipSync(body)));
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(/is not gzip, or is damaged/);
  }
});

test('gzip in several members, with zeros after the last one, is stored', async () => {
  const body = json();
  const parts = [body.subarray(0, 100), body.subarray(100)].map((part) => gzipSync(part));
  expect((await post('gzip', Buffer.concat([...parts, Buffer.alloc(10)]))).status).toBe(200);
});

test('raw deflate without the zlib header is 400', async () => {
  expect((await post('deflate', deflateRawSync(json()))).status).toBe(400);
});

test('zstd that needs a window of more than 8 MiB is 400', async () => {
  const answer = await post('zstd', await wideZstd(padded(2 * MIB)));
  expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('window of more than 8 MiB')]);
});

test('telemetry health names the reason for which a compressed body was refused', async () => {
  const tenantId = unique('compressed');
  const other = await accountWithKey(server, { tenantId }, ['traces:write', 'credentials:read']);
  expect((await post('zstd', gzipSync(json()), other)).status).toBe(400);
  await server.services.telemetry.accounts.flush('all');
  const health = await server.ok('GET', `/v1/telemetry-health?tenant_id=${tenantId}`, { as: other });
  expect(health.items[0].keys[0].problems).toMatchObject([
    {
      reason: 'request_malformed',
      detail: expect.stringContaining('is not zstd'),
      fix: expect.stringContaining('compression'),
    },
  ]);
});

test.each([
  ['gzip', gzipSync, '0'],
  ['deflate', deflateSync, '0'],
  ['zstd', zstdCompressSync, '0'],
  ['zstd', gzipSync, '3'],
  ['snappy', gzipSync, '12'],
] as const)('OTLP/gRPC answers a message with grpc-encoding %s', async (encoding, compress, status) => {
  const message = compress(Buffer.from(toProtobuf(exportRequest([chat('gpt-5')]))));
  const prefix = Buffer.from([1, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  const session = connect(server.grpcUrl ?? '');
  const call = session.request({
    ':method': 'POST',
    ':path': '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    'content-type': 'application/grpc',
    'grpc-encoding': encoding,
    'x-api-key': sender.key,
  });
  const found: Record<string, unknown> = {};
  call.on('response', (headers) => Object.assign(found, headers));
  call.on('trailers', (trailers) => Object.assign(found, trailers));
  call.end(Buffer.concat([prefix, message]));
  call.resume();
  await once(call, 'close');
  session.destroy();
  expect(found['grpc-status']).toBe(status);
  // Without RetryInfo a refusal is final.
  expect(Buffer.from(String(found['grpc-status-details-bin']), 'base64').toString()).not.toContain('RetryInfo');
  expect(found['grpc-accept-encoding']).toBe('identity,gzip,deflate,zstd');
});
