import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { newBrowser } from '../support/browser.ts';
import { signingKey, startIssuer } from '../support/oidc-issuer.ts';
import { startTestServer } from '../support/server.ts';

/*
 * Sign-in and bearer tokens with claims in the shape of each identity provider that docs/authentication.md has a recipe for. The
 * issuer is the one of the tests, at a path like that of the vendor. No request goes to a vendor.
 */
const CLIENT_ID = '6731de76-14a6-49ae-97bc-6eba6914391e';
const EMAIL = 'ada@example.com';

type Claims = Record<string, unknown>;
type Shape = {
  /** The path of the issuer, and whether its name ends with a slash. */
  path: string;
  environment: Record<string, string>;
  idClaims: Claims;
  /** Null: access tokens are opaque. */
  access: { header: Claims; claims: Claims } | null;
  /** The claims of the userinfo endpoint. Null: it refuses the token. */
  userinfo: Claims | null;
  /** Whether the keys of the vendor name no algorithm. */
  keysWithoutAlg?: boolean;
};

const ENTRA_TENANT = 'aaaabbbb-0000-cccc-1111-dddd2222eeee';
const ENTRA = { oid: randomUUID(), sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', tid: ENTRA_TENANT, ver: '2.0' };

const SHAPES: Record<string, Shape> = {
  // One application for the console and the API: the sub of Entra differs for each application.
  'Microsoft Entra ID': {
    path: `/${ENTRA_TENANT}/v2.0`,
    environment: { QM_OIDC_AUDIENCE: CLIENT_ID, QM_OIDC_TOKEN_TYPES: 'JWT', QM_OIDC_TRUST_EMAILS: '1' },
    idClaims: { ...ENTRA, email: EMAIL, name: 'Ada', preferred_username: EMAIL, rh: '0.A', uti: 'u' },
    access: {
      header: { typ: 'JWT' },
      claims: { ...ENTRA, aud: CLIENT_ID, azp: CLIENT_ID, azpacr: '1', email: EMAIL, scp: 'access' },
    },
    userinfo: null,
    keysWithoutAlg: true,
  },
  Okta: {
    path: '/oauth2/default',
    environment: { QM_OIDC_AUDIENCE: 'api://default', QM_OIDC_TOKEN_TYPES: 'none' },
    // An ID token that comes with an access token leaves out the claims of the scope email.
    idClaims: { sub: '00uid4BxXw6I6TV4m0g3', ver: 1, amr: ['pwd'], idp: '00o1', preferred_username: EMAIL },
    access: {
      header: { typ: undefined },
      claims: {
        sub: '00uid4BxXw6I6TV4m0g3',
        aud: 'api://default',
        cid: CLIENT_ID,
        uid: '00uid4BxXw6I6TV4m0g3',
        scp: ['openid', 'email'],
      },
    },
    userinfo: { sub: '00uid4BxXw6I6TV4m0g3', email: EMAIL, email_verified: true },
  },
  Keycloak: {
    path: '/realms/acme',
    environment: { QM_OIDC_TOKEN_TYPES: 'JWT' },
    idClaims: { sub: randomUUID(), typ: 'ID', azp: CLIENT_ID, sid: 's', acr: '1', email: EMAIL, email_verified: true },
    access: {
      header: { typ: 'JWT' },
      claims: {
        typ: 'Bearer',
        aud: ['quartermaster', 'account'],
        azp: CLIENT_ID,
        scope: 'openid email',
        email: EMAIL,
        email_verified: true,
      },
    },
    userinfo: null,
  },
  Google: {
    path: '',
    environment: {},
    idClaims: {
      sub: '110169484474386276334',
      azp: CLIENT_ID,
      hd: 'example.com',
      at_hash: 'h',
      email: EMAIL,
      email_verified: true,
    },
    access: null,
    userinfo: null,
  },
  Auth0: {
    path: '/',
    environment: { QM_OIDC_AUDIENCE: 'https://quartermaster.example.com', QM_OIDC_TOKEN_TYPES: 'at+jwt, JWT' },
    idClaims: { sub: 'auth0|507f1f77bcf86cd799439011', sid: 's', nickname: 'ada', email: EMAIL, email_verified: true },
    access: {
      header: { typ: 'JWT' },
      claims: {
        aud: ['https://quartermaster.example.com', 'https://acme.auth0.com/userinfo'],
        azp: CLIENT_ID,
        scope: 'openid email',
        gty: 'password',
      },
    },
    userinfo: { sub: 'auth0|507f1f77bcf86cd799439011', email: EMAIL, email_verified: true },
  },
};

/** A service whose issuer has this shape, and what a person does there. */
async function start({ path, environment, userinfo, keysWithoutAlg = false }: Shape) {
  const issuer = await startIssuer(() => new Date(), await signingKey('rsa', 'RS256'));
  const name = issuer.url + path;
  const base = name.replace(/\/$/, '').slice(issuer.url.length);
  const at = (end: string) => `${issuer.url}${base}${end}`;
  issuer.answers[`${base}/.well-known/openid-configuration`] = () => ({
    body: {
      issuer: name,
      jwks_uri: `${issuer.url}/keys`,
      authorization_endpoint: at('/authorize'),
      token_endpoint: at('/token'),
      userinfo_endpoint: at('/userinfo'),
    },
  });
  issuer.answers['/keys'] = () => ({
    body: {
      keys: issuer.keys.map(({ jwk: { alg, ...jwk } }) =>
        keysWithoutAlg ? { ...jwk, x5c: ['MII'] } : { ...jwk, alg },
      ),
    },
  });
  issuer.answers[`${base}/userinfo`] = () => (userinfo === null ? { status: 401 } : { body: userinfo });
  const server = await startTestServer({
    QM_DEV_IDENTITY: '0',
    QM_OIDC_ISSUER: name,
    QM_OIDC_CLIENT_ID: CLIENT_ID,
    ...environment,
  });
  onTestFinished(() => server.stop());
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email: EMAIL } } });
  const browser = newBrowser(server);

  async function signIn(claims: Claims) {
    const started = await browser.send('GET', '/console/sign-in');
    const query = new URL(started.headers.get('location') ?? '').searchParams;
    const idToken = await issuer.sign(
      { iss: name, aud: CLIENT_ID, nonce: query.get('nonce'), ...claims },
      { typ: 'JWT' },
    );
    issuer.answers[`${base}/token`] = () => ({
      body: { access_token: 'ya29.opaque', token_type: 'Bearer', expires_in: 3600, id_token: idToken },
    });
    return browser.open(`/console/callback?code=c&state=${encodeURIComponent(query.get('state') ?? '')}`);
  }
  const bearer = async ({ header, claims }: NonNullable<Shape['access']>, sub: unknown) =>
    server.call('GET', '/v1/me', { as: { token: await issuer.sign({ iss: name, sub, ...claims }, header) } });
  return { server, browser, signIn, bearer };
}

