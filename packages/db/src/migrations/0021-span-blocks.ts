import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The tables for spans in compressed blocks, and the columns that traces are filtered by. The rows of the old table `spans` are
 * moved after this migration, in separate transactions. The last one drops the table.
 *
 * On Postgres blocks are partitioned by day of receipt, so that dropping a table frees the space of a day. `storage external`
 * keeps Postgres from compressing the body again.
 */
export const spanBlocks: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  const onPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const blob = onPostgres ? sql`bytea` : sql`blob`;
  const blocks = db.schema
    .createTable('span_blocks')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .addColumn('span_count', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addColumn('body', blob, (column) => column.notNull());
  const key = ['tenant_id', 'sub_tenant_id', 'id'] as const;
  if (onPostgres) {
    await blocks
      .addPrimaryKeyConstraint('span_blocks_key', [...key, 'created_at'])
      .modifyEnd(sql`partition by range (created_at)`)
      .execute();
    await sql`alter table span_blocks alter column body set storage external`.execute(db);
    // For blocks of a day that has no partition.
    await sql`create table span_blocks_rest partition of span_blocks default`.execute(db);
  } else {
    await blocks.addPrimaryKeyConstraint('span_blocks_key', [...key]).execute();
  }

  const index = db.schema
    .createTable('trace_blocks')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('part', 'text', (column) => column.notNull())
    .addColumn('spans', blob, (column) => column.notNull())
    .addColumn('calls', blob)
    .addPrimaryKeyConstraint('trace_blocks_key', ['tenant_id', 'sub_tenant_id', 'trace_id', 'part']);
  // Rows are short, so SQLite stores them in the index of the primary key.
  await (onPostgres ? index : index.modifyEnd(sql`without rowid`)).execute();
  if (onPostgres) await sql`alter table trace_blocks alter column spans set storage external`.execute(db);

  for (const column of ['services', 'models', 'tools', 'agents']) {
    await db.schema
      .alterTable('traces')
      .addColumn(column, 'text', (added) => added.notNull().defaultTo(''))
      .execute();
  }
  // Most traces have one block. Its index is stored in the trace's row.
  await db.schema.alterTable('traces').addColumn('first_spans', blob).execute();
  await db.schema.alterTable('traces').addColumn('first_calls', blob).execute();
  await db.schema
    .alterTable('traces')
    .addColumn('duration_ms', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  const milliseconds = (time: string) =>
    onPostgres
      ? sql`floor(extract(epoch from ${sql.ref(time)}::timestamptz) * 1000)::bigint`
      : sql`cast(unixepoch(substr(${sql.ref(time)}, 1, 19)) * 1000 + substr(${sql.ref(time)}, 21, 3) as integer)`;
  await sql`
    update traces set duration_ms = ${milliseconds('end_time')} - ${milliseconds('start_time')}
    where end_time > start_time and end_time like '%Z' and start_time like '%Z'`.execute(db);
  const lineBreak = onPostgres ? sql`chr(10)` : sql`char(10)`;
  const line = sql`${lineBreak} || substr(replace(service_name, ${lineBreak}, ' '), 1, 200) || ${lineBreak}`;
  await sql`update traces set services = ${line} where service_name is not null`.execute(db);
}
