/** What OTLP carries: each has its own service, path and messages. */
export type Signal = 'traces' | 'logs' | 'metrics';

/** What a partial success calls the records that were refused, in JSON. In protobuf it is field 1 of each signal. */
export const REJECTED_FIELDS = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
} as const satisfies Record<Signal, string>;
