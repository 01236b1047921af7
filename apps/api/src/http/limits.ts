/** The longest JSON body of any operation: 1 MiB. Spans have a limit of their own, QM_OTLP_MAX_BYTES. */
export const BODY_LIMIT = 1024 * 1024;

/**
 * How many members and items a body may have in all, for a limit of its bytes: most have some twenty bytes each. They are
 * counted before any of them is parsed and validated, which takes a hundred times as long as to read them.
 */
export function maxValuesOf(bodyMaxBytes: number): number {
  return Math.floor(bodyMaxBytes / 16);
}

/** How deep objects and lists may nest; the body itself is the first level. */
export const MAX_DEPTH = 64;

/** What a connection and the head of a request may be. Beyond it Node answers 408 or 431 without a body, or hangs up. */
export type ConnectionLimits = {
  /** A new connection's first head, and every further one from its first byte on, arrives within this time. */
  headersTimeoutMs: number;
  /** A whole request arrives within this time. */
  requestTimeoutMs: number;
  /** A connection without a request stays open for so long: longer than load balancers keep theirs. */
  keepAliveTimeoutMs: number;
  /** How often the times above are looked at. */
  checkIntervalMs: number;
  /** Of all header lines together, with the request line. */
  maxHeaderBytes: number;
  maxHeaders: number;
  /** Further connections are closed at once. */
  maxConnections: number;
  /** The same for those of one address, or of one /64 of IPv6; a trusted proxy has as many as it needs. */
  maxConnectionsPerAddress: number;
};

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 1000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 200,
};
