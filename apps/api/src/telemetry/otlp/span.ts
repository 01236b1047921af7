// A decoded span, the same for protobuf and JSON. Source: opentelemetry-proto 1.11, trace.proto and common.proto.

export type AttributeValue = string | number | boolean | null | AttributeValue[] | { [key: string]: AttributeValue };

/** May have own keys such as `__proto__` or `constructor`. So read only known names, and copy with `setAttribute`. */
export type Attributes = { [key: string]: AttributeValue };

export type OtlpSpan = {
  /** 32 lower-case hex digits. */
  traceId: string;
  /** 16 lower-case hex digits. */
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** RFC 3339 UTC, always 9 fractional digits, so times sort as text. */
  startTime: string;
  endTime: string;
  /** Milliseconds, fractional, never negative. */
  durationMs: number;
  status: { code: 'unset' | 'ok' | 'error'; message: string | null };
  traceState: string | null;
  /** One object shared by all the spans of a ScopeSpans. */
  scope: { name: string; version: string | null; attributes: Attributes };
  /** One object shared by all the spans of a ResourceSpans. */
  resource: Attributes;
  attributes: Attributes;
  events: { name: string; time: string; attributes: Attributes }[];
  links: { traceId: string; spanId: string; attributes: Attributes }[];
};

/** @template Kept the result of `take` for a span */
export type DecodedTraces<Kept = OtlpSpan> = {
  spans: Kept[];
  /** How many spans were rejected. The other spans of the request are accepted. */
  rejected: number;
  /** The distinct reasons, as sentences that quote nothing from the request. */
  reasons: string[];
};

/** The partial success of any signal: the number of rejected records, and why. */
export type PartialSuccess = { rejected: number; errorMessage: string };

/** The whole body cannot be decoded. Answered with 400. */
export class OtlpDecodeError extends Error {
  override readonly name = 'OtlpDecodeError';
}

/** The whole body has more values than can be read. Answered with 413. */
export class RequestTooLargeError extends Error {
  override readonly name = 'RequestTooLargeError';
}
