import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { migrate } from '../src/migrate.ts';
import { openDatabase } from '../src/open-database.ts';
import { isPostgres } from '../src/dialects/postgres.ts';
import { createSpanPartitions } from '../src/dialects/postgres-spans.ts';
import { createDatabase, dropDatabase, type PostgresServer, startPostgres } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Unique, because several suites may share a server. */
const DATABASE = `quartermaster_template_${randomUUID()}`;

/**
 * The URL of a running server. `npm test` and `npm run test:deep` start one for all suites; a developer may set another
 * server. Its user must be able to create databases.
 */
const SERVER_URL = process.env['QM_TEST_POSTGRES_URL'];

/** The set-up of a project, once per run. Projects whose name ends in `postgres` run on PostgreSQL. @returns the tear-down */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return project.name.endsWith('postgres') ? setupPostgres(project) : setupSqlite(project);
}

async function setupSqlite(project: TestProject): Promise<() => Promise<void>> {
  const folder = await temporaryFolder('quartermaster-template-');
  await migrated(`sqlite:${folder}/template.db`);
  project.provide('template', { dialect: 'sqlite', path: `${folder}/template.db` });
  return () => rm(folder, { recursive: true });
}

async function setupPostgres(project: TestProject): Promise<() => Promise<void>> {
  const server = SERVER_URL === undefined ? await startPostgres() : givenServer(SERVER_URL);
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

function givenServer(url: string): Pick<PostgresServer, 'urlOf' | 'stop'> {
  const urlOf = (database: string) => Object.assign(new URL(url), { pathname: database }).href;
  return { urlOf, stop: () => dropDatabase(urlOf('postgres'), DATABASE) };
}

async function migrated(url: string): Promise<void> {
  const db = await openDatabase(url, '/');
  try {
    await migrate(db);
    // Done here once, so that each test server finds the partitions and need not create them.
    if (isPostgres(db)) await createSpanPartitions(db, new Date());
  } finally {
    await db.destroy();
  }
}
