import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { COMPRESS, json, MAX_BYTES, padded } from './compressed.ts';

let server: TestServer;
let sender: { key: string };
beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_MAX_BYTES: String(MAX_BYTES) });
  sender = await accountWithKey(server, { tenantId: 'compressed' }, ['traces:write']);
});
afterAll(() => server.stop());

// The deep form has larger bodies, damaged ones, and OTLP/gRPC. The suite of the receiver has gzip.
describe.each(['deflate', 'zstd'])('%s', (coding) => {
  test.each([
    ['a small body is stored', json(), 200],
    ['a body that decompresses to more than the limit is 413', padded(MAX_BYTES + 1), 413],
  ])('%s', async (_name, body, status) => {
    const raw = new Uint8Array(COMPRESS[coding]?.(body) ?? []);
    const headers = { 'content-type': 'application/json', 'content-encoding': coding };
    expect((await server.call('POST', '/v1/traces', { as: sender, raw, headers })).status).toBe(status);
  });
});
