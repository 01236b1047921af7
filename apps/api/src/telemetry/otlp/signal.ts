/** The signals of OTLP. Each has its own service, path and messages. */
export type Signal = 'traces' | 'logs' | 'metrics';

/** The JSON field of a partial success with the number of rejected records. In protobuf it is field 1 for each signal. */
export const REJECTED_FIELDS = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
} as const satisfies Record<Signal, string>;
