import { registerUser } from '@quartermaster/contracts/onboarding.ts';
import { beforeAll, expect, test } from 'vitest';
import { removeUnclaimedUsers } from '../../src/resources/onboarding/service.ts';
import { accountWithKey, unique } from '../support/people.ts';
import type { Answered, Body } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';

const DAY = 24 * 3_600_000;

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({ registerUser });
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/onboarding/register';
const newEmail = () => `${unique('new')}@example.com`;

function register(body: unknown): Promise<Answered> {
  return server.call('POST', PATH, { body });
}

/** The user of an email, as a platform administrator sees them. */
async function userOf(email: string): Promise<Body> {
  return (await server.ok('GET', `/v1/users?email=${encodeURIComponent(email)}`, { as: server.admin })).items[0];
}

test('register_user creates a user without memberships, and says what the user still has to do', async () => {
  const email = newEmail();
  const { body } = await register({
    user: {
      email,
      displayName: 'New',
      terms: { termsVersion: '1', privacyVersion: '2', accepted: true },
      marketingConsent: { optedIn: true, consentVersion: '3' },
    },
    source: 'saas_registration',
    metadata: { campaign: { name: 'spring' } },
  });
  const { receivedAt } = body.registration;
  expect(body).toEqual({
    user: { id: expect.stringMatching(/^usr_/), email, displayName: 'New' },
    registration: { status: 'pending_identity', receivedAt },
    signIn: { issuer: server.trustedIssuer.issuer },
  });
  expect(await userOf(email)).toMatchObject({
    id: body.user.id,
    email,
    displayName: 'New',
    status: 'pending_identity',
    memberships: [],
    lastSeenAt: null,
    terms: { termsVersion: '1', privacyVersion: '2', accepted: false, acceptedAt: null },
    marketingConsent: { optedIn: false, consentVersion: '3', changedAt: null },
    source: 'saas_registration',
    metadata: { campaign: { name: 'spring' } },
    createdAt: receivedAt,
  });
  const [event, ...others] = await auditOf(server, { target_id: body.user.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ operation: 'register_user', actor: { type: 'anonymous', id: null }, scheme: null });
  expect(JSON.stringify(event)).not.toContain(email);
});

test('regression: the owner of an email has to accept the terms, even if a registration claimed so', async () => {
  const email = newEmail();
  const terms = { termsVersion: '1', privacyVersion: '2', accepted: true };
  const claimed = {
    displayName: 'Chosen by a stranger',
    terms,
    marketingConsent: { optedIn: true, consentVersion: '3' },
  };
  const { body } = await register({ user: { email, ...claimed }, source: 'web', metadata: { plan: 'large' } });
  expect(body.registration.status).toBe('pending_identity');

  const as = await server.tokenOf(email);
  const user = await server.ok('PUT', '/v1/me/profile', { as, body: {} });
  expect(user).toMatchObject({
    id: body.user.id,
    status: 'pending_terms',
    displayName: null,
    metadata: {},
    source: 'web',
    terms: { termsVersion: null, privacyVersion: null, accepted: false, acceptedAt: null },
    marketingConsent: { optedIn: false, consentVersion: null, changedAt: null },
  });
  expect(await userOf(email)).toEqual(user);
  const [event] = await auditOf(server, { operation: 'link_identity', target_id: user.id });
  const cleared = ['displayName', 'marketingConsent', 'metadata', 'terms'];
  expect(event.changedFields).toEqual(['identity', 'status', ...cleared].toSorted());
  expectProblem(await server.call('GET', '/v1/providers', { as }), 403, 'terms_required');

  server.travel(60_000);
  const before = new Date(server.services.now()).toISOString();
  const own = { displayName: 'Ada', terms, marketingConsent: claimed.marketingConsent };
  const confirmed = await server.ok('PUT', '/v1/me/profile', { as, body: own });
  expect(confirmed).toMatchObject({ status: 'active', ...own });
  expect(confirmed.terms.acceptedAt >= before).toBe(true);
  expect(confirmed.marketingConsent.changedAt).toBe(confirmed.terms.acceptedAt);
  expect(await server.ok('PUT', '/v1/me/profile', { as: await server.tokenOf(email), body: {} })).toEqual(confirmed);
});

