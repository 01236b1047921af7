import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, memberWithToken, type Person, registeredUser, unique } from '../support/people.ts';
import type { Answered, Body, TestServer } from '../support/server.ts';
import { checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({});
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/onboarding/organization';

function ask({ token }: Pick<Person, 'token'>, organization: object = {}, more: object = {}): Promise<Answered> {
  const body = { organization: { displayName: 'Ours', ...organization }, ...more };
  return server.call('POST', PATH, { as: { token }, body });
}

async function made(person: Person, organization: object = {}, more: object = {}): Promise<Body> {
  const answered = await ask(person, organization, more);
  expect(answered.status, answered.text).toBe(200);
  return answered.body;
}

test('regression: a founder who erases themselves and registers again gets no other organization', async () => {
  const founder = await registeredUser(server);
  const { tenant } = await made(founder);
  const again = await erasedAndBack(server, founder, tenant.id);
  expectProblem(await ask(again), 409, 'organization_exists');
  // A user who created none before the erasure can create one.
  const other = await registeredUser(server);
  const tenantId = (await accountWithKey(server, { tenantId: unique('tenant') })).place.tenantId;
  const { tenant: first } = await made(await erasedAndBack(server, other, tenantId));
  expect(first.id).toMatch(/^ten_/);
});

test('regression: the limit of attempts counts on for a user who erases themselves and registers again', async () => {
  const limited = await server.startSibling({ QM_RATE_LIMITS: 'on' });
  // All attempts are in the same minute.
  limited.freeze();
  const attempt = ({ token }: Person) =>
    limited.call('POST', PATH, { as: { token }, body: { organization: { displayName: 'Ours' } } });
  const founder = await registeredUser(limited);
  const { tenant } = (await attempt(founder)).body;
  for (let count = 1; count < 10; count += 1) expectProblem(await attempt(founder), 409, 'organization_exists');
  expectProblem(await attempt(await erasedAndBack(limited, founder, tenant.id)), 429, 'rate_limited');
});

/** Hands the tenant to a colleague, erases the user, registers and signs them in again with the same identity. */
async function erasedAndBack(on: TestServer, founder: Person, tenantId: string): Promise<Person> {
  await memberWithToken(on, { tenantId }, 'owner');
  await on.ok('DELETE', `/v1/users/${founder.id}`, { as: founder });
  await on.ok('POST', '/v1/onboarding/register', { body: { user: { email: founder.email } } });
  const { token } = await on.tokenOf(founder.email);
  const { id } = await on.ok('PUT', '/v1/me/profile', { as: { token }, body: { terms: { accepted: true } } });
  expect(id).not.toBe(founder.id);
  return { id, email: founder.email, token };
}
