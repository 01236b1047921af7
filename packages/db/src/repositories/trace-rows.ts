import type { Trace, TraceFailure } from '@quartermaster/contracts/traces.ts';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { timeParts } from '../nano-time.ts';
import { placeColumns, valueRows } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace } from '../tenancy.ts';

/** The row of a trace. */
export type TraceRow = Selectable<Tables['traces']>;

/** Names that a trace is filtered by. */
type TraceNames = Pick<Trace, 'services' | 'models' | 'tools' | 'agents' | 'failures'>;

/** What new spans add to their trace. */
export type TraceAddition = Pick<
  Trace,
  'traceId' | 'rootName' | 'serviceName' | 'startTime' | 'endTime' | 'spanCount' | 'errorCount'
> &
  TraceNames;

/** The most names of one kind that a trace is found by, and the most characters of each. */
const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 200;

/** Encodes names for a column, one per line. The text begins and ends with a line break, so that whole lines can be searched. */
export function encodeNames(names: readonly string[]): string {
  if (names.length === 0) return '';
  return encodeLines(names.map(oneLine));
}

function encodeLines(lines: readonly string[]): string {
  return `\n${[...new Set(lines)].slice(0, MAX_NAMES).join('\n')}\n`;
}

function oneLine(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH).toWellFormed().replaceAll('\n', ' ');
}

export function decodeNames(column: string): string[] {
  return column === '' ? [] : column.slice(1, -1).split('\n');
}

/** Encodes failures for a column like names. A line is the kind, the name and the error type, with tabs between them. */
function encodeFailures(failures: readonly TraceFailure[]): string {
  if (failures.length === 0) return '';
  return encodeLines(failures.map(({ kind, name, errorType }) => [kind, name, errorType ?? ''].map(field).join('\t')));
}

/** What the column of failures contains if one has this kind, this name, or both. */
export function failurePattern(kind: string | null, name: string | null): string {
  return `${kind === null ? '' : `\n${kind}`}\t${name === null ? '' : `${field(name)}\t`}`;
}

function field(text: string): string {
  return oneLine(text).replaceAll('\t', ' ');
}

export function decodeFailures(column: string): TraceFailure[] {
  return decodeNames(column).map((line) => {
    const [kind, name = '', errorType = ''] = line.split('\t');
    return { kind: kind as TraceFailure['kind'], name, errorType: errorType === '' ? null : errorType };
  });
}

type PlaceColumns = ReturnType<typeof placeColumns>;

/** What a stored batch adds to a trace's row. */
export type StoredAddition = TraceAddition & {
  /** The index of the first block of a new trace, if it is stored in the trace's row. */
  first: { spans: Buffer; calls: Buffer | null } | null;
};

/** Selects the rows of the given traces that exist. */
export const selectTraceRows = multiRowStatement((db, rows: readonly { traceId: string }[], place: PlaceColumns) => {
  const ofPlace = db
    .selectFrom('traces')
    .selectAll()
    .where('tenant_id', '=', place.tenant_id)
    .where('sub_tenant_id', '=', place.sub_tenant_id);
  const ids = rows.map(({ traceId }) => traceId);
  if (!isPostgres(db)) return ofPlace.where('trace_id', 'in', ids);
  // One look-up for each trace. With `in`, while the statistics of a growing table are old, Postgres reads all traces of the
  // tenant instead. That takes long, and each trace that is stored in the meantime is a serialization conflict.
  const asked = valueRows<{ trace_id: string }>(ids.map((id) => [id]));
  return db
    .selectFrom(asked.as<'asked'>(sql`asked(trace_id)`))
    .innerJoinLateral(ofPlace.where('trace_id', '=', sql.ref<string>('asked.trace_id')).limit(1).as('found'), (join) =>
      join.onTrue(),
    )
    .selectAll('found');
});

/**
 * Adds stored spans to their traces. Call it in the transaction that read `known`, so that these rows have not changed.
 *
 * @param additions one for each trace
 */
