import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Browser, newBrowser } from '../support/browser.ts';
import { startIssuer, type TestIssuer } from '../support/oidc-issuer.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/*
 * An identity provider as companies run it: the console is a confidential client, groups are in a claim, and sign-out has an
 * endpoint.
 */
const CLIENT = { id: 'console', secret: 'a secret/with+signs' };
const EMAIL = 'ada@example.com';

let issuer: TestIssuer;
let server: TestServer;
/** Claims that the token endpoint adds to the ID token, or that replace the usual ones. */
let claims: Record<string, unknown>;
let nonce: string;
/** The Authorization headers that the token endpoint got. */
let authorizations: (string | undefined)[];

beforeEach(async () => {
  claims = {};
  authorizations = [];
  issuer = await startIssuer(() => new Date());
  issuer.answers['/.well-known/openid-configuration'] = () => ({
    body: {
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/jwks`,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      userinfo_endpoint: `${issuer.url}/userinfo`,
      end_session_endpoint: `${issuer.url}/logout`,
      id_token_signing_alg_values_supported: ['ES256'],
    },
  });
  server = await startTestServer({
    QM_DEV_IDENTITY: '0',
    QM_OIDC_ISSUER: issuer.url,
    QM_OIDC_CLIENT_ID: CLIENT.id,
    QM_OIDC_CLIENT_SECRET: CLIENT.secret,
    QM_OIDC_ADMIN_CLAIM: 'groups',
    QM_OIDC_ADMIN_VALUE: 'administrators',
  });
  onTestFinished(() => server.stop());
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email: EMAIL } } });
});

/** Follows the redirects to the identity provider and back, as a user who signs in there. */
async function signIn(browser: Browser, key?: Parameters<TestIssuer['sign']>[2]) {
  const start = await browser.send('GET', '/console/sign-in');
  const authorizationRequest = new URL(start.headers.get('location') ?? '').searchParams;
  nonce = authorizationRequest.get('nonce') ?? '';
  const idToken = await issuer.sign(
    { aud: CLIENT.id, sub: 'ada', nonce, email: EMAIL, email_verified: true, ...claims },
    { typ: 'JWT' },
    key,
  );
  issuer.answers['/token'] = (req) => {
    authorizations.push(req.headers.authorization);
    return { body: { access_token: 'opaque', token_type: 'Bearer', expires_in: 300, id_token: idToken } };
  };
  const query = new URLSearchParams({ code: randomUUID(), state: authorizationRequest.get('state') ?? '' });
  return { authorizationRequest, idToken, page: await browser.open(`/console/callback?${query.toString()}`) };
}

describe('with a confidential client', () => {
  test('the browser is redirected there with PKCE, and the code is exchanged with the secret', async () => {
    const browser = newBrowser(server);
    const { authorizationRequest, page } = await signIn(browser);
    expect(Object.fromEntries(authorizationRequest)).toMatchObject({
      client_id: CLIENT.id,
      response_type: 'code',
      scope: 'openid email profile',
      redirect_uri: `${server.url}/console/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(page.url).toBe(`${server.url}/console/`);
    const [, secret] = Buffer.from(authorizations[0]?.replace('Basic ', '') ?? '', 'base64')
      .toString()
      .split(':');
    expect(decodeURIComponent((secret ?? '').replaceAll('+', ' '))).toBe(CLIENT.secret);
    const { body } = await browser.call('GET', '/v1/me');
    expect(body).toMatchObject({ email: EMAIL, platformAdministrator: false });
  });

  test('the sign-out redirects to the identity provider, with the ID token', async () => {
    const browser = newBrowser(server);
    const { idToken } = await signIn(browser);
    const { body } = await browser.call('POST', '/console/sign-out');
    const location = new URL(String(body['location']));
    expect(location.href.startsWith(`${issuer.url}/logout?`)).toBe(true);
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      id_token_hint: idToken,
      post_logout_redirect_uri: `${server.url}/console/signed-out`,
    });
  });

  test('the ID token is not readable in the database', async () => {
    const { idToken } = await signIn(newBrowser(server));
    const rows = await server.services.db.selectFrom('console_sessions').selectAll().execute();
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(idToken.split('.')[1]);
  });
});

describe('a platform administrator by claim', () => {
  const browserWith = async (values: Record<string, unknown>) => {
    claims = values;
    const browser = newBrowser(server);
    await signIn(browser);
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
    claims = { groups: ['administrators'] };
    const browser = newBrowser(server);
    await signIn(browser);
    const restarted = await startTestServer({
      DATABASE_URL: server.databaseUrl,
      QM_DEV_IDENTITY: '0',
      QM_PUBLIC_URL: server.url,
      QM_OIDC_ISSUER: issuer.url,
      QM_OIDC_CLIENT_ID: CLIENT.id,
      ...environment,
    });
    const { body } = await browser.call('GET', `${restarted.url}/v1/me`);
    await restarted.end();
    expect(body).toMatchObject({ email: EMAIL, platformAdministrator: false });
  });

  test('is recognized by the userinfo endpoint if the ID token lacks the claim', async () => {
    issuer.answers['/userinfo'] = () => ({ body: { sub: 'ada', groups: ['administrators'] } });
    expect((await browserWith({})).body).toMatchObject({ platformAdministrator: true });
  });

  test('is recognized by the claim in a bearer token', async () => {
    const token = await issuer.sign({ sub: 'ada', email: EMAIL, email_verified: true, groups: ['administrators'] });
    const me = await server.ok('GET', '/v1/me', { as: { token } });
    expect(me).toMatchObject({ platformAdministrator: true, authentication: { scheme: 'bearer' } });
  });
});

test('while the identity provider is unreachable, sign-in answers a page with 503', async () => {
  await issuer.close();
  const page = await newBrowser(server).open('/console/sign-in');
  expect([page.status, page.text]).toEqual([503, expect.stringContaining('identity_provider_unavailable')]);
});
