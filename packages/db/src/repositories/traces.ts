import type { Trace } from '@quartermaster/contracts/traces.ts';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { inKeysetRange, type KeysetRange, listRows, traceSortId } from '../listing.ts';
import { inScope, type Page, type PageRequest, placeOf } from '../queries.ts';
import type { TenantScope } from '../tenancy.ts';
import { decodeNames, durationOf, encodeNames, type TraceRow } from './trace-rows.ts';

export type TraceFilter = {
  /** The service of the first span. */
  serviceName?: string | null | undefined;
  service?: string | null | undefined;
  model?: string | null | undefined;
  tool?: string | null | undefined;
  agent?: string | null | undefined;
  minDurationMs?: number | null | undefined;
  errorsOnly?: boolean | null | undefined;
  createdAfter?: string | null | undefined;
  createdBefore?: string | null | undefined;
};

/** Newest first, by the receipt of their first span. Only the time has an index; other filters scan a bounded number of rows. */
export async function listTraces(
  db: Database,
  scope: TenantScope,
  filter: TraceFilter,
  page: PageRequest,
): Promise<Page<Trace>> {
  const conditions = conditionsOf(db, filter);
  const { rows, next } = await listRows(db, scope, page, {
    table: 'traces',
    hasUnindexedFilter: conditions.length > 0,
    created: { after: filter.createdAfter, before: filter.createdBefore },
    rows: (range) => traceRows(db, { filter, conditions }, range).execute(),
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
  'created_at',
  'updated_at',
] as const;

function traceRows(
  db: Database,
  { filter, conditions }: { filter: TraceFilter; conditions: readonly Expression<SqlBool>[] },
  range: KeysetRange,
) {
  let query = db.selectFrom('traces').select(LISTED).select(traceSortId.as('id')).where(inScope(range.scope));
  for (const condition of conditions) query = query.where(condition);
  if (filter.createdAfter != null) query = query.where('created_at', '>', filter.createdAfter);
  return query.$call(inKeysetRange(range, traceSortId));
}

function conditionsOf(db: Database, filter: TraceFilter): Expression<SqlBool>[] {
  const { serviceName, minDurationMs, errorsOnly } = filter;
  const conditions: Expression<SqlBool>[] = [];
  if (serviceName != null) conditions.push(sql`service_name = ${serviceName}`);
  if (minDurationMs != null) conditions.push(sql`duration_ms >= ${minDurationMs}`);
  if (errorsOnly === true) conditions.push(sql`error_count > 0`);
  const named = { services: filter.service, models: filter.model, tools: filter.tool, agents: filter.agent };
  for (const [column, name] of Object.entries(named)) {
    if (name != null) conditions.push(hasLine(db, column, name));
  }
  return conditions;
}

function hasLine(db: Database, column: string, name: string): Expression<SqlBool> {
  const line = encodeNames([name]);
  return isPostgres(db)
    ? sql<SqlBool>`strpos(${sql.ref(column)}, ${line}) > 0`
    : sql<SqlBool>`instr(${sql.ref(column)}, ${line}) > 0`;
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
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
