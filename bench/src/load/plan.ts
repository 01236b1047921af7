/** The requests of a load, ready to be sent, in turn. */
export type Requests =
  | { kind: 'ready'; requests: readonly Buffer[] }
  /** OTLP batches: the heads in turn, each time with new ids in the body. */
  | { kind: 'batches'; heads: readonly Buffer[]; batch: BatchTemplate };

/** An encoded OTLP request, and the positions of its ids. All positions of one id get the same new id. */
export type BatchTemplate = {
  bytes: Buffer;
  spans: number;
  traceIds: readonly (readonly number[])[];
  spanIds: readonly (readonly number[])[];
};

export type LoadPlan = {
  /** The ports that the connections use, in turn. */
  ports: readonly number[];
  requests: Requests;
  /** The number of open connections, each with one request at a time. */
  connections: number;
  seconds: number;
  /**
   * Requests per second, sent when they are due, even if earlier ones are not answered (open loop). Latency counts from the due
   * time. Null: each connection sends its next request when it has the response (closed loop).
   */
  rate: number | null;
};

export type LoadResult = {
  answers: number;
  /** The number of responses by status. */
  statuses: Record<string, number>;
  /** The time from the first request to the last response. */
  seconds: number;
  bytes: number;
  /** Milliseconds. */
  latency: { p50: number; p90: number; p99: number; max: number };
};

/** A request as bytes. */
export function requestBytes(request: {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
}): Buffer {
  const body = Buffer.from(request.body ?? '');
  return Buffer.concat([headBytes({ ...request, length: request.body === undefined ? null : body.length }), body]);
}

/** @param length the length of the body; null: no body */
export function headBytes({
  method,
  path,
  headers,
  length,
}: {
  method: string;
  path: string;
  headers: Record<string, string>;
  length: number | null;
}): Buffer {
  const lines = Object.entries({
    Host: '127.0.0.1',
    ...headers,
    ...(length !== null && { 'Content-Length': String(length) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}
