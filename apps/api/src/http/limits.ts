/** A JSON body: 1 MiB. The receiver of spans has a limit of its own, QM_OTLP_MAX_BYTES. */
export const BODY_LIMIT = 1024 * 1024;

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
};

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 1000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxConnections: 10_000,
};
