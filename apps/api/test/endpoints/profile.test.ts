import { updateMyProfile } from '@quartermaster/contracts/users.ts';
import { beforeAll, expect, test } from 'vitest';
import { acceptPath, accountWithKey, memberWithToken, offerMembership, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import {
  auditOf,
  checkCoverageAfterAll,
  type Endpoints,
  expectInvalid,
  expectProblem,
  expectUpdatesByPresence,
  serverFor,
} from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({ updateMyProfile });
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/me/profile';

/** A user who registered, without any membership. `terms`: what they accept once they are signed in. */
async function registered(terms?: object): Promise<{ token: string }> {
  const email = `${unique('person')}@example.com`;
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
  const as = await server.tokenOf(email);
  if (terms) await server.ok('PUT', PATH, { as, body: { terms } });
  return as;
}

test('a user updates their own profile by presence, without scope and membership', async () => {
  const as = await registered({ accepted: true });
  const { id } = await server.ok('PUT', PATH, { as, body: {} });
  await expectUpdatesByPresence(server, {
    path: PATH,
    as,
    operationId: 'update_my_profile',
    target: id,
    fields: {
      displayName: { set: 'Ada Lovelace', cleared: null },
      locale: { set: 'en-GB', cleared: null },
      timeZone: { set: 'Europe/London', cleared: null },
      metadata: { set: { team: 'a', list: [1] }, cleared: {} },
    },
  });
});

test('a service account updates its own profile by presence, without any scope for it', async () => {
  const account = await accountWithKey(server, { tenantId: 'account-1', subTenantId: 'eu' }, ['traces:write']);
  await expectUpdatesByPresence(server, {
    path: PATH,
    as: { key: account.key },
    operationId: 'update_my_profile',
    target: account.id,
    fields: {
      displayName: { set: 'The agent', cleared: null },
      description: { set: 'Answers mail', cleared: null },
      metadata: { set: { team: 'a' }, cleared: {} },
    },
  });
});

test.for([
  ['token', 'description', ['displayName', 'locale', 'timeZone', 'marketingConsent', 'terms', 'metadata']],
  ['key', 'locale', ['displayName', 'description', 'metadata']],
  ['key', 'terms', ['displayName', 'description', 'metadata']],
] as const)('with a %s the field %s is as unknown as any', async ([kind, field, allowed]) => {
  const as = kind === 'token' ? await registered({ accepted: true }) : server.admin;
  const value = field === 'terms' ? { accepted: true } : 'en';
  const answered = await server.call('PUT', PATH, { as, body: { [field]: value } });
  expectInvalid(answered, { loc: ['body', field], type: 'extra_forbidden' });
  expect(new Set(answered.body.detail[0].ctx.allowed)).toEqual(new Set(allowed));
});

test.for([
  ['locale', 'no such language'],
  ['timeZone', 'Mars/Olympus'],
  ['locale', ''],
] as const)('a %s of %j is refused', async ([field, value]) => {
  const as = await registered({ accepted: true });
  const answered = await server.call('PUT', PATH, { as, body: { [field]: value } });
  expectInvalid(answered, { loc: ['body', field], type: 'value_error' });
});

test('a user cannot set their email, status and memberships', async () => {
  const as = await registered({ accepted: true });
  for (const field of ['email', 'status', 'memberships', 'platformAdministrator', 'id']) {
    const answered = await server.call('PUT', PATH, { as, body: { [field]: 'x' } });
    expectInvalid(answered, { loc: ['body', field], type: 'extra_forbidden' });
  }
});

test('before accepting the terms a user can only accept them, and read and delete their own record', async () => {
  const user = await memberWithToken(server, { tenantId: 'default' }, 'owner');
  const as = await registered();
  const own = await server.ok('PUT', PATH, { as, body: {} });
  expect(own).toMatchObject({ status: 'pending_terms', terms: { accepted: false, acceptedAt: null } });
  expect(await server.ok('GET', `/v1/users/${own.id}`, { as })).toEqual(own);
  await offerMembership(server, own.email, { tenantId: 'default' }, 'owner');
  // The membership is active, as after an acceptance. Without accepted terms it still gives no access.
  const acceptedAt = { accepted_at: own.createdAt };
  await server.services.db.updateTable('memberships').set(acceptedAt).where('user_id', '=', own.id).execute();
  const refused = [
    await server.call('POST', acceptPath({ tenantId: 'default' }), { as }),
    await server.call('POST', '/v1/onboarding/organization', { as, body: { organization: { displayName: 'Ours' } } }),
    await server.call('DELETE', `/v1/tenants/default/memberships/${own.id}`, { as }),
    await server.call('GET', '/v1/providers', { as }),
    await server.call('GET', '/v1/users', { as }),
    await server.call('GET', `/v1/users/${user.id}`, { as }),
    await server.call('DELETE', `/v1/users/${user.id}`, { as }),
    await server.call('POST', '/v1/service-accounts', { as, body: { name: 'x' } }),
    await server.call('PUT', PATH, { as, body: { displayName: 'Me' } }),
    await server.call('PUT', PATH, { as, body: { terms: { accepted: false, termsVersion: '2' } } }),
  ];
  for (const answered of refused) expectProblem(answered, 403, 'terms_required');
  const terms = { termsVersion: '1', privacyVersion: '2', accepted: true };
  const accepted = await server.ok('PUT', PATH, { as, body: { terms, displayName: 'Me' } });
  expect(accepted).toMatchObject({ status: 'active', displayName: 'Me' });
  expect(accepted.terms).toEqual({ ...terms, acceptedAt: accepted.updatedAt });
  await server.ok('GET', '/v1/users', { as });
  const [event] = await auditOf(server, { operation: 'update_my_profile', target_id: own.id });
  expect(event.changedFields).toEqual(['displayName', 'status', 'terms']);
});

test('accepting the same terms changes nothing, another version renews the acceptance, and it cannot be withdrawn', async () => {
  const as = await registered({ accepted: true, termsVersion: '1', privacyVersion: '1' });
  const put = (terms: object): Promise<Body> => server.ok('PUT', PATH, { as, body: { terms } });
  const first = await put({ accepted: true });
  server.travel(1000);
  expect(await put({ accepted: true, termsVersion: '1' })).toEqual(first);
  const renewed = await put({ accepted: true, termsVersion: '2' });
  expect(renewed.terms).toMatchObject({ termsVersion: '2', privacyVersion: '1', accepted: true });
  expect(renewed.terms.acceptedAt > first.terms.acceptedAt).toBe(true);
  for (const terms of [{ accepted: false }, { termsVersion: '3' }]) {
    const answered = await server.call('PUT', PATH, { as, body: { terms } });
    expectInvalid(answered, { loc: ['body', 'terms', 'accepted'], type: 'value_error' });
  }
});

test('marketing consent has the time of its last change, and repeating it changes nothing', async () => {
  const as = await registered({ accepted: true });
  const put = (marketingConsent: object): Promise<Body> => server.ok('PUT', PATH, { as, body: { marketingConsent } });
  const given = await put({ optedIn: true, consentVersion: '1' });
  expect(given.marketingConsent).toEqual({ optedIn: true, consentVersion: '1', changedAt: given.updatedAt });
  server.travel(1000);
  expect(await put({ optedIn: true })).toEqual(given);
  const taken = await put({ optedIn: false });
  expect(taken.marketingConsent).toEqual({ optedIn: false, consentVersion: '1', changedAt: taken.updatedAt });
  expect(taken.marketingConsent.changedAt > given.marketingConsent.changedAt).toBe(true);
  expect((await put({ optedIn: false, consentVersion: null })).marketingConsent.consentVersion).toBeNull();
});

test('regression: marketing consent is not withdrawn by a request that does not say so', async () => {
  const as = await registered({ accepted: true });
  const put = (marketingConsent: object) => server.ok('PUT', PATH, { as, body: { marketingConsent } });
  const given = await put({ optedIn: true, consentVersion: '1' });
  expect(await put({})).toEqual(given);
  expect((await put({ consentVersion: '2' })).marketingConsent).toMatchObject({ optedIn: true, consentVersion: '2' });
});

test('without credentials there is no profile', async () => {
  expectProblem(await server.call('PUT', PATH, { body: {} }), 401, 'credentials_missing');
});