test('regression: an invited member has to accept the terms, even if an earlier registration claimed so', async () => {
  const email = newEmail();
  const { tenantId } = (await accountWithKey(server, { tenantId: unique('invited') })).place;
  await register({ user: { email, displayName: 'Stranger', terms: { accepted: true } }, metadata: { a: 1 } });
  const body = { email, role: 'viewer' };
  await server.ok('POST', `/v1/tenants/${tenantId}/memberships`, { as: server.admin, body });
  const as = await server.tokenOf(email);
  expectProblem(await server.call('POST', `/v1/me/memberships/${tenantId}/accept`, { as }), 403, 'terms_required');
  await server.ok('PUT', '/v1/me/profile', { as, body: { terms: { accepted: true } } });
  await server.ok('POST', `/v1/me/memberships/${tenantId}/accept`, { as });
  const seen = await server.ok('GET', `/v1/users?tenant_id=${tenantId}`, { as: server.admin });
  expect(seen.items).toMatchObject([{ email, displayName: null, metadata: {} }]);
});

test('regression: a user whom a stranger registered can delete the account without accepting the terms', async () => {
  const email = newEmail();
  await register({ user: { email, terms: { accepted: true } } });
  const as = await server.tokenOf(email);
  const { id } = await server.ok('PUT', '/v1/me/profile', { as, body: {} });
  const [other] = (await server.ok('GET', '/v1/users?email=admin@example.com', { as: server.admin })).items;
  expect((await server.call('DELETE', `/v1/users/${other.id}`, { as })).status).toBe(403);
  expect(await server.ok('DELETE', `/v1/users/${id}`, { as })).toMatchObject({ status: 'deleted', email: null });
  expectProblem(await server.call('PUT', '/v1/me/profile', { as, body: {} }), 403, 'registration_required');
  expect(await userOf(email)).toBeUndefined();
});

test('only the email is required; terms that are not mentioned are not accepted', async () => {
  const email = newEmail();
  const { body } = await register({ user: { email } });
  expect(body.registration.status).toBe('pending_terms');
  expect(await userOf(email)).toMatchObject({
    status: 'pending_terms',
    displayName: null,
    source: null,
    metadata: {},
    terms: { termsVersion: null, privacyVersion: null, accepted: false, acceptedAt: null },
    marketingConsent: { optedIn: false, consentVersion: null, changedAt: null },
  });
  expectInvalid(await register({}), { loc: ['body', 'user'], type: 'missing' });
  expectInvalid(await register({ user: {} }), { loc: ['body', 'user', 'email'], type: 'missing' });
  expectInvalid(await register({ user: { email: 'nobody' } }), { loc: ['body', 'user', 'email'], type: 'value_error' });
  const nulls = { displayName: null, terms: null, marketingConsent: null };
  expect((await register({ user: { email: newEmail(), ...nulls }, source: null, metadata: null })).status).toBe(200);
});

test.each([
  'ada@xn--e1afmkfd.xn--p1ai',
  'ada@例え.テスト',
  'ada@bücher.example',
  'r#d@example.com',
  'a&b@example.com',
  'sales/eu@example.com',
  "o'hara@example.com",
])('regression: an email in a form that RFC 5322 permits is registered: %s', async (email) => {
  expect((await register({ user: { email } })).status).toBe(200);
  expect(await userOf(email)).toMatchObject({ email });
});

test.each([
  'a@b',
  'a b@example.com',
  '.a@example.com',
  'a..b@example.com',
  'a@-b.com',
  'a@example.com.',
  'a@example.1',
  'a@例え',
  'a@１２.３',
  'a@例え。テスト/',
  'a@exam\u200bple.com',
  'a@exam\u202eple.テスト',
  'ä@example.com',
])('an invalid email is 422: %s', async (email) => {
  expectInvalid(await register({ user: { email } }), { loc: ['body', 'user', 'email'], type: 'value_error' });
});

test('source is any text of up to 64 characters', async () => {
  const { status } = await register({ user: { email: newEmail() }, source: 'é'.repeat(64) });
  expect(status).toBe(200);
  const longer = await register({ user: { email: newEmail() }, source: 'x'.repeat(65) });
  expectInvalid(longer, { loc: ['body', 'source'], type: 'string_too_long' });
});

