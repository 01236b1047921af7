import { onTestFinished } from 'vitest';
import type { Database } from '../src/database.ts';
import { openDatabase } from '../src/open-database.ts';
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

/** A time after {@link NOW}. */
export function later(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000);
}
