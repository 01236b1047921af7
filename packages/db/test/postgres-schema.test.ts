import { rm } from 'node:fs/promises';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { migrate } from '../src/migrate.ts';
import { openDatabase } from '../src/open-database.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { emptyDatabase } from './temporary-database.ts';

/** The columns, foreign keys and indexes of a database, one text for each, in a form that both dialects share. */
type Schema = { columns: string[]; foreignKeys: string[]; indexes: string[] };

/** PostgreSQL only: the reason is in migrations/baseline/telemetry.ts. */
const ONLY_ON_POSTGRES = ['traces_by_trace on traces(trace_id)'];

async function texts(db: Database, query: string): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`${sql.raw(query)}`.execute(db);
  return rows.map(({ text }) => text).toSorted();
}

async function schemaOnSqlite(): Promise<Schema> {
  const folder = await temporaryFolder('quartermaster-schema-');
  const db = await openDatabase(`sqlite:${folder}/schema.db`, '/');
  onTestFinished(async () => {
    await db.destroy();
    await rm(folder, { recursive: true });
  });
  await migrate(db);
  const tables = `(select name from sqlite_master where type = 'table' and name not glob 'kysely_*') as tables`;
  return {
    columns: await texts(
      db,
      `select tables.name || '.' || part.name || ' ' || replace(lower(type), 'bigint', 'integer') ||
         case when "notnull" then ' not null' else '' end as text
       from ${tables}, pragma_table_info(tables.name) as part`,
    ),
    foreignKeys: await texts(
      db,
      `select tables.name || '(' || group_concat("from", ', ' order by seq) || ') ' || "table" || ' ' || lower(on_delete) as text
       from ${tables}, pragma_foreign_key_list(tables.name) as part group by tables.name, id`,
    ),
    indexes: await texts(
      db,
      `select iif("unique", 'unique ', '') || part.name || ' on ' || tables.name || '(' ||
         (select group_concat(coalesce(name, 'expression') || iif("desc", ' desc', ''), ', ' order by seqno)
           from pragma_index_xinfo(part.name) where key) || ')' || iif(partial, ' partial', '') as text
       from ${tables}, pragma_index_list(tables.name) as part where origin = 'c'`,
    ),
  };
}

async function schemaOnPostgres(): Promise<Schema> {
  const db = await emptyDatabase();
  await migrate(db);
  const tables = `(select oid, relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname not like 'kysely%') as tables`;
  return {
    columns: await texts(
      db,
      `select tables.name || '.' || attname || ' ' ||
         replace(replace(format_type(atttypid, atttypmod), 'bigint', 'integer'), 'bytea', 'blob') ||
         case when attnotnull then ' not null' else '' end as text
       from ${tables} join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped`,
    ),
    foreignKeys: await texts(
      db,
      `select tables.name || regexp_replace(pg_get_constraintdef(pg_constraint.oid),
           '^FOREIGN KEY (.*) REFERENCES (\\w+)\\(.*', '\\1 \\2') ||
         case confdeltype when 'c' then ' cascade' else ' no action' end as text
       from ${tables} join pg_constraint on conrelid = tables.oid and contype = 'f'`,
    ),
    indexes: await texts(
      db,
      `select case when indisunique then 'unique ' else '' end || indexrelid::regclass || ' on ' || tables.name || '(' ||
         (select string_agg(coalesce(attname, 'expression') || case when indoption[place - 1] & 1 = 1 then ' desc' else '' end,
             ', ' order by place)
           from unnest(indkey::int2[]) with ordinality as part(attribute, place)
           left join pg_attribute on attrelid = indrelid and attnum = attribute and attribute > 0) || ')' ||
         case when indpred is null then '' else ' partial' end as text
       from ${tables} join pg_index on indrelid = tables.oid
       where not exists (select 1 from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))`,
    ),
  };
}

test('both dialects have the same columns, foreign keys and indexes', async () => {
  const [sqlite, postgres] = [await schemaOnSqlite(), await schemaOnPostgres()];
  expect(sqlite.columns.length).toBeGreaterThan(400);
  expect(postgres.columns).toEqual(sqlite.columns);
  expect(postgres.foreignKeys).toEqual(sqlite.foreignKeys);
  expect(postgres.indexes.filter((index) => !ONLY_ON_POSTGRES.includes(index))).toEqual(sqlite.indexes);
});
