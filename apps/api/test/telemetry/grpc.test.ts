import { once } from 'node:events';
import { connect } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { lockTable } from '../support/locked-table.ts';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import {
  callGrpc,
  type Called,
  errorOf,
  EXPORT_LOGS,
  EXPORT_METRICS,
  EXPORT_TRACES,
  keyMetadata,
  PREFIX,
  retryAfterOf,
} from './grpc-calls.ts';
import { fromProtobuf, modelRequestLogs, toProtobuf } from './otlp/wire.ts';
import { chat, exportRequest, newTraceId } from './traces/sending.ts';

const MAX_BYTES = 4 * 1024 * 1024;

let server: TestServer;
let as: { key: string };

beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_GRPC_PORT: '0', QM_OTLP_MAX_BYTES: String(MAX_BYTES) });
  as = await accountWithKey(server, { tenantId: 'grpc' }, ['traces:write', 'traces:read']);
});
afterAll(() => server.stop());

type Sent = { metadata?: Metadata; compression?: number; at?: TestServer };

function call(
  method: string,
  message: Uint8Array,
  { metadata = keyMetadata(as.key), at = server, ...sent }: Sent = {},
): Promise<Called> {
  return callGrpc(at, method, message, { metadata, ...sent });
}

async function refusal(...sent: Parameters<typeof call>): Promise<ServiceError> {
  return errorOf(await call(...sent));
}

const traces = (...spans: Parameters<typeof exportRequest>[0]): Uint8Array => toProtobuf(exportRequest(spans));

describe('real exporters', () => {
  const options = () => ({ url: server.grpcUrl ?? '', metadata: keyMetadata(as.key) });

  test.each(['none', 'gzip'] as const)(
    'send spans that are stored and aggregated, compression %s',
    async (compression) => {
      const model = unique('model');
      const exporter = new OTLPTraceExporter({ ...options(), compression: compression as never });
      const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
      const span = provider.getTracer('tests').startSpan('chat');
      span.setAttributes({ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model });
      span.end();
      await provider.forceFlush();
      await provider.shutdown();
      const { traceId } = span.spanContext();
      const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as });
      expect(items).toMatchObject([
        { name: 'chat', receivedFrom: 'service_account:grpc/' + items[0].receivedFrom.split('/')[1] },
      ]);
      const observed = await server.ok('GET', `/v1/runtime-observations?name=${model}`, { as: server.admin });
      expect(observed.items).toMatchObject([{ occurrences: 1 }]);
    },
  );

  test('send log records and metrics that are accepted', async () => {
    const { metrics } = server.services;
    const valueOf = async (metric: typeof metrics.logRecords) =>
      (await metric.get()).values.find(({ labels }) => labels['outcome'] === 'dropped')?.value ?? 0;
    const [logsBefore, pointsBefore] = [await valueOf(metrics.logRecords), await valueOf(metrics.dataPoints)];

    const logs = new LoggerProvider({
      processors: [new SimpleLogRecordProcessor({ exporter: new OTLPLogExporter(options()) })],
    });
    logs.getLogger('tests').emit({ body: 'a message' });
    await logs.forceFlush();
    await logs.shutdown();

    const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(options()) });
    const meters = new MeterProvider({ readers: [reader] });
    meters.getMeter('tests').createCounter('calls').add(1);
    await reader.forceFlush();
    await meters.shutdown();

    expect(await valueOf(metrics.logRecords)).toBe(logsBefore + 1);
    expect(await valueOf(metrics.dataPoints)).toBeGreaterThan(pointsBefore);
  });
});

