import { randomUUID } from 'node:crypto';
import type { Browser } from '../support/browser.ts';
import { startIssuer, type TestIssuer } from '../support/oidc-issuer.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/*
 * An identity provider as companies run it: the console is a confidential client, groups are in a claim, and sign-out has an
 * endpoint.
 */
export const CLIENT = { id: 'console', secret: 'a secret/with+signs' };
export const EMAIL = 'ada@example.com';

export type Company = {
  issuer: TestIssuer;
  server: TestServer;
  /** Claims that the token endpoint adds to the ID token, or that replace the usual ones. */
  claims: Record<string, unknown>;
  nonce: string;
  /** The Authorization headers that the token endpoint got. */
  authorizations: (string | undefined)[];
};

export async function startCompany(): Promise<Company> {
  const issuer = await startIssuer(() => new Date());
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
  const server = await startTestServer({
    QM_DEV_IDENTITY: '0',
    QM_OIDC_ISSUER: issuer.url,
    QM_OIDC_CLIENT_ID: CLIENT.id,
    QM_OIDC_CLIENT_SECRET: CLIENT.secret,
    QM_OIDC_ADMIN_CLAIM: 'groups',
    QM_OIDC_ADMIN_VALUE: 'administrators',
  });
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email: EMAIL } } });
  return { issuer, server, claims: {}, nonce: '', authorizations: [] };
}

/** Follows the redirects to the identity provider and back, as a user who signs in there. */
export async function signInAt(company: Company, browser: Browser, key?: Parameters<TestIssuer['sign']>[2]) {
  const start = await browser.send('GET', '/console/sign-in');
  const authorizationRequest = new URL(start.headers.get('location') ?? '').searchParams;
  company.nonce = authorizationRequest.get('nonce') ?? '';
  const idToken = await company.issuer.sign(
    { aud: CLIENT.id, sub: 'ada', nonce: company.nonce, email: EMAIL, email_verified: true, ...company.claims },
    { typ: 'JWT' },
    key,
  );
  company.issuer.answers['/token'] = (req) => {
    company.authorizations.push(req.headers.authorization);
    return { body: { access_token: 'opaque', token_type: 'Bearer', expires_in: 300, id_token: idToken } };
  };
  const query = new URLSearchParams({ code: randomUUID(), state: authorizationRequest.get('state') ?? '' });
  return { authorizationRequest, idToken, page: await browser.open(`/console/callback?${query.toString()}`) };
}
