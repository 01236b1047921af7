import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { placeOf } from './queries.ts';
import { partsOfTrace } from './repositories/known-spans.ts';
import { mergeParts } from './repositories/merged-parts.ts';
import { insertBlocks } from './repositories/span-blocks.ts';
import { addStoredBytes } from './repositories/tenant-usage.ts';
import { decodeNames, encodeNames } from './repositories/trace-rows.ts';
import { buildSpanBlocks } from './span-block.ts';
import { type SpanDocument, spanWriter } from './span-document.ts';
import { cachedStatement } from './cached-statement.ts';
import { hasTable } from './applied-migrations.ts';
import { inTransaction } from './transaction.ts';

/** The most spans that are moved in one transaction. */
const BATCH_SIZE = 2000;

/** The most traces that are moved in one transaction. */
const MAX_TRACES_PER_BATCH = 500;

/** Spans between two progress messages. */
const SPANS_PER_MESSAGE = 100_000;

/** The advisory lock that keeps processes from moving at the same time. */
const LOCK = 7_157_316_905_203n;

/** A row of the former table, which had one row for each span. */
type OldSpan = {
  tenant_id: string;
  sub_tenant_id: string;
  trace_id: string;
  span_id: string;
  document: string;
  created_at: string;
  received_from: string;
};
type OldTrace = Pick<OldSpan, 'tenant_id' | 'sub_tenant_id' | 'trace_id'> & {
  created_at: string;
  span_count: number;
  stored_bytes: number;
  services: string;
  models: string;
  tools: string;
  agents: string;
};

/** A row with its parsed document. */
type ReadSpan = OldSpan & { read: SpanDocument };

/**
 * Moves the rows of the former table `spans` into blocks, and drops the table. Each batch is one transaction that also deletes
 * the moved rows, so the next start resumes after an interruption. Does nothing if the table is gone.
 *
 * @param onProgress receives progress messages for the log
 */
export async function moveSpansToBlocks(db: Database, onProgress: (text: string) => void): Promise<void> {
  if (!(await hasTable(db, 'spans'))) return;
  const { rows } = await sql<{ spans: number | null }>`select sum(span_count) as spans from traces`.execute(db);
  const total = Number(rows[0]?.spans ?? 0);
  let [moved, reported] = [0, 0];
  for (let position: Position = { after: null, isEnd: false }; !position.isEnd; ) {
    const { after } = position;
    const batch = await inTransaction(db, (trx) => moveBatch(trx, after));
    position = batch;
    moved += batch.spans;
    if (moved - reported >= SPANS_PER_MESSAGE) {
      reported = moved;
      onProgress(`spans are moved into compressed blocks: ${moved} of about ${total}`);
    }
    await yieldToEventLoop();
  }
  await inTransaction(db, async (trx) => {
    await lockMoves(trx);
    await sql`drop table if exists spans`.execute(trx);
  });
  if (moved === 0) return;
  onProgress(`spans were moved into compressed blocks: ${moved}`);
  // Without it, the SQLite file would keep its size.
  if (!isPostgres(db)) await sql`vacuum`.execute(db);
}

async function lockMoves(trx: Database): Promise<void> {
  if (isPostgres(trx)) await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(trx);
}

/** The last trace that was moved completely, and whether it was the last one of all. */
type Position = { after: OldTrace | null; isEnd: boolean };

async function moveBatch(trx: Database, after: OldTrace | null): Promise<Position & { spans: number }> {
  await lockMoves(trx);
  // Another process may have finished the move.
  if (!(await hasTable(trx, 'spans'))) return { after, isEnd: true, spans: 0 };
  const traces = await listTraces(trx, after);
  const [first] = traces;
  if (!first) return { after, isEnd: true, spans: 0 };
  const whole = tracesOfFirstBatch(traces);
  if (whole.length > 0) {
    const spans = await selectSpans(trx, whole, BATCH_SIZE + 1);
    await moveSpans(trx, whole, spans);
    return { after: whole.at(-1) ?? null, isEnd: false, spans: spans.length };
  }
  // A trace with more spans than a batch is moved in parts.
  const spans = await selectSpans(trx, [first], BATCH_SIZE);
  await moveSpans(trx, [first], spans);
  const isWhole = spans.length < BATCH_SIZE;
  return { after: isWhole ? first : after, isEnd: false, spans: spans.length };
}

