import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { migrate, openDatabase } from '../src/database.ts';
import { isPostgres } from '../src/dialects/postgres.ts';
import { makeSpanPartitions } from '../src/dialects/postgres-spans.ts';
import { createDatabase, dropDatabase, type PostgresServer, startPostgres } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Unique, because several suites may share a server. */
const DATABASE = `quartermaster_template_${randomUUID()}`;

/**
 * A running server to test against. `npm test` starts one for all suites and names it here; a developer may name a server
 * of another version. Its user must be able to create databases.
 */
const SERVER_URL = process.env['QM_TEST_POSTGRES_URL'];

/** The set-up of the projects `sqlite` and `postgres`, once a run. @returns what ends it */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return project.name === 'postgres' ? setupPostgres(project) : setupSqlite(project);
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
    // As a server that starts does, so that the tests' servers need not.
    if (isPostgres(db)) await makeSpanPartitions(db, new Date());
  } finally {
    await db.destroy();
  }
}
