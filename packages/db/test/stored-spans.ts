import type { Span } from '@quartermaster/contracts/traces.ts';
import type { Database } from '../src/database.ts';
import { selectFreshSpans } from '../src/repositories/fresh-spans.ts';
import { findKnownSpans } from '../src/repositories/known-spans.ts';
import { insertSpanBlocks } from '../src/repositories/span-blocks.ts';
import { listSpans } from '../src/repositories/spans.ts';
import type { TraceAddition } from '../src/repositories/trace-rows.ts';
import { buildSpanBlocks } from '../src/span-block.ts';
import { type SpanDocument, spanWriter } from '../src/span-document.ts';
import { expandStoredJson } from '../src/stored-json.ts';
import type { TenantPlace, TenantScope } from '../src/tenancy.ts';
import { inTransaction } from '../src/transaction.ts';
import { later } from './temporary-database.ts';

export const TRACE = 'a'.repeat(32);
const SENDER = 'service_account:acme/bot';

export type NewSpan = SpanDocument & { traceId: string; spanId: string };

export function span(spanId: string, more: Partial<NewSpan> = {}): NewSpan {
  return {
    traceId: TRACE,
    spanId: spanId.padStart(16, '0'),
    parentSpanId: null,
    name: 'chat',
    kind: 'client',
    startTime: '2026-03-01T12:00:00.000000000Z',
    endTime: '2026-03-01T12:00:01.000000000Z',
    durationMs: 1000,
    status: { code: 'ok', message: null },
    serviceName: null,
    resource: {},
    attributes: {},
    scope: { name: 'test', version: null, attributes: {} },
    events: [],
    links: [],
    genAi: null,
    ...more,
  };
}

type Sent = { spans: readonly NewSpan[]; sender?: string; calls?: ReadonlyMap<string, Uint8Array> };

/** Stores spans at a time, as ingest does. Returns the result. */
export function storeBatch(db: Database, place: TenantPlace, sent: Sent, now: Date) {
  const { spans, sender = SENDER, calls = new Map() } = sent;
  const { write, texts } = spanWriter();
  const batch = spans.map((one) => ({ ...one, ...write(one, one) }));
  return inTransaction(db, async (trx) => {
    const known = await findKnownSpans(trx, place, { spans: batch, sender });
    const { fresh, variants, ...others } = selectFreshSpans(batch, { known, sender });
    const blocks = await buildSpanBlocks(fresh, texts);
    const additions = [...Map.groupBy(fresh, ({ traceId }) => traceId).values()].map(additionOf);
    if (fresh.length > 0) {
      await insertSpanBlocks(trx, place, { sender, blocks, additions, known, variants, calls }, now);
    }
    return { stored: fresh.map(({ spanId }) => spanId.replace(/^0+/, '')), ...others };
  });
}

/** Stores spans some time after NOW, as ingest does. Returns the ids of the new ones. */
export async function store(
  db: Database,
  place: TenantPlace,
  spans: readonly NewSpan[],
  seconds = 0,
): Promise<string[]> {
  return (await storeBatch(db, place, { spans }, later(seconds))).stored;
}

type Summed = Pick<NewSpan, 'traceId' | 'startTime' | 'endTime' | 'status' | 'genAi'>;

function additionOf(spans: readonly Summed[]): TraceAddition {
  const times = (column: 'startTime' | 'endTime') => spans.map((one) => one[column]).toSorted();
  return {
    traceId: spans[0]?.traceId ?? '',
    rootName: null,
    serviceName: null,
    startTime: times('startTime')[0] ?? '',
    endTime: times('endTime').at(-1) ?? '',
    spanCount: spans.length,
    errorCount: spans.filter(({ status }) => status.code === 'error').length,
    services: [],
    models: spans.flatMap(({ genAi }) => genAi?.model ?? []),
    tools: [],
    agents: [],
    failures: [],
  };
}

/** All spans of a trace, read in pages. Undefined if the trace does not exist. */
export async function allSpans(
  db: Database,
  scope: TenantScope,
  traceId = TRACE,
  limit = 1000,
): Promise<Span[] | undefined> {
  const spans: Span[] = [];
  for (let after: readonly [string, string] | null = null; ; ) {
    const page = await listSpans(db, scope, traceId, { limit, after });
    if (!page) return undefined;
    spans.push(...(expandStoredJson(page.items) as Span[]));
    if (page.next === null) return spans;
    after = page.next;
  }
}
