import { context, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { expect, test } from 'vitest';
import { decodeLogsJson } from '../../../src/telemetry/otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../../../src/telemetry/otlp/logs-protobuf.ts';
import { bodySentTo } from './receiving.ts';
import { SPAN_ID, TRACE_ID, WHOLE_RECORDS } from './wire.ts';

/** The body that an exporter sends for one event of a tool. */
function sent(exporterFor: (url: string) => JsonExporter | ProtobufExporter): Promise<Buffer> {
  return bodySentTo('/v1/logs', async (url) => {
    const provider = new LoggerProvider({
      resource: resourceFromAttributes({ 'service.name': 'coding-agent' }),
      processors: [new SimpleLogRecordProcessor({ exporter: exporterFor(url) })],
    });
    provider.getLogger('com.example.events', '2.0.1').emit({
      eventName: 'tool_result',
      timestamp: [1700000000, 123456789],
      severityNumber: 9,
      severityText: 'INFO',
      body: { tool: 'echo', ok: true },
      attributes: { tool_name: 'echo', duration_ms: 12, success: true, parts: ['a', 'b'] },
      context: trace.setSpanContext(context.active(), {
        traceId: TRACE_ID,
        spanId: SPAN_ID,
        traceFlags: TraceFlags.SAMPLED,
      }),
    });
    await provider.forceFlush();
    await provider.shutdown();
  });
}

test.each([
  ['protobuf', async () => decodeLogsProtobuf(await sent((url) => new ProtobufExporter({ url })), WHOLE_RECORDS)],
  [
    'json',
    async () => {
      const body = await sent((url) => new JsonExporter({ url }));
      return decodeLogsJson(JSON.parse(String(body)), WHOLE_RECORDS);
    },
  ],
])('what the %s exporter sends is decoded whole', async (_name, decoded) => {
  const { records, rejected } = await decoded();
  expect(rejected).toBe(0);
  expect(records).toEqual([
    {
      time: '2023-11-14T22:13:20.123456789Z',
      traceId: TRACE_ID,
      spanId: SPAN_ID,
      eventName: 'tool_result',
      severity: 'INFO',
      body: { tool: 'echo', ok: true },
      attributes: { tool_name: 'echo', duration_ms: 12, success: true, parts: ['a', 'b'] },
      scope: { name: 'com.example.events', version: '2.0.1', attributes: {} },
      resource: expect.objectContaining({ 'service.name': 'coding-agent' }),
    },
  ]);
});
