import type { Database } from '../src/database.ts';
import { addToTraces, insertSpans } from '../src/repositories/traces.ts';
import { type SpanDocument, spanWriter } from '../src/span-document.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { inTransaction } from '../src/transaction.ts';
import { later } from './temporary-database.ts';

export const TRACE = 'a'.repeat(32);

type NewSpan = SpanDocument & { traceId: string; spanId: string };

export function span(spanId: string, more: Partial<NewSpan> = {}): NewSpan {
  return {
    ...{ traceId: TRACE, spanId: spanId.padStart(16, '0'), parentSpanId: null, name: 'chat', kind: 'client' },
    ...{ startTime: '2026-03-01T12:00:00.000000000Z', endTime: '2026-03-01T12:00:01.000000000Z', durationMs: 1000 },
    ...{ status: { code: 'ok', message: null }, serviceName: null, resource: {}, attributes: {} },
    ...{ scope: { name: 'test', version: null, attributes: {} }, events: [], links: [], genAi: null },
    ...more,
  };
}

/** Stores spans as ingest does, some time after NOW. Answers the ids of those that were new. */
export function store(db: Database, place: TenantPlace, spans: readonly NewSpan[], seconds = 0): Promise<string[]> {
  const now = later(seconds);
  return inTransaction(db, async (trx) => {
    const write = spanWriter();
    const rows = spans.map((one) => ({ ...one, document: write(one, one) }));
    const stored = await insertSpans(trx, place, rows, 'service_account:acme/bot', now);
    const additions = [...Map.groupBy(stored, ({ traceId }) => traceId)].map(([traceId, group]) => ({
      ...{ traceId, rootName: null, serviceName: null, spanCount: group.length, errorCount: 0 },
      storedBytes: group.reduce((sum, { document }) => sum + document.length, 0),
      ...{ startTime: group[0]?.startTime ?? '', endTime: group[0]?.endTime ?? '' },
    }));
    await addToTraces(trx, place, additions, now);
    return stored.map(({ spanId }) => spanId.replace(/^0+/, ''));
  });
}
