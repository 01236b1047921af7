import { setImmediate as breathe } from 'node:timers/promises';
import type { Span, Trace } from '@quartermaster/contracts/traces.ts';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { type Page, type PageRequest, pageOf, placeColumns, placeOf, within } from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import type { SpanDocument, SpanRow } from '../span-document.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** Spans stored before the event loop gets a turn: of a usual size, they take some milliseconds. */
const SPANS_OF_TURN = 256;

/**
 * Stores the spans that are not stored yet: the first write of a span wins. Answers those that were new; of a span that
 * stands there twice, the first.
 */
export async function insertSpans<Row extends SpanRow>(
  db: Database,
  place: TenantPlace,
  spans: readonly Row[],
  receivedFrom: string,
  now: Date,
): Promise<Row[]> {
  const common = { ...placeColumns(place), received_from: receivedFrom, created_at: now.toISOString() };
  const stored: Row[] = [];
  for (let start = 0; start < spans.length; start += SPANS_OF_TURN) {
    const batch = spans.slice(start, start + SPANS_OF_TURN);
    const rows = await insertSpanRows(db, batch, common);
    const inserted = new Set(rows.map((row) => row.trace_id + row.span_id));
    for (const span of batch) if (inserted.delete(span.traceId + span.spanId)) stored.push(span);
    // An embedded database answers without giving the event loop a turn.
    await breathe();
  }
  return stored;
}

type BatchColumns = ReturnType<typeof placeColumns> & { received_from: string; created_at: string };

const insertSpanRows = rowStatement(
  (db, rows: readonly SpanRow[], { tenant_id, sub_tenant_id, received_from, created_at }: BatchColumns) =>
    db
      .insertInto('spans')
      .values(
        rows.map(({ traceId, spanId, startTime, document }) => ({
          ...{ tenant_id, sub_tenant_id, trace_id: traceId, span_id: spanId },
          ...{ start_time: startTime, document, created_at, received_from },
        })),
      )
      .onConflict((conflict) => conflict.columns(['tenant_id', 'sub_tenant_id', 'trace_id', 'span_id']).doNothing())
      .returning(['trace_id', 'span_id']),
);

/** What a batch adds to a trace. */
export type TraceAddition = Pick<
  Trace,
  'traceId' | 'rootName' | 'serviceName' | 'startTime' | 'endTime' | 'spanCount' | 'errorCount'
>;

/** Counts spans that were stored in their traces. @param additions one for each trace */
export async function addToTraces(
  db: Database,
  place: TenantPlace,
  additions: readonly TraceAddition[],
  now: Date,
): Promise<void> {
  await upsertTraceRows(db, additions, { ...placeColumns(place), now: now.toISOString() });
}

