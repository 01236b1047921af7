import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { mintApiKey } from '../src/auth/api-key-format.ts';
import { accountWithKey } from './support/people.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';
import { textOf } from './support/tables.ts';

const PLACE = { tenantId: 'acme' };
const PATH = '/v1/providers';
const SECONDS = 1000;
const HOUR = 3600 * SECONDS;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  server.freeze();
});
afterAll(() => server.stop());

function use(key: string) {
  return server.call('GET', PATH, { as: { key } });
}

function account(scopes?: Scope[]) {
  return accountWithKey(server, PLACE, scopes);
}

function keysOf(id: string): string {
  return `/v1/service-accounts/${id}/keys`;
}

/** What an answer says about a refused key. It is the same for each reason, so it reveals nothing about the key. */
function refusalOf(answer: { status: number; headers: Headers; body: Body }): object {
  const { instance: _id, ...body } = answer.body;
  return { status: answer.status, challenge: answer.headers.get('www-authenticate'), body };
}

const REFUSED = {
  status: 401,
  challenge: 'Bearer error="invalid_token", error_description="the API key is not valid"',
  body: {
    type: 'urn:quartermaster:problem:credentials_invalid',
    title: 'Credentials not valid',
    status: 401,
    detail: 'The API key is not valid.',
    code: 'credentials_invalid',
  },
};

test.each([
  'x',
  'qm_',
  'qm',
  'null',
  'undefined',
  'Bearer x',
  '0',
  '*',
  "' or 1=1 --",
  'a'.repeat(4000),
  'qm_key_00000000000000000000000000_',
  `qm_key_${'0'.repeat(26)}_${'0'.repeat(49)}`,
])('a malformed key is 401 with the one refusal: %.40s', async (key) => {
  expect(refusalOf(await use(key))).toEqual(REFUSED);
});

test('a key with any one character changed, dropped or doubled is refused', async () => {
  const { key } = await account();
  for (let at = 0; at < key.length; at += 1) {
    const [head, tail] = [key.slice(0, at), key.slice(at + 1)];
    const other = key[at] === 'a' ? 'b' : 'a';
    for (const damaged of [head + other + tail, head + tail, `${head}${key[at]}${key[at]}${tail}`]) {
      if (damaged !== key) expect((await use(damaged)).status, damaged).toBe(401);
    }
  }
  expect((await use(key)).status).toBe(200);
});

test('a wrong secret with a right checksum, and an unknown id, are refused alike', async () => {
  const { keyId } = await account();
  expect(refusalOf(await use(mintApiKey(keyId).key))).toEqual(REFUSED);
  expect(refusalOf(await use(mintApiKey('key_00000000000000000000000000').key))).toEqual(REFUSED);
});

test('the secret of one key does not work with the id of another key of the same account', async () => {
  const { id, key } = await account();
  const second = await server.ok('POST', keysOf(id), { as: server.admin, body: { scopes: ['*'] } });
  const swapped = key.replace(/key_[0-9a-z]{26}/, second.id);
  expect((await use(swapped)).status).toBe(401);
});

test('a key that is sent as a bearer token is refused, and the answer says where it belongs', async () => {
  const { key } = await account();
  const answer = await server.call('GET', PATH, { as: { token: key } });
  expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
    401,
    'credentials_invalid',
    'The bearer token is refused: it is an API key, which belongs in the header X-API-Key.',
  ]);
  expect(answer.text).not.toContain(key);
});

test('a revoked key is refused from the next request on', async () => {
  const { id, key, keyId } = await account();
  expect((await use(key)).status).toBe(200);
  await server.ok('DELETE', `${keysOf(id)}/${keyId}`, { as: server.admin });
  expect(refusalOf(await use(key))).toEqual(REFUSED);
});

test('a key may revoke itself, and is refused afterwards', async () => {
  const { id, key, keyId } = await account();
  await server.ok('DELETE', `${keysOf(id)}/${keyId}`, { as: { key } });
  expect((await use(key)).status).toBe(401);
});

