import type { Trace } from '@quartermaster/contracts/traces.ts';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { inStretch, listRows, type Stretch, tracePlace } from '../listing.ts';
import { type Page, type PageRequest, placeOf, within } from '../queries.ts';
import type { TenantScope } from '../tenancy.ts';
import { decodeNames, durationOf, encodeNames, type TraceRow } from './trace-rows.ts';

export type TraceFilter = {
  /** Of the first span. */
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

/** Newest first, by when their first span came in. No filter but the time has an index: a page looks at a bounded number of rows. */
export async function listTraces(
  db: Database,
  scope: TenantScope,
  filter: TraceFilter,
  page: PageRequest,
): Promise<Page<Trace>> {
  const conditions = conditionsOf(db, filter);
  const { rows, next } = await listRows(db, scope, page, {
    table: 'traces',
    isSifted: conditions.length > 0,
    created: { after: filter.createdAfter, before: filter.createdBefore },
    rows: (stretch) => traceRows(db, { filter, conditions }, stretch).execute(),
  });
  return { items: rows.map(toTrace), next };
}

/** All but the index. */
const LISTED = [
  ...(['tenant_id', 'sub_tenant_id', 'trace_id', 'root_name', 'service_name', 'start_time', 'end_time'] as const),
  ...(['span_count', 'error_count', 'services', 'models', 'tools', 'agents', 'created_at', 'updated_at'] as const),
] as const;

function traceRows(
  db: Database,
  { filter, conditions }: { filter: TraceFilter; conditions: readonly Expression<SqlBool>[] },
  stretch: Stretch,
) {
  let query = db.selectFrom('traces').select(LISTED).select(tracePlace.as('id')).where(within(stretch.scope));
  for (const condition of conditions) query = query.where(condition);
  if (filter.createdAfter != null) query = query.where('created_at', '>', filter.createdAfter);
  return query.$call(inStretch(stretch, tracePlace));
}

function conditionsOf(db: Database, filter: TraceFilter): Expression<SqlBool>[] {
  const { serviceName, minDurationMs, errorsOnly } = filter;
  const conditions: Expression<SqlBool>[] = [];
  if (serviceName != null) conditions.push(sql`service_name = ${serviceName}`);
  if (minDurationMs != null) conditions.push(sql`duration_ms >= ${minDurationMs}`);
  if (errorsOnly === true) conditions.push(sql`error_count > 0`);
  const named = { services: filter.service, models: filter.model, tools: filter.tool, agents: filter.agent };
  for (const [column, name] of Object.entries(named)) {
    if (name != null) conditions.push(listHas(db, column, name));
  }
  return conditions;
}

function listHas(db: Database, column: string, name: string): Expression<SqlBool> {
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
