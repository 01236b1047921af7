import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * On Postgres spans stand in a partition for each day on which they came in, so that the old ones are removed by
 * dropping a table. A unique key of a partitioned table has to hold the column that it is partitioned by: that a span is
 * stored once is for the statement that inserts it to see to. On SQLite the table stays as it is.
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
  // What comes in on a day that has no partition.
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

  // On which days a trace has spans is asked of its row: also by who sees all tenants.
  await db.schema.createIndex('traces_by_trace').on('traces').columns(['trace_id']).execute();
}
