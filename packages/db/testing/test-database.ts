import { randomUUID } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** What the tests of a run share: a migrated template database, which each test copies. */
type Template = { dialect: 'sqlite'; path: string } | { dialect: 'postgres'; serverUrl: string; database: string };

declare module 'vitest' {
  interface ProvidedContext {
    template: Template;
  }
}

/** A separate database for one test, of the project's dialect. */
export type TestDatabase = { url: string; remove: () => Promise<void> };

/** @param schema `migrated`: with the current schema; `empty`: without tables */
export async function newTestDatabase(schema: 'migrated' | 'empty'): Promise<TestDatabase> {
  const template = inject('template');
  if (template.dialect === 'sqlite') {
    const folder = await temporaryFolder('quartermaster-');
    if (schema === 'migrated') await copyFile(template.path, join(folder, 'test.db'));
    return { url: `sqlite:${folder}/test.db`, remove: () => rm(folder, { recursive: true }) };
  }
  const { serverUrl, database } = template;
  const name = `test_${randomUUID()}`;
  await createDatabase(serverUrl, name, schema === 'migrated' ? database : 'template1');
  const url = new URL(serverUrl);
  url.pathname = name;
  return { url: url.href, remove: () => dropDatabase(serverUrl, name) };
}

/** Whether the tests run on Postgres. */
export function onPostgres(): boolean {
  return inject('template').dialect === 'postgres';
}