test('an expired key is refused from its expiry on', async () => {
  const { id } = await account();
  const expiresAt = new Date(server.services.now().getTime() + HOUR).toISOString();
  const { key } = await server.ok('POST', keysOf(id), { as: server.admin, body: { scopes: ['*'], expiresAt } });
  server.travel(HOUR - 1);
  expect((await use(key)).status).toBe(200);
  server.travel(1);
  expect(refusalOf(await use(key))).toEqual(REFUSED);
});

test.each(['disable', 'delete'])('the keys of an account end at once with the account: %s', async (how) => {
  const { id, key } = await account();
  expect((await use(key)).status).toBe(200);
  if (how === 'delete') await server.ok('DELETE', `/v1/service-accounts/${id}`, { as: server.admin });
  else await server.ok('POST', `/v1/service-accounts/${id}/disable`, { as: server.admin });
  expect(refusalOf(await use(key))).toEqual(REFUSED);
});

test('a rotated key works until its overlap ends; the new key works at once', async () => {
  const { id, key, keyId } = await account();
  const rotated = await server.ok('POST', `${keysOf(id)}/${keyId}/rotate`, {
    as: server.admin,
    body: { overlapSeconds: 60 },
  });
  expect([(await use(key)).status, (await use(rotated.key)).status]).toEqual([200, 200]);
  server.travel(60 * SECONDS - 1);
  expect((await use(key)).status).toBe(200);
  server.travel(1);
  expect([(await use(key)).status, (await use(rotated.key)).status]).toEqual([401, 200]);
  expect(rotated).toMatchObject({ rotationCount: 1, scopes: ['*'] });
});

test('with an overlap of 0 the old key ends at the rotation; a rotation never prolongs a key', async () => {
  const { id, key, keyId } = await account();
  const rotated = await server.ok('POST', `${keysOf(id)}/${keyId}/rotate`, {
    as: server.admin,
    body: { overlapSeconds: 0 },
  });
  expect([(await use(key)).status, (await use(rotated.key)).status]).toEqual([401, 200]);

  const expiresAt = new Date(server.services.now().getTime() + 10 * SECONDS).toISOString();
  const short = await server.ok('POST', keysOf(id), { as: server.admin, body: { scopes: ['*'], expiresAt } });
  await server.ok('POST', `${keysOf(id)}/${short.id}/rotate`, { as: server.admin, body: { overlapSeconds: 3600 } });
  server.travel(10 * SECONDS);
  expect((await use(short.key)).status).toBe(401);
});

test('the last use is stored at the first use, and then at most once a minute', async () => {
  const { id, key } = await account();
  const lastUse = async () => {
    // The last use is stored concurrently with the request, perhaps between these two reads.
    const read = async () => {
      const keys = await server.ok('GET', keysOf(id), { as: server.admin });
      const { lastUsedAt } = await server.ok('GET', `/v1/service-accounts/${id}`, { as: server.admin });
      expect(lastUsedAt).toBe(keys.items[0].lastUsedAt);
      return lastUsedAt as string | null;
    };
    return vi.waitFor(read, { timeout: 60_000 });
  };
  expect(await lastUse()).toBeNull();
  const first = server.services.now().toISOString();
  await use(key);
  await expect.poll(lastUse).toBe(first);
  server.travel(60 * SECONDS - 1);
  await use(key);
  expect(await lastUse()).toBe(first);
  server.travel(1);
  await Promise.all([use(key), use(key)]);
  await expect.poll(lastUse).toBe(new Date(Date.parse(first) + 60 * SECONDS).toISOString());
});

test('a refused request does not count as a use', async () => {
  const { id, keyId } = await account();
  await use(mintApiKey(keyId).key);
  expect((await server.ok('GET', keysOf(id), { as: server.admin })).items[0].lastUsedAt).toBeNull();
});

