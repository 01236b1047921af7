import { type Migration, Migrator } from 'kysely/migration';
import { findSqliteTable, hasTable, listAppliedMigrations } from './applied-migrations.ts';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { refuseTransactionPooling } from './dialects/postgres-pooling.ts';
import { DatabaseUnavailableError, DatabaseUnfitError, SerializationFailureError } from './errors.ts';
import { baseline } from './migrations/0001-baseline.ts';
import { TABLE_NAMES } from './stored-tables.ts';

/**
 * The migrations in their order. Append only: from the first release on, a migration is never edited.
 *
 * The end of a name says which releases also run on the schema that it makes: those that have the migration with the number after
 * `-from-`. `0002-colors-from-0001` only adds, so each release runs on it. Releases from before a name without it refuse to start.
 */
export const MIGRATIONS = {
  '0001-baseline': baseline,
};

/** The migration that every database of a released version has. */
const BASELINE = '0001-baseline' satisfies keyof typeof MIGRATIONS;

/** The oldest migration whose releases run on the schema of a later one. */
const RUNS_FROM = /-from-(\d{4})$/;

/** The most attempts of a migration that deadlocks with writes of other processes. */
const MIGRATION_ATTEMPTS = 10;

/**
 * Brings the schema up to date. Each migration is atomic. If several processes start at once, one migrates and the others wait.
 *
 * @param migrations other than those of this version, for tests of the machinery
 * @throws {DatabaseUnfitError} if the database holds foreign tables or another schema, if the role lacks permissions, or behind
 *   a connection pooler in transaction mode
 */
export async function migrate(db: Database, migrations: Record<string, Migration> = MIGRATIONS): Promise<void> {
  if (isPostgres(db)) await refuseTransactionPooling(db);
  const names = await listAppliedMigrations(db);
  await refuseUnknownSchema(db, names, migrations);
  // Migrations are never reverted. If all are applied, neither the lock nor the migrator's own checks are needed. The migrator
  // would refuse a newer schema.
  if (hasAll(names, migrations)) return;
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  let { error, results } = await migrator.migrateToLatest();
  // Processes of the earlier release lock the same tables in another order. Nothing of a failed attempt was committed.
  for (let attempt = 2; error instanceof SerializationFailureError && attempt <= MIGRATION_ATTEMPTS; attempt += 1) {
    ({ error, results } = await migrator.migrateToLatest());
  }
  const failed = results?.find((result) => result.status === 'Error');
  if (error instanceof DatabaseUnavailableError || error instanceof DatabaseUnfitError) throw error;
  if (error !== undefined) throw new Error(`migration ${failed?.migrationName ?? ''} failed`, { cause: error });
}

/**
 * Checks the schema without migrating.
 *
 * @throws {DatabaseUnfitError} if this version does not run on the schema
 */
export async function requireSchema(db: Database): Promise<void> {
  const names = await listAppliedMigrations(db);
  await refuseUnknownSchema(db, names, MIGRATIONS);
  if (hasAll(names, MIGRATIONS)) return;
  const versions = `the schema ${names.at(-1) ?? 'none'}, this version has ${Object.keys(MIGRATIONS).at(-1)}`;
  throw new DatabaseUnfitError(`has ${versions}: start the server of this version on it once`);
}

/**
 * Compares the schema of a database with that of this version, without changing it. `older`: `migrate` would update it. `newer`: this
 * version runs on it.
 *
 * @throws {DatabaseUnfitError} if this version does not run on the schema, or it is that of another application
 */
export async function compareSchema(db: Database): Promise<'empty' | 'older' | 'same' | 'newer'> {
  const names = await listAppliedMigrations(db);
  await refuseUnknownSchema(db, names, MIGRATIONS);
  if (names.length === 0) return 'empty';
  if (!hasAll(names, MIGRATIONS)) return 'older';
  return names.length === Object.keys(MIGRATIONS).length ? 'same' : 'newer';
}

function hasAll(names: readonly string[], migrations: Record<string, Migration>): boolean {
  return Object.keys(migrations).every((name) => names.includes(name));
}

/** Whether a version with these migrations runs on a schema that also has a later one. */
function runsWithout(later: string, migrations: Record<string, Migration>): boolean {
  const from = RUNS_FROM.exec(later)?.[1];
  return from !== undefined && Object.keys(migrations).some((name) => name.slice(0, from.length) >= from);
}

/**
 * Refuses a database with tables of another application, or with the schema of an unreleased version, or of a newer one on which this
 * version does not run.
 */
async function refuseUnknownSchema(
  db: Database,
  names: readonly string[],
  migrations: Record<string, Migration>,
): Promise<void> {
  const isComplete = hasAll(names, migrations);
  const unknown = names.find(
    (name) => !Object.hasOwn(migrations, name) && !(isComplete && runsWithout(name, migrations)),
  );
  // Databases of versions before the first release have other migrations, and no baseline.
  if (unknown !== undefined && !names.includes(BASELINE)) {
    throw new DatabaseUnfitError(
      'was made by a version before the first release, which has no upgrade: use an empty database',
    );
  }
  if (unknown !== undefined) {
    throw new DatabaseUnfitError(`has the migration ${unknown}, which this version does not know: start a newer one`);
  }
  if (names.length > 0) return;
  const table = await findForeignTable(db);
  // Another process may have migrated in the meantime.
  if (table === undefined || (await listAppliedMigrations(db)).length > 0) return;
  throw new DatabaseUnfitError(`has a table ${table} of another application: use an empty database`);
}

/**
 * A table of another application in a database without our migrations. In PostgreSQL only a table with the name of one of ours,
 * because extensions have tables, too. A SQLite file belongs to one program.
 */
async function findForeignTable(db: Database): Promise<string | undefined> {
  if (!isPostgres(db)) return findSqliteTable(db);
  for (const table of TABLE_NAMES) if (await hasTable(db, table)) return table;
  return undefined;
}
