import { randomFillSync } from 'node:crypto';
import { type Connection, openConnection } from './connection.ts';
import type { BatchTemplate, LoadPlan, LoadResult, Requests } from './plan.ts';

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/** Applies a load to a server. @throws if a connection breaks, because measured servers must answer */
export async function applyLoad(plan: LoadPlan): Promise<LoadResult> {
  const { ports } = plan;
  const portOf = (index: number) => ports[index % ports.length] ?? 0;
  const connections = await Promise.all(
    Array.from({ length: plan.connections }, (_, index) => openConnection(portOf(index))),
  );
  const next = requestsOf(plan.requests);
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const exchange = async (connection: Connection, due: number) => {
    const status = await connection.send(next());
    latencies.push(performance.now() - due);
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const start = performance.now();
  const end = start + plan.seconds * 1000;
  try {
    if (plan.rate === null) {
      const loop = async (connection: Connection) => {
        for (let now = start; now < end; now = performance.now()) await exchange(connection, now);
      };
      await Promise.all(connections.map(loop));
    } else {
      await atRate({ connections, rate: plan.rate, start, end, exchange });
    }
  } finally {
    for (const connection of connections) connection.close();
  }
  const seconds = (performance.now() - start) / 1000;
  const bytes = connections.reduce((sum, connection) => sum + connection.bytes, 0);
  return { answers: latencies.length, statuses, seconds, bytes, latency: percentilesOf(latencies) };
}

/** Each free connection takes the next due request. The latency includes the time that a request waits for a connection. */
async function atRate(load: {
  connections: readonly Connection[];
  rate: number;
  start: number;
  end: number;
  exchange: (connection: Connection, due: number) => Promise<void>;
}): Promise<void> {
  let taken = 0;
  const loop = async (connection: Connection) => {
    for (;;) {
      const due = load.start + (taken * 1000) / load.rate;
      taken += 1;
      if (due >= load.end) return;
      const wait = due - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      await load.exchange(connection, due);
    }
  };
  await Promise.all(load.connections.map(loop));
}

function requestsOf(requests: Requests): () => Buffer {
  let turn = 0;
  if (requests.kind === 'ready') {
    const ready = requests.requests;
    return () => ready[turn++ % ready.length] ?? Buffer.alloc(0);
  }
  const { heads, batch } = requests;
  return () => {
    const head = heads[turn++ % heads.length] ?? Buffer.alloc(0);
    const request = Buffer.concat([head, batch.bytes]);
    renewIds(request, head.length, batch);
    return request;
  };
}

/** Gives all spans of a batch new ids, and keeps the relations of parents and children. */
export function renewIds(request: Buffer, bodyAt: number, batch: BatchTemplate): void {
  const random = randomFillSync(
    Buffer.alloc(batch.traceIds.length * TRACE_ID_BYTES + batch.spanIds.length * SPAN_ID_BYTES),
  );
  let from = 0;
  for (const [ids, length] of [
    [batch.traceIds, TRACE_ID_BYTES],
    [batch.spanIds, SPAN_ID_BYTES],
  ] as const) {
    for (const places of ids) {
      for (const place of places) random.copy(request, bodyAt + place, from, from + length);
      from += length;
    }
  }
}

export function percentilesOf(values: readonly number[]): LoadResult['latency'] {
  const sorted = Float64Array.from(values).toSorted();
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
