import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * On Postgres spans are partitioned by day of receipt, so that old ones are removed by dropping a table. A unique key of a
 * partitioned table must contain the partition column, so the inserting statement has to make sure that a span is stored once.
 * On SQLite the table does not change.
 */
export const spanPartitions: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
  await sql`alter table spans rename to spans_before`.execute(db);
  await sql`alter index spans_key rename to spans_before_key`.execute(db);
  await sql`alter index spans_by_trace rename to spans_before_by_trace`.execute(db);
  await db.schema
    .createTable('spans')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('span_id', 'text', (column) => column.notNull())
    .addColumn('start_time', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('spans_key', ['tenant_id', 'sub_tenant_id', 'trace_id', 'span_id', 'created_at'])
    .modifyEnd(sql`partition by range (created_at)`)
    .execute();
  await db.schema.createIndex('spans_by_trace').on('spans').columns(['trace_id', 'start_time', 'span_id']).execute();
  // For spans of a day that has no partition.
  await sql`create table spans_rest partition of spans default`.execute(db);

  const { rows } = await sql<{ day: string; next: string }>`
    select day, to_char(day::date + 1, 'YYYY-MM-DD') as next
    from (select distinct substr(created_at, 1, 10) as day from spans_before) as days order by day`.execute(db);
  for (const { day, next } of rows) {
    const name = `spans_${day.replaceAll('-', '')}`;
    await sql`create table ${sql.table(name)} partition of spans
      for values from (${sql.lit(day)}) to (${sql.lit(next)})`.execute(db);
  }
  await sql`insert into spans select * from spans_before`.execute(db);
  await sql`drop table spans_before`.execute(db);

  // Finds the rows of a trace, which say on which days it has spans, also for callers who see all tenants.
  await db.schema.createIndex('traces_by_trace').on('traces').columns(['trace_id']).execute();
}
