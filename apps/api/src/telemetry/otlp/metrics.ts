import { walkJsonRequest } from './json-request.ts';
import { type Json, list, optional, string } from './json-values.ts';
import { walkProtobufRequest } from './protobuf-request.ts';
import { message, readMessage, type Source, skip } from './protobuf-values.ts';

/**
 * Counts the data points of an ExportMetricsServiceRequest (opentelemetry-proto 1.11), without decoding them.
 *
 * @throws OtlpDecodeError if the bytes are not such a message
 */
export function countDataPointsProtobuf(bytes: Uint8Array): number {
  let points = 0;
  walkProtobufRequest(bytes, 'ExportMetricsServiceRequest', (source) => {
    points += countPoints(source);
  });
  return points;
}

/**
 * Counts the data points of a request in OTLP's JSON form.
 *
 * @param body the parsed JSON of the request
 * @throws OtlpDecodeError with the path of a known field that has the wrong type
 */
export function countDataPointsJson(body: unknown): number {
  let points = 0;
  walkJsonRequest(
    body,
    { resources: 'resourceMetrics', scopes: 'scopeMetrics', records: 'metrics' },
    (metric, place) => {
      string(metric.name, `${place.path}.name`);
      for (const kind of KINDS) points += countPointsOf(metric, kind, place.path);
    },
  );
  return points;
}

/** The JSON fields of Metric.data. Each kind has its points in field 1, `data_points`. */
const KINDS = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'] as const;
const KIND_TAGS: ReadonlySet<number> = new Set([5, 7, 9, 10, 11].map(message));
const DATA_POINTS = message(1);

function countPoints({ reader }: Source): number {
  let points = 0;
  readMessage(reader, (tag) => {
    if (!KIND_TAGS.has(tag)) return false;
    readMessage(reader, (inner) => {
      if (inner !== DATA_POINTS) return false;
      points += 1;
      skip(reader, inner);
      return true;
    });
    return true;
  });
  return points;
}

function countPointsOf(metric: Json, kind: (typeof KINDS)[number], path: string): number {
  let points = 0;
  for (const _point of list(optional(metric[kind], `${path}.${kind}`).dataPoints, `${path}.${kind}.dataPoints`)) {
    points += 1;
  }
  return points;
}
