import type { Database } from '@quartermaster/db/database.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import type { Services } from '../../src/platform/services.ts';

type Row = Record<string, unknown>;

/**
 * All rows of a database, by table.
 *
 * @param tenantId leaves out the rows that belong to other tenants
 */
export async function tablesOf(db: Database, tenantId?: string): Promise<Record<string, Row[]>> {
  const tables: Record<string, Row[]> = {};
  const withTenant = new Set(tenantId === undefined ? [] : await namesWithTenant(db));
  for (const name of await namesOf(db)) {
    // The query builder reads from the reading connection, so this does not wait for writers.
    const rows = db.selectFrom(sql<Row>`${sql.table(name)}`.as('stored')).selectAll();
    const own = sql<boolean>`tenant_id in ('', ${tenantId})`;
    tables[name] = await (withTenant.has(name) ? rows.where(own) : rows).execute();
  }
  return tables;
}

/** All values of a database as one text to search in. */
export async function textOf(db: Database): Promise<string> {
  const rows = Object.values(await tablesOf(db)).flat();
  return rows.flatMap((row) => Object.values(row).map(String)).join('\n');
}

/** A value that differs after each commit that changed a row, on any connection. */
export async function commitsOf({ db, audit }: Pick<Services, 'db' | 'audit'>): Promise<unknown> {
  // Seals earlier audit events first. Otherwise the sealer would commit while a test compares.
  await audit.sealer.pass();
  if (!onPostgres()) {
    // It counts the commits of other connections, as the reading connection sees them.
    const version = sql<Row>`(select * from pragma_data_version)`.as('version');
    return (await db.selectFrom(version).selectAll().executeTakeFirstOrThrow())['data_version'];
  }
  // `xmin` is the transaction that wrote the row version.
  const counts = (await namesOf(db)).map(
    (name) => sql`select count(*) as rows, sum(xmin::text::bigint) as writers from ${sql.table(name)}`,
  );
  // Of the form of the service's own queries, it is planned once a connection: that takes longer than to count.
  const all = sql<Row>`(${sql.join(counts, sql` union all `)})`.as('counted');
  return db.selectFrom(all).selectAll().execute();
}

/** Read once for each database. Later a service only creates partitions, which are not listed. */
const namesOf = onceForEach(listNames);
const namesWithTenant = onceForEach(async (db) => {
  const tables = await db.introspection.getTables();
  return tables.filter(({ columns }) => columns.some(({ name }) => name === 'tenant_id')).map(({ name }) => name);
});

function onceForEach(read: (db: Database) => Promise<string[]>): (db: Database) => Promise<string[]> {
  const known = new WeakMap<Database, Promise<string[]>>();
  return (db) => {
    const names = known.get(db) ?? read(db);
    known.set(db, names);
    return names;
  };
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
