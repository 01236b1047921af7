import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { partsOfTrace } from './repositories/known-spans.ts';
import { mergeParts } from './repositories/merged-parts.ts';
import { insertBlocks } from './repositories/span-blocks.ts';
import { addStoredBytes } from './repositories/tenant-usage.ts';
import { decodeNames, encodeNames } from './repositories/trace-rows.ts';
import { buildSpanBlocks } from './span-block.ts';
import { type SpanDocument, spanWriter } from './span-document.ts';
import { statement } from './statement.ts';
import { hasTable } from './stored-migrations.ts';
import { inTransaction } from './transaction.ts';

/** Spans that are moved in one transaction. */
const SPANS_OF_BATCH = 2000;

/** Traces that are moved in one transaction, at the most. */
const TRACES_OF_BATCH = 500;

/** Spans between two notes of progress. */
const SPANS_OF_NOTE = 100_000;

/** Processes that start at once move in turn. */
const LOCK = 7_157_316_905_203n;

/** A row of the table that had a row for each span. */
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

/** A row with what its text says. */
type ReadSpan = OldSpan & { read: SpanDocument };

/**
 * Moves the rows of the former table `spans` into blocks, and drops the table. Each batch is one transaction that removes what
 * it moved: after an interruption the next start goes on from there. Does nothing where the table is gone.
 *
 * @param onProgress is told how far it got, for the log
 */
export async function moveSpansToBlocks(db: Database, onProgress: (text: string) => void): Promise<void> {
  if (!(await hasTable(db, 'spans'))) return;
  const { rows } = await sql<{ spans: number | null }>`select sum(span_count) as spans from traces`.execute(db);
  const total = Number(rows[0]?.spans ?? 0);
  let [moved, noted] = [0, 0];
  for (let position: Position = { after: null, isEnd: false }; !position.isEnd; ) {
    const { after } = position;
    const batch = await inTransaction(db, (trx) => moveBatch(trx, after));
    position = batch;
    moved += batch.spans;
    if (moved - noted >= SPANS_OF_NOTE) {
      noted = moved;
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
  // The file of SQLite keeps its size otherwise.
  if (!isPostgres(db)) await sql`vacuum`.execute(db);
}

async function lockMoves(trx: Database): Promise<void> {
  if (isPostgres(trx)) await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(trx);
}

/** The last trace that was moved whole, and whether there is none behind it. */
type Position = { after: OldTrace | null; isEnd: boolean };

async function moveBatch(trx: Database, after: OldTrace | null): Promise<Position & { spans: number }> {
  await lockMoves(trx);
  // Another process may have come to the end.
  if (!(await hasTable(trx, 'spans'))) return { after, isEnd: true, spans: 0 };
  const traces = await listTraces(trx, after);
  const [first] = traces;
  if (!first) return { after, isEnd: true, spans: 0 };
  const whole = firstOf(traces);
  if (whole.length > 0) {
    const spans = await selectSpans(trx, whole, SPANS_OF_BATCH + 1);
    await moveSpans(trx, whole, spans);
    return { after: whole.at(-1) ?? null, isEnd: false, spans: spans.length };
  }
  // A trace with more spans than a batch moves in parts.
  const spans = await selectSpans(trx, [first], SPANS_OF_BATCH);
  await moveSpans(trx, [first], spans);
  const isWhole = spans.length < SPANS_OF_BATCH;
  return { after: isWhole ? first : after, isEnd: false, spans: spans.length };
}

/** The first traces that fit into a batch together. */
function firstOf(traces: readonly OldTrace[]): OldTrace[] {
  const whole: OldTrace[] = [];
  let spans = 0;
  for (const trace of traces) {
    spans += trace.span_count;
    if (spans > SPANS_OF_BATCH) break;
    whole.push(trace);
  }
  return whole;
}

/** The next traces by when they came in, as spans that came together should be stored together. */
async function listTraces(trx: Database, after: OldTrace | null): Promise<OldTrace[]> {
  const key = sql`(created_at, trace_id, tenant_id, sub_tenant_id)`;
  const behind =
    after === null
      ? sql`1 = 1`
      : sql`${key} > (${after.created_at}, ${after.trace_id}, ${after.tenant_id}, ${after.sub_tenant_id})
          and created_at >= ${after.created_at}`;
  const { rows } = await sql<OldTrace>`
    select tenant_id, sub_tenant_id, trace_id, created_at, span_count, stored_bytes, services, models, tools, agents
    from traces where ${behind}
    order by created_at, trace_id, tenant_id, sub_tenant_id limit ${TRACES_OF_BATCH}`.execute(trx);
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

/** Writes blocks for each place and sender, and removes the rows. */
async function moveSpans(trx: Database, traces: readonly OldTrace[], spans: readonly ReadSpan[]): Promise<void> {
  const last = spans.at(-1);
  if (!last) return;
  const [first] = traces;
  const begun = traces.length === 1 && first !== undefined && (await isBegun(trx, first));
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
    // What its rows took goes with the first part of a trace.
    const former = begun ? 0 : trace.stored_bytes;
    const bytes = (bytesOf.get(traceKey(trace)) ?? 0) - former;
    await updateTrace(trx, changesOf(trace, own, bytes));
    if (trace.span_count > SPANS_OF_BATCH) await mergeParts(trx, { ...trace, first_spans: null, first_calls: null });
    added.set(trace.tenant_id, (added.get(trace.tenant_id) ?? 0) + bytes);
  }
  for (const [tenantId, bytes] of added) await addStoredBytes(trx, tenantId, bytes, new Date(last.created_at));
  const upTo = traces.length === 1 ? sql`and span_id <= ${last.span_id}` : sql``;
  await sql`delete from spans where ${ofTraces(traces)} ${upTo}`.execute(trx);
}

/** Whether a part of a trace was moved before. */
async function isBegun(trx: Database, trace: OldTrace): Promise<boolean> {
  const part = await partsOfTrace(trx, trace).select('part').limit(1).executeTakeFirst();
  return part !== undefined;
}

/** @param group spans of one place and sender; @returns the bytes that each trace takes */
async function writeGroup(trx: Database, group: readonly ReadSpan[]): Promise<[string, number][]> {
  const [first] = group;
  if (!first) return [];
  const { write, texts } = spanWriter();
  // Each row has a copy of its resource and scope: equal ones become one.
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
    const line = `${written.line.slice(0, -1)},"createdAt":"${createdAt}","updatedAt":"${createdAt}"}`;
    return { ...written, traceId, spanId, parentSpanId, startTime, line, hasOwnTimes: true };
  });
  const blocks = await buildSpanBlocks(spans, texts);
  const place = { tenantId: first.tenant_id, subTenantId: first.sub_tenant_id === '' ? null : first.sub_tenant_id };
  const latest = group.reduce((time, { created_at: createdAt }) => (createdAt > time ? createdAt : time), '');
  const stored = {
    sender: first.received_from,
    blocks,
    variants: new Set<never>(),
    calls: new Map<string, never>(),
    // A trace may have further blocks: of other senders, or where it moves in parts.
    isNew: () => false,
  };
  const { bytesOf } = await insertBlocks(trx, place, stored, new Date(latest));
  return [...bytesOf].map(([traceId, bytes]) => [`${placeKey(first)}\n${traceId}`, bytes]);
}

type TraceChanges = Omit<OldTrace, 'created_at' | 'span_count' | 'stored_bytes'> & { bytes: number };

/** The bytes that are added, and the names that the trace is filtered by. */
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

const updateTrace = statement((db, trace: TraceChanges) =>
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
