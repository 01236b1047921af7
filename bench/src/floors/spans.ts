import SqliteDatabase from 'better-sqlite3';
import { decodeSpans } from '../otlp/decode.ts';
import { keyLookup } from './access.ts';
import type { FloorSettings, Work } from './floor.ts';

const LIMIT = 1000;
const ROWS_PER_INSERT = 500;

const LIST = `
  select *, span_id || '/' || tenant_id || '/' || sub_tenant_id as "place_key" from "spans"
  where "trace_id" = ? and ("tenant_id" = ?)
  order by "start_time", span_id || '/' || tenant_id || '/' || sub_tenant_id limit ?`;

const COLUMNS = 'tenant_id, sub_tenant_id, trace_id, span_id, start_time, document, created_at, received_from';

type Row = Record<'trace_id' | 'span_id' | 'tenant_id' | 'document' | 'created_at' | 'received_from', string>;

/** The table of the floors: one row for each span, with the whole span as a document. */
const TABLE = `
  create table if not exists spans (
    tenant_id text not null, sub_tenant_id text not null, trace_id text not null, span_id text not null,
    start_time text not null, document text not null, created_at text not null, received_from text not null,
    primary key (tenant_id, sub_tenant_id, trace_id, span_id));
  create index if not exists spans_by_trace on spans (trace_id, start_time, span_id);`;

/** Creates the floors' table, with the spans of a response of this API. */
export function fillSpanRows(file: string, answer: { items: Record<string, unknown>[] }): void {
  const db = new SqliteDatabase(file);
  try {
    db.exec(TABLE);
    const insert = db.prepare(`insert into spans (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?)`);
    for (const span of answer.items) {
      const { traceId, spanId, tenantId, subTenantId, createdAt, updatedAt: _, receivedFrom, ...document } = span;
      const text = JSON.stringify(document);
      insert.run(tenantId, subTenantId ?? '', traceId, spanId, document['startTime'], text, createdAt, receivedFrom);
    }
  } finally {
    db.close();
  }
}

/** GET /v1/traces/{trace_id}/spans (#15). */
export function spansFloor(db: SqliteDatabase.Database, { path }: FloorSettings): Work {
  const callerOf = keyLookup(db, 'traces:read');
  const list = db.prepare<[string, string, number], Row>(LIST);
  const traceId = path.split('/')[3] ?? '';
  return ({ key }) => {
    const caller = callerOf(key);
    if (caller === null) return null;
    const rows = list.all(traceId, caller.tenantId, LIMIT + 1);
    return { items: rows.map(toSpan), nextCursor: null };
  };
}

/** POST /v1/traces: decodes and inserts spans in one transaction, without interpreting them. */
export function ingestFloor(db: SqliteDatabase.Database, _settings: FloorSettings): Work {
  const callerOf = keyLookup(db, 'traces:write');
  db.exec(TABLE);
  const begin = db.prepare('begin immediate');
  const commit = db.prepare('commit');
  const inserts = new Map<number, SqliteDatabase.Statement>();
  const insertOf = (rows: number) => {
    const kept = inserts.get(rows);
    if (kept) return kept;
    const values = Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ');
    const made = db.prepare(`insert into spans (${COLUMNS}) values ${values} on conflict do nothing`);
    inserts.set(rows, made);
    return made;
  };
  const nothing = new Uint8Array();

  return ({ key, body }) => {
    const caller = callerOf(key);
    if (caller === null) return null;
    const spans = decodeSpans(body);
    const time = new Date().toISOString();
    const sender = `service_account:${caller.tenantId}/${caller.accountId}`;
    begin.run();
    // Not inBatches: nothing may run between two statements of a synchronous transaction.
    for (let start = 0; start < spans.length; start += ROWS_PER_INSERT) {
      const batch = spans.slice(start, start + ROWS_PER_INSERT);
      const values = batch.flatMap(({ traceId, spanId, ...document }) => [
        caller.tenantId,
        '',
        traceId,
        spanId,
        document.startTime,
        JSON.stringify(document),
        time,
        sender,
      ]);
      insertOf(batch.length).run(values);
    }
    commit.run();
    return nothing;
  };
}

function toSpan(row: Row) {
  return {
    traceId: row.trace_id,
    spanId: row.span_id,
    ...(JSON.parse(row.document) as object),
    tenantId: row.tenant_id,
    subTenantId: null,
    createdAt: row.created_at,
    updatedAt: row.created_at,
    receivedFrom: row.received_from,
  };
}
