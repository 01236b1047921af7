import { setImmediate as breathe } from 'node:timers/promises';
import type { Span, Trace } from '@quartermaster/contracts/traces.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { onDaysOf } from '../dialects/postgres-spans.ts';
import { inStretch, listRows, type Stretch, tracePlace } from '../listing.ts';
import {
  type Page,
  type PageRequest,
  type PageRows,
  pageOf,
  placeColumns,
  placeOf,
  rowsOf,
  within,
} from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import type { SpanDocument, SpanRow } from '../span-document.ts';
import { statement } from '../statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** Spans stored before the event loop gets a turn: of a usual size, they take some milliseconds. */
const SPANS_OF_TURN = 256;

/**
 * Stores the spans that are not stored yet: the first write of a span wins. Answers those that were new; of a span that
 * stands there twice, the first. In the transaction that adds them to their traces: that what is looked up first is not
 * stored by another meanwhile, its isolation sees to.
 */
export async function insertSpans<Row extends SpanRow>(
  db: Database,
  place: TenantPlace,
  spans: readonly Row[],
  receivedFrom: string,
  now: Date,
): Promise<Row[]> {
  const common = { ...placeColumns(place), received_from: receivedFrom, created_at: now.toISOString() };
  const stored = await storedOf(db, place, spans);
  const keys = new Set<string>();
  const fresh = spans.filter((span) => {
    const key = keyOf(span);
    if (stored.has(key) || keys.has(key)) return false;
    keys.add(key);
    return true;
  });
  for (let start = 0; start < fresh.length; start += SPANS_OF_TURN) {
    await insertSpanRows(db, fresh.slice(start, start + SPANS_OF_TURN), common);
    // An embedded database answers without giving the event loop a turn.
    await breathe();
  }
  return fresh;
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
      .onConflict((conflict) => conflict.doNothing()),
);

/**
 * The keys of those of some spans that are stored. Traces are asked first, which are few: one that has spans has a row, and
 * most come in whole.
 */
async function storedOf(db: Database, place: TenantPlace, spans: readonly SpanRow[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(spans.map(({ traceId }) => traceId))].map((traceId) => ({ traceId }));
  const columns = placeColumns(place);
  const known = await selectTraceTimes(db, ids, columns);
  const times = timesOfTraces(known);
  if (times === null) return new Set();
  const traceIds = new Set(known.map((trace) => trace.trace_id));
  const suspects = spans.filter(({ traceId }) => traceIds.has(traceId));
  const stored = new Set<string>();
  for (let start = 0; start < suspects.length; start += SPANS_OF_TURN) {
    const some = suspects.slice(start, start + SPANS_OF_TURN);
    const found = isPostgres(db)
      ? await spansOf(db, some, columns).where(onDaysOf(times)).execute()
      : await selectSpanKeys(db, some, columns);
    for (const { traceId, spanId } of found) stored.add(keyOf({ traceId, spanId }));
    await breathe();
  }
  return stored;
}

function keyOf({ traceId, spanId }: Pick<SpanRow, 'traceId' | 'spanId'>): string {
  return traceId + spanId;
}

type PlaceColumns = ReturnType<typeof placeColumns>;

const selectTraceTimes = rowStatement((db, rows: readonly { traceId: string }[], place: PlaceColumns) =>
  db
    .selectFrom('traces')
    .select(['trace_id', 'created_at', 'updated_at'])
    .where('tenant_id', '=', place.tenant_id)
    .where('sub_tenant_id', '=', place.sub_tenant_id)
    .where(
      'trace_id',
      'in',
      rows.map(({ traceId }) => traceId),
    ),
);

function spansOf(
  db: Database,
  spans: readonly Pick<SpanRow, 'traceId' | 'spanId'>[],
  { tenant_id, sub_tenant_id }: PlaceColumns,
) {
  return db
    .selectFrom('spans')
    .select(['trace_id as traceId', 'span_id as spanId'])
    .where(
      among(
        ['tenant_id', 'sub_tenant_id', 'trace_id', 'span_id'],
        spans.map(({ traceId, spanId }) => [tenant_id, sub_tenant_id, traceId, spanId]),
      ),
    );
}

