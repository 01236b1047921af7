import { collectSpans, type Decoding, LIMITS, newRawSpan, NO_NAMES, type RawSpan } from './assemble.ts';
import { walkJsonRequest } from './json-request.ts';
import { attributesOf, enumeration, first, id, time, type Json, list, optional, string } from './json-values.ts';
import { REJECTED_FIELDS, type Signal } from './signal.ts';
import type { DecodedTraces, OtlpSpan, PartialSuccess } from './span.ts';

/**
 * Decodes an ExportTraceServiceRequest in OTLP's JSON form, which is proto3 JSON except for hex ids and integer enums
 * (OTLP specification, "JSON Protobuf Encoding").
 *
 * Enum names are accepted as well. Absent and null are the same, as in proto3 JSON. Unknown fields are ignored.
 *
 * @param body the parsed JSON of the request
 * @param decoding by default the spans themselves are returned
 * @throws OtlpDecodeError with the path of a known field that has the wrong type
 */
export function decodeJson(body: unknown): DecodedTraces;
export function decodeJson<Kept>(body: unknown, decoding: Decoding<OtlpSpan, Kept>): DecodedTraces<Kept>;
export function decodeJson(
  body: unknown,
  { take, keptNames = NO_NAMES }: Decoding<OtlpSpan, unknown> = { take: (span) => span },
): DecodedTraces<unknown> {
  const collector = collectSpans(take);
  walkJsonRequest(body, { resources: 'resourceSpans', scopes: 'scopeSpans', records: 'spans' }, (json, place) => {
    if (collector.isFull()) collector.refuse();
    else collector.add(readSpan(json, place.path, keptNames), place.scope, place.resource);
  });
  return collector.done();
}

/** The response of a signal. @param partial null: full success */
export function jsonResponse<Of extends Signal>(signal: Of, partial: PartialSuccess | null): JsonResponse<Of> {
  if (partial === null) return {};
  const rejected = { [REJECTED_FIELDS[signal]]: String(partial.rejected) };
  return { partialSuccess: { ...rejected, errorMessage: partial.errorMessage } } as JsonResponse<Of>;
}

type JsonResponse<Of extends Signal> = {
  partialSuccess?: { errorMessage: string } & { [Field in (typeof REJECTED_FIELDS)[Of]]: string };
};

const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map((k) => `SPAN_KIND_${k}`);
const STATUS_CODES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR'];

function readSpan(span: Json, path: string, keptNames: ReadonlySet<string>): RawSpan {
  const status = optional(span.status, `${path}.status`);
  return {
    ...newRawSpan(),
    traceId: id(span.traceId, `${path}.traceId`),
    spanId: id(span.spanId, `${path}.spanId`),
    parentSpanId: id(span.parentSpanId, `${path}.parentSpanId`),
    name: string(span.name, `${path}.name`),
    kind: enumeration(span.kind, SPAN_KINDS, `${path}.kind`),
    start: time(span.startTimeUnixNano, `${path}.startTimeUnixNano`),
    end: time(span.endTimeUnixNano, `${path}.endTimeUnixNano`),
    statusCode: enumeration(status.code, STATUS_CODES, `${path}.status.code`),
    statusMessage: string(status.message, `${path}.status.message`),
    traceState: string(span.traceState, `${path}.traceState`),
    attributes: attributesOf(span.attributes, `${path}.attributes`, keptNames),
    events: first(LIMITS.events, list(span.events, `${path}.events`), ([event, at]) => ({
      name: string(event.name, `${at}.name`),
      time: time(event.timeUnixNano, `${at}.timeUnixNano`),
      attributes: attributesOf(event.attributes, `${at}.attributes`),
    })),
    links: first(LIMITS.links, list(span.links, `${path}.links`), ([link, at]) => ({
      traceId: id(link.traceId, `${at}.traceId`),
      spanId: id(link.spanId, `${at}.spanId`),
      attributes: attributesOf(link.attributes, `${at}.attributes`),
    })),
  };
}
