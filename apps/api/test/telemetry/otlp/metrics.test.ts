import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { countDataPointsJson, countDataPointsProtobuf } from '../../../src/telemetry/otlp/metrics.ts';
import { OtlpDecodeError } from '../../../src/telemetry/otlp/span.ts';
import type { Json } from './wire.ts';

// Written from opentelemetry-proto 1.11: the fields of Metric that hold data points.
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { repeated ScopeMetrics scope_metrics = 2; }
  message ScopeMetrics { repeated Metric metrics = 2; }
  message Metric {
    string name = 1; string description = 2; string unit = 3;
    Points gauge = 5; Points sum = 7; Points histogram = 9; Points exponential_histogram = 10; Points summary = 11;
  }
  message Points { repeated Point data_points = 1; int32 aggregation_temporality = 2; }
  message Point { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; }
`);

const METRICS: Json[] = [
  { name: 'a', gauge: { dataPoints: [{ asDouble: 1 }, { asDouble: 2 }] } },
  { name: 'b', sum: { dataPoints: [{}], aggregationTemporality: 2 } },
  { name: 'c', histogram: { dataPoints: [{}, {}, {}] } },
  { name: 'd', exponentialHistogram: { dataPoints: [{}] } },
  { name: 'e', summary: { dataPoints: [{}] } },
  { name: 'f', gauge: {} },
  { name: 'g' },
];

const request = (metrics: unknown): Json => ({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });

function toProtobuf(body: Json): Uint8Array {
  const type = root.lookupType('Request');
  return type.encode(type.fromObject(body)).finish();
}

test('data points of every kind are counted, in both encodings', () => {
  expect(countDataPointsProtobuf(toProtobuf(request(METRICS)))).toBe(8);
  expect(countDataPointsJson(request(METRICS))).toBe(8);
});

test('empty requests have no data points', () => {
  expect(countDataPointsProtobuf(new Uint8Array())).toBe(0);
  for (const body of [{}, { resourceMetrics: null }, request([])]) expect(countDataPointsJson(body)).toBe(0);
});

test('invalid bytes are refused', () => {
  const bytes = toProtobuf(request(METRICS));
  for (const bad of [Buffer.from('hello'), bytes.subarray(0, -1)]) {
    expect(() => countDataPointsProtobuf(bad)).toThrow(OtlpDecodeError);
  }
  for (const bad of [null, [], { resourceMetrics: {} }, request([{ gauge: 5 }]), request([{ name: 5 }])]) {
    expect(() => countDataPointsJson(bad)).toThrow(OtlpDecodeError);
  }
});
