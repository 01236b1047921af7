import { promisify } from 'node:util';
import { gunzip, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareLogsOf, prepareTracesOf } from '../../src/telemetry/ingest/prepare-body.ts';
import { LARGE_BYTES, prepareLogs, prepareTraces } from '../../src/telemetry/ingest/prepare-large.ts';
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
  for (let i = 0; i < 6; i += 1) {
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
  const [small, large] = [gzipSync('{"resourceSpans":[]}'), gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '))];
  const collected = await leastCpuOf(() => decompressUpToLimit(large));
  const answered = await leastCpuOf(() => send(small, 200));
  let refused = Infinity;
  // Measured again if other processes disturbed it. A main thread that decompresses needs `collected` each time.
  for (let round = 0; round < 3 && refused - answered >= collected / 4; round += 1) {
    refused = Math.min(refused, await leastCpuOf(() => send(large, 413)));
  }
  expect(refused - answered).toBeLessThan(collected / 4);
});

const RECORDS = 1001;

/** A request as JSON, padded so that a thread reads it. */
function large(request: object): Buffer {
  return Buffer.from(JSON.stringify(request) + ' '.repeat(LARGE_BYTES));
}

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

test('a thread prepares the spans of a large request as the main thread does those of a small one', async () => {
  const spans = Array.from({ length: RECORDS }, (_, index) => ({
    traceId: index.toString(16).padStart(32, 'a'),
    spanId: index.toString(16).padStart(16, 'b'),
    name: `chat model-${index}`,
    startTimeUnixNano: '1764000000000000000',
    attributes: [attribute('gen_ai.operation.name', 'chat'), attribute('gen_ai.request.model', `model-${index}`)],
  }));
  const bytes = large({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const options = { encoding: 'json', keepContent: false } as const;
  const here = prepareTracesOf(bytes, options);
  const there = await prepareTraces({ bytes, coding: 'identity', maxBytes: bytes.length }, options);
  expect(there.spans).toHaveLength(RECORDS);
  expect({ ...there, spans: [...there.spans] }).toEqual(here);
});

test('a body that takes too much CPU time is refused, and the next body is read', async () => {
  const spans = Array.from({ length: 40_000 }, (_, index) => ({
    traceId: index.toString(16).padStart(32, 'c'),
    spanId: index.toString(16).padStart(16, 'd'),
    startTimeUnixNano: '1764000000000000000',
    attributes: [attribute('gen_ai.operation.name', 'chat'), attribute('gen_ai.request.model', `model-${index}`)],
  }));
  const bytes = large({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const body = { bytes, coding: 'identity', maxBytes: bytes.length } as const;
  const options = { encoding: 'json', keepContent: false } as const;
  const refused = prepareTraces(body, { ...options, cpuMs: 100 });
  const next = prepareTraces(body, options);
  await expect(refused).rejects.toThrow('Reading the request takes too much CPU time. Send smaller requests.');
  await expect(refused).rejects.toMatchObject({ reason: 'body_too_large', status: 413 });
  expect((await next).spans).toHaveLength(spans.length);
});

test('a thread prepares the log records of a large request as the main thread does those of a small one', async () => {
  const logRecords = Array.from({ length: RECORDS }, (_, index) => ({
    timeUnixNano: String(1764000000000000000n + BigInt(index)),
    body: { stringValue: 'claude_code.api_request' },
    attributes: [attribute('event.name', 'api_request'), attribute('model', `claude-${index}`)],
  }));
  const scopeLogs = [{ scope: { name: 'com.anthropic.claude_code.events' }, logRecords }];
  const bytes = large({ resourceLogs: [{ scopeLogs }] });
  const options = { encoding: 'json', receivedAt: new Date() } as const;
  const here = prepareLogsOf(bytes, options);
  expect(here.reporting).toHaveLength(RECORDS);
  const there = await prepareLogs({ bytes, coding: 'identity', maxBytes: bytes.length }, options);
  expect({ ...there, reporting: [...there.reporting] }).toEqual(here);
});
