import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { startIssuer, type TestIssuer } from './support/oidc-issuer.ts';
import { startTestServer, type TestServer } from './support/server.ts';

const EMAIL = 'ada@example.com';
const HOUR_MS = 60 * 60 * 1000;

let issuer: TestIssuer;
let server: TestServer;
let userId: string;
let path: string;

beforeEach(async () => {
  issuer = await startIssuer(() => server.services.now());
  server = await startTestServer({ QM_DEV_IDENTITY: '0', QM_OIDC_ISSUER: issuer.url });
  onTestFinished(() => server.stop());
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email: EMAIL } } });
  const { body } = await enter('former');
  userId = body.id;
  path = `/v1/users/${userId}/identity-relink`;
});

/** A call with a token of a subject. */
async function enter(sub: string, claims: Record<string, unknown> = {}) {
  const token = await issuer.sign({ sub, email: EMAIL, email_verified: true, ...claims });
  return server.call('GET', '/v1/me', { as: { token } });
}

const codeOf = async (answer: ReturnType<typeof enter>) => {
  const { status, body } = await answer;
  return status === 200 ? body.id : body.code;
};

const allow = () => server.ok('PUT', path, { as: server.admin });

test('regression: a person whose sub changed signs in again, once it is allowed, and the former identity is refused', async () => {
  expect(await codeOf(enter('new'))).toBe('identity_conflict');
  await allow();
  expect(await codeOf(enter('former'))).toBe(userId);
  expect(await codeOf(enter('new'))).toBe(userId);
  expect(await codeOf(enter('new'))).toBe(userId);
  expect(await codeOf(enter('former'))).toBe('identity_conflict');
  // It counts once.
  expect(await codeOf(enter('third'))).toBe('identity_conflict');
  expect(await server.ok('GET', path, { as: server.admin })).toMatchObject({ allowedUntil: null });
  const { items } = await server.ok('GET', `/v1/audit-events?target_id=${userId}`, { as: server.admin });
  expect(items.map((event: { operation: string }) => event.operation)).toEqual([
    'relink_identity',
    'allow_identity_relink',
    'link_identity',
    'register_user',
  ]);
  expect(items[0]).toMatchObject({ actor: { type: 'user', id: userId }, changedFields: ['identity'] });
});

test.each([
  ['an unverified email', { email_verified: false }, 'email_unverified'],
  ['an email of which nothing is said', { email_verified: undefined }, 'email_unverified'],
  ['another email', { email: 'grace@example.com' }, 'registration_required'],
])('a sign-in with %s does not take over', async (_name, claims, code) => {
  await allow();
  expect(await codeOf(enter('new', claims))).toBe(code);
  expect(await codeOf(enter('former'))).toBe(userId);
  expect(await server.ok('GET', path, { as: server.admin })).toMatchObject({ allowedUntil: expect.any(String) });
});

test('nobody takes over after the time, or after it was withdrawn', async () => {
  await allow();
  server.travel(24 * HOUR_MS);
  expect(await codeOf(enter('new'))).toBe('identity_conflict');
  await allow();
  await server.ok('DELETE', path, { as: server.admin });
  expect(await codeOf(enter('new'))).toBe('identity_conflict');
});

test('nobody takes over after the key that allowed it was revoked, or has ended', async () => {
  const me = await server.ok('GET', '/v1/me', { as: server.admin });
  const keys = `/v1/service-accounts/${me.id}/keys`;
  const query = `?tenant_id=${me.tenantId}`;
  const expiresAt = new Date(server.services.now().getTime() + HOUR_MS).toISOString();
  const key = await server.ok('POST', keys + query, { as: server.admin, body: { scopes: ['*'], expiresAt } });
  const allowed = await server.ok('PUT', path, { as: { key: key.key } });
  expect(allowed.allowedUntil).toBe(expiresAt);
  await server.ok('DELETE', `${keys}/${key.id}${query}`, { as: server.admin });
  expect(await codeOf(enter('new'))).toBe('identity_conflict');
});

test('of two other identities that sign in at the same time, one takes over', async () => {
  await allow();
  const codes = await Promise.all([codeOf(enter('second')), codeOf(enter('third'))]);
  expect(new Set(codes)).toEqual(new Set(['identity_conflict', userId]));
});