describe('answers', () => {
  test.each([EXPORT_TRACES, EXPORT_LOGS, EXPORT_METRICS])('an empty request to %s succeeds', async (method) => {
    expect(await call(method, new Uint8Array())).toEqual({ bytes: Buffer.alloc(0) });
  });

  test('a bearer token is accepted too', async () => {
    const { tenantId } = (await accountWithKey(server, { tenantId: unique('tenant') })).place;
    const user = await memberWithToken(server, { tenantId }, 'operator');
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${user.token}`);
    expect(await call(EXPORT_TRACES, traces({}), { metadata })).toEqual({ bytes: Buffer.alloc(0) });
  });

  test('a call has a log line with its caller, and a refused one with the address', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const at = await startTestServer({ QM_OTLP_GRPC_PORT: '0' }, { log });
    onTestFinished(() => at.stop());
    const sender = await accountWithKey(at, { tenantId: 'grpc' }, ['traces:write']);
    expect(await call(EXPORT_TRACES, traces({}), { metadata: keyMetadata(sender.key), at })).toHaveProperty('bytes');
    const refused = keyMetadata('qm_no');
    refused.set('x-request-id', 'mine');
    await call(EXPORT_TRACES, traces({}), { metadata: refused, at });
    const [line, other] = lines.map((each) => JSON.parse(each)).filter(({ method }) => method === 'gRPC');
    expect(line).toMatchObject({ operationId: 'ingest_traces', status: 200 });
    expect(line.caller).toMatch(/^service_account:grpc\//);
    expect(line.keyId).toMatch(/^key_/);
    for (const absent of ['address', 'callerRequestId']) expect(line).not.toHaveProperty(absent);
    const { values } = await at.services.metrics.waits.get();
    expect(values).toContainEqual({ labels: { operation: 'ingest_traces' }, value: expect.any(Number) });
    expect(other).toMatchObject({ status: 401, address: '127.0.0.1', callerRequestId: 'mine' });
    expect(other).not.toHaveProperty('caller');
  });

  test('only spans that violate the protocol are rejected', async () => {
    const called = await call(EXPORT_TRACES, traces({}, { traceId: '0'.repeat(32) }));
    if ('error' in called) throw called.error;
    expect(fromProtobuf('Response', called.bytes)).toMatchObject({ partialSuccess: { rejectedSpans: '1' } });
  });

  test.each<[string, () => Parameters<typeof call>, number]>([
    ['no credential', () => [EXPORT_TRACES, traces({}), { metadata: new Metadata() }], status.UNAUTHENTICATED],
    ['a wrong key', () => [EXPORT_TRACES, traces({}), { metadata: keyMetadata('qm_no') }], status.UNAUTHENTICATED],
    ['invalid bytes', () => [EXPORT_TRACES, Buffer.from('hello')], status.INVALID_ARGUMENT],
    ['an unknown method', () => [`${PREFIX}.trace.v1.TraceService/Import`, traces({})], status.UNIMPLEMENTED],
    ['a message that is too large', () => [EXPORT_TRACES, Buffer.alloc(MAX_BYTES + 1)], status.RESOURCE_EXHAUSTED],
    [
      'one that decompresses to more',
      () => [EXPORT_TRACES, Buffer.alloc(MAX_BYTES + 1), { compression: 2 }],
      status.RESOURCE_EXHAUSTED,
    ],
  ])('%s is final', async (_name, sent, code) => {
    const error = await refusal(...sent());
    expect([error.code, error.details]).toEqual([code, expect.stringMatching(/\w/)]);
    expect(retryAfterOf(error)).toBeNull();
  });

  test('a missing scope is PERMISSION_DENIED and named, with an audit event', async () => {
    const reader = await accountWithKey(server, { tenantId: 'grpc' }, ['traces:read']);
    const error = await refusal(EXPORT_TRACES, traces({}), { metadata: keyMetadata(reader.key) });
    expect([error.code, error.details]).toEqual([status.PERMISSION_DENIED, expect.stringContaining('traces:write')]);
    await server.services.audit.refusals.flush('all');
    const events = await server.ok('GET', '/v1/audit-events?tenant_id=grpc&outcome=denied', { as: server.admin });
    expect(JSON.stringify(events.items)).toContain('ingest_traces');
  });

  test('log records beyond the limit of the tenant are FAILED_PRECONDITION, as spans are', async () => {
    const tenantId = unique('full');
    const { key } = await accountWithKey(server, { tenantId }, ['traces:write']);
    const path = `/v1/tenants/${tenantId}/limits`;
    await server.ok('PUT', path, { as: server.admin, body: { storedBytes: 0 } });
    const metadata = keyMetadata(key);
    const logs = toProtobuf(modelRequestLogs(unique('request')), 'LogsRequest');
    expect(await refusal(EXPORT_LOGS, logs, { metadata })).toMatchObject({ code: status.FAILED_PRECONDITION });
    const spans = toProtobuf(exportRequest([chat('gpt-5')]));
    expect(await refusal(EXPORT_TRACES, spans, { metadata })).toMatchObject({ code: status.FAILED_PRECONDITION });
  });

  test('a frame that does not hold one message is refused', async () => {
    const session = connect(server.grpcUrl ?? '');
    onTestFinished(() => session.close());
    for (const frame of [Buffer.alloc(3), Buffer.from([0, 0, 0, 0, 9, 1]), Buffer.from([7, 0, 0, 0, 0])]) {
      const stream = session.request({
        ':method': 'POST',
        ':path': EXPORT_TRACES,
        'content-type': 'application/grpc',
        'x-api-key': as.key,
      });
      stream.end(frame);
      const headers = await new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve));
      expect(headers['grpc-status']).toBe('3');
      stream.resume();
    }
  });
});

describe('temporary refusals', () => {
  test('a request beyond the rate limit, shared with HTTP, is RESOURCE_EXHAUSTED with RetryInfo', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const limited = await startTestServer(
      { QM_OTLP_GRPC_PORT: '0', QM_RATE_LIMITS: 'on', QM_RATE_LIMIT_INGEST: '2' },
      { log },
    );
    onTestFinished(() => limited.stop());
    limited.freeze();
    const sender = await accountWithKey(limited, { tenantId: 'limited' }, ['traces:write']);
    const sent = { metadata: keyMetadata(sender.key), at: limited };
    await limited.ok('POST', '/v1/traces', { as: sender, body: exportRequest([{}]) });
    expect(await call(EXPORT_TRACES, traces({}), sent)).toEqual({ bytes: Buffer.alloc(0) });
    const error = await refusal(EXPORT_TRACES, traces({}), sent);
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(retryAfterOf(error)).toBeGreaterThan(0);
    // Regression: the line did not say who the caller is.
    const refused = lines.map((line) => JSON.parse(line)).findLast(({ method }) => method === 'gRPC');
    expect(refused).toMatchObject({
      status: 429,
      caller: sender.principal,
      address: '127.0.0.1',
    });
  });
});

test('regression: a stopping service answers calls in flight', async () => {
  const stopping = await startTestServer({ QM_OTLP_GRPC_PORT: '0' });
  const sender = await accountWithKey(stopping, { tenantId: 'stopping' }, ['traces:write']);
  const release = await lockTable(stopping.databaseUrl, 'traces');
  const traceId = newTraceId();
  const called = call(EXPORT_TRACES, traces({ traceId }), { metadata: keyMetadata(sender.key), at: stopping });
  await expect.poll(() => stopping.services.scheduler.active).toBe(1);
  const ended = stopping.end();
  await release();
  expect(await called).toEqual({ bytes: Buffer.alloc(0) });
  await ended;
  const error = await refusal(EXPORT_TRACES, traces({}), { metadata: keyMetadata(sender.key), at: stopping });
  expect(error.code).toBe(status.UNAVAILABLE);
  await stopping.removeDatabase();
});

test('if the gRPC port is in use, the service starts without gRPC', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const other = await startTestServer({ QM_OTLP_GRPC_PORT: String(port) }, { log });
  onTestFinished(() => other.stop());
  expect(other.grpcUrl).toBeNull();
  expect(lines.join('')).toContain('OTLP/gRPC is off');
  expect((await other.call('GET', '/healthz')).status).toBe(200);
});

test('invalid gzip is refused', async () => {
  const error = await refusal(EXPORT_TRACES, gzipSync('nonsense'), { compression: 2 });
  expect(error.code).toBe(status.INVALID_ARGUMENT);
});

test('regression: the first call of a connection is refused if its headers have more than 16 KiB', async () => {
  const firstCall = async (bytes: number) => {
    const session = connect(server.grpcUrl ?? '');
    onTestFinished(() => session.destroy());
    const path = { ':method': 'POST', ':path': '/nothing', 'content-type': 'application/grpc' };
    const sent = session.request({ ...path, 'x-filler': 'x'.repeat(bytes) });
    sent.end();
    const [headers] = (await once(sent, 'response')) as [Record<string, unknown>];
    sent.resume();
    return [headers[':status'], headers['grpc-status']];
  };
  expect(await firstCall(15_000)).toEqual([200, String(status.UNIMPLEMENTED)]);
  // Node applies the limit only after the client has acknowledged it.
  expect(await firstCall(20_000)).toEqual([431, undefined]);
});
