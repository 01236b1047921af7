import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, joinPlace, memberWithToken, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { attribute, fromProtobuf, logRequest, toProtobuf } from './otlp/wire.ts';

const MAX_BYTES = 64 * 1024;
const ENCODINGS = ['application/x-protobuf', 'application/json'] as const;
type MediaType = (typeof ENCODINGS)[number];

let server: TestServer;
let as: { key: string };
beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_MAX_BYTES: String(MAX_BYTES) });
  as = await accountWithKey(server, { tenantId: 'signals' }, ['traces:write']);
});
afterAll(() => server.stop());

async function post(path: string, mediaType: MediaType, raw: Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': mediaType, 'x-api-key': as.key, ...headers },
    body: Buffer.from(raw),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), bytes };
}

function statusIn(mediaType: MediaType, bytes: Buffer): Record<string, unknown> {
  return mediaType === 'application/json' ? JSON.parse(bytes.toString()) : fromProtobuf('RpcStatus', bytes);
}

async function counted(name: string, outcome: string): Promise<number> {
  const metric = server.services.metrics.registry.getSingleMetric(name);
  const values = (await metric?.get())?.values ?? [];
  return values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0;
}

const LOGS = logRequest(
  { timeUnixNano: '1700000000000000000', body: { stringValue: 'started' } },
  { timeUnixNano: '1700000000000000000', body: { stringValue: 'a message' } },
);
const METRICS = {
  resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'a', gauge: { dataPoints: [{ asInt: '1' }, {}] } }] }] }],
};
/** METRICS in protobuf: two data points of a gauge. */
const METRICS_BYTES = Buffer.from('0a0d120b12090a01612a040a000a00', 'hex');

describe.each(ENCODINGS)('%s', (mediaType) => {
  const isJson = mediaType === 'application/json';
  const logs = () => Buffer.from(isJson ? JSON.stringify(LOGS) : toProtobuf(LOGS, 'LogsRequest'));
  const metrics = () => (isJson ? Buffer.from(JSON.stringify(METRICS)) : METRICS_BYTES);

  test.each([
    ['/v1/logs', logs, 'quartermaster_log_records_total'],
    ['/v1/metrics', metrics, 'quartermaster_metric_data_points_total'],
  ] as const)('%s accepts records, drops them, and counts them', async (path, body, metric) => {
    const before = await counted(metric, 'dropped');
    for (const gzip of [false, true]) {
      const raw = gzip ? gzipSync(body()) : body();
      const answer = await post(path, mediaType, raw, gzip ? { 'content-encoding': 'gzip' } : {});
      expect([answer.status, answer.type]).toEqual([200, mediaType]);
      expect(answer.bytes.toString()).toBe(isJson ? '{}' : '');
    }
    expect(await counted(metric, 'dropped')).toBe(before + 4);
  });

  test.each(['/v1/logs', '/v1/metrics'])('%s refuses bodies that cannot be decoded or are too large', async (path) => {
    const malformed = await post(path, mediaType, Buffer.from('hello'));
    expect(malformed.status).toBe(400);
    expect(statusIn(mediaType, malformed.bytes)).toEqual({ code: 3, message: expect.any(String) });
    const large = await post(path, mediaType, gzipSync(Buffer.alloc(MAX_BYTES + 1)), { 'content-encoding': 'gzip' });
    expect(large.status).toBe(413);
    expect(statusIn(mediaType, large.bytes)).toMatchObject({ code: 8 });
  });
});

test.each(['/v1/logs', '/v1/metrics'])('%s needs traces:write in one tenant', async (path) => {
  const reader = await accountWithKey(server, { tenantId: 'signals' }, ['traces:read']);
  expect((await server.call('POST', path, { body: {} })).status).toBe(401);
  expect((await server.call('POST', path, { as: reader, body: {} })).status).toBe(403);
  const [one, two] = [unique('one'), unique('two')];
  for (const tenantId of [one, two]) await accountWithKey(server, { tenantId });
  const user = await memberWithToken(server, { tenantId: one }, 'operator');
  expect((await server.call('POST', path, { as: user, body: {} })).status).toBe(200);
  await joinPlace(server, user, { place: { tenantId: two }, role: 'operator' });
  const ambiguous = await server.call('POST', path, { as: user, body: {} });
  expect([ambiguous.status, ambiguous.body.message]).toEqual([403, expect.stringContaining('exactly one tenant')]);
});

test('only a log record whose time does not fit 64 bits is rejected', async () => {
  const body = logRequest({ timeUnixNano: '-1' }, { timeUnixNano: '1' });
  const answer = await server.ok('POST', '/v1/logs', { as, body });
  expect(answer).toEqual({
    partialSuccess: { rejectedLogRecords: '1', errorMessage: expect.stringContaining('64-bit') },
  });
});

test('events of a coding agent are counted as its calls, once, even if the request is repeated', async () => {
  const tenantId = unique('coding');
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  const text = (key: string, stringValue: string) => attribute(key, { stringValue });
  const body = {
    resourceLogs: [
      {
        resource: { attributes: [text('service.name', 'claude-code')] },
        scopeLogs: [
          {
            scope: { name: 'com.anthropic.claude_code.events' },
            logRecords: [
              {
                timeUnixNano: '1700000000000000000',
                body: { stringValue: 'claude_code.api_request' },
                attributes: [
                  text('event.name', 'api_request'),
                  text('model', 'claude-sonnet-5'),
                  text('request_id', 'req_1'),
                  text('input_tokens', '12'),
                  text('output_tokens', '3'),
                  text('duration_ms', '250'),
                ],
              },
              { timeUnixNano: '1700000000000000000', body: { stringValue: 'a message of the application' } },
            ],
          },
        ],
      },
    ],
  };
  for (let round = 0; round < 3; round += 1) await server.ok('POST', '/v1/logs', { as: sender, body });
  const path = `/v1/runtime-observations?tenant_id=${tenantId}`;
  const { items } = await server.ok('GET', path, { as: server.admin });
  expect(items).toMatchObject([{ kind: 'model', name: 'claude-sonnet-5', occurrences: 1 }]);
});
