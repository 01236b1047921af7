import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { applyLoad, percentilesOf, renewIds } from '../src/load/generator.ts';
import { headBytes, type LoadPlan, requestBytes } from '../src/load/plan.ts';
import { batchTemplate } from '../src/otlp/batch.ts';
import { decodeSpans } from '../src/otlp/decode.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(handle: RequestListener): Promise<number> {
  const server = createServer(handle);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

function plan(port: number, more: Partial<LoadPlan> = {}): LoadPlan {
  const request = requestBytes({ method: 'GET', path: '/', headers: { 'X-API-Key': 'key' } });
  return {
    ports: [port],
    requests: { kind: 'ready', requests: [request] },
    connections: 4,
    seconds: 0.2,
    rate: null,
    ...more,
  };
}

test('counts every request once, by its status, and the bytes of all responses', async () => {
  const body = 'x'.repeat(100_000);
  const served: Record<string, number> = {};
  const port = await serve((req, res) => {
    const status = req.headers['x-api-key'] === 'key' && Object.keys(served).length > 0 ? 200 : 503;
    served[status] = (served[status] ?? 0) + 1;
    res.writeHead(status, { 'Content-Length': body.length });
    // Sent in pieces, because the end of a response depends on its Content-Length.
    res.write(body.slice(0, 7));
    setImmediate(() => res.end(body.slice(7)));
  });
  const result = await applyLoad(plan(port));
  expect(result.statuses).toEqual(served);
  expect(result.statuses['503']).toBe(1);
  expect(result.answers).toBe((served['200'] ?? 0) + 1);
  expect(result.bytes).toBeGreaterThan(result.answers * body.length);
});

test('a server that closes the connection ends the measurement', async () => {
  const port = await serve((req) => req.socket.destroy());
  await expect(applyLoad(plan(port))).rejects.toThrow();
});

test('an answer in chunks is whole after its last chunk', async () => {
  const port = await serve((_req, res) => {
    res.write('first ');
    setImmediate(() => res.end('last'));
  });
  const { answers, statuses } = await applyLoad(plan(port));
  expect(statuses).toEqual({ 200: answers });
  expect(answers).toBeGreaterThan(4);
});

test('an answer without a length ends the measurement', async () => {
  const port = await serve((_req, res) => {
    // It ends with its connection.
    res.useChunkedEncodingByDefault = false;
    res.write('some');
    res.end();
  });
  await expect(applyLoad(plan(port))).rejects.toThrow('without Content-Length');
});

test('requests go to all ports in turn', async () => {
  const hits = [0, 0];
  const ports = await Promise.all(
    hits.map((_, index) =>
      serve((_req, res) => {
        hits[index] = (hits[index] ?? 0) + 1;
        res.writeHead(200, { 'Content-Length': 0 }).end();
      }),
    ),
  );
  await applyLoad(plan(0, { ports, connections: 2 }));
  expect(Math.min(...hits)).toBeGreaterThan(0);
});

test('at a fixed rate, the latency of a delayed request includes its delay', async () => {
  let first = true;
  const port = await serve((_req, res) => {
    const delay = first ? 150 : 0;
    first = false;
    setTimeout(() => res.writeHead(200, { 'Content-Length': 0 }).end(), delay);
  });
  const { answers, latency } = await applyLoad(plan(port, { connections: 1, seconds: 0.3, rate: 100 }));
  expect(answers).toBe(30);
  // The first took 150 ms, and the fourteen that became due in that time waited for it.
  expect(latency.p50).toBeGreaterThan(5);
  expect(latency.max).toBeGreaterThanOrEqual(145);
});

test('each batch gets new ids, and keeps the parents of its spans', () => {
  const batch = batchTemplate(50);
  const head = headBytes({ method: 'POST', path: '/v1/traces', headers: {}, length: batch.bytes.length });
  const renewed = () => {
    const request = Buffer.concat([head, batch.bytes]);
    renewIds(request, head.length, batch);
    return decodeSpans(request.subarray(head.length));
  };
  const [one, other] = [renewed(), renewed()];
  const ids = new Set([...one, ...other].map(({ spanId }) => spanId));
  expect(ids.size).toBe(100);
  expect(new Set([...one, ...other].map(({ traceId }) => traceId)).size).toBe(10);
  for (const span of one.filter(({ parentSpanId }) => parentSpanId !== null)) {
    expect(one.find(({ spanId }) => spanId === span.parentSpanId)?.traceId).toBe(span.traceId);
  }
  expect(one.filter(({ parentSpanId }) => parentSpanId === null)).toHaveLength(5);
});

test('percentiles are measured values, not interpolated ones', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(percentilesOf(values)).toEqual({ p50: 50, p90: 90, p99: 99, max: 100 });
});