/** The first traces that fit into a batch together. */
function tracesOfFirstBatch(traces: readonly OldTrace[]): OldTrace[] {
  const whole: OldTrace[] = [];
  let spans = 0;
  for (const trace of traces) {
    spans += trace.span_count;
    if (spans > BATCH_SIZE) break;
    whole.push(trace);
  }
  return whole;
}

/** The next traces by time of receipt, because spans that were received together should be stored together. */
async function listTraces(trx: Database, after: OldTrace | null): Promise<OldTrace[]> {
  const key = sql`(created_at, trace_id, tenant_id, sub_tenant_id)`;
  const isAfter =
    after === null
      ? sql`1 = 1`
      : sql`${key} > (${after.created_at}, ${after.trace_id}, ${after.tenant_id}, ${after.sub_tenant_id})
          and created_at >= ${after.created_at}`;
  const { rows } = await sql<OldTrace>`
    select tenant_id, sub_tenant_id, trace_id, created_at, span_count, stored_bytes, services, models, tools, agents
    from traces where ${isAfter}
    order by created_at, trace_id, tenant_id, sub_tenant_id limit ${MAX_TRACES_PER_BATCH}`.execute(trx);
  return rows;
}

async function selectSpans(trx: Database, traces: readonly OldTrace[], limit: number): Promise<ReadSpan[]> {
  const { rows } = await sql<OldSpan>`
    select tenant_id, sub_tenant_id, trace_id, span_id, document, created_at, received_from from spans
    where ${ofTraces(traces)} order by trace_id, span_id limit ${limit}`.execute(trx);
  return rows.map((row) => ({ ...row, read: JSON.parse(row.document) as SpanDocument }));
}

function ofTraces(traces: readonly OldTrace[]): RawBuilder<unknown> {
  const keys = traces.map((trace) => sql`(${trace.tenant_id}, ${trace.sub_tenant_id}, ${trace.trace_id})`);
  return sql`(tenant_id, sub_tenant_id, trace_id) in (values ${sql.join(keys)})`;
}

/** Writes blocks for each place and sender, and deletes the rows. */
async function moveSpans(trx: Database, traces: readonly OldTrace[], spans: readonly ReadSpan[]): Promise<void> {
  const last = spans.at(-1);
  if (!last) return;
  const [first] = traces;
  const isResumed = traces.length === 1 && first !== undefined && (await isPartlyMoved(trx, first));
  const bytesOf = new Map<string, number>();
  const groups = Map.groupBy(spans, (span) => `${placeKey(span)}\n${span.received_from}`);
  for (const group of groups.values()) {
    for (const [trace, bytes] of await writeGroup(trx, group)) bytesOf.set(trace, (bytesOf.get(trace) ?? 0) + bytes);
  }
  const spansOf = Map.groupBy(spans, traceKey);
  const added = new Map<string, number>();
  for (const trace of traces) {
    const own = spansOf.get(traceKey(trace)) ?? [];
    if (own.length === 0) continue;
    // The bytes of a trace's old rows are subtracted with its first part.
    const former = isResumed ? 0 : trace.stored_bytes;
    const bytes = (bytesOf.get(traceKey(trace)) ?? 0) - former;
    await updateTrace(trx, changesOf(trace, own, bytes));
    if (trace.span_count > BATCH_SIZE) await mergeParts(trx, { ...trace, first_spans: null, first_calls: null });
    added.set(trace.tenant_id, (added.get(trace.tenant_id) ?? 0) + bytes);
  }
  for (const [tenantId, bytes] of added) await addStoredBytes(trx, tenantId, bytes, new Date(last.created_at));
  const upTo = traces.length === 1 ? sql`and span_id <= ${last.span_id}` : sql``;
  await sql`delete from spans where ${ofTraces(traces)} ${upTo}`.execute(trx);
}

