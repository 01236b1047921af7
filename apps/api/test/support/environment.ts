import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { onTestFinished } from 'vitest';
import { mintApiKey } from '../../src/auth/api-key-format.ts';

/** A well-formed key for QM_BOOTSTRAP_API_KEY. */
export function newBootstrapKey(): string {
  return mintApiKey(`key_${'0'.repeat(26)}`).key;
}

/** The path of a database file that is removed at the end of the test. */
export async function databaseFile(): Promise<string> {
  const folder = await temporaryFolder('quartermaster-');
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'test.db');
}

/** A migrated database of the tested dialect. It is removed at the end of the test. */
export async function databaseOfTest(): Promise<Database> {
  const { url, remove } = await newTestDatabase('migrated');
  const db = await openDatabase(url, '/');
  onTestFinished(async () => {
    await db.destroy();
    await remove();
  });
  return db;
}