test('a known email gets the same answer as a new one, ignoring case, and its record stays unchanged', async () => {
  const email = newEmail();
  await register({ user: { email, displayName: 'First', terms: { accepted: true } } });
  const before = await userOf(email);
  const again = (address: string) => register({ user: { email: address, displayName: 'Second' }, source: 'other' });
  const known = await again(email.toUpperCase());
  const fresh = await again(newEmail());
  expect(known.status).toBe(200);
  const shape = ({ body, headers }: Answered) => ({
    ...body,
    user: { ...body.user, id: body.user.id.replace(/_.*/, ''), email: '' },
    registration: { ...body.registration, receivedAt: body.registration.receivedAt.length },
    headers: [...headers.keys()].toSorted(),
  });
  expect(shape(known)).toEqual(shape(fresh));
  expect(known.body.user.email).toBe(email.toUpperCase());
  expect(known.body.user.id).not.toBe(before.id);
  expect((await again(email)).body.user.id).not.toBe(known.body.user.id);
  expect(await userOf(email)).toEqual(before);
  expect(await auditOf(server, { target_id: before.id })).toHaveLength(1);
});

const SECRET = 'correct horse battery staple';

test.for([
  [['body', 'password'], { password: SECRET }, 'extra_forbidden'],
  [['body', 'user', 'password'], { user: { password: SECRET } }, 'extra_forbidden'],
  [['body', 'user', 'passwd'], { user: { passwd: { value: SECRET } } }, 'extra_forbidden'],
  [['body', 'credentials'], { credentials: [SECRET] }, 'extra_forbidden'],
  [['body', 'metadata'], { metadata: { password: SECRET } }, 'value_error'],
  [['body', 'metadata'], { metadata: { deep: [{ userPassphrase: SECRET }] } }, 'value_error'],
  [['body', 'metadata'], { metadata: { PWD: SECRET } }, 'value_error'],
] as const)('a password at %j is refused and never echoed', async ([loc, sent, type]) => {
  const email = newEmail();
  const { user = {}, ...rest } = sent as Record<string, object>;
  const answered = await register({ user: { email, ...user }, ...rest });
  expectInvalid(answered, { loc: [...loc], type });
  expect(answered.text).not.toContain(SECRET);
  expect(await userOf(email)).toBeUndefined();
});

test('a password is not repeated in the error about another field', async () => {
  const answered = await register({ user: { password: SECRET, displayName: 'No email' } });
  expectInvalid(
    answered,
    { loc: ['body', 'user', 'email'], type: 'missing' },
    { loc: ['body', 'user', 'password'], type: 'extra_forbidden' },
  );
  expect(answered.text).not.toContain(SECRET);
});

test('registration needs no credentials, and ignores them', async () => {
  const broken: Record<string, string>[] = [{ 'x-api-key': 'qm_broken' }, { authorization: 'Bearer broken' }];
  for (const headers of broken) {
    const body = { user: { email: newEmail() } };
    expect((await server.call('POST', PATH, { body, headers })).status).toBe(200);
  }
});

test('a user who never signs in is removed after 30 days, unless they were invited', async () => {
  const [gone, seen, invited] = [newEmail(), newEmail(), newEmail()];
  for (const email of [gone, seen]) await register({ user: { email, terms: { accepted: true } } });
  await server.ok('PUT', '/v1/me/profile', { as: await server.tokenOf(seen), body: {} });
  await accountWithKey(server, { tenantId: 'removal-1' });
  const membership = { email: invited, role: 'viewer' };
  await server.ok('POST', '/v1/tenants/removal-1/memberships', { as: server.admin, body: membership });
  const { id } = await userOf(gone);
  const present = () => Promise.all([gone, seen, invited].map(async (email) => (await userOf(email)) !== undefined));
  server.travel(30 * DAY - 60_000);
  await removeUnclaimedUsers(server.services);
  expect(await present()).toEqual([true, true, true]);
  server.travel(120_000);
  await removeUnclaimedUsers(server.services);
  expect(await present()).toEqual([false, true, true]);
  expectProblem(await server.call('GET', `/v1/users/${id}`, { as: server.admin }), 404, 'user_not_found');
  const [event] = await auditOf(server, { operation: 'remove_unclaimed_user', target_id: id });
  expect(event).toMatchObject({ actor: { type: 'system', id: null }, outcome: 'success', scheme: null });
  expect((await register({ user: { email: gone } })).body.user.id).not.toBe(id);
});

test('an address that registers too often gets 429 with Retry-After', async () => {
  const limited = await server.startSibling({ QM_RATE_LIMITS: 'on' });
  // All within one minute.
  limited.freeze();
  const statuses: number[] = [];
  for (let count = 0; count < 12; count += 1) {
    const answered = await limited.call('POST', PATH, { body: { user: { email: newEmail() } } });
    statuses.push(answered.status);
    if (answered.status === 200) continue;
    expectProblem(answered, 429, 'rate_limited');
    expect(Number(answered.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
});