export async function addToTraces(
  db: Database,
  place: TenantPlace,
  additions: readonly StoredAddition[],
  known: (traceId: string) => TraceRow | undefined,
  now: Date,
): Promise<void> {
  const columns = placeColumns(place);
  const rows = additions.map((addition) =>
    changedRow(known(addition.traceId) ?? newRow(columns, addition, now), addition, now),
  );
  await upsertTraceRows(db, rows, {});
}

function newRow(place: PlaceColumns, { traceId, startTime, endTime }: StoredAddition, now: Date): TraceRow {
  return {
    tenant_id: place.tenant_id,
    sub_tenant_id: place.sub_tenant_id,
    trace_id: traceId,
    root_name: null,
    service_name: null,
    start_time: startTime,
    end_time: endTime,
    span_count: 0,
    error_count: 0,
    duration_ms: 0,
    services: '',
    models: '',
    tools: '',
    agents: '',
    failures: '',
    first_spans: null,
    first_calls: null,
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
  };
}

function changedRow(row: TraceRow, addition: StoredAddition, now: Date): TraceRow {
  const startTime = addition.startTime < row.start_time ? addition.startTime : row.start_time;
  const endTime = addition.endTime > row.end_time ? addition.endTime : row.end_time;
  const time = now.toISOString();
  return {
    tenant_id: row.tenant_id,
    sub_tenant_id: row.sub_tenant_id,
    trace_id: row.trace_id,
    root_name: row.root_name ?? addition.rootName,
    service_name: row.service_name ?? addition.serviceName,
    start_time: startTime,
    end_time: endTime,
    span_count: row.span_count + addition.spanCount,
    error_count: row.error_count + addition.errorCount,
    duration_ms: durationOf(startTime, endTime),
    services: withNames(row.services, addition.services),
    models: withNames(row.models, addition.models),
    tools: withNames(row.tools, addition.tools),
    agents: withNames(row.agents, addition.agents),
    failures: withFailures(row.failures, addition.failures),
    first_spans: addition.first?.spans ?? row.first_spans,
    first_calls: addition.first?.calls ?? row.first_calls,
    created_at: row.created_at,
    // The clocks of processes differ, so the time never goes back.
    updated_at: time > row.updated_at ? time : row.updated_at,
  };
}

/** The duration in whole milliseconds. */
export function durationOf(startTime: string, endTime: string): number {
  return Math.max(0, timeParts(endTime).milliseconds - timeParts(startTime).milliseconds);
}

function withNames(column: string, names: readonly string[]): string {
  return names.length === 0 ? column : encodeNames([...decodeNames(column), ...names]);
}

function withFailures(column: string, failures: readonly TraceFailure[]): string {
  return failures.length === 0 ? column : encodeFailures([...decodeFailures(column), ...failures]);
}

const upsertTraceRows = multiRowStatement((db, rows: readonly TraceRow[]) =>
  db
    .insertInto('traces')
    .values(
      rows.map((row) => ({
        tenant_id: row.tenant_id,
        sub_tenant_id: row.sub_tenant_id,
        trace_id: row.trace_id,
        root_name: row.root_name,
        service_name: row.service_name,
        start_time: row.start_time,
        end_time: row.end_time,
        span_count: row.span_count,
        error_count: row.error_count,
        duration_ms: row.duration_ms,
        services: row.services,
        models: row.models,
        tools: row.tools,
        agents: row.agents,
        failures: row.failures,
        first_spans: row.first_spans,
        first_calls: row.first_calls,
        created_at: row.created_at,
        updated_at: row.updated_at,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'sub_tenant_id', 'trace_id']).doUpdateSet({
        root_name: sql`excluded.root_name`,
        service_name: sql`excluded.service_name`,
        start_time: sql`excluded.start_time`,
        end_time: sql`excluded.end_time`,
        span_count: sql`excluded.span_count`,
        error_count: sql`excluded.error_count`,
        duration_ms: sql`excluded.duration_ms`,
        services: sql`excluded.services`,
        models: sql`excluded.models`,
        tools: sql`excluded.tools`,
        agents: sql`excluded.agents`,
        failures: sql`excluded.failures`,
        first_spans: sql`excluded.first_spans`,
        first_calls: sql`excluded.first_calls`,
        updated_at: sql`excluded.updated_at`,
      }),
    ),
);
