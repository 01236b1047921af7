import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * On Postgres: columns that were added with raw SQL get the types that the schema builder uses, texts that are compared bytewise
 * and integers of 64 bits. SQLite has both from the start.
 */
export const postgres: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
  const { rows } = await sql<{ table: string; column: string; type: string }>`
    select table_name as "table", column_name as "column", data_type as "type" from information_schema.columns
    where table_schema = current_schema() and table_name not like 'kysely%' and (
      (data_type = 'text' and collation_name is distinct from 'C') or data_type = 'integer')
    order by table_name, ordinal_position`.execute(db);
  for (const [table, columns] of Map.groupBy(rows, (row) => row.table)) {
    const changes = columns.map(({ column, type }) => {
      const wanted = type === 'text' ? sql`text collate "C"` : sql`bigint`;
      return sql`alter column ${sql.ref(column)} type ${wanted}`;
    });
    // One statement for each table, since each statement rewrites the table.
    await sql`alter table ${sql.table(table)} ${sql.join(changes)}`.execute(db);
  }
}
