/** What a load sends: requests that are ready to go out, in turn. */
export type Requests =
  | { kind: 'ready'; requests: readonly Buffer[] }
  /** OTLP batches: the heads in turn, each time with a body that has ids of its own. */
  | { kind: 'batches'; heads: readonly Buffer[]; batch: BatchTemplate };

/** An encoded OTLP request, and where in it ids stand: all places of one id get the same new one. */
export type BatchTemplate = {
  bytes: Buffer;
  spans: number;
  traceIds: readonly (readonly number[])[];
  spanIds: readonly (readonly number[])[];
};

export type LoadPlan = {
  /** Where the connections go, in turn. */
  ports: readonly number[];
  requests: Requests;
  /** Connections that are kept open, each with one request at a time. */
  connections: number;
  seconds: number;
  /**
   * Requests a second, sent when they are due whether or not earlier ones were answered: a latency counts from when its
   * request was due. Null: each connection sends its next request when it has its answer.
   */
  rate: number | null;
};

export type LoadResult = {
  answers: number;
  /** Answers by their status. */
  statuses: Record<string, number>;
  /** From the first request to the last answer. */
  seconds: number;
  bytes: number;
  /** Milliseconds. */
  latency: { p50: number; p90: number; p99: number; max: number };
};

/** A request as it goes over the wire. */
export function requestBytes(request: {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
}): Buffer {
  const body = Buffer.from(request.body ?? '');
  return Buffer.concat([headBytes({ ...request, length: request.body === undefined ? null : body.length }), body]);
}

/** @param length of the body; null: there is none */
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
