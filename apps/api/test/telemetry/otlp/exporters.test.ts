import { context, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { decodeJson } from '../../../src/telemetry/otlp/json.ts';
import { decodeProtobuf } from '../../../src/telemetry/otlp/protobuf.ts';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { bodySentTo } from './receiving.ts';

/** The spans that an SDK records of one turn of an agent. */
async function recordedSpans() {
  const memory = new InMemorySpanExporter();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'travel-agent', 'process.pid': 42 }),
    spanProcessors: [new SimpleSpanProcessor({ exporter: memory })],
  });
  const tracer = provider.getTracer('test-instrumentation', '1.2.3');
  const agent = tracer.startSpan('invoke_agent planner', { kind: SpanKind.INTERNAL });
  agent.setAttributes({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' });
  const chat = tracer.startSpan(
    'chat gpt-4o',
    {
      kind: SpanKind.CLIENT,
      startTime: [1700000000, 123456789],
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.stream': false,
        'gen_ai.response.finish_reasons': ['stop', 'length'],
        'server.address': 'API.openai.com',
        'server.port': 443,
      },
      links: [
        {
          context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED },
          attributes: { why: 'retry' },
        },
      ],
    },
    trace.setSpan(context.active(), agent),
  );
  chat.addEvent('first token', { n: 1 }, [1700000001, 5]);
  chat.setStatus({ code: SpanStatusCode.ERROR, message: 'rate limited' });
  chat.end([1700000002, 0]);
  agent.end();
  await provider.forceFlush();
  return memory.getFinishedSpans();
}

/** The body that an exporter sends. */
function sent(exporterFor: (url: string) => JsonExporter | ProtobufExporter): Promise<Buffer> {
  return bodySentTo('/v1/traces', async (url) => {
    const exporter = exporterFor(url);
    const spans = await recordedSpans();
    await new Promise((resolve) => exporter.export(spans, resolve));
    await exporter.shutdown();
  });
}

test.each([
  ['protobuf', async () => decodeProtobuf(await sent((url) => new ProtobufExporter({ url })))],
  ['json', async () => decodeJson(JSON.parse(String(await sent((url) => new JsonExporter({ url })))))],
])('what the %s exporter sends is decoded whole', async (_name, decoded) => {
  const { spans, rejected } = await decoded();
  expect(rejected).toBe(0);
  const chat = spans.find((span) => span.name.startsWith('chat'));
  const agent = spans.find((span) => span.name.startsWith('invoke_agent'));
  if (chat === undefined || agent === undefined) throw new Error('a span is missing');

  expect(chat).toMatchObject({
    traceId: agent.traceId,
    parentSpanId: agent.spanId,
    kind: 'client',
    startTime: '2023-11-14T22:13:20.123456789Z',
    endTime: '2023-11-14T22:13:22.000000000Z',
    status: { code: 'error', message: 'rate limited' },
    scope: { name: 'test-instrumentation', version: '1.2.3', attributes: {} },
    events: [{ name: 'first token', time: '2023-11-14T22:13:21.000000005Z', attributes: { n: 1 } }],
    links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: { why: 'retry' } }],
    attributes: {
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.stream': false,
      'gen_ai.response.finish_reasons': ['stop', 'length'],
    },
  });
  expect(chat.durationMs).toBeCloseTo(1876.543211, 6);
  expect(chat.resource).toMatchObject({ 'service.name': 'travel-agent', 'process.pid': 42 });
  expect(agent).toMatchObject({ parentSpanId: null, kind: 'internal', status: { code: 'unset', message: null } });
  expect(readSpan(chat).facts).toMatchObject({
    operation: 'chat',
    vendor: 'openai',
    model: 'gpt-4o',
    inputTokens: 12,
    serverAddress: 'api.openai.com',
    serverPort: 443,
  });
});
