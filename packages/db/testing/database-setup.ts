import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrate, openDatabase } from '../src/database.ts';
import { isPostgres } from '../src/dialects/postgres.ts';
import { makeSpanPartitions } from '../src/dialects/postgres-spans.ts';
import { createDatabase, startPostgres } from './postgres-server.ts';

const DATABASE = 'quartermaster_template';

/** The set-up of the projects `sqlite` and `postgres`, once a run. @returns what ends it */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return project.name === 'postgres' ? setupPostgres(project) : setupSqlite(project);
}

async function setupSqlite(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-template-'));
  await migrated(`sqlite:${folder}/template.db`);
  project.provide('template', { dialect: 'sqlite', path: `${folder}/template.db` });
  return () => rm(folder, { recursive: true });
}

async function setupPostgres(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  try {
    await createDatabase(server.urlOf('postgres'), DATABASE);
    await migrated(server.urlOf(DATABASE));
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('template', { dialect: 'postgres', serverUrl: server.urlOf('postgres'), database: DATABASE });
  return () => server.stop();
}

async function migrated(url: string): Promise<void> {
  const db = await openDatabase(url, '/');
  try {
    await migrate(db);
    // As a server that starts does, so that the tests' servers need not.
    if (isPostgres(db)) await makeSpanPartitions(db, new Date());
  } finally {
    await db.destroy();
  }
}
