import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { newBrowser } from '../support/browser.ts';
import { signingKey } from '../support/oidc-issuer.ts';
import { type Company, EMAIL, signInAt, startCompany } from './company-issuer.ts';

let company: Company;
beforeEach(async () => {
  company = await startCompany();
  onTestFinished(() => company.server.stop());
});

describe('an invalid answer of the identity provider is refused:', () => {
  test.each([
    ['another nonce', { nonce: 'another' }],
    ['another audience', { aud: 'another' }],
    ['another issuer', { iss: 'https://id.example.com' }],
    [
      'regression: a token from the future',
      { iat: Math.floor(Date.now() / 1000) + 5000, exp: Math.floor(Date.now() / 1000) + 6000 },
    ],
    ['an expired token', { iat: 1_700_000_000, exp: 1_700_000_300 }],
    ['regression: an empty subject', { sub: '' }],
    ['regression: a subject of more than 255 characters', { sub: 'a'.repeat(256) }],
    ['regression: a subject with a NUL', { sub: 'ada\u0000' }],
    ['regression: a subject with a lone surrogate', { sub: 'ada\ud800' }],
  ])('%s', async (_, values) => {
    company.claims = values;
    const browser = newBrowser(company.server);
    const { page } = await signInAt(company, browser);
    expect([page.status, page.text]).toEqual([401, expect.stringContaining('did not complete the sign-in')]);
    expect(browser.cookies.size).toBe(0);
  });

  test('an unverified email', async () => {
    company.claims = { email_verified: false };
    const { page } = await signInAt(company, newBrowser(company.server));
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('email_unverified')]);
  });

  test('an email whose flag belongs to another email, which the userinfo endpoint has', async () => {
    company.claims = { email_verified: undefined };
    company.issuer.answers['/userinfo'] = () => ({
      body: { sub: 'ada', email: 'mallory@example.com', email_verified: true },
    });
    const { page } = await signInAt(company, newBrowser(company.server));
    // Mallory's email is verified, but not registered. Ada's email has no verified flag.
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('registration_required')]);
  });

  test('a userinfo answer about another user', async () => {
    company.claims = { email: undefined, email_verified: undefined };
    company.issuer.answers['/userinfo'] = () => ({ body: { sub: 'eve', email: EMAIL, email_verified: true } });
    const { page } = await signInAt(company, newBrowser(company.server));
    expect(page.status).toBeGreaterThanOrEqual(400);
  });
});

test('regression: an ID token that names an unknown key is refused, not answered as an unreachable provider', async () => {
  const { page } = await signInAt(company, newBrowser(company.server), await signingKey('unknown'));
  expect([page.status, page.text]).toEqual([401, expect.stringContaining('did not complete the sign-in')]);
});

test('regression: a callback with an ID token of the implicit flow is refused', async () => {
  const browser = newBrowser(company.server);
  const start = await browser.send('GET', '/console/sign-in');
  const state = new URL(start.headers.get('location') ?? '').searchParams.get('state') ?? '';
  const page = await browser.open(`/console/callback?code=x&id_token=x&state=${state}`);
  expect([page.status, page.text]).toEqual([401, expect.stringContaining('did not complete the sign-in')]);
});

describe('if the ID token lacks a claim and the userinfo endpoint', () => {
  test.each([
    ['answers 500', { status: 500 }],
    ['answers 429', { status: 429 }],
    ['answers 503 with a challenge', { status: 503, headers: { 'www-authenticate': 'Bearer' } }],
    ['answers half a body', { body: '{"sub":"ada","gro' }],
  ])('%s, the sign-in is 503', async (_, answer) => {
    company.issuer.answers['/userinfo'] = () => answer;
    expect((await signInAt(company, newBrowser(company.server))).page.status).toBe(503);
  });

  test.each([
    ['401', { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }],
    ['403', { status: 403 }],
  ])('refuses with %s, the claims of the ID token count alone', async (_, answer) => {
    company.issuer.answers['/userinfo'] = () => answer;
    const browser = newBrowser(company.server);
    await signInAt(company, browser);
    const { body } = await browser.call('GET', '/v1/me');
    expect(body).toMatchObject({ email: EMAIL, platformAdministrator: false });
  });
});

describe('regression: an answer of more than 512 KiB is not used:', () => {
  const filler = 'x'.repeat(600 * 1024);

  test('the discovery document', async () => {
    const path = '/.well-known/openid-configuration';
    const usual = company.issuer.answers[path];
    company.issuer.answers[path] = (req) => ({ body: { ...(usual?.(req).body as object), filler } });
    expect((await newBrowser(company.server).send('GET', '/console/sign-in')).status).toBe(503);
  });

  test('the key set', async () => {
    company.issuer.answers['/jwks'] = () => ({ body: { keys: company.issuer.keys.map(({ jwk }) => jwk), filler } });
    expect((await signInAt(company, newBrowser(company.server))).page.status).toBe(503);
  });

  test('the claims of the userinfo endpoint', async () => {
    company.issuer.answers['/userinfo'] = () => ({ body: { sub: 'ada', groups: ['administrators'], filler } });
    expect((await signInAt(company, newBrowser(company.server))).page.status).toBe(503);
  });

  test('the ID token', async () => {
    company.claims = { filler };
    expect((await signInAt(company, newBrowser(company.server))).page.status).toBe(503);
  });
});

test('regression: sign-ins ask an identity provider that fails once in five seconds, not each of them', async () => {
  const discovery = company.issuer.answers['/.well-known/openid-configuration'];
  let asked = 0;
  company.issuer.answers['/.well-known/openid-configuration'] = () => {
    asked += 1;
    return { status: 500, body: {} };
  };
  const statuses = async () => {
    const pages = await Promise.all(
      Array.from({ length: 4 }, () => newBrowser(company.server).send('GET', '/console/sign-in')),
    );
    return pages.map(({ status }) => status);
  };
  expect([await statuses(), asked]).toEqual([[503, 503, 503, 503], 1]);
  expect([await statuses(), asked]).toEqual([[503, 503, 503, 503], 1]);
  company.server.travel(5000);
  expect([await statuses(), asked]).toEqual([[503, 503, 503, 503], 2]);
  company.server.travel(5000);
  if (discovery !== undefined) company.issuer.answers['/.well-known/openid-configuration'] = discovery;
  expect(await statuses()).toEqual([303, 303, 303, 303]);
});

test('regression: a clock that is set back does not prolong the pause after a failed discovery', async () => {
  const discovery = company.issuer.answers['/.well-known/openid-configuration'];
  company.server.travel(11 * 60_000);
  company.issuer.answers['/.well-known/openid-configuration'] = () => ({ status: 500, body: {} });
  const status = async () => (await newBrowser(company.server).send('GET', '/console/sign-in')).status;
  expect(await status()).toBe(503);
  if (discovery !== undefined) company.issuer.answers['/.well-known/openid-configuration'] = discovery;
  company.server.travel(-10_000);
  expect(await status()).toBe(303);
});
