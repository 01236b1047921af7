import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { timeOfBlock } from '../ids.ts';
import { within } from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import { SpanIndex } from '../span-index.ts';
import { statement } from '../statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantScope } from '../tenancy.ts';
import { partsOfTrace } from './known-spans.ts';
import { addStoredBytes } from './tenant-usage.ts';

/**
 * Removes traces whose last span came in before a time, the oldest first: at most `limit` of their spans, so that
 * transactions stay short. Of a trace that has more, one row of its index goes at a time, and the trace itself with the last
 * of them. A block goes with its last span.
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
    .select(['tenant_id', 'sub_tenant_id', 'trace_id', 'span_count', 'stored_bytes', 'first_spans'])
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
  if (first && whole.length === 0) return { ...(await deleteOnePart(db, first, now)), more: true };
  const inRows = whole.flatMap((trace) => (trace.first_spans === null ? [] : { ...trace, spans: trace.first_spans }));
  const keys = whole.map(({ tenant_id, sub_tenant_id, trace_id }) => ({ tenant_id, sub_tenant_id, trace_id }));
  await takeFromBlocks(db, [...inRows, ...(await selectIndexes(db, keys, {}))]);
  await deleteParts(db, keys, {});
  await deleteTraceRows(db, keys, {});
  await subtractBytes(db, whole, now);
  const removed = whole.reduce((sum, trace) => sum + trace.span_count, 0);
  return { traces: whole.length, spans: removed, more: whole.length < old.length || old.length === limit };
}

type PlaceKey = Pick<Selectable<Tables['traces']>, 'tenant_id' | 'sub_tenant_id'>;
type TraceKey = PlaceKey & { trace_id: string };
type OldTrace = TraceKey & { span_count: number; stored_bytes: number; first_spans: Buffer | null };

/** Counts the bytes of removed traces out of what their tenants store. */
async function subtractBytes(db: Database, traces: readonly OldTrace[], now: Date): Promise<void> {
  for (const [tenantId, ofTenant] of Map.groupBy(traces, (trace) => trace.tenant_id)) {
    const bytes = ofTenant.reduce((sum, trace) => sum + trace.stored_bytes, 0);
    await addStoredBytes(db, tenantId, -bytes, now);
  }
}

/** Removes the spans of one row of a large trace's index, and counts them out; with the last row, the trace. */
async function deleteOnePart(db: Database, trace: OldTrace, now: Date): Promise<{ traces: number; spans: number }> {
  const [part, next] = await partsOfTrace(db, trace).select(['part', 'spans']).orderBy('part').limit(2).execute();
  const indexes = part ? [part.spans] : [];
  // The index in the trace's row goes with that row.
  if (!next && trace.first_spans !== null) indexes.push(trace.first_spans);
  const removed = indexes.reduce((sum, bytes) => sum + new SpanIndex(bytes).count, 0);
  await takeFromBlocks(
    db,
    indexes.map((spans) => ({ ...trace, spans })),
  );
  if (part) {
    await db
      .deleteFrom('trace_blocks')
      .where('tenant_id', '=', trace.tenant_id)
      .where('sub_tenant_id', '=', trace.sub_tenant_id)
      .where('trace_id', '=', trace.trace_id)
      .where('part', '=', part.part)
      .execute();
  }
  if (!next) {
    await deleteTraceRows(db, [trace], {});
    await subtractBytes(db, [trace], now);
    return { traces: 1, spans: removed };
  }
  const left = Math.max(1, trace.span_count - removed);
  // The bytes of each span are not known: an even share of them goes.
  const bytesLeft = Math.round((trace.stored_bytes * left) / trace.span_count);
  await addStoredBytes(db, trace.tenant_id, bytesLeft - trace.stored_bytes, now);
  await db
    .updateTable('traces')
    .set((eb) => ({
      span_count: left,
      stored_bytes: bytesLeft,
      // Which of the spans failed is not in the index: at most all that are left.
      error_count: eb.case().when('error_count', '>', left).then(left).else(eb.ref('error_count')).end(),
    }))
    .where('tenant_id', '=', trace.tenant_id)
    .where('sub_tenant_id', '=', trace.sub_tenant_id)
    .where('trace_id', '=', trace.trace_id)
    .execute();
  return { traces: 0, spans: removed };
}

/** Counts removed spans out of their blocks, and deletes the blocks that have none left. */
async function takeFromBlocks(db: Database, parts: readonly (PlaceKey & { spans: Buffer })[]): Promise<void> {
  const byPlace = Map.groupBy(parts, ({ tenant_id, sub_tenant_id }) => `${tenant_id}\n${sub_tenant_id}`);
  for (const ofPlace of byPlace.values()) {
    const [first] = ofPlace;
    if (!first) continue;
    const { tenant_id, sub_tenant_id } = first;
    const removed = countsByBlock(ofPlace.map(({ spans }) => new SpanIndex(spans)));
    for (const [id, spans] of removed) {
      const createdAt = timeOfBlock(id).toISOString();
      await subtractSpans(db, { tenant_id, sub_tenant_id, id, createdAt, spans });
    }
    await deleteEmptyBlocks(
      db,
      [...removed.keys()].map((id) => ({ id, createdAt: timeOfBlock(id).toISOString() })),
      { tenant_id, sub_tenant_id },
    );
  }
}

function countsByBlock(indexes: readonly SpanIndex[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const index of indexes) {
    for (let number = 0; number < index.count; number += 1) {
      const { id } = index.block(number);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}

const subtractSpans = statement((db, block: PlaceKey & { id: string; createdAt: string; spans: number }) =>
  db
    .updateTable('span_blocks')
    .set((eb) => ({ span_count: eb('span_count', '-', block.spans) }))
    .where('tenant_id', '=', block.tenant_id)
    .where('sub_tenant_id', '=', block.sub_tenant_id)
    .where('id', '=', block.id)
    .where('created_at', '=', block.createdAt),
);

const deleteEmptyBlocks = rowStatement((db, rows: readonly { id: string; createdAt: string }[], place: PlaceKey) =>
  db
    .deleteFrom('span_blocks')
    .where('tenant_id', '=', place.tenant_id)
    .where('sub_tenant_id', '=', place.sub_tenant_id)
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .where(
      'created_at',
      'in',
      rows.map(({ createdAt }) => createdAt),
    )
    .where('span_count', '<=', 0),
);

const selectIndexes = rowStatement((db, rows: readonly TraceKey[]) =>
  db.selectFrom('trace_blocks').select(['tenant_id', 'sub_tenant_id', 'spans']).where(ofTraces(rows)),
);

const deleteParts = rowStatement((db, rows: readonly TraceKey[]) =>
  db.deleteFrom('trace_blocks').where(ofTraces(rows)),
);

const deleteTraceRows = rowStatement((db, rows: readonly TraceKey[]) => db.deleteFrom('traces').where(ofTraces(rows)));

function ofTraces(rows: readonly TraceKey[]) {
  return among(
    ['tenant_id', 'sub_tenant_id', 'trace_id'],
    rows.map(({ tenant_id, sub_tenant_id, trace_id }) => [tenant_id, sub_tenant_id, trace_id]),
  );
}
