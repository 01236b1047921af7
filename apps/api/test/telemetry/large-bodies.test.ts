import { promisify } from 'node:util';
import { gunzip, gzipSync } from 'node:zlib';
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

/** The least CPU time that some work takes on the main thread, of several times, in milliseconds. */
async function leastCpuOf(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

async function send(raw: Buffer, status: number): Promise<void> {
  const response = await fetch(`${server.url}/v1/traces`, {
    method: 'POST',
    headers: { 'x-api-key': as.key, 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: new Uint8Array(raw),
  });
  expect(response.status).toBe(status);
  await response.arrayBuffer();
}

/** Lets zlib decompress a body up to the limit of the service. Its thread decompresses, the main thread collects the chunks. */
async function decompressUpToLimit(raw: Buffer): Promise<void> {
  const tooLarge = await promisify(gunzip)(raw, { maxOutputLength: 64 * 1024 * 1024 }).catch((error: unknown) => error);
  expect(tooLarge).toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' });
}

test('the main thread does not decompress a large body', async () => {
  const [small, large] = [gzipSync('{"resourceSpans":[]}'), gzipSync(Buffer.alloc(117 * 1024 * 1024, ' '))];
  const collected = await leastCpuOf(() => decompressUpToLimit(large));
  const answered = await leastCpuOf(() => send(small, 200));
  const refused = await leastCpuOf(() => send(large, 413));
  expect(refused - answered).toBeLessThan(collected / 4);
}, 60_000);