const upsertTraceRows = rowStatement(
  (
    db,
    rows: readonly TraceAddition[],
    { tenant_id, sub_tenant_id, now }: ReturnType<typeof placeColumns> & { now: string },
  ) =>
    db
      .insertInto('traces')
      .values(
        rows.map(({ traceId, rootName, serviceName, startTime, endTime, spanCount, errorCount }) => ({
          ...{ tenant_id, sub_tenant_id, trace_id: traceId, root_name: rootName, service_name: serviceName },
          ...{ start_time: startTime, end_time: endTime, span_count: spanCount, error_count: errorCount },
          ...{ created_at: now, updated_at: now },
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['tenant_id', 'sub_tenant_id', 'trace_id']).doUpdateSet({
          root_name: sql`coalesce(traces.root_name, excluded.root_name)`,
          service_name: sql`coalesce(traces.service_name, excluded.service_name)`,
          start_time: sql`case when excluded.start_time < traces.start_time then excluded.start_time else traces.start_time end`,
          end_time: sql`case when excluded.end_time > traces.end_time then excluded.end_time else traces.end_time end`,
          span_count: sql`traces.span_count + excluded.span_count`,
          error_count: sql`traces.error_count + excluded.error_count`,
          updated_at: sql`excluded.updated_at`,
        }),
      ),
);

/** Newest first, by when their first span came in. */
export async function listTraces(
  db: Database,
  scope: TenantScope,
  filter: { serviceName?: string | null | undefined },
  page: PageRequest,
): Promise<Page<Trace>> {
  let query = db.selectFrom('traces').selectAll().where(within(scope));
  if (filter.serviceName != null) query = query.where('service_name', '=', filter.serviceName);
  // One trace may stand in several places; the place is the last part of the key, and of its uniqueness.
  const place = sql<string>`trace_id || '/' || tenant_id || '/' || sub_tenant_id`;
  const rows = await query
    .select(place.as('place_key'))
    .$if(page.after !== null, (pages) =>
      // The first condition says nothing new, but an index serves it.
      pages
        .where('created_at', '<=', page.after?.[0] ?? '')
        .where(sql<boolean>`(created_at, ${place}) < (${page.after?.[0]}, ${page.after?.[1]})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy(place, 'desc')
    .limit(page.limit + 1)
    .execute();
  return pageOf(rows, page.limit, toTrace, (row) => [row.created_at, row.place_key]);
}

/** The spans of a trace by start time, or undefined where nothing in the scope has the trace. */
export async function listSpans(
  db: Database,
  scope: TenantScope,
  traceId: string,
  page: PageRequest,
): Promise<Page<Span> | undefined> {
  // A span may stand in several places, too.
  const place = sql<string>`span_id || '/' || tenant_id || '/' || sub_tenant_id`;
  const rows = await db
    .selectFrom('spans')
    .selectAll()
    .select(place.as('place_key'))
    .where('trace_id', '=', traceId)
    .where(within(scope))
    .$if(page.after !== null, (pages) =>
      pages
        .where('start_time', '>=', page.after?.[0] ?? '')
        .where(sql<boolean>`(start_time, ${place}) > (${page.after?.[0]}, ${page.after?.[1]})`),
    )
    .orderBy('start_time')
    .orderBy(place)
    .limit(page.limit + 1)
    .execute();
  if (rows.length === 0 && page.after === null) return undefined;
  return pageOf(rows, page.limit, toSpan, (row) => [row.start_time, row.place_key]);
}

/**
 * Removes traces whose last span came in before a time, the oldest first: at most `limit` of their spans, so that no
 * transaction is longer for a trace of a million spans. Of a trace that has more, some spans go at a time, and the trace
 * itself with the last of them.
 *
 * @returns how many traces and spans are gone, and whether there may be more
 */
export async function deleteTracesBefore(
  db: Database,
  scope: TenantScope,
  time: string,
  limit: number,
): Promise<{ traces: number; spans: number; more: boolean }> {
  const old = await db
    .selectFrom('traces')
    .select(['tenant_id', 'sub_tenant_id', 'trace_id', 'span_count'])
    .where(within(scope))
    .where('created_at', '<', time)
    .where('updated_at', '<', time)
    .orderBy('created_at')
    .limit(limit)
    .execute();
  const whole: OldTrace[] = [];
  let spans = 0;
  for (const trace of old) {
    spans += trace.span_count;
    if (spans > limit) break;
    whole.push(trace);
  }
  const [first] = old;
  if (first && whole.length === 0) return { traces: 0, spans: await deleteSomeSpans(db, first, limit), more: true };
  await deleteSpanRows(db, whole, {});
  await deleteTraceRows(db, whole, {});
  const removed = whole.reduce((sum, trace) => sum + trace.span_count, 0);
  return { traces: whole.length, spans: removed, more: whole.length < old.length || old.length === limit };
}

type TraceKey = Pick<Selectable<Tables['traces']>, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;
type OldTrace = TraceKey & { span_count: number };

const deleteSpanRows = rowStatement((db, rows: readonly TraceKey[]) => db.deleteFrom('spans').where(ofTraces(rows)));

const deleteTraceRows = rowStatement((db, rows: readonly TraceKey[]) => db.deleteFrom('traces').where(ofTraces(rows)));

function ofTraces(rows: readonly TraceKey[]) {
  return among(
    ['tenant_id', 'sub_tenant_id', 'trace_id'],
    rows.map(({ tenant_id, sub_tenant_id, trace_id }) => [tenant_id, sub_tenant_id, trace_id]),
  );
}

/** Removes `limit` spans of a trace that has more, and counts them out. Answers how many they were. */
async function deleteSomeSpans(db: Database, trace: OldTrace, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('spans')
    .where('tenant_id', '=', trace.tenant_id)
    .where('sub_tenant_id', '=', trace.sub_tenant_id)
    .where('trace_id', '=', trace.trace_id)
    .where('span_id', 'in', (eb) =>
      eb
        .selectFrom('spans')
        .select('span_id')
        .where('tenant_id', '=', trace.tenant_id)
        .where('sub_tenant_id', '=', trace.sub_tenant_id)
        .where('trace_id', '=', trace.trace_id)
        .orderBy('span_id')
        .limit(limit),
    )
    .executeTakeFirstOrThrow();
  const left = trace.span_count - Number(numDeletedRows);
  await db
    .updateTable('traces')
    .set((eb) => ({
      span_count: left,
      // Which of them failed, only their texts say: at most all that are left.
      error_count: eb.case().when('error_count', '>', left).then(left).else(eb.ref('error_count')).end(),
    }))
    .where('tenant_id', '=', trace.tenant_id)
    .where('sub_tenant_id', '=', trace.sub_tenant_id)
    .where('trace_id', '=', trace.trace_id)
    .execute();
  return Number(numDeletedRows);
}

function toTrace(row: Selectable<Tables['traces']>): Trace {
  return {
    traceId: row.trace_id,
    ...placeOf(row),
    rootName: row.root_name,
    serviceName: row.service_name,
    startTime: row.start_time,
    endTime: row.end_time,
    spanCount: row.span_count,
    errorCount: row.error_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toSpan(row: Selectable<Tables['spans']>): Span {
  const document = JSON.parse(row.document) as SpanDocument;
  return {
    traceId: row.trace_id,
    spanId: row.span_id,
    ...document,
    ...placeOf(row),
    createdAt: row.created_at,
    updatedAt: row.created_at,
    receivedFrom: row.received_from,
  };
}