const selectSpanKeys = rowStatement(spansOf);

/** From when to when traces got spans; null where there is none. */
function timesOfTraces(traces: readonly { created_at: string; updated_at: string }[]) {
  const [first] = traces.map((trace) => trace.created_at).toSorted();
  const last = traces
    .map((trace) => trace.updated_at)
    .toSorted()
    .at(-1);
  return first === undefined || last === undefined ? null : { first, last };
}

/** What a batch adds to a trace. */
export type TraceAddition = Pick<
  Trace,
  'traceId' | 'rootName' | 'serviceName' | 'startTime' | 'endTime' | 'spanCount' | 'errorCount'
> & { storedBytes: number };

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
        rows.map(({ traceId, rootName, serviceName, startTime, endTime, spanCount, errorCount, storedBytes }) => ({
          ...{ tenant_id, sub_tenant_id, trace_id: traceId, root_name: rootName, service_name: serviceName },
          ...{ start_time: startTime, end_time: endTime, span_count: spanCount, error_count: errorCount },
          stored_bytes: storedBytes,
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
          stored_bytes: sql`traces.stored_bytes + excluded.stored_bytes`,
          updated_at: sql`case when excluded.updated_at > traces.updated_at then excluded.updated_at else traces.updated_at end`,
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
  const { serviceName = null } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'traces',
    isSifted: serviceName !== null,
    rows: (stretch) => traceRows(db, serviceName, stretch).execute(),
  });
  return { items: rows.map(toTrace), next };
}

function traceRows(db: Database, serviceName: string | null, stretch: Stretch) {
  let query = db.selectFrom('traces').selectAll().select(tracePlace.as('id')).where(within(stretch.scope));
  if (serviceName !== null) query = query.where('service_name', '=', serviceName);
  return query.$call(inStretch(stretch, tracePlace));
}

type SpanRows = PageRows & { scope: TenantScope; traceId: string };

function spanRows(db: Database, { scope, traceId, after, rows }: SpanRows) {
  // A span may stand in several places, too.
  const place = sql<string>`span_id || '/' || tenant_id || '/' || sub_tenant_id`;
  let query = db
    .selectFrom('spans')
    .selectAll()
    .select(place.as('place_key'))
    .where('trace_id', '=', traceId)
    .where(within(scope));
  if (after !== null) {
    query = query
      .where('start_time', '>=', after[0])
      .where(sql<boolean>`(start_time, ${place}) > (${after[0]}, ${after[1]})`);
  }
  return query.orderBy('start_time').orderBy(place).limit(rows);
}

const keptSpanRows = statement(spanRows);

/** The spans of a trace by start time, or undefined where nothing in the scope has the trace. */
export async function listSpans(
  db: Database,
  scope: TenantScope,
  traceId: string,
  page: PageRequest,
): Promise<Page<Span> | undefined> {
  const onDays = await daysOf(db, scope, traceId);
  if (onDays === undefined) return undefined;
  const wanted = { scope, traceId, ...rowsOf(page) };
  const rows = await (onDays === null ? keptSpanRows(db, wanted) : spanRows(db, wanted).where(onDays).execute());
  if (rows.length === 0 && page.after === null) return undefined;
  return pageOf(rows, page.limit, toSpan, (row) => [row.start_time, row.place_key]);
}

/**
 * The days to look at for the spans of a trace: undefined where nothing in the scope has it, null where spans do not stand
 * by days.
 */
async function daysOf(
  db: Database,
  scope: TenantScope,
  traceId: string,
): Promise<Expression<SqlBool> | null | undefined> {
  if (!isPostgres(db)) return null;
  const traces = db.selectFrom('traces').select(['created_at', 'updated_at']).where('trace_id', '=', traceId);
  const times = timesOfTraces(await traces.where(within(scope)).execute());
  return times === null ? undefined : onDaysOf(times);
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
