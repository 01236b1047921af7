import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Database, migrate, openDatabase } from '../src/database.ts';
import { ensurePlace } from '../src/repositories/tenants.ts';
import type { TenantPlace } from '../src/tenancy.ts';

export const NOW = new Date('2026-03-01T12:00:00.000Z');

/** A migrated database in a file of its own, with places in it, for the length of one test. */
export async function temporaryDatabase(...places: TenantPlace[]): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-db-'));
  const db = await openDatabase('sqlite:test.db', folder);
  onTestFinished(async () => {
    await db.destroy();
    await rm(folder, { recursive: true });
  });
  await migrate(db);
  for (const place of places) await ensurePlace(db, place, NOW);
  return db;
}

/** A time after {@link NOW}. */
export function later(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000);
}
