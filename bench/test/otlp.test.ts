import { decodeProtobuf } from '@quartermaster/api/src/telemetry/otlp/protobuf.ts';
import { expect, test } from 'vitest';
import { batchTemplate, traceOf } from '../src/otlp/batch.ts';
import { decodeSpans } from '../src/otlp/decode.ts';

test('the baseline server reads the same spans of a batch as this API', () => {
  const { bytes } = batchTemplate(500);
  const { spans, rejected } = decodeProtobuf(bytes);
  expect(rejected).toBe(0);
  expect(spans).toHaveLength(500);
  const byHand = decodeSpans(bytes).map(({ serviceName: _name, genAi: _genAi, ...span }) => span);
  expect(byHand).toEqual(spans.map(({ traceState: _state, ...span }) => span));
});

test('a batch contains typical spans of agents: models, tools, HTTP calls, lists and a failure', () => {
  const spans = decodeSpans(batchTemplate(100).bytes);
  const operations = new Set(spans.map(({ attributes }) => attributes['gen_ai.operation.name']));
  expect(operations).toEqual(new Set(['invoke_agent', 'chat', 'execute_tool', undefined]));
  expect(spans.filter(({ status }) => status.code === 'error')).toHaveLength(1);
  expect(spans.flatMap(({ events }) => events)).toHaveLength(1);
  expect(spans[1]?.attributes['gen_ai.response.finish_reasons']).toEqual(['tool_calls']);
});

test('all spans of a batch belong to one trace', () => {
  const { traceId, bytes } = traceOf(25);
  const spans = decodeSpans(bytes);
  expect(spans).toHaveLength(25);
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
});
