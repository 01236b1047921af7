import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { sqliteDialect } from './dialects/sqlite.ts';
import { initial } from './migrations/0001-initial.ts';
import { governanceLoop } from './migrations/0002-governance-loop.ts';
import { idempotencyAndRateLimits } from './migrations/0004-idempotency-rate-limits.ts';
import type { Tables } from './tables.ts';

/** A connection to the database, or a transaction on it: every repository function takes either. */
export type Database = Kysely<Tables>;

/** Migrations in their order. Append only: what is merged is never edited. */
const MIGRATIONS = {
  '0001-initial': initial,
  '0002-governance-loop': governanceLoop,
  '0004-idempotency-rate-limits': idempotencyAndRateLimits,
};

/**
 * Opens a database.
 *
 * @param url `sqlite:<path>`; the file and its folder are made where they are missing
 * @param root what a relative path is relative to
 */
export async function openDatabase(url: string, root: string): Promise<Database> {
  const path = sqlitePath(url, root);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return new Kysely<Tables>({ dialect: sqliteDialect(path) });
}

/** The file of an embedded database, absolute. @throws where the URL names no SQLite file */
export function sqlitePath(url: string, root: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  if (path === undefined) throw new Error('DATABASE_URL should be sqlite:<path>');
  return resolve(root, path);
}

/** Brings the schema up to date; all of a migration or nothing of it. */
export async function migrate(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error, results } = await migrator.migrateToLatest();
  const failed = results?.find((result) => result.status === 'Error');
  if (error !== undefined) throw new Error(`migration ${failed?.migrationName ?? ''} failed`, { cause: error });
}
