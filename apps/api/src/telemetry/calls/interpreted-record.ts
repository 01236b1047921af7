import type { Reading } from '../reading/facts.ts';

/** A log record with what a dialect found in it. Plain data, because it may cross threads. */
export type InterpretedRecord = {
  reading: Reading;
  /** `service.name` of the resource, as `InterpretedSpan.serviceName`. */
  serviceName: string | null;
  environment: string | null;
  /** RFC 3339, UTC. */
  time: string;
  /** Null if the record does not say how long the call took. */
  durationMs: number | null;
  failed: boolean;
  traceId: string | null;
  spanId: string | null;
  /** Identifies the record when it is sent again. */
  digest: string;
};
