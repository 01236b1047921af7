import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { within } from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import type { Tables } from '../tables.ts';
import { addStoredBytes } from './tenant-usage.ts';
import type { TenantScope } from '../tenancy.ts';

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
  now: Date,
): Promise<{ traces: number; spans: number; more: boolean }> {
  const old = await db
    .selectFrom('traces')
    .select(['tenant_id', 'sub_tenant_id', 'trace_id', 'span_count', 'stored_bytes'])
    .where(within(scope))
    .where('created_at', '<', time)
    .where('updated_at', '<', time)
    .orderBy('created_at')
    .limit(limit)
    .execute();
  // On Postgres spans go with their day, see removeExpiredSpans; until then nothing finds them any more.
  if (isPostgres(db)) {
    await deleteTraceRows(db, old, {});
    await subtractBytes(db, old, now);
    return { traces: old.length, spans: 0, more: old.length === limit };
  }
  const whole: OldTrace[] = [];
  let spans = 0;
  for (const trace of old) {
    spans += trace.span_count;
    if (spans > limit) break;
    whole.push(trace);
  }
  const [first] = old;
  if (first && whole.length === 0)
    return { traces: 0, spans: await deleteSomeSpans(db, first, limit, now), more: true };
  await deleteSpanRows(db, whole, {});
  await deleteTraceRows(db, whole, {});
  await subtractBytes(db, whole, now);
  const removed = whole.reduce((sum, trace) => sum + trace.span_count, 0);
  return { traces: whole.length, spans: removed, more: whole.length < old.length || old.length === limit };
}

type TraceKey = Pick<Selectable<Tables['traces']>, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;
type OldTrace = TraceKey & { span_count: number; stored_bytes: number };

/** Counts the bytes of removed traces out of what their tenants store. */
async function subtractBytes(db: Database, traces: readonly OldTrace[], now: Date): Promise<void> {
  for (const [tenantId, ofTenant] of Map.groupBy(traces, (trace) => trace.tenant_id)) {
    const bytes = ofTenant.reduce((sum, trace) => sum + trace.stored_bytes, 0);
    await addStoredBytes(db, tenantId, -bytes, now);
  }
}

const deleteSpanRows = rowStatement((db, rows: readonly TraceKey[]) => db.deleteFrom('spans').where(ofTraces(rows)));

const deleteTraceRows = rowStatement((db, rows: readonly TraceKey[]) => db.deleteFrom('traces').where(ofTraces(rows)));

function ofTraces(rows: readonly TraceKey[]) {
  return among(
    ['tenant_id', 'sub_tenant_id', 'trace_id'],
    rows.map(({ tenant_id, sub_tenant_id, trace_id }) => [tenant_id, sub_tenant_id, trace_id]),
  );
}

/** Removes `limit` spans of a trace that has more, and counts them out. Answers how many they were. */
async function deleteSomeSpans(db: Database, trace: OldTrace, limit: number, now: Date): Promise<number> {
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
  // The bytes of each span are not known: an even share of them goes.
  const bytesLeft = Math.round((trace.stored_bytes * left) / trace.span_count);
  await addStoredBytes(db, trace.tenant_id, bytesLeft - trace.stored_bytes, now);
  await db
    .updateTable('traces')
    .set((eb) => ({
      span_count: left,
      stored_bytes: bytesLeft,
      // Which of them failed, only their texts say: at most all that are left.
      error_count: eb.case().when('error_count', '>', left).then(left).else(eb.ref('error_count')).end(),
    }))
    .where('tenant_id', '=', trace.tenant_id)
    .where('sub_tenant_id', '=', trace.sub_tenant_id)
    .where('trace_id', '=', trace.trace_id)
    .execute();
  return Number(numDeletedRows);
}
