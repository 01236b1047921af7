import { readFile } from 'node:fs/promises';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import SqliteDatabase from 'better-sqlite3';
import { expect, test } from 'vitest';
import { joinPlace, registeredUser } from './support/people.ts';
import { serverOfTest, type TestServer } from './support/server.ts';
import { textOf } from './support/tables.ts';

/** The bytes of the database file and its write-ahead log. */
async function filesOf({ databaseUrl }: TestServer): Promise<string> {
  const file = databaseUrl.replace('sqlite:', '');
  const parts = await Promise.all([file, `${file}-wal`].map((path) => readFile(path, 'latin1')));
  return parts.join('\n');
}

/** A user whose email, names and metadata occur nowhere else, and other users. */
async function personalData(server: TestServer): Promise<{ id: string; token: string; personal: RegExp }> {
  for (let count = 0; count < 5; count += 1) await registeredUser(server);
  const { id, email, token } = await registeredUser(server);
  for (let count = 0; count < 5; count += 1) await registeredUser(server);
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { name: 'founder', tenantId: 'acme' } });
  await joinPlace(server, { email, token }, { place: { tenantId: 'acme' }, role: 'viewer' });
  await server.ok('PUT', '/v1/me/profile', {
    as: { token },
    headers: { 'idempotency-key': 'profile-1' },
    body: { displayName: 'Personal-Display-Name', metadata: { phone: 'Personal-Phone' } },
  });
  return { id, token, personal: new RegExp(`${email.replace('.', '\\.')}|Personal-`) };
}

test.skipIf(onPostgres())(
  'regression: the SQLite file and its write-ahead log contain no personal data of a deleted user',
  async () => {
    const server = await serverOfTest();
    const { id, token, personal } = await personalData(server);
    expect(await filesOf(server)).toMatch(personal);
    await server.ok('DELETE', `/v1/users/${id}`, { as: { token } });
    await expect.poll(() => filesOf(server)).not.toMatch(personal);
  },
);

test('no table contains personal data of a deleted user, including audit events and answers stored for Idempotency-Keys', async () => {
  const server = await serverOfTest();
  const { id, token, personal } = await personalData(server);
  await server.ok('DELETE', `/v1/users/${id}`, { as: { token }, headers: { 'idempotency-key': 'delete-1' } });
  expect(await textOf(server.services.db)).not.toMatch(personal);
});

test.skipIf(onPostgres())('while another process reads the write-ahead log, it is truncated later', async () => {
  const server = await serverOfTest();
  const { id, token, personal } = await personalData(server);
  const other = new SqliteDatabase(server.databaseUrl.replace('sqlite:', ''), { readonly: true });
  try {
    other.exec('begin');
    other.prepare('select count(*) from users').get();
    await server.ok('DELETE', `/v1/users/${id}`, { as: { token } });
    await server.services.erasures.truncate('noted');
    expect(await filesOf(server)).toMatch(personal);
  } finally {
    other.close();
  }
  await server.services.erasures.truncate('noted');
  expect(await filesOf(server)).not.toMatch(personal);
});
