/** A span as both OTLP encodings, protobuf and JSON, end in. Source: opentelemetry-proto 1.11, trace.proto and common.proto. */

export type AttributeValue = string | number | boolean | null | AttributeValue[] | { [key: string]: AttributeValue };

/** May have own keys such as `__proto__` or `constructor`: read known names only, copy with `setAttribute`. */
export type Attributes = { [key: string]: AttributeValue };

export type OtlpSpan = {
  /** 32 lower-case hex digits. */
  traceId: string;
  /** 16 lower-case hex digits. */
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** RFC 3339 UTC, always 9 fractional digits: fixed width, sorts as text. */
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

/** @template Kept what is made of a span once it is read */
export type DecodedTraces<Kept = OtlpSpan> = {
  spans: Kept[];
  /** How many spans were refused; the others of the request are kept. */
  rejected: number;
  /** Why, in a few distinct sentences that quote nothing of the request. */
  reasons: string[];
};

/** The partial success of any signal: what the answer says of refused records. */
export type PartialSuccess = { rejected: number; errorMessage: string };

/** The body as a whole cannot be decoded: 400. */
export class OtlpDecodeError extends Error {
  override readonly name = 'OtlpDecodeError';
}

/** The body as a whole has more than can be read: 413. */
export class RequestTooLargeError extends Error {
  override readonly name = 'RequestTooLargeError';
}
