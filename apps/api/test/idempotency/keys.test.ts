import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { createTenant } from '@quartermaster/contracts/tenants.ts';
import { insertTenant } from '@quartermaster/db/repositories/tenants.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { secretBox } from '../../src/platform/secret-box.ts';
import { removeExpiredKeys } from '../../src/http/idempotency/expiry.ts';
import { performOnce } from '../../src/http/idempotency/perform-once.ts';
import { dropUnreadableAnswers, resealAnswers } from '../../src/http/idempotency/reseal.ts';
import { expectInvalid, expectProblem } from '../endpoints/harness.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { textOf } from '../support/tables.ts';
import { wire } from '../support/wire.ts';

const HOUR = 3600 * 1000;
const LEASE_MS = 60_000;
const FORMER = Buffer.alloc(32, 'f').toString('base64');
const AT_KEY = { loc: ['header', 'Idempotency-Key'], type: 'value_error' };

let server: TestServer;
let caller: { key: string };

beforeAll(async () => {
  server = await startTestServer({ ...LOOPBACK, QM_SECRET_KEY: FORMER });
  caller = { key: (await accountWithKey(server, { tenantId: 'acme' })).key };
});
afterAll(() => server.stop());

type Keyed = { key: string; as?: Credential; path?: string; method?: string };

function create(body: object, { key, as = caller, path = '/v1/service-accounts', method = 'POST' }: Keyed) {
  return server.call(method, path, { as, body, headers: { 'idempotency-key': key } });
}

async function accountsNamed(name: string): Promise<Body[]> {
  return (await server.ok('POST', '/v1/service-accounts/search', { as: server.admin, body: { name } })).items;
}

/** The row of a key. */
function rowOf(key: string) {
  const digest = createHash('sha256').update(key).digest('hex');
  const { db } = server.services;
  return db.selectFrom('idempotency_keys').selectAll().where('key_digest', '=', digest).executeTakeFirst();
}

/** Changes the row of a key as if its request had never ended. */
async function forgetAnswer(key: string): Promise<void> {
  const row = await rowOf(key);
  expect(row?.answer).toEqual(expect.any(String));
  const { db } = server.services;
  await db
    .updateTable('idempotency_keys')
    .set({ answer: null })
    .where('claim', '=', row?.claim ?? '')
    .execute();
}

test('50 concurrent requests with one key have one effect; the others get its answer, or 409 with Retry-After', async () => {
  const name = unique('contended');
  const key = randomUUID();
  const answers = await Promise.all(Array.from({ length: 50 }, () => create({ name }, { key })));
  expect(await accountsNamed(name)).toHaveLength(1);
  const done = answers.filter(({ status }) => status === 200);
  expect(new Set(done.map(({ text }) => text)).size).toBe(1);
  expect(done.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
  for (const refused of answers.filter(({ status }) => status !== 200)) {
    expectProblem(refused, 409, 'idempotency_key_in_use');
    expect(refused.headers.get('retry-after')).toBe('1');
  }
  // A retry after 409 gets the same answer.
  expect((await create({ name }, { key })).text).toBe(done[0]?.text);
});

test('a second request is 409 while the first is in flight, and gets its answer afterwards', async () => {
  const held = Promise.withResolvers<ServerResponse>();
  const peer = await startPeer((_req, res) => held.resolve(res));
  const body = { name: unique('slow'), kind: 'llm', baseUrl: peer.url };
  const { id } = await server.ok('POST', '/v1/providers', { as: caller, body });
  const headers = { 'idempotency-key': randomUUID() };
  const sync = () => server.call('POST', `/v1/providers/${id}/sync`, { as: caller, headers });
  const first = sync();
  const asked = await held.promise;
  expectProblem(await sync(), 409, 'idempotency_key_in_use');
  asked.end('{"object":"list","data":[]}');
  const done = await first;
  expect(done.status, done.text).toBe(200);
  const again = await sync();
  expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, done.text, 'true']);
});

