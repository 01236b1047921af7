import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { ensurePlace } from '../src/repositories/tenants.ts';
import { deleteTracesBefore } from '../src/repositories/trace-retention.ts';
import { addToTraces, insertSpans } from '../src/repositories/traces.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const SCOPE = [ACME];
const LATER = new Date(NOW.getTime() + 1000).toISOString();
const TIMES = { startTime: '2026-01-01T00:00:00.000000000Z', endTime: '2026-01-01T00:00:01.000000000Z' };

async function store(
  db: Database,
  place: TenantPlace,
  trace: string,
  { spans, errors = 0 }: { spans: number; errors?: number },
) {
  const traceId = trace.padStart(32, '0');
  const rows = Array.from({ length: spans }, (_, index) => ({
    ...{ traceId, spanId: String(index + 1).padStart(16, '0'), startTime: TIMES.startTime, document: '{}' },
  }));
  await insertSpans(db, place, rows, 'service_account:acme/a', NOW);
  const addition = {
    traceId,
    rootName: null,
    serviceName: null,
    ...TIMES,
    spanCount: spans,
    errorCount: errors,
    storedBytes: 100 * spans,
  };
  await addToTraces(db, place, [addition], NOW);
}

const spansLeft = async (db: Database) => (await db.selectFrom('spans').select('span_id').execute()).length;
const traces = (db: Database) => db.selectFrom('traces').select(['trace_id', 'span_count', 'error_count']).execute();

test('of a trace that has more spans than may go at once, some go at a time, and the trace with the last of them', async () => {
  const db = await temporaryDatabase(ACME);
  await store(db, ACME, 'a', { spans: 25, errors: 20 });
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 0, spans: 10, more: true });
  expect(await spansLeft(db)).toBe(15);
  expect(await traces(db)).toMatchObject([{ span_count: 15, error_count: 15 }]);
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 0, spans: 10, more: true });
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 1, spans: 5, more: false });
  expect([await spansLeft(db), await traces(db)]).toEqual([0, []]);
});

test('small traces go together, as many as have that many spans', async () => {
  const db = await temporaryDatabase(ACME);
  for (const trace of ['a', 'b', 'c', 'd', 'e']) await store(db, ACME, trace, { spans: 4 });
  const batches = [];
  do batches.push(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW));
  while (batches.at(-1)?.more);
  expect(batches.map(({ traces: gone, spans }) => [gone, spans])).toEqual([
    [2, 8],
    [2, 8],
    [1, 4],
  ]);
  expect([await spansLeft(db), await traces(db)]).toEqual([0, []]);
});

test('a trace that got a span since stays, and so does that of another tenant with the same id', async () => {
  const db = await temporaryDatabase(ACME);
  const other = { tenantId: 'other', subTenantId: null };
  await ensurePlace(db, other, NOW);
  await store(db, ACME, 'a', { spans: 3 });
  await store(db, other, 'a', { spans: 3 });
  expect(await deleteTracesBefore(db, SCOPE, NOW.toISOString(), 10, NOW)).toEqual({ traces: 0, spans: 0, more: false });
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 1, spans: 3, more: false });
  expect(await spansLeft(db)).toBe(3);
});