test.each(['api_key', 'apikey', 'x-api-key', 'X-API-Key', 'key', 'access_token', 'authorization', 'token'])(
  'a key in the query string is never read: %s',
  async (name) => {
    const { key } = await account();
    for (const value of [key, `Bearer ${key}`]) {
      const answer = await server.call('GET', `${PATH}?${name}=${encodeURIComponent(value)}`);
      expect([answer.status, answer.body.code]).toEqual([401, 'credentials_missing']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  },
);

test('a key in a cookie, a body or another header is never read', async () => {
  const { key } = await account();
  for (const headers of [
    { cookie: `x-api-key=${key}` },
    { 'api-key': key },
    { 'x-apikey': key },
    { 'proxy-authorization': `Bearer ${key}` },
  ]) {
    expect((await server.call('GET', PATH, { headers })).status).toBe(401);
  }
});

test('without a credential every operation except registration is 401 with a plain challenge', async () => {
  const answer = await server.call('GET', PATH);
  expect([answer.status, answer.body.code]).toEqual([401, 'credentials_missing']);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
});

test('a missing scope is 403, named in the body and in the challenge', async () => {
  const { key } = await account(['gateways:read']);
  const answer = await use(key);
  expect([answer.status, answer.body.code, answer.body.scope]).toEqual([403, 'scope_missing', 'providers:read']);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="providers:read"');
});

test('a key cannot create a key with scopes that it does not hold', async () => {
  const { id, key, keyId } = await account(['credentials:write', 'providers:read']);
  const createKey = (scopes: Scope[]) => server.call('POST', keysOf(id), { as: { key }, body: { scopes } });
  expect((await createKey(['providers:read'])).status).toBe(200);
  for (const scopes of [['*'], ['providers:write'], ['providers:read', 'users:read']] satisfies Scope[][]) {
    const refused = await createKey(scopes);
    expect([refused.status, refused.body.code]).toEqual([403, 'grant_exceeds_own']);
  }
  const wide = await server.ok('POST', keysOf(id), { as: server.admin, body: { scopes: ['*'] } });
  const rotate = (which: string) => server.call('POST', `${keysOf(id)}/${which}/rotate`, { as: { key } });
  expect((await rotate(wide.id)).body.code).toBe('grant_exceeds_own');
  expect((await rotate(keyId)).status).toBe(200);
});

test('a key is shown only in the answer to its creation', async () => {
  const { id, key, keyId } = await account();
  const secret = key.slice(-49);
  const answers = [
    await server.call('GET', keysOf(id), { as: server.admin }),
    await server.call('GET', `/v1/service-accounts/${id}`, { as: server.admin }),
    await server.call('POST', '/v1/credentials/search', { as: server.admin, body: { ownerId: id } }),
    await server.call('GET', '/v1/audit-events', { as: server.admin }),
    await server.call('DELETE', `${keysOf(id)}/${keyId}`, { as: server.admin }),
  ];
  for (const { text, status } of answers) {
    expect(status).toBe(200);
    expect(text).not.toContain(secret.slice(4));
    expect(text).not.toContain(createHash('sha256').update(key).digest('hex'));
  }
});

test('only the digest of a key is stored', async () => {
  const { key } = await account();
  await use(key);
  const bytes = onPostgres() ? Buffer.from(await textOf(server.services.db)) : await bytesOf(server.databaseUrl);
  const digest = createHash('sha256').update(key).digest('hex');
  expect(bytes.includes(digest)).toBe(true);
  for (const one of [key, server.admin.key]) {
    const secret = one.slice(-49);
    // Everything except the four characters that records show.
    for (const part of [secret.slice(4, -6), secret.slice(4, 20), secret.slice(20, 36)]) {
      expect(bytes.includes(part)).toBe(false);
    }
  }
});

/** The bytes of a SQLite file and of its write-ahead log, which contains the newest writes. */
async function bytesOf(databaseUrl: string): Promise<Buffer> {
  const path = databaseUrl.slice('sqlite:'.length);
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(basename(path)));
  expect(names).toContain(`${basename(path)}-wal`);
  return Buffer.concat(await Promise.all(names.map((name) => readFile(join(dirname(path), name)))));
}
