import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { onTestFinished } from 'vitest';
import { type Database, migrate, openDatabase } from '../src/database.ts';
import { initial } from '../src/migrations/0001-initial.ts';
import { ensurePlace } from '../src/repositories/tenants.ts';
import type { TenantPlace } from '../src/tenancy.ts';

export const NOW = new Date('2026-03-01T12:00:00.000Z');

/** A migrated database in a file of its own, with places in it, for the length of one test. */
export async function temporaryDatabase(...places: TenantPlace[]): Promise<Database> {
  const db = await emptyDatabase();
  await migrate(db);
  for (const place of places) await ensurePlace(db, place, NOW);
  return db;
}

/** A database as the first release made it, with a tenant `acme` in it. */
export async function firstReleaseDatabase(): Promise<Database> {
  const db = await emptyDatabase();
  const first = new Migrator({ db, provider: { getMigrations: async () => ({ '0001-initial': initial }) } });
  const { error } = await first.migrateToLatest();
  if (error !== undefined) throw error;
  const time = NOW.toISOString();
  await sql`
    insert into tenants (id, capture_content, created_at, updated_at) values ('acme', 0, ${time}, ${time})`.execute(db);
  return db;
}

async function emptyDatabase(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-db-'));
  const db = await openDatabase('sqlite:test.db', folder);
  onTestFinished(async () => {
    await db.destroy();
    await rm(folder, { recursive: true });
  });
  return db;
}

/** A time after {@link NOW}. */
export function later(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000);
}