test('a key that was used with another payload, query, path or operation is 422, and changes nothing', async () => {
  const key = randomUUID();
  const first = await create({ name: unique('first') }, { key });
  const other = unique('other');
  const { id } = first.body;
  const refused = [
    await create({ name: other }, { key }),
    await create({ displayName: other }, { key, method: 'PUT', path: `/v1/service-accounts/${id}` }),
    await create({ name: other, kind: 'llm' }, { key, path: '/v1/providers' }),
  ];
  for (const answer of refused) expectInvalid(answer, AT_KEY);
  expect(await accountsNamed(other)).toEqual([]);

  const updating = { key: randomUUID(), method: 'PUT' };
  const path = `/v1/service-accounts/${id}`;
  expect((await create({ displayName: 'a' }, { ...updating, path })).status).toBe(200);
  expectInvalid(await create({ displayName: 'a' }, { ...updating, path: `${path}?tenant_id=acme` }), AT_KEY);
  const { body: another } = await create({ name: unique('another') }, { key: randomUUID() });
  const otherPath = `/v1/service-accounts/${another.id}`;
  expectInvalid(await create({ displayName: 'a' }, { ...updating, path: otherPath }), AT_KEY);
});

test('a payload with the same JSON values in another form counts as the same', async () => {
  const key = randomUUID();
  const name = unique('written');
  const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
  const send = (raw: string) => server.call('POST', '/v1/service-accounts', { as: caller, raw, headers });
  const first = await send(`{"name":"${name}","metadata":{"a":1,"b":[2]}}`);
  const again = await send(`{ "metadata": {"b":[2.0], "a":1e0},\n "name":"${name}" }`);
  expect([again.status, again.text]).toEqual([200, first.text]);
  expect(await accountsNamed(name)).toHaveLength(1);
});

test('principals do not share keys', async () => {
  const key = randomUUID();
  const name = unique('shared');
  const { key: second } = await accountWithKey(server, { tenantId: 'acme' });
  const { token } = await server.tokenOf('admin@example.com');
  const callers: Credential[] = [caller, { key: second }, server.admin, { token }];
  for (const as of callers) {
    const answer = await create({ name, tenantId: 'acme' }, { key, as });
    expect([answer.status, answer.headers.get('idempotency-replayed')], answer.text).toEqual([200, null]);
  }
  expect(await accountsNamed(name)).toHaveLength(callers.length);
});

test('another API key of the same account does not get an answer to a request that it could not make', async () => {
  const { id, key: strong } = await accountWithKey(server, { tenantId: 'acme' });
  const expiresAt = new Date(Date.now() + HOUR).toISOString();
  const path = `/v1/service-accounts/${id}/keys`;
  const { key: ending } = await server.ok('POST', path, { as: { key: strong }, body: { scopes: ['*'], expiresAt } });
  const key = randomUUID();
  const made = await create({ scopes: ['*'] }, { key, path, as: { key: strong } });
  expect(made.body.key).toMatch(/^qm_/);
  const refused = await create({ scopes: ['*'] }, { key, path, as: { key: ending } });
  expectInvalid(refused, AT_KEY);
  expect(refused.text).not.toContain(made.body.key);
});

test('anonymous callers: a repeated registration gets the same answer, and a key reveals nothing about another registration', async () => {
  const key = randomUUID();
  const path = '/v1/onboarding/register';
  const register = (email: string) => create({ user: { email } }, { key, path, as: null });
  const mine = await register('mine@example.com');
  expect((await register('mine@example.com')).text).toBe(mine.text);
  const theirs = await register('theirs@example.com');
  expect([theirs.status, theirs.body.user.email]).toEqual([200, 'theirs@example.com']);
  expect(theirs.headers.get('idempotency-replayed')).toBeNull();
});

const printable = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index)).join('');

test.each([
  ['one character', 'x'],
  ['255 characters', 'k'.repeat(255)],
  ['all printable ASCII characters', printable],
  ['a quoted string', '"with spaces, and \\"quotes\\" inside"'],
])('a key may be %s', async (_, key) => {
  const name = unique('wellformed');
  const first = await create({ name }, { key });
  expect(first.status, first.text).toBe(200);
  expect((await create({ name }, { key })).headers.get('idempotency-replayed')).toBe('true');
});

test('a key with and without quotes is the same key', async () => {
  const key = randomUUID();
  const body = { name: unique('quoted') };
  const first = await create(body, { key });
  expect((await create(body, { key: `"${key}"` })).text).toBe(first.text);
});