const named = Object.entries(SHAPES);
const shapeOf = (name: string): Shape => SHAPES[name] ?? expect.unreachable(name);

test.each(named)(
  'a person of %s signs in by browser, and is the same user with a bearer token',
  async (_name, shape) => {
    const { server, browser, signIn, bearer } = await start(shape);
    const page = await signIn(shape.idClaims);
    // The tests have no built console, so only the address says that the sign-in succeeded.
    expect(page.url, page.text).toBe(`${server.url}/console/`);
    const me = (await browser.call('GET', '/v1/me')).body;
    expect(me).toMatchObject({ email: EMAIL });
    if (shape.access === null) {
      const refused = await server.call('GET', '/v1/me', { as: { token: 'ya29.a0AfH6SMBx' } });
      expect([refused.status, refused.body.detail]).toEqual([401, expect.stringContaining('malformed')]);
      return;
    }
    const answer = await bearer(shape.access, shape.idClaims['sub']);
    expect(answer.body).toMatchObject({ id: me['id'], email: EMAIL, authentication: { scheme: 'bearer' } });
  },
);

test.each(named.filter(([, { access }]) => access !== null))(
  'a person of %s signs in with a bearer token first',
  async (_name, shape) => {
    const { bearer } = await start(shape);
    const access = shape.access ?? expect.unreachable();
    const answer = await bearer(access, shape.idClaims['sub']);
    expect([answer.status, answer.body.email]).toEqual([200, EMAIL]);
  },
);

test('regression: without QM_OIDC_TRUST_EMAILS the sign-in of Entra says what is missing', async () => {
  const shape = shapeOf('Microsoft Entra ID');
  const environment = { ...shape.environment, QM_OIDC_TRUST_EMAILS: '0' };
  const { signIn, bearer } = await start({ ...shape, environment });
  const page = await signIn(shape.idClaims);
  expect([page.status, page.text]).toEqual([403, expect.stringContaining('email_verified is missing')]);
  expect(page.text).toContain('QM_OIDC_TRUST_EMAILS');
  const answer = await bearer(shape.access ?? expect.unreachable(), ENTRA.sub);
  expect([answer.status, answer.body.code]).toEqual([403, 'email_unverified']);
});

test('with QM_OIDC_TRUST_EMAILS an email that the identity provider calls unverified is refused', async () => {
  const shape = shapeOf('Microsoft Entra ID');
  const { signIn } = await start(shape);
  const page = await signIn({ ...shape.idClaims, email_verified: false });
  expect([page.status, page.text]).toEqual([403, expect.stringContaining('email_unverified')]);
});
