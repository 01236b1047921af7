import { headBytes } from '../load/plan.ts';
import { batchTemplate } from '../otlp/batch.ts';
import type { Finding } from '../report.ts';
import { compareWithFloors } from './against-floors.ts';
import type { Bench, Workload } from './workload.ts';

const SPANS_PER_BATCH = 500;
const PATH = '/v1/traces';

/** Batches of one tenant. */
export const ingest: Workload = (bench) => ingestOf(bench, bench.world.tenantKeys.slice(0, 1));

/** Batches of many tenants, in turn. */
export const ingestMany: Workload = (bench) => ingestOf(bench, bench.world.tenantKeys);

function ingestOf(bench: Bench, keys: readonly string[]): Promise<Finding> {
  const batch = batchTemplate(SPANS_PER_BATCH);
  const headersOf = (key: string) => ({ 'X-API-Key': key, 'Content-Type': 'application/x-protobuf' });
  const heads = keys.map((key) =>
    headBytes({ method: 'POST', path: PATH, headers: headersOf(key), length: batch.bytes.length }),
  );
  return compareWithFloors(bench, {
    name: keys.length === 1 ? 'ingest' : 'ingest-many',
    work: 'ingest',
    writes: 'spans',
    title: `OTLP ingest, protobuf, batches of ${SPANS_PER_BATCH} spans, ${keys.length} ${keys.length === 1 ? 'tenant' : 'tenants'}`,
    asked: { method: 'POST', path: PATH, headers: headersOf(keys[0] ?? ''), body: batch.bytes },
    requests: { kind: 'batches', heads, batch },
    connections: 4,
    floors: ['bare'],
    agreed: 0.6,
    unit: { name: 'spans', perRequest: SPANS_PER_BATCH },
  });
}
