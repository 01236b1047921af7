import { randomUUID } from 'node:crypto';
import { administer } from '@quartermaster/db/testing/postgres-server.ts';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { expect, onTestFinished, test } from 'vitest';
import { SECRET_KEY } from '../support/server.ts';
import { startFailure } from '../support/start.ts';

async function emptyDatabase(): Promise<URL> {
  const { url, remove } = await newTestDatabase('empty');
  onTestFinished(remove);
  return new URL(url);
}

/** The URL of the same database for a role that owns nothing in it. */
async function asStranger(url: URL): Promise<string> {
  const role = `stranger_${randomUUID().replaceAll('-', '')}`;
  await administer(url.href, `create role ${role} login`);
  onTestFinished(async () => {
    await administer(url.href, `drop owned by ${role}`);
    await administer(url.href, `drop role ${role}`);
  });
  const theirs = new URL(url);
  theirs.username = role;
  return theirs.href;
}

async function refusalOf(url: string): Promise<string> {
  const { message, exitCode } = await startFailure({ DATABASE_URL: url, QM_SECRET_KEY: SECRET_KEY });
  expect(exitCode, message).toBe(2);
  expect(message).toMatch(/^DATABASE_URL: the database [^\n]+$/);
  return message;
}

test('regression: a start with a role that may not create tables is refused in one line', async () => {
  const message = await refusalOf(await asStranger(await emptyDatabase()));
  expect(message).toBe('DATABASE_URL: the database forbids it: permission denied for schema public');
});

test('regression: a start on tables of another program is refused in one line, and leaves them unchanged', async () => {
  const url = await emptyDatabase();
  await administer(url.href, 'create table users (mine text)');
  expect(await refusalOf(url.href)).toMatch(/ has a table users of another application: /);
  const tables = await administer(url.href, `select tablename from pg_tables where schemaname = 'public'`);
  expect(tables).toEqual([{ tablename: 'users' }]);
});

test('regression: a start on tables that another role created is refused in one line', async () => {
  const { url, remove } = await newTestDatabase('migrated');
  onTestFinished(remove);
  expect(await refusalOf(await asStranger(new URL(url)))).toMatch(/ forbids it: permission denied for table /);
});

test('a start without an existing database or server is refused in one line', async () => {
  const url = await emptyDatabase();
  url.pathname = 'none';
  expect(await refusalOf(url.href)).toMatch(/ cannot be used: database "none" does not exist$/);
});
