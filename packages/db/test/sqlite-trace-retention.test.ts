import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { ensurePlace } from '../src/repositories/tenants.ts';
import { deleteTracesBefore } from '../src/repositories/trace-retention.ts';
import { SpanIndex } from '../src/span-index.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { span, store } from './stored-spans.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const SCOPE = [ACME];
const LATER = new Date(NOW.getTime() + 1000).toISOString();

/** Stores a trace with several requests of some spans each. */
async function storeTrace(
  db: Database,
  place: TenantPlace,
  trace: string,
  { spans, request = spans, errors = 0 }: { spans: number; request?: number; errors?: number },
) {
  const traceId = trace.padStart(32, '0');
  const all = Array.from({ length: spans }, (_, index) =>
    span(String(index + 1), { traceId, status: { code: index < errors ? 'error' : 'ok', message: null } }),
  );
  for (let start = 0; start < spans; start += request) await store(db, place, all.slice(start, start + request));
}

/** The number of spans in the index. */
async function spansLeft(db: Database): Promise<number> {
  const parts = await db.selectFrom('trace_blocks').select('spans').execute();
  const rows = await db.selectFrom('traces').select('first_spans as spans').execute();
  return [...parts, ...rows].reduce((sum, { spans }) => sum + (spans === null ? 0 : new SpanIndex(spans).count), 0);
}

const blocksLeft = async (db: Database) => (await db.selectFrom('span_blocks').select('id').execute()).length;
const traces = (db: Database) => db.selectFrom('traces').select(['trace_id', 'span_count', 'error_count']).execute();

test('a trace with more spans than one call may delete is deleted block by block', async () => {
  const db = await temporaryDatabase(ACME);
  await storeTrace(db, ACME, 'a', { spans: 25, request: 10, errors: 20 });
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 0, spans: 10, more: true });
  expect(await spansLeft(db)).toBe(15);
  expect(await traces(db)).toMatchObject([{ span_count: 15, error_count: 15 }]);
  // The first block's index is in the trace's row, and is deleted with it.
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 1, spans: 15, more: true });
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 0, spans: 0, more: false });
  expect([await spansLeft(db), await blocksLeft(db), await traces(db)]).toEqual([0, 0, []]);
});

test('small traces are deleted together, up to the limit of spans', async () => {
  const db = await temporaryDatabase(ACME);
  for (const trace of ['a', 'b', 'c', 'd', 'e']) await storeTrace(db, ACME, trace, { spans: 4 });
  const batches = [];
  do batches.push(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW));
  while (batches.at(-1)?.more);
  expect(batches.map(({ traces: gone, spans }) => [gone, spans])).toEqual([
    [2, 8],
    [2, 8],
    [1, 4],
  ]);
  expect([await spansLeft(db), await blocksLeft(db), await traces(db)]).toEqual([0, 0, []]);
});

test('a trace with a newer span is kept, and so is a trace of another tenant with the same id', async () => {
  const db = await temporaryDatabase(ACME);
  const other = { tenantId: 'other', subTenantId: null };
  await ensurePlace(db, other, NOW);
  await storeTrace(db, ACME, 'a', { spans: 3 });
  await storeTrace(db, other, 'a', { spans: 3 });
  expect(await deleteTracesBefore(db, SCOPE, NOW.toISOString(), 10, NOW)).toEqual({ traces: 0, spans: 0, more: false });
  expect(await deleteTracesBefore(db, SCOPE, LATER, 10, NOW)).toEqual({ traces: 1, spans: 3, more: false });
  expect(await spansLeft(db)).toBe(3);
});