test.each([
  ['empty', ['']],
  ['an empty string', ['""']],
  ['256 characters', ['k'.repeat(256)]],
  ['256 characters in quotes', [`"${'k'.repeat(256)}"`]],
  ['spaces inside', ['two words']],
  ['an unclosed quote', ['"abc']],
  ['beyond ASCII', ['schlüssel']],
  ['a control character', ['a\tb']],
  ['sent twice', ['one', 'two']],
])('a malformed key is 422: %s', async (_, keys) => {
  const name = unique('malformed');
  const answer = await wire(server.url, {
    method: 'POST',
    target: '/v1/service-accounts',
    headers: { 'x-api-key': caller.key, 'content-type': 'application/json', 'idempotency-key': keys },
    body: JSON.stringify({ name }),
  });
  expect(answer.status, answer.text).toBe(422);
  const [fault] = JSON.parse(answer.text).detail;
  expect(fault).toMatchObject(AT_KEY);
  expect(fault.input).toBeUndefined();
  expect(await accountsNamed(name)).toEqual([]);
});

test('values that cannot be stored are 422, also with a key', async () => {
  const key = randomUUID();
  const nested = `${'['.repeat(5000)}${']'.repeat(5000)}`;
  for (const value of ['"\\ud800"', '1e999', '"\\u0000"', nested]) {
    const raw = `{"name":"n","metadata":{"x":${value}}}`;
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    expect((await server.call('POST', '/v1/service-accounts', { as: caller, raw, headers })).status).toBe(422);
  }
});

test('a key is refused over tRPC, which does not support it', async () => {
  const name = unique('trpc');
  const answer = await create({ body: { name } }, { key: randomUUID(), path: '/trpc/serviceAccounts.create' });
  expectInvalid(answer, AT_KEY);
  expect(await accountsNamed(name)).toEqual([]);
});

test('an answer is stored for 24 hours; then the key can be used again, and housekeeping removes expired answers in batches', async () => {
  const key = randomUUID();
  const name = unique('kept');
  const first = await create({ name }, { key });
  server.travel(24 * HOUR - 60_000);
  expect((await create({ name }, { key })).text).toBe(first.text);
  server.travel(2 * 60_000);
  const later = await create({ name }, { key });
  expect([later.status, later.headers.get('idempotency-replayed')]).toEqual([200, null]);
  expect(await accountsNamed(name)).toHaveLength(2);

  const row = await rowOf(key);
  if (!row) throw new Error('the key has no row');
  const old = { ...row, expires_at: '2020-01-01T00:00:00.000Z' };
  const rows = Array.from({ length: 1200 }, (_, index) => ({ ...old, key_digest: `${index}-${row.key_digest}` }));
  for (let at = 0; at < rows.length; at += 100) {
    await server.services.db
      .insertInto('idempotency_keys')
      .values(rows.slice(at, at + 100))
      .execute();
  }
  expect(await removeExpiredKeys(server.services)).toBeGreaterThanOrEqual(1200);
  expect(await removeExpiredKeys(server.services)).toBe(0);
  expect((await create({ name }, { key })).text).toBe(later.text);
});

test('a request that died without an answer holds its key until its lease ends', async () => {
  const key = randomUUID();
  const name = unique('lapsed');
  await create({ name }, { key });
  await forgetAnswer(key);
  expectProblem(await create({ name }, { key }), 409, 'idempotency_key_in_use');
  server.travel(LEASE_MS - 1000);
  expectProblem(await create({ name }, { key }), 409, 'idempotency_key_in_use');
  server.travel(2000);
  const taken = await create({ name }, { key });
  expect([taken.status, taken.headers.get('idempotency-replayed')]).toEqual([200, null]);
});

test('a request that lost its key to another one is rolled back', async () => {
  const { services } = server;
  const operation = createTenant as unknown as Operation;
  const raw = { path: {}, query: {}, body: {} };
  const lost = performOnce(
    { services, operation, principal: null, key: randomUUID(), raw, isOwn: true },
    async ({ db }) => {
      const settings = {
        captureContent: false,
        spanRetentionDays: null,
        recordRetentionDays: null,
        usageRetentionDays: 400,
        auditReads: false,
      };
      const values = { displayName: null, founderId: null, settings };
      await insertTenant(db, { id: 'undone', ...values }, services.now());
      await db.updateTable('idempotency_keys').set({ claim: 'another' }).where('answer', 'is', null).execute();
      return {};
    },
  );
  await expect(lost).rejects.toMatchObject({ reason: 'idempotency_key_in_use' });
  expect((await server.call('GET', '/v1/tenants/undone', { as: server.admin })).status).toBe(404);
});

