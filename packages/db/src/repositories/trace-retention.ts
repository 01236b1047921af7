import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { inScope, tupleIn } from '../queries.ts';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import { SpanIndex } from '../span-index.ts';
import type { Tables } from '../tables.ts';
import type { TenantScope } from '../tenancy.ts';
import { addAccountBytes } from './account-bytes.ts';
import { type BlockKey, blockKeyOf, isOneOfBlocks } from './block-keys.ts';
import { partsOfTrace } from './known-spans.ts';
import { addStoredBytes } from './tenant-usage.ts';

/**
 * Deletes traces whose last span was received before a time, oldest first. It deletes at most `limit` spans, so that transactions
 * stay short. For a trace with more spans it deletes one index row per call, and the trace with the last of them. A block is
 * deleted with its last span.
 *
 * @returns how many traces and spans were deleted, and whether there may be more
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
    .select(['tenant_id', 'sub_tenant_id', 'trace_id', 'span_count', 'first_spans'])
    .where(inScope(scope))
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
  const blocks = await subtractFromBlocks(db, [...inRows, ...(await selectIndexes(db, keys, {}))]);
  await deleteParts(db, keys, {});
  await deleteTraceRows(db, keys, {});
  await subtractBytes(db, blocks, now);
  const removed = whole.reduce((sum, trace) => sum + trace.span_count, 0);
  return { traces: whole.length, spans: removed, more: whole.length < old.length || old.length === limit };
}

/** The traces that {@link deleteTracesBefore} would delete, counted up to `most`. */
export async function countTracesBefore(db: Database, scope: TenantScope, time: string, most: number): Promise<number> {
  const old = db
    .selectFrom('traces')
    .select('trace_id')
    .where(inScope(scope))
    .where('created_at', '<', time)
    .where('updated_at', '<', time)
    .limit(most);
  const { count } = await db
    .selectFrom(old.as('old'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

type PlaceKey = Pick<Selectable<Tables['traces']>, 'tenant_id' | 'sub_tenant_id'>;
type TraceKey = PlaceKey & { trace_id: string };
type OldTrace = TraceKey & { span_count: number; first_spans: Buffer | null };
type DeletedBlock = { tenant_id: string; received_from: string; stored_bytes: number };

/**
 * Subtracts the bytes of deleted blocks from the stored bytes of their tenants and accounts. It does so in a fixed order of
 * accounts, so that two transactions cannot deadlock.
 */
async function subtractBytes(db: Database, blocks: readonly DeletedBlock[], now: Date): Promise<void> {
  const byAccount = Map.groupBy(blocks, (block) => `${block.tenant_id}\n${block.received_from}`);
  for (const [, [first, ...others]] of [...byAccount].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!first) continue;
    const bytes = others.reduce((sum, block) => sum + block.stored_bytes, first.stored_bytes);
    await addStoredBytes(db, first.tenant_id, -bytes, now);
    await addAccountBytes(db, { tenantId: first.tenant_id, account: first.received_from, bytes: -bytes });
  }
}

/** Deletes the spans of one index row of a large trace. With the last row it deletes the trace. */
async function deleteOnePart(db: Database, trace: OldTrace, now: Date): Promise<{ traces: number; spans: number }> {
  const [part, next] = await partsOfTrace(db, trace).select(['part', 'spans']).orderBy('part').limit(2).execute();
  const indexes = part ? [part.spans] : [];
  // The index in the trace's row is deleted with that row.
  if (!next && trace.first_spans !== null) indexes.push(trace.first_spans);
  const removed = indexes.reduce((sum, bytes) => sum + new SpanIndex(bytes).count, 0);
  const blocks = await subtractFromBlocks(
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
    await subtractBytes(db, blocks, now);
    return { traces: 1, spans: removed };
  }
  const left = Math.max(1, trace.span_count - removed);
  await db
    .updateTable('traces')
    .set((eb) => ({
      span_count: left,
      // The index does not say which spans failed. The count is limited to the remaining spans.
      error_count: eb.case().when('error_count', '>', left).then(left).else(eb.ref('error_count')).end(),
    }))
    .where('tenant_id', '=', trace.tenant_id)
    .where('sub_tenant_id', '=', trace.sub_tenant_id)
    .where('trace_id', '=', trace.trace_id)
    .execute();
  await subtractBytes(db, blocks, now);
  return { traces: 0, spans: removed };
}

/** Subtracts deleted spans from the counts of their blocks. @returns the blocks that are deleted with their last span */
async function subtractFromBlocks(
  db: Database,
  parts: readonly (PlaceKey & { spans: Buffer })[],
): Promise<DeletedBlock[]> {
  const deleted: DeletedBlock[] = [];
  const byPlace = Map.groupBy(parts, ({ tenant_id, sub_tenant_id }) => `${tenant_id}\n${sub_tenant_id}`);
  for (const ofPlace of byPlace.values()) {
    const [first] = ofPlace;
    if (!first) continue;
    const { tenant_id, sub_tenant_id } = first;
    const removed = countsByBlock(ofPlace.map(({ spans }) => new SpanIndex(spans)));
    for (const [id, spans] of removed) {
      await subtractSpans(db, { tenant_id, sub_tenant_id, ...blockKeyOf(id), spans });
    }
    deleted.push(...(await deleteEmptyBlocks(db, [...removed.keys()].map(blockKeyOf), { tenant_id, sub_tenant_id })));
  }
  return deleted;
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

const subtractSpans = preparedStatement((db, block: PlaceKey & BlockKey & { spans: number }) =>
  db
    .updateTable('span_blocks')
    .set((eb) => ({ span_count: eb('span_count', '-', block.spans) }))
    .where('tenant_id', '=', block.tenant_id)
    .where('sub_tenant_id', '=', block.sub_tenant_id)
    .where('id', '=', block.id)
    .where('created_at', '=', block.createdAt),
);

const deleteEmptyBlocks = multiRowStatement((db, rows: readonly BlockKey[], place: PlaceKey) =>
  db
    .deleteFrom('span_blocks')
    .where(isOneOfBlocks(place, rows))
    .where('span_count', '<=', 0)
    .returning(['tenant_id', 'received_from', 'stored_bytes']),
);

const selectIndexes = multiRowStatement((db, rows: readonly TraceKey[]) =>
  db.selectFrom('trace_blocks').select(['tenant_id', 'sub_tenant_id', 'spans']).where(ofTraces(rows)),
);

const deleteParts = multiRowStatement((db, rows: readonly TraceKey[]) =>
  db.deleteFrom('trace_blocks').where(ofTraces(rows)),
);

const deleteTraceRows = multiRowStatement((db, rows: readonly TraceKey[]) =>
  db.deleteFrom('traces').where(ofTraces(rows)),
);

function ofTraces(rows: readonly TraceKey[]) {
  return tupleIn(
    ['tenant_id', 'sub_tenant_id', 'trace_id'],
    rows.map(({ tenant_id, sub_tenant_id, trace_id }) => [tenant_id, sub_tenant_id, trace_id]),
  );
}
