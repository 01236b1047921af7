import { randomBytes } from 'node:crypto';
import type { Database } from '@quartermaster/db/database.ts';
import { listAuditEvents } from '@quartermaster/db/repositories/audit-events.ts';
import { deleteIdentitiesOfUser } from '@quartermaster/db/repositories/identities.ts';
import { insertMembership } from '@quartermaster/db/repositories/memberships.ts';
import { ensurePlace } from '@quartermaster/db/repositories/tenants.ts';
import {
  eraseUser,
  findAccountByEmail,
  findUser,
  insertUser,
  type NewUser,
  NO_MARKETING,
  TERMS_NOT_ACCEPTED,
  updateUser,
} from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import pino from 'pino';
import { expect, test } from 'vitest';
import { reachOf } from '../src/auth/principal.ts';
import { principalOfToken } from '../src/auth/users.ts';
import { secretBox } from '../src/platform/secret-box.ts';
import { databaseOfTest } from './support/environment.ts';
import { MINUTE, reasonOf, refusal, START, type World, world } from './support/oidc-issuer.ts';

const secrets = secretBox(randomBytes(32));
const EMAIL = 'ada@example.com';
const VERIFIED = { email: EMAIL, email_verified: true };
const ACCEPTED = { ...TERMS_NOT_ACCEPTED, accepted: true, acceptedAt: '2026-01-01T00:00:00.000Z' };

type Door = World & { db: Database; enter: (claims?: Record<string, unknown>) => ReturnType<typeof principalOfToken> };

async function door(): Promise<Door> {
  const db = await databaseOfTest();
  const here = await world();
  const services = {
    db,
    log: pino({ level: 'silent' }),
    now: here.now,
    secrets,
    tokens: here.verifier,
    administrators: null,
  };
  return {
    ...here,
    db,
    enter: async (claims = VERIFIED) =>
      principalOfToken(services, await here.issuer.sign(claims), {
        requestId: 'r-1',
        callerRequestId: 'c-1',
      }),
  };
}

async function register(db: Database, user: Partial<NewUser> = {}): Promise<string> {
  const account = await insertUser(
    db,
    {
      email: EMAIL,
      displayName: null,
      status: 'pending_identity',
      platformAdministrator: false,
      terms: ACCEPTED,
      marketingConsent: NO_MARKETING,
      source: null,
      metadata: {},
      ...user,
    },
    new Date(START),
  );
  if (!account) throw new Error('the email is taken');
  return account.id;
}

async function userOf(db: Database, id: string) {
  return findUser(db, { scope: EVERYWHERE, self: null }, id);
}

test('the first sign-in links the identity to the user with its verified email, once, with an audit event', async () => {
  const { db, enter } = await door();
  const id = await register(db, { email: 'Ada@Example.com' });
  const [first, second] = await Promise.all([enter(), enter()]);
  expect(first).toEqual({
    kind: 'user',
    id,
    tenantId: null,
    scheme: 'bearer',
    keyId: null,
    keyExpiresAt: null,
    session: null,
    platformAdministrator: false,
    administratorByClaim: false,
    platformScopes: [],
    grants: [],
    termsAccepted: true,
  });
  expect(second).toEqual(first);
  expect(await enter({})).toEqual(first);
  expect(await userOf(db, id)).toMatchObject({ status: 'active', lastSeenAt: new Date(START).toISOString() });
  const { items } = await listAuditEvents(db, EVERYWHERE, {}, { limit: 10, after: null });
  expect(items).toEqual([
    expect.objectContaining({
      tenantId: null,
      actor: { type: 'user', id, tenantId: null },
      scheme: 'bearer',
      operation: 'link_identity',
      outcome: 'success',
      target: { type: 'user', id },
      changedFields: ['identity', 'status'],
      requestId: 'r-1',
      callerRequestId: 'c-1',
    }),
  ]);
});

test.each([TERMS_NOT_ACCEPTED, { ...TERMS_NOT_ACCEPTED, accepted: true }])(
  'a user who has not accepted the terms while signed in becomes pending_terms: %j',
  async (terms) => {
    const { db, enter } = await door();
    const id = await register(db, { terms });
    expect(await enter()).toMatchObject({ id, termsAccepted: false });
    expect(await enter()).toMatchObject({ id, termsAccepted: false });
    expect(await userOf(db, id)).toMatchObject({ status: 'pending_terms', terms: TERMS_NOT_ACCEPTED });
  },
);

test.each([
  ['ada@例え.テスト', 'ada@xn--r8jz45g.xn--zckzah'],
  ['ada@xn--r8jz45g.xn--zckzah', 'ada@例え.テスト'],
  ['ada@bücher.example', 'Ada@BÜCHER.example'],
])('regression: the user %s signs in with the email %s', async (registered, email) => {
  const { db, enter } = await door();
  const id = await register(db, { email: registered });
  expect(await enter({ email, email_verified: true })).toMatchObject({ id });
  expect(await userOf(db, id)).toMatchObject({ email: registered });
});

test('an email of the userinfo endpoint links too', async () => {
  const { db, enter, issuer } = await door();
  const id = await register(db);
  issuer.answers['/userinfo'] = () => ({ body: { sub: 'someone', ...VERIFIED } });
  expect(await enter({})).toMatchObject({ id });
});

