import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem } from './endpoints/harness.ts';
import { accountWithKey, unique } from './support/people.ts';
import { type Body, type Credential, startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const MINUTE_MS = 60_000;
const fromNow = (milliseconds: number) => new Date(server.services.now().getTime() + milliseconds).toISOString();

type Short = { as: { key: string }; keyId: string; keys: string; endsAt: string; tenantId: string; maker: Credential };

/** A key that expires in a minute, created by a key of the same account without expiry. */
async function shortKey(): Promise<Short> {
  const tenantId = unique('lineage');
  const account = await accountWithKey(server, { tenantId });
  const keys = `/v1/service-accounts/${account.id}/keys`;
  const endsAt = fromNow(MINUTE_MS);
  const body = { scopes: ['*'], expiresAt: endsAt };
  const { key, id: keyId } = await server.ok('POST', keys, { as: { key: account.key }, body });
  return { as: { key }, keyId, keys, endsAt, tenantId, maker: { key: account.key } };
}

async function openSession(
  as: Credential,
): Promise<{ session: Body; path: string; introspected: () => Promise<Body> }> {
  const { id } = await server.ok('POST', '/v1/gateways', { as, body: { name: unique('gateway') } });
  const path = `/v1/gateways/${id}/sessions`;
  const session = await server.ok('POST', path, { as, body: {} });
  const body = { token: session.token };
  return { session, path, introspected: () => server.ok('POST', `${path}/introspect`, { as: server.admin, body }) };
}

describe('nothing that a key creates outlives it:', () => {
  test('regression: a new key without expiresAt expires with the key that created it', async () => {
    const { as, keys, endsAt } = await shortKey();
    for (const body of [{ scopes: ['*'] }, { scopes: ['*'], expiresAt: null }]) {
      expect((await server.ok('POST', keys, { as, body })).expiresAt).toBe(endsAt);
    }
    const body = { scopes: ['*'], expiresAt: fromNow(30_000) };
    expect((await server.ok('POST', keys, { as, body })).expiresAt).toBe(body.expiresAt);
    const later = { scopes: ['*'], expiresAt: fromNow(2 * MINUTE_MS) };
    expectProblem(await server.call('POST', keys, { as, body: later }), 403, 'grant_exceeds_own');
  });

  test('regression: if an expiring key rotates a key without expiry, the successor expires with the former', async () => {
    const { as, keys, endsAt, maker } = await shortKey();
    const { id } = await server.ok('POST', keys, { as: maker, body: { scopes: ['*'] } });
    for (const expiresAt of [null, fromNow(2 * MINUTE_MS)]) {
      const answered = await server.call('POST', `${keys}/${id}/rotate`, { as, body: { expiresAt } });
      expectProblem(answered, 403, 'grant_exceeds_own');
    }
    expect((await server.ok('POST', `${keys}/${id}/rotate`, { as })).expiresAt).toBe(endsAt);
  });

  test('regression: a key that rotates itself does not prolong its lifetime', async () => {
    const { as, keys, keyId, endsAt } = await shortKey();
    server.travel(30_000);
    expect((await server.ok('POST', `${keys}/${keyId}/rotate`, { as })).expiresAt).toBe(endsAt);
  });

  test('regression: a session expires with the key that opened it', async () => {
    const { as, endsAt } = await shortKey();
    const { session, introspected } = await openSession(as);
    expect(session.expiresAt).toBe(endsAt);
    expect(await introspected()).toMatchObject({ active: true });
    server.travel(MINUTE_MS);
    expect(await introspected()).toEqual({ active: false });
  });
});

describe('the sessions of a key', () => {
  test('regression: end when the key is revoked, also sessions for another subject', async () => {
    const { as, keys, keyId, tenantId, maker } = await shortKey();
    const own = await openSession(as);
    const { principal } = await accountWithKey(server, { tenantId });
    const other = await server.ok('POST', own.path, { as, body: { subject: principal } });
    const kept = await server.ok('POST', own.path, { as: maker });
    await server.ok('DELETE', `${keys}/${keyId}`, { as: maker });
    expect(await introspectedAs(own.path, own.session.token)).toEqual({ active: false });
    expect(await introspectedAs(own.path, other.token)).toEqual({ active: false });
    expect(await introspectedAs(own.path, kept.token)).toMatchObject({ active: true });
    const record = await server.ok('GET', `${own.path}/${own.session.id}`, { as: maker });
    expect(record).toMatchObject({ status: 'revoked', revokedReason: 'key_ended' });
  });

  test('regression: end at once when the key is rotated without an overlap', async () => {
    const { as, keys, keyId, maker } = await shortKey();
    const { introspected } = await openSession(as);
    await server.ok('POST', `${keys}/${keyId}/rotate`, { as: maker, body: { overlapSeconds: 0 } });
    expect(await introspected()).toEqual({ active: false });
  });

  test('regression: end at the end of the overlap when the key is rotated with one', async () => {
    const { keys, maker } = await shortKey();
    const { key, id } = await server.ok('POST', keys, { as: maker, body: { scopes: ['*'] } });
    const { session, path, introspected } = await openSession({ key });
    await server.ok('POST', `${keys}/${id}/rotate`, { as: maker, body: { overlapSeconds: 100 } });
    const { expiresAt } = await server.ok('GET', `${path}/${session.id}`, { as: maker });
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(Date.parse(fromNow(100_000)));
    expect(await introspected()).toMatchObject({ active: true, exp: Math.floor(Date.parse(expiresAt) / 1000) });
    server.travel(101_000);
    expect(await introspected()).toEqual({ active: false });
  });

  test('of a platform administrator end in every tenant', async () => {
    const tenantId = unique('lineage');
    const { key } = await accountWithKey(server, { tenantId });
    const { path } = await openSession({ key });
    const root = { id: unique('root'), name: 'root', tenantId: unique('lineage'), platformAdministrator: true };
    await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: root });
    const keys = `/v1/service-accounts/${root.id}/keys`;
    const admin = await server.ok('POST', keys, { as: server.admin, body: { scopes: ['*'] } });
    const session = await server.ok('POST', path, { as: { key: admin.key } });
    await server.ok('DELETE', `${keys}/${admin.id}`, { as: server.admin });
    expect(await introspectedAs(path, session.token)).toEqual({ active: false });
  });

  const introspectedAs = (path: string, token: string): Promise<Body> =>
    server.ok('POST', `${path}/introspect`, { as: server.admin, body: { token } });
});
