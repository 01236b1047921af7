import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { newBrowser } from '../support/browser.ts';
import { startTestServer } from '../support/server.ts';
import { CLIENT, type Company, EMAIL, signInAt, startCompany } from './company-issuer.ts';

let company: Company;
beforeEach(async () => {
  company = await startCompany();
  onTestFinished(() => company.server.stop());
});

describe('with a confidential client', () => {
  test('the browser is redirected there with PKCE, and the code is exchanged with the secret', async () => {
    const browser = newBrowser(company.server);
    const { authorizationRequest, page } = await signInAt(company, browser);
    expect(Object.fromEntries(authorizationRequest)).toMatchObject({
      client_id: CLIENT.id,
      response_type: 'code',
      scope: 'openid email profile',
      redirect_uri: `${company.server.url}/console/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(page.url).toBe(`${company.server.url}/console/`);
    const [, secret] = Buffer.from(company.authorizations[0]?.replace('Basic ', '') ?? '', 'base64')
      .toString()
      .split(':');
    expect(decodeURIComponent((secret ?? '').replaceAll('+', ' '))).toBe(CLIENT.secret);
    const { body } = await browser.call('GET', '/v1/me');
    expect(body).toMatchObject({ email: EMAIL, platformAdministrator: false });
  });

  test('the sign-out redirects to the identity provider, with the ID token', async () => {
    const browser = newBrowser(company.server);
    const { idToken } = await signInAt(company, browser);
    const { body } = await browser.call('POST', '/console/sign-out');
    const location = new URL(String(body['location']));
    expect(location.href.startsWith(`${company.issuer.url}/logout?`)).toBe(true);
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      id_token_hint: idToken,
      post_logout_redirect_uri: `${company.server.url}/console/signed-out`,
    });
  });

  test('the ID token is not readable in the database', async () => {
    const { idToken } = await signInAt(company, newBrowser(company.server));
    const rows = await company.server.services.db.selectFrom('console_sessions').selectAll().execute();
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(idToken.split('.')[1]);
  });
});

describe('a platform administrator by claim', () => {
  const browserWith = async (values: Record<string, unknown>) => {
    company.claims = values;
    const browser = newBrowser(company.server);
    await signInAt(company, browser);
    return browser.call('GET', '/v1/me');
  };

  test.each([
    ['a list with the value', ['staff', 'administrators'], true],
    ['the value', 'administrators', true],
    ['a list without it', ['staff'], false],
    ['a text that contains it', 'administrators staff', false],
    ['nothing', undefined, false],
  ])('is who has %s', async (_, groups, expected) => {
    const { body } = await browserWith({ groups });
    // Terms are not accepted yet, so the rights are not listed.
    expect(body).toMatchObject({ platformAdministrator: expected, termsAccepted: false });
  });

  test('keeps the right until the session ends, and not in a later session without the claim', async () => {
    await browserWith({ groups: ['administrators'] });
    expect((await browserWith({})).body).toMatchObject({ platformAdministrator: false });
  });

  test.each([
    ['without the claim', {}],
    ['with another value of the claim', { QM_OIDC_ADMIN_CLAIM: 'groups', QM_OIDC_ADMIN_VALUE: 'others' }],
  ])('loses the right after a restart %s', async (_, environment) => {
    company.claims = { groups: ['administrators'] };
    const browser = newBrowser(company.server);
    await signInAt(company, browser);
    const restarted = await startTestServer({
      DATABASE_URL: company.server.databaseUrl,
      QM_DEV_IDENTITY: '0',
      QM_PUBLIC_URL: company.server.url,
      QM_OIDC_ISSUER: company.issuer.url,
      QM_OIDC_CLIENT_ID: CLIENT.id,
      ...environment,
    });
    const { body } = await browser.call('GET', `${restarted.url}/v1/me`);
    await restarted.end();
    expect(body).toMatchObject({ email: EMAIL, platformAdministrator: false });
  });

  test('is recognized by the userinfo endpoint if the ID token lacks the claim', async () => {
    company.issuer.answers['/userinfo'] = () => ({ body: { sub: 'ada', groups: ['administrators'] } });
    expect((await browserWith({})).body).toMatchObject({ platformAdministrator: true });
  });

  test('is recognized by the claim in a bearer token', async () => {
    const token = await company.issuer.sign({
      sub: 'ada',
      email: EMAIL,
      email_verified: true,
      groups: ['administrators'],
    });
    const me = await company.server.ok('GET', '/v1/me', { as: { token } });
    expect(me).toMatchObject({ platformAdministrator: true, authentication: { scheme: 'bearer' } });
  });
});

test('while the identity provider is unreachable, sign-in answers a page with 503', async () => {
  await company.issuer.close();
  const page = await newBrowser(company.server).open('/console/sign-in');
  expect([page.status, page.text]).toEqual([503, expect.stringContaining('identity_provider_unavailable')]);
});
