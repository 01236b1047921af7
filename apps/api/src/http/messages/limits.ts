/** The longest JSON body of any operation: 1 MiB. Telemetry has its own limit, QM_OTLP_MAX_BYTES. */
export const BODY_LIMIT = 1024 * 1024;

/**
 * How many members and items a body may have in all, for its limit in bytes: one for every 16 bytes. They are counted before
 * the body is parsed and validated, because that takes a hundred times as long as counting.
 */
export function maxValuesOf(bodyMaxBytes: number): number {
  return Math.floor(bodyMaxBytes / 16);
}

/**
 * How many lists and objects a body may have in all. Half a million of them, one in the other, take 40 ms to parse. Bodies that
 * nest deeper than {@link MAX_DEPTH} are refused after that.
 */
export const MAX_CONTAINERS = maxValuesOf(BODY_LIMIT);

/** How deep objects and lists may nest. The body itself is the first level. */
export const MAX_DEPTH = 64;

/**
 * Small chunks of bodies that one address may send in a second, beside the first ones of each body. Each takes some 10
 * microseconds, and one read of 64 KiB may contain thousands of them. For gRPC these are small HTTP/2 frames.
 */
export const MAX_SMALL_CHUNKS = 5000;

/** A chunk with at least this many bytes is not small. */
export const SMALL_CHUNK_BYTES = 1024;

/** Limits of connections and request heads. Beyond them Node answers 408 or 431 without a body, or closes the connection. */
export type ConnectionLimits = {
  /** The time for a request's head: the first one from the connection on, further ones from their first byte on. */
  headersTimeoutMs: number;
  /** The time for a whole request. */
  requestTimeoutMs: number;
  /** How long an idle connection stays open: longer than load balancers keep theirs. */
  keepAliveTimeoutMs: number;
  /** How long the client of an answer may read nothing of it. Its connection is closed then. */
  unreadTimeoutMs: number;
  /** How often Node checks the times of requests. */
  checkIntervalMs: number;
  /** The size of the request line and all headers together, in bytes. */
  maxHeaderBytes: number;
  maxHeaders: number;
  /** Requests of a connection that wait for the answers to earlier ones. Beyond it all connections of the address are closed. */
  maxPipelined: number;
  /** Requests of one address in a second that had to wait for an earlier one of their connection. Trusted proxies are exempt. */
  maxPipelinedPerSecond: number;
  /** Further connections are closed at once. */
  maxConnections: number;
  /**
   * The same for one address, or one /64 of IPv6. Trusted proxies are exempt. A tenth of them is a reserve for health checks, the
   * console and callers with a known credential.
   */
  maxConnectionsPerAddress: number;
};

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  unreadTimeoutMs: 120_000,
  checkIntervalMs: 1000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxPipelined: 100,
  maxPipelinedPerSecond: 1000,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 500,
};