/** Whether a part of a trace was moved before. */
async function isPartlyMoved(trx: Database, trace: OldTrace): Promise<boolean> {
  const part = await partsOfTrace(trx, trace).select('part').limit(1).executeTakeFirst();
  return part !== undefined;
}

/** @param group spans of one place and sender; @returns the bytes that each trace takes */
async function writeGroup(trx: Database, group: readonly ReadSpan[]): Promise<[string, number][]> {
  const [first] = group;
  if (!first) return [];
  const { write, texts } = spanWriter();
  // Each row has its own copy of its resource and scope. Equal copies become one object, so that they are stored once.
  const shared = new Map<string, object>();
  const once = <T extends object>(value: T): T => {
    const text = JSON.stringify(value);
    const known = shared.get(text) ?? value;
    shared.set(text, known);
    return known as T;
  };
  const spans = group.map(({ trace_id: traceId, span_id: spanId, read, created_at: createdAt }) => {
    const { parentSpanId, startTime } = read;
    const written = write({ ...read, resource: once(read.resource), scope: once(read.scope) }, read);
    const line = `${Buffer.from(written.line).toString().slice(0, -1)},"createdAt":"${createdAt}","updatedAt":"${createdAt}"}`;
    return { ...written, traceId, spanId, parentSpanId, startTime, line: Buffer.from(line), hasOwnTimes: true };
  });
  const blocks = await buildSpanBlocks(spans, texts);
  const place = placeOf(first);
  const latest = group.reduce((time, { created_at: createdAt }) => (createdAt > time ? createdAt : time), '');
  const stored = {
    sender: first.received_from,
    blocks,
    variants: new Set<never>(),
    calls: new Map<string, never>(),
    // A trace may have other blocks, of other senders or of its earlier parts.
    isNew: () => false,
  };
  const bytesOf = await insertBlocks(trx, place, stored, new Date(latest));
  return [...bytesOf].map(([traceId, bytes]) => [`${placeKey(first)}\n${traceId}`, bytes]);
}

type TraceChanges = Omit<OldTrace, 'created_at' | 'span_count' | 'stored_bytes'> & { bytes: number };

/** What the moved spans change in the row of their trace: its bytes, and the names that it is filtered by. */
function changesOf(trace: OldTrace, spans: readonly ReadSpan[], bytes: number): TraceChanges {
  const { tenant_id, sub_tenant_id, trace_id } = trace;
  const names = (column: string, nameOf: (read: SpanDocument) => string | null | undefined) =>
    encodeNames([...decodeNames(column), ...spans.flatMap(({ read }) => nameOf(read) ?? [])]);
  return {
    tenant_id,
    sub_tenant_id,
    trace_id,
    services: names(trace.services, ({ serviceName }) => serviceName),
    models: names(trace.models, ({ genAi }) => genAi?.model),
    tools: names(trace.tools, ({ genAi }) => genAi?.tool),
    agents: names(trace.agents, ({ genAi }) => genAi?.agent),
    bytes,
  };
}

const updateTrace = cachedStatement((db, trace: TraceChanges) =>
  db
    .updateTable('traces')
    .set((eb) => ({
      services: trace.services,
      models: trace.models,
      tools: trace.tools,
      agents: trace.agents,
      stored_bytes: eb('stored_bytes', '+', trace.bytes),
    }))
    .where('tenant_id', '=', trace.tenant_id)
    .where('sub_tenant_id', '=', trace.sub_tenant_id)
    .where('trace_id', '=', trace.trace_id),
);

function placeKey({ tenant_id, sub_tenant_id }: Pick<OldSpan, 'tenant_id' | 'sub_tenant_id'>): string {
  return `${tenant_id}\n${sub_tenant_id}`;
}

function traceKey(trace: Pick<OldSpan, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>): string {
  return `${placeKey(trace)}\n${trace.trace_id}`;
}
