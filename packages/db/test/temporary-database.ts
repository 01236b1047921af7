import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { onTestFinished } from 'vitest';
import { type Database, MIGRATIONS, openDatabase } from '../src/database.ts';
import { ensurePlace } from '../src/repositories/tenants.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { newTestDatabase } from '../testing/test-database.ts';

export const NOW = new Date('2026-03-01T12:00:00.000Z');

/** A migrated database with some places, for one test. */
export async function temporaryDatabase(...places: TenantPlace[]): Promise<Database> {
  const db = await openedDatabase('migrated');
  for (const place of places) await ensurePlace(db, place, NOW);
  return db;
}

/** A database with the schema of the first release and a tenant `acme`. */
export function firstReleaseDatabase(): Promise<Database> {
  return databaseBefore('0002-governance-loop');
}

/** A database with the schema that it had before a migration, and a tenant `acme`. */
export async function databaseBefore(migration: keyof typeof MIGRATIONS): Promise<Database> {
  const db = await emptyDatabase();
  const earlier = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name < migration));
  const migrator = new Migrator({ db, provider: { getMigrations: async () => earlier } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  const time = NOW.toISOString();
  await sql`
    insert into tenants (id, capture_content, created_at, updated_at) values ('acme', 0, ${time}, ${time})`.execute(db);
  return db;
}

/** A database without tables, for one test. */
export function emptyDatabase(): Promise<Database> {
  return openedDatabase('empty');
}

async function openedDatabase(schema: 'migrated' | 'empty'): Promise<Database> {
  const { url, remove } = await newTestDatabase(schema);
  const db = await openDatabase(url, '/');
  onTestFinished(async () => {
    await db.destroy();
    await remove();
  });
  return db;
}

/** A row of a table, by column. */
export type Values = Record<string, string | number | null>;

/** Inserts a row into a table of any version of the schema. */
export async function insertRow(db: Database, table: string, values: Values): Promise<void> {
  await insertRows(db, table, [values]);
}

/** The rows of one statement. SQLite and PostgreSQL accept at least 32,766 bound values. */
const ROWS_OF_STATEMENT = 500;

/** Inserts rows with the same columns, many in one statement. */
export async function insertRows(db: Database, table: string, rows: readonly Values[]): Promise<void> {
  const names = Object.keys(rows[0] ?? {});
  const columns = sql.join(names.map((column) => sql.ref(column)));
  for (let start = 0; start < rows.length; start += ROWS_OF_STATEMENT) {
    const values = rows
      .slice(start, start + ROWS_OF_STATEMENT)
      .map((row) => sql`(${sql.join(names.map((name) => row[name] ?? null))})`);
    await sql`insert into ${sql.table(table)} (${columns}) values ${sql.join(values)}`.execute(db);
  }
}

/** A time after {@link NOW}. */
export function later(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000);
}
