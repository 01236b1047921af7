import { headBytes } from '../load/plan.ts';
import { batchTemplate } from '../otlp/batch.ts';
import { compareWithFloors } from './against-floors.ts';
import type { Bench, Workload } from './workload.ts';

const PATH = '/v1/traces';

/** How telemetry is sent: the spans of each request, by so many connections at the same time. */
type Sending = { spans: number; senders: number };

/** As the exporter of an SDK sends, from many processes. */
const SMALL: Sending = { spans: 10, senders: 16 };
const LARGE: Sending = { spans: 500, senders: 4 };

/** One tenant. */
export const ingest: Workload = (bench) => ingestOf(bench, 'ingest', LARGE, { tenants: 'one', agreedByCpu: 1 });
export const ingestSmall: Workload = (bench) =>
  ingestOf(bench, 'ingest-small', SMALL, { tenants: 'one', agreedByCpu: 0.6 });
export const ingestSmall64: Workload = (bench) =>
  ingestOf(bench, 'ingest-small-64', { ...SMALL, senders: 64 }, { tenants: 'one', agreedByCpu: 0.6 });

/** Many tenants, in turn. */
export const ingestMany: Workload = (bench) =>
  ingestOf(bench, 'ingest-many', LARGE, { tenants: 'many', agreedByCpu: 0.9 });
export const ingestSmallMany: Workload = (bench) =>
  ingestOf(bench, 'ingest-small-many', SMALL, { tenants: 'many', agreedByCpu: 0.5 });

function ingestOf(
  bench: Bench,
  name: string,
  { spans, senders }: Sending,
  { tenants, agreedByCpu }: { tenants: 'one' | 'many'; agreedByCpu: number },
) {
  const keys = tenants === 'one' ? bench.world.tenantKeys.slice(0, 1) : bench.world.tenantKeys;
  const batch = batchTemplate(spans);
  const headersOf = (key: string) => ({ 'X-API-Key': key, 'Content-Type': 'application/x-protobuf' });
  const heads = keys.map((key) =>
    headBytes({ method: 'POST', path: PATH, headers: headersOf(key), length: batch.bytes.length }),
  );
  const of = keys.length === 1 ? '1 tenant' : `${keys.length} tenants`;
  return compareWithFloors(bench, {
    name,
    work: 'ingest',
    writes: 'spans',
    title: `OTLP ingest, protobuf, batches of ${spans} spans, ${senders} senders, ${of}`,
    asked: { method: 'POST', path: PATH, headers: headersOf(keys[0] ?? ''), body: batch.bytes },
    requests: { kind: 'batches', heads, batch },
    connections: senders,
    floors: ['bare'],
    agreed: null,
    agreedByCpu,
    unit: { name: 'spans', perRequest: spans },
  });
}
