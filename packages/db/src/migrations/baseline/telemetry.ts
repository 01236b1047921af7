import { sql } from 'kysely';
import {
  addPlace,
  addTimes,
  blobType,
  indexesOn,
  isPostgres,
  required,
  type Schema,
  storeUncompressed,
  withDefault,
} from './schema.ts';

/** Stored spans in compressed blocks (ADR 11), and the calls that several signals report. */
export async function createTelemetryTables(db: Schema): Promise<void> {
  await createTraces(db);
  await createSpanBlocks(db);
  await createTraceBlocks(db);
  await createCalls(db);
  await createAccountTelemetry(db);
}

async function createTraces(db: Schema): Promise<void> {
  const blob = blobType(db);
  await db.schema
    .createTable('traces')
    .$call(addPlace)
    .addColumn('trace_id', 'text', required)
    .addColumn('root_name', 'text')
    .addColumn('service_name', 'text')
    .addColumn('start_time', 'text', required)
    .addColumn('end_time', 'text', required)
    .addColumn('span_count', 'integer', required)
    .addColumn('error_count', 'integer', required)
    .$call(addTimes)
    // What lists of traces filter by. There is no index for it: a page looks at a bounded number of rows.
    .addColumn('services', 'text', withDefault(''))
    .addColumn('models', 'text', withDefault(''))
    .addColumn('tools', 'text', withDefault(''))
    .addColumn('agents', 'text', withDefault(''))
    .addColumn('failures', 'text', withDefault(''))
    // Most traces have one block. Its index is stored here, which saves a row in `trace_blocks`.
    .addColumn('first_spans', blob)
    .addColumn('first_calls', blob)
    .addColumn('duration_ms', 'integer', withDefault(0))
    .addPrimaryKeyConstraint('traces_key', ['tenant_id', 'sub_tenant_id', 'trace_id'])
    .execute();
  const index = indexesOn(db, 'traces');
  // Lists are sorted by the start of a trace.
  await index('traces_by_time', ['start_time desc', 'trace_id desc']);
  await index('traces_by_tenant', ['tenant_id', 'start_time desc', 'trace_id desc']);
  // Finds the oldest traces, for retention. A sender chooses the start of a trace, but not when it is received. The trace id
  // is for Postgres, which would look up traces by this index if it were smaller than that of the key.
  await index('traces_by_receipt', ['tenant_id', 'created_at desc', 'trace_id desc']);
  // PostgreSQL only: finds a trace for callers who see all tenants. On SQLite it would be a third of the pages that a batch of
  // spans writes, so the trace is looked up in each place instead (ADR 11).
  if (isPostgres(db)) await index('traces_by_trace', ['trace_id']);
  // It has the whole sort order of the list. Otherwise SQLite considers it equal to `traces_by_tenant`, and may choose either.
  await sql`
    create index traces_by_place on traces
      (tenant_id, sub_tenant_id, start_time desc, (trace_id || '/' || tenant_id || '/' || sub_tenant_id) desc)
    where sub_tenant_id <> ''`.execute(db);
}

/**
 * On PostgreSQL blocks are partitioned by day of receipt, so that dropping a table frees the space of a day. The primary key of a
 * partitioned table has to contain the partition column. The service creates the partition of each day
 * (dialects/postgres-spans.ts).
 */
async function createSpanBlocks(db: Schema): Promise<void> {
  const table = db.schema
    .createTable('span_blocks')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('received_from', 'text', required)
    .addColumn('span_count', 'integer', required)
    .addColumn('bytes', 'integer', required)
    .addColumn('stored_bytes', 'integer', required)
    .addColumn('body', blobType(db), required);
  if (!isPostgres(db)) {
    await table.addPrimaryKeyConstraint('span_blocks_key', ['tenant_id', 'sub_tenant_id', 'id']).execute();
    return;
  }
  await table
    .addPrimaryKeyConstraint('span_blocks_key', ['tenant_id', 'sub_tenant_id', 'id', 'created_at'])
    .modifyEnd(sql`partition by range (created_at)`)
    .execute();
  // Before the partition is created, because a partition inherits it only then.
  await storeUncompressed(db, 'span_blocks', 'body');
  // For blocks of a day that has no partition.
  await sql`create table span_blocks_rest partition of span_blocks default`.execute(db);
}

async function createTraceBlocks(db: Schema): Promise<void> {
  const blob = blobType(db);
  const table = db.schema
    .createTable('trace_blocks')
    .$call(addPlace)
    .addColumn('trace_id', 'text', required)
    .addColumn('part', 'text', required)
    .addColumn('spans', blob, required)
    .addColumn('calls', blob)
    .addPrimaryKeyConstraint('trace_blocks_key', ['tenant_id', 'sub_tenant_id', 'trace_id', 'part']);
  // Rows are short, so SQLite stores them in the index of the primary key.
  await (isPostgres(db) ? table : table.modifyEnd(sql`without rowid`)).execute();
  await storeUncompressed(db, 'trace_blocks', 'spans');
}

/** Calls that both spans and log records may report. The first report counts; later ones are recognised as duplicates. */
async function createCalls(db: Schema): Promise<void> {
  await db.schema
    .createTable('telemetry_calls')
    .$call(addPlace)
    .addColumn('call_key', 'text', required)
    .addColumn('signal', 'text', required)
    .addColumn('first_seen_at', 'text', required)
    // The call that a log record counted, so that a span, which says more, can replace it.
    .addColumn('record_key', 'text')
    .addColumn('counted_call', blobType(db))
    .addColumn('sender', 'text', withDefault(''))
    .addPrimaryKeyConstraint('telemetry_calls_pk', ['tenant_id', 'sub_tenant_id', 'call_key'])
    .execute();
  const index = indexesOn(db, 'telemetry_calls');
  // Finds out whether log records reported calls at a place.
  await index('telemetry_calls_by_log', ['tenant_id', 'sub_tenant_id'], { where: `signal = 'log'` });
  // Finds the oldest calls of a sender.
  await index('telemetry_calls_by_sender', ['tenant_id', 'sender', 'first_seen_at']);

  // Keys are limited for each sender, so that one that sends many calls displaces only its own.
  await db.schema
    .createTable('telemetry_call_counts')
    .addColumn('tenant_id', 'text', required)
    .addColumn('sender', 'text', required)
    .addColumn('calls', 'integer', required)
    .addPrimaryKeyConstraint('telemetry_call_counts_pk', ['tenant_id', 'sender'])
    .execute();
}

/**
 * How many records each service account sent, by API key and instrumentation scope, and how many of them report a call. Rows
 * with a problem count what was refused or dropped, and have no scope.
 */
async function createAccountTelemetry(db: Schema): Promise<void> {
  await db.schema
    .createTable('account_telemetry')
    .addColumn('tenant_id', 'text', required)
    .addColumn('service_account_id', 'text', required)
    .addColumn('key_id', 'text', required)
    .addColumn('problem', 'text', required)
    .addColumn('scope', 'text', required)
    .addColumn('requests', 'integer', required)
    .addColumn('spans', 'integer', required)
    .addColumn('log_records', 'integer', required)
    .addColumn('read_records', 'integer', required)
    .addColumn('detail', 'text')
    .addColumn('first_received_at', 'text', required)
    .addColumn('last_received_at', 'text', required)
    .addColumn('last_read_at', 'text')
    .addPrimaryKeyConstraint('account_telemetry_pk', ['tenant_id', 'service_account_id', 'key_id', 'problem', 'scope'])
    .execute();
}