test('answers that hold a secret are encrypted at rest, and the key itself is not stored', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'acme' });
  const path = `/v1/service-accounts/${id}/keys`;
  const key = randomUUID();
  const made = await create({ scopes: ['*'] }, { key, path });
  const gateway = await server.ok('POST', '/v1/gateways', { as: caller, body: { name: unique('gateway') } });
  const session = await create({}, { key: randomUUID(), path: `/v1/gateways/${gateway.id}/sessions` });
  expect([made.status, session.status]).toEqual([200, 200]);
  const stored = (await rowOf(key))?.answer ?? '';
  expect(stored).toMatch(/^v2\./);
  const text = onPostgres() ? await textOf(server.services.db) : await bytesIn(server.databaseUrl);
  expect(text).toContain(stored);
  for (const secret of [made.body.key, session.body.token, key]) expect(text).not.toContain(secret);
});

test('concurrent session requests, with and without keys, create one successor of an expiring signing key', async () => {
  const { db, now } = server.services;
  const gateway = await server.ok('POST', '/v1/gateways', { as: caller, body: { name: unique('gateway') } });
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const kidOf = ({ body }: { body: Body }) => decodeProtectedHeader(body.token as string).kid;
  const before = kidOf(await create({}, { key: randomUUID(), path }));
  const aged = { created_at: new Date(now().getTime() - 91 * 24 * HOUR).toISOString() };
  await db.updateTable('credentials').set(aged).where('kind', '=', 'signing_key').execute();
  const [keyed, plain] = [
    Array.from({ length: 4 }, () => create({}, { key: randomUUID(), path })),
    Array.from({ length: 4 }, () => server.call('POST', path, { as: caller, body: {} })),
  ];
  const opened = await Promise.all([...keyed, ...plain]);
  expect(opened.map(({ status }) => status)).toEqual(opened.map(() => 200));
  const kids = new Set(opened.map(kidOf));
  expect(kids.size).toBe(1);
  expect(kids.has(before)).toBe(false);
  const published = (await server.ok('GET', '/.well-known/jwks.json')).keys.map(({ kid }: Body) => kid);
  expect(published).toContain([...kids][0]);
});

/** The bytes of a SQLite file and of its write-ahead log, which has the newest writes. */
async function bytesIn(databaseUrl: string): Promise<string> {
  const path = databaseUrl.slice('sqlite:'.length);
  const parts = await Promise.all([readFile(path, 'latin1'), readFile(`${path}-wal`, 'latin1')]);
  return parts.join('');
}

test('after a change of the secret key, stored answers can be read, are re-encrypted, and are dropped if the old key is lost', async () => {
  const key = randomUUID();
  const body = { name: unique('rotated') };
  const first = await create(body, { key });
  const { db, secrets } = server.services;
  const former = Buffer.from(FORMER, 'base64');
  const current = secretBox(Buffer.alloc(32, 7), [former]);
  const { resealed, unreadable } = await resealAnswers({ db, secrets: current });
  expect([resealed > 0, unreadable]).toEqual([true, 0]);
  expect(await resealAnswers({ db, secrets: current })).toEqual({ resealed: 0, unreadable: 0 });

  // The service still has only the former key. It does not repeat the request.
  expectProblem(await create(body, { key }), 409, 'idempotency_answer_unreadable');
  expect(await accountsNamed(body.name)).toHaveLength(1);
  expect((await resealAnswers({ db, secrets: secretBox(former, [Buffer.alloc(32, 7)]) })).unreadable).toBe(0);
  expect((await create(body, { key })).text).toBe(first.text);

  await dropUnreadableAnswers({ db, secrets });
  expect(await rowOf(key)).toBeDefined();
  await dropUnreadableAnswers({ db, secrets: secretBox(Buffer.alloc(32, 9)) });
  expect(await rowOf(key)).toBeUndefined();
});
