import type { Database } from '@quartermaster/db/database.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import type { Services } from '../../src/services.ts';

type Row = Record<string, unknown>;

/** All that a database holds, table by table. */
export async function tablesOf(db: Database): Promise<Record<string, Row[]>> {
  const tables: Record<string, Row[]> = {};
  for (const name of await namesOf(db)) {
    // As a query of its form, it does not wait for those who write.
    tables[name] = await db
      .selectFrom(sql<Row>`${sql.table(name)}`.as('stored'))
      .selectAll()
      .execute();
  }
  return tables;
}

/** All values that a database holds, as one text to look for something in. */
export async function textOf(db: Database): Promise<string> {
  const rows = Object.values(await tablesOf(db)).flat();
  return rows.flatMap((row) => Object.values(row).map(String)).join('\n');
}

/** Something that is another after each commit that changed a row, whoever made it. */
export async function commitsOf({ db, sealer }: Pick<Services, 'db' | 'sealer'>): Promise<unknown> {
  // What was written before is sealed first: it would be meanwhile.
  await sealer.pass();
  if (!onPostgres()) {
    // The reading connection's view of what other connections committed.
    const version = sql<Row>`(select * from pragma_data_version)`.as('version');
    return (await db.selectFrom(version).selectAll().executeTakeFirstOrThrow())['data_version'];
  }
  // Each version of a row names the transaction that wrote it.
  const counts = (await namesOf(db)).map(
    (name) => sql`select count(*) as rows, sum(xmin::text::bigint) as writers from ${sql.table(name)}`,
  );
  // Of the form of the service's own queries, it is planned once a connection: that takes longer than to count.
  const all = sql<Row>`(${sql.join(counts, sql` union all `)})`.as('counted');
  return db.selectFrom(all).selectAll().execute();
}

/** Of each database its own, looked up once: what a service makes later is parts of tables. */
const names = new WeakMap<Database, Promise<string[]>>();

function namesOf(db: Database): Promise<string[]> {
  const known = names.get(db) ?? listNames(db);
  names.set(db, known);
  return known;
}

async function listNames(db: Database): Promise<string[]> {
  const { rows } = onPostgres()
    ? await sql<{ name: string }>`
        select relname as name from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition`.execute(
        db,
      )
    : await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db);
  return rows.map(({ name }) => name).toSorted();
}
