import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let as: { key: string };

beforeAll(async () => {
  server = await startTestServer();
  as = await accountWithKey(server, { tenantId: 'large-bodies' }, ['traces:write']);
});
afterAll(() => server.stop());

/** The least CPU time of the main thread for a request, of several, in milliseconds. */
async function leastCpuOf(raw: Buffer, status: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    const before = process.threadCpuUsage();
    const response = await fetch(`${server.url}/v1/traces`, {
      method: 'POST',
      headers: { 'x-api-key': as.key, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: new Uint8Array(raw),
    });
    expect(response.status).toBe(status);
    await response.arrayBuffer();
    const { user, system } = process.threadCpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

test('the main thread does not decompress a large body', async () => {
  const small = await leastCpuOf(gzipSync('{"resourceSpans":[]}'), 200);
  const tooLarge = await leastCpuOf(gzipSync(Buffer.alloc(117 * 1024 * 1024, ' ')), 413);
  // Copying what zlib returns takes 40 ms and more.
  expect(tooLarge).toBeLessThan(small + 20);
}, 60_000);
