import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';

/** The names of the applied migrations, in their order. */
export async function listAppliedMigrations(db: Database): Promise<string[]> {
  if (!(await hasTable(db, 'kysely_migration'))) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  return rows.map(({ name }) => name).toSorted();
}

/** A table of a SQLite file, other than those of SQLite and of the migrator. */
export async function findSqliteTable(db: Database): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master
    where type = 'table' and name not glob 'sqlite_*' and name not glob 'kysely_*'
    limit 1`.execute(db);
  return rows[0]?.name;
}

/** Whether a table exists. Kysely's introspection would read every column of every table and partition. */
export async function hasTable(db: Database, table: string): Promise<boolean> {
  const { rows } = isPostgres(db)
    ? await sql`select 1 where to_regclass(${table}) is not null`.execute(db)
    : await sql`select 1 from sqlite_master where type = 'table' and name = ${table}`.execute(db);
  return rows.length > 0;
}