test.each<[string, Record<string, unknown>, string]>([
  ['an email that is not registered', { email: 'other@example.com', email_verified: true }, 'registration_required'],
  ['no email', {}, 'registration_required'],
  ['an unverified email', { email: EMAIL, email_verified: false }, 'email_unverified'],
  ['an unverified email that is not registered', { email: 'other@example.com' }, 'email_unverified'],
  [
    'an email that equals the registered one only with Unicode case folding',
    { email: '\uff41da@example.com', email_verified: true },
    'registration_required',
  ],
])('%s is 403', async (_name, claims, reason) => {
  const { db, enter } = await door();
  const id = await register(db);
  expect(await reasonOf(enter(claims))).toBe(reason);
  expect(await userOf(db, id)).toMatchObject({ status: 'pending_identity', lastSeenAt: null });
});

test.each<[string, (() => object) | null, RegExp]>([
  ['refuses the token, as for another audience (RFC 8707)', () => ({ status: 401 }), /userinfo endpoint .* refuses it/],
  ['answers without one', () => ({ body: { sub: 'someone' } }), /answers without one/],
  ['answers for another subject', () => ({ body: { sub: 'other', ...VERIFIED } }), /answers for another subject/],
  ['does not exist', null, /names no userinfo endpoint/],
])(
  'regression: for a token without an email the error says what is missing if userinfo %s',
  async (_name, answer, expected) => {
    const { db, enter, issuer } = await door();
    await register(db);
    const { url } = issuer;
    if (answer !== null) issuer.answers['/userinfo'] = answer;
    else
      issuer.answers['/.well-known/openid-configuration'] = () => ({ body: { issuer: url, jwks_uri: `${url}/jwks` } });
    for (const _attempt of ['first', 'remembered']) {
      const { reason, status, message } = await refusal(enter({}));
      expect([reason, status]).toEqual(['registration_required', 403]);
      expect(message).toMatch(expected);
      expect(message).toMatch(/no claim email, and .* email and email_verified into access tokens/);
    }
  },
);

test('another subject with the email of a linked user is 403, and the link stays', async () => {
  const { db, enter } = await door();
  const id = await register(db);
  await enter();
  expect(await reasonOf(enter({ ...VERIFIED, sub: 'another' }))).toBe('identity_conflict');
  expect(await enter()).toMatchObject({ id });
});

test('the same subject of another issuer is another identity', async () => {
  const { db, enter } = await door();
  await register(db);
  await enter();
  const other = await world();
  const services = {
    db,
    log: pino({ level: 'silent' }),
    now: other.now,
    secrets,
    tokens: other.verifier,
    administrators: null,
  };
  expect(await reasonOf(principalOfToken(services, await other.issuer.sign({})))).toBe('registration_required');
  expect(await reasonOf(principalOfToken(services, await other.issuer.sign(VERIFIED)))).toBe('identity_conflict');
});

test('a disabled user is 403, linked or not; a deleted user has to register again, and becomes a new user', async () => {
  const { db, enter, now } = await door();
  const id = await register(db);
  await updateUser(db, id, { status: 'disabled' }, now());
  expect(await reasonOf(enter())).toBe('user_disabled');
  await updateUser(db, id, { status: 'pending_identity' }, now());
  await enter();
  await updateUser(db, id, { status: 'disabled' }, now());
  expect(await reasonOf(enter())).toBe('user_disabled');
  await deleteIdentitiesOfUser(db, id);
  await eraseUser(db, id, now());
  expect(await reasonOf(enter())).toBe('registration_required');
  const again = await register(db);
  expect(again).not.toBe(id);
  expect(await enter()).toMatchObject({ id: again });
});

test('grants come from memberships; a platform administrator has every scope without memberships', async () => {
  const { db, enter, now } = await door();
  const id = await register(db);
  await ensurePlace(db, { tenantId: 'acme', subTenantId: 'east' }, now());
  await insertMembership(
    db,
    { tenantId: 'acme', subTenantId: 'east' },
    { userId: id, email: EMAIL, role: 'owner', acceptedAt: now().toISOString() },
    now(),
  );
  const member = await enter();
  expect(member.grants).toEqual([{ tenantId: 'acme', subTenantId: 'east', scopes: ['*'] }]);
  expect(reachOf(member, 'users:write')).toEqual([{ tenantId: 'acme', subTenantId: 'east' }]);

  await register(db, { email: 'root@example.com', platformAdministrator: true });
  const root = await enter({ sub: 'root', email: 'root@example.com', email_verified: true });
  expect([root.platformScopes, root.grants, reachOf(root, 'users:write')]).toEqual([['*'], [], EVERYWHERE]);
});

test('the time of the last sign-in is stored at most once a minute, and a failure to store it refuses no request', async () => {
  const { db, enter, now, pass } = await door();
  const id = await register(db);
  await enter();
  pass(MINUTE - 1);
  await enter();
  expect(await userOf(db, id)).toMatchObject({ lastSeenAt: new Date(START).toISOString() });
  pass(1);
  await enter();
  expect(await userOf(db, id)).toMatchObject({ lastSeenAt: now().toISOString() });

  pass(MINUTE);
  await refuseUpdates(db);
  expect(await enter()).toMatchObject({ id });
});

/** Makes the database refuse changes of users with an error that is not a time-out. */
async function refuseUpdates(db: Database): Promise<void> {
  if (onPostgres()) {
    await sql`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'no writes'; end $$`.execute(db);
    await sql`create trigger no_writes before update on users execute function refuse()`.execute(db);
    return;
  }
  await sql`create trigger no_writes before update on users begin select raise(fail, 'no writes'); end`.execute(db);
}

test('without an issuer no token is accepted', async () => {
  const { db, issuer, now } = await door();
  const services = { db, log: pino({ level: 'silent' }), now, secrets, tokens: null, administrators: null };
  expect(await reasonOf(principalOfToken(services, await issuer.sign()))).toBe('credentials_invalid');
  expect(await findAccountByEmail(db, EMAIL)).toBeUndefined();
});
