import { randomUUID } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject } from 'vitest';
import { createDatabaseStatement, dropDatabaseStatement } from './postgres-server.ts';
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
export function newTestDatabase(schema: 'migrated' | 'empty'): Promise<TestDatabase> {
  const template = inject('template');
  if (template.dialect === 'sqlite') return newFile(schema === 'migrated' ? template.path : null);
  return newDatabase(template.serverUrl, schema === 'migrated' ? template.database : 'template1');
}

/** A copy of a test's database, which must not be open. */
export function copyTestDatabase(url: string): Promise<TestDatabase> {
  const template = inject('template');
  if (template.dialect === 'sqlite') return newFile(url.replace(/^sqlite:/, ''));
  return newDatabase(template.serverUrl, new URL(url).pathname.slice(1));
}

async function newFile(copied: string | null): Promise<TestDatabase> {
  const folder = await temporaryFolder('quartermaster-');
  if (copied !== null) await copyFile(copied, join(folder, 'test.db'));
  return { url: `sqlite:${folder}/test.db`, remove: () => rm(folder, { recursive: true }) };
}

async function newDatabase(serverUrl: string, copied: string): Promise<TestDatabase> {
  const name = `test_${randomUUID()}`;
  await administer(serverUrl, createDatabaseStatement(name, copied));
  const url = new URL(serverUrl);
  url.pathname = name;
  return { url: url.href, remove: () => administer(serverUrl, dropDatabaseStatement(name)) };
}

/** One connection of this process that creates and drops databases. A new one for each costs as much CPU time as the statement. */
let administration: Promise<Client> | undefined;

async function administer(serverUrl: string, statement: string): Promise<void> {
  administration ??= connect(serverUrl);
  await (await administration).query(statement);
}

async function connect(serverUrl: string): Promise<Client> {
  const client = new Client({ connectionString: serverUrl });
  client.on('error', () => {
    administration = undefined;
  });
  await client.connect();
  return client;
}

/** Whether the tests run on Postgres. */
export function onPostgres(): boolean {
  return inject('template').dialect === 'postgres';
}
