import SqliteDatabase from 'better-sqlite3';
import { batchTemplate } from '../otlp/batch.ts';
import { type DecodedSpan, decodeSpans } from '../otlp/decode.ts';

const SPANS_PER_BATCH = 500;

/** Batches whose traces are compared. */
const SAMPLED_BATCHES = 100;

const TABLE = `
  create table spans (
    tenant_id text not null, sub_tenant_id text not null, trace_id text not null, span_id text not null,
    start_time text not null, document text not null, created_at text not null, received_from text not null,
    constraint spans_key primary key (tenant_id, sub_tenant_id, trace_id, span_id));
  create index spans_by_trace on spans (trace_id, start_time, span_id);`;

/** A trace as returned by the version with one row for each span. */
export type FormerTrace = { traceId: string; answer: object[] };

/** Stores spans like the version before blocks. @returns some of the traces */
export function addFormerSpans(file: string, tenantId: string, spans: number): FormerTrace[] {
  const db = new SqliteDatabase(file);
  const sample: FormerTrace[] = [];
  try {
    db.pragma('journal_mode = delete');
    db.pragma('synchronous = off');
    db.exec(TABLE);
    const insertSpan = db.prepare('insert into spans values (?, ?, ?, ?, ?, ?, ?, ?)');
    const insertTrace = db.prepare(`
      insert into traces (tenant_id, sub_tenant_id, trace_id, root_name, service_name, start_time, end_time, span_count,
        error_count, stored_bytes, created_at, updated_at) values (?, '', ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`);
    const sender = `service_account:${tenantId}/bench`;
    const batches = Math.ceil(spans / SPANS_PER_BATCH);
    for (let batch = 0; batch < batches; batch += 1) {
      const time = new Date(Date.UTC(2026, 0, 1) + batch * 100).toISOString();
      const decoded = decodeSpans(batchTemplate(SPANS_PER_BATCH).bytes);
      db.transaction(() => {
        for (const [traceId, ofTrace] of Map.groupBy(decoded, (span) => span.traceId)) {
          let bytes = 0;
          for (const { traceId: _traceId, spanId, ...document } of ofTrace) {
            const text = JSON.stringify(document);
            bytes += text.length;
            insertSpan.run(tenantId, '', traceId, spanId, document.startTime, text, time, sender);
          }
          const [first] = ofTrace;
          const end = ofTrace
            .map(({ endTime }) => endTime)
            .toSorted()
            .at(-1);
          const { name, serviceName, startTime } = first ?? {};
          insertTrace.run(tenantId, traceId, name, serviceName, startTime, end, ofTrace.length, bytes, time, time);
          const isCompared = batch % Math.max(1, Math.floor(batches / SAMPLED_BATCHES)) === 0;
          if (isCompared) sample.push({ traceId, answer: answerOf(ofTrace, { tenantId, time, sender }) });
        }
      })();
    }
    db.pragma('journal_mode = wal');
  } finally {
    db.close();
  }
  return sample;
}

type Stored = { tenantId: string; time: string; sender: string };

function answerOf(spans: readonly DecodedSpan[], { tenantId, time, sender }: Stored): object[] {
  return spans
    .toSorted((a, b) => (a.startTime + a.spanId < b.startTime + b.spanId ? -1 : 1))
    .map((span) => ({
      ...span,
      tenantId,
      subTenantId: null,
      createdAt: time,
      updatedAt: time,
      receivedFrom: sender,
      conflicting: false,
    }));
}
