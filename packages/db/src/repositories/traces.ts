import type { Trace, TraceFailure } from '@quartermaster/contracts/traces.ts';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { BY_TRACE_START, inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { inScope, type Page, type PageRequest, placeOf } from '../queries.ts';
import type { TenantScope } from '../tenancy.ts';
import { decodeFailures, decodeNames, durationOf, encodeNames, failurePattern, type TraceRow } from './trace-rows.ts';

export type TraceFilter = {
  /** The service of the first span. */
  serviceName?: string | null | undefined;
  service?: string | null | undefined;
  model?: string | null | undefined;
  tool?: string | null | undefined;
  agent?: string | null | undefined;
  minDurationMs?: number | null | undefined;
  errorsOnly?: boolean | null | undefined;
  /** Only traces in which a call of this kind, with this name, failed. */
  failedKind?: TraceFailure['kind'] | null | undefined;
  failedName?: string | null | undefined;
  /** At this time or later. */
  startedAfter?: string | null | undefined;
  startedBefore?: string | null | undefined;
  createdAfter?: string | null | undefined;
  createdBefore?: string | null | undefined;
};

/**
 * Newest first, by the start of their first span. Only the start has an index; other filters scan a bounded number of rows. An
 * earlier span moves its trace further down the list, so a trace may come twice while pages are read, and none is left out.
 */
export async function listTraces(
  db: Database,
  scope: TenantScope,
  filter: TraceFilter,
  page: PageRequest,
): Promise<Page<Trace>> {
  const conditions = conditionsOf(db, filter);
  const [startedAfter, startedBefore] = [justBefore(filter.startedAfter), justBefore(filter.startedBefore)];
  const { rows, next } = await listRows(db, scope, page, {
    table: 'traces',
    hasUnindexedFilter: conditions.length > 0,
    order: BY_TRACE_START,
    times: { after: startedAfter, before: startedBefore },
    rows: (range) => traceRows(db, { startedAfter, conditions }, range).execute(),
  });
  return { items: rows.map(toTrace), next };
}

/** All columns except the index. */
const LISTED = [
  'tenant_id',
  'sub_tenant_id',
  'trace_id',
  'root_name',
  'service_name',
  'start_time',
  'end_time',
  'span_count',
  'error_count',
  'services',
  'models',
  'tools',
  'agents',
  'failures',
  'created_at',
  'updated_at',
] as const;

function traceRows(
  db: Database,
  { startedAfter, conditions }: { startedAfter: string | null; conditions: readonly Expression<SqlBool>[] },
  range: KeysetRange,
) {
  let query = db
    .selectFrom('traces')
    .select(LISTED)
    .select(sql<string>`${BY_TRACE_START.id}`.as('id'))
    .where(inScope(range.scope));
  for (const condition of conditions) query = query.where(condition);
  if (startedAfter !== null) query = query.where('start_time', '>', startedAfter);
  return query.$call(inKeysetRange(range, BY_TRACE_START));
}

/** A text that sorts just before the starts of traces from a time on. @param time RFC 3339, UTC, milliseconds */
function justBefore(time: string | null | undefined): string | null {
  return time == null ? null : time.replace('Z', '');
}

function conditionsOf(db: Database, filter: TraceFilter): Expression<SqlBool>[] {
  const { serviceName, minDurationMs, errorsOnly, failedKind = null, failedName = null } = filter;
  const { createdAfter, createdBefore } = filter;
  const conditions: Expression<SqlBool>[] = [];
  if (serviceName != null) conditions.push(sql`service_name = ${serviceName}`);
  if (minDurationMs != null) conditions.push(sql`duration_ms >= ${minDurationMs}`);
  if (errorsOnly === true) conditions.push(sql`error_count > 0`);
  if (createdAfter != null) conditions.push(sql`created_at > ${createdAfter}`);
  if (createdBefore != null) conditions.push(sql`created_at < ${createdBefore}`);
  const named = { services: filter.service, models: filter.model, tools: filter.tool, agents: filter.agent };
  for (const [column, name] of Object.entries(named)) {
    if (name != null) conditions.push(contains(db, column, encodeNames([name])));
  }
  if (failedKind !== null || failedName !== null) {
    conditions.push(contains(db, 'failures', failurePattern(failedKind, failedName)));
  }
  return conditions;
}

function contains(db: Database, column: string, text: string): Expression<SqlBool> {
  return isPostgres(db)
    ? sql<SqlBool>`strpos(${sql.ref(column)}, ${text}) > 0`
    : sql<SqlBool>`instr(${sql.ref(column)}, ${text}) > 0`;
}

function toTrace(row: Pick<TraceRow, (typeof LISTED)[number]>): Trace {
  return {
    traceId: row.trace_id,
    ...placeOf(row),
    rootName: row.root_name,
    serviceName: row.service_name,
    startTime: row.start_time,
    endTime: row.end_time,
    durationMs: durationOf(row.start_time, row.end_time),
    spanCount: row.span_count,
    errorCount: row.error_count,
    services: decodeNames(row.services),
    models: decodeNames(row.models),
    tools: decodeNames(row.tools),
    agents: decodeNames(row.agents),
    failures: decodeFailures(row.failures),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
