import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpSession } from '../src/http-session.ts';
import { obtainToken } from '../src/sign-in.ts';
import type { DevServer } from './server.ts';
import {
  AUDIENCE,
  authorizationUrl,
  CALLBACK,
  CLIENT_ID,
  createPkce,
  exchange,
  open,
  signIn,
  startServer,
  submit,
} from './server.ts';

let server: DevServer;
let issuer: string;

beforeAll(async () => {
  server = await startServer();
  ({ issuer } = server);
});
afterAll(() => server.close());

async function verified(accessToken: string, from = issuer, audience = AUDIENCE) {
  const discovery = (await (await fetch(`${from}/.well-known/openid-configuration`)).json()) as { jwks_uri: string };
  const keys = createRemoteJWKSet(new URL(discovery.jwks_uri));
  return jwtVerify(accessToken, keys, {
    issuer: from,
    audience,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['exp', 'iat', 'sub', 'jti', 'client_id'],
  });
}

async function codeFor(email = 'admin@example.com', overrides: Record<string, string | undefined> = {}) {
  const { params, pkce } = await signIn({ issuer, email, overrides });
  return { code: params.get('code') ?? '', pkce };
}

function redeem({ code, verifier }: { code: string; verifier: string }) {
  return exchange(issuer, { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK });
}

test('every URL in the discovery document begins with the issuer', async () => {
  const document = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as Record<
    string,
    unknown
  >;
  expect(document['issuer']).toBe(issuer);
  const addresses = Object.entries(document).filter(([name]) => /_(endpoint|uri)$/.test(name));
  expect(addresses.length).toBeGreaterThanOrEqual(5);
  for (const [, address] of addresses) expect(address).toMatch(new RegExp(`^${issuer}/`));
});

test('the key set contains no private key', async () => {
  const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as { keys: object[] };
  expect(keys).toHaveLength(1);
  expect(Object.keys(keys[0] ?? {})).not.toContain('d');
});

test('obtainToken returns an access token with the email claims that can be verified with the discovered key set', async () => {
  const { accessToken, idToken, expiresIn } = await obtainToken({ issuer, email: 'Admin@Example.com' });
  const { payload, protectedHeader } = await verified(accessToken);
  expect(protectedHeader).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
  expect(payload).toMatchObject({
    aud: AUDIENCE,
    client_id: CLIENT_ID,
    email: 'admin@example.com',
    email_verified: true,
    name: 'Ada <Admin>',
  });
  expect(payload.sub).toMatch(/^dev-[0-9a-f]{32}$/);
  expect(expiresIn).toBe(3600);
  expect(decodeProtectedHeader(idToken).typ).not.toBe('at+jwt');
});

test('an email that is not in the list of accounts can sign in', async () => {
  const { accessToken } = await obtainToken({ issuer, email: "o'brien+test@sub.example.org" });
  const { payload } = await verified(accessToken);
  expect(payload).toMatchObject({ email: "o'brien+test@sub.example.org", email_verified: true });
});

test('an audience that is not a URI is kept as configured', async () => {
  const other = await startServer({ audience: 'quartermaster' });
  const { accessToken } = await obtainToken({ issuer: other.issuer, email: 'admin@example.com' });
  await verified(accessToken, other.issuer, 'quartermaster');
  await other.close();
});

test('the whole flow works on a plain http.Server that does not strip the path', async () => {
  const bare = await startServer({ bare: true });
  const { accessToken } = await obtainToken({ issuer: bare.issuer, email: 'admin@example.com' });
  await verified(accessToken, bare.issuer);
  await bare.close();
});

test('an email has the same subject in two providers and in any case; two emails have different ones', async () => {
  const other = await startServer();
  const subjects = [];
  for (const [from, email] of [
    [issuer, 'new@example.com'],
    [other.issuer, 'New@Example.COM'],
    [issuer, 'new2@example.com'],
  ] as const) {
    const { accessToken } = await obtainToken({ issuer: from, email });
    subjects.push((await verified(accessToken, from)).payload.sub);
  }
  await other.close();
  expect(subjects[0]).toBe(subjects[1]);
  expect(subjects[0]).not.toBe(subjects[2]);
});

test('a token of one provider cannot be verified with the keys of another', async () => {
  const other = await startServer();
  const { accessToken } = await obtainToken({ issuer: other.issuer, email: 'admin@example.com' });
  await other.close();
  await expect(verified(accessToken)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
});

describe('an authorization request', () => {
  test.each([
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }],
    ['plain PKCE', { code_challenge_method: 'plain' }],
  ])('%s is refused at the callback', async (_name, overrides) => {
    const { url } = await open(createHttpSession(), authorizationUrl(issuer, createPkce(), overrides));
    expect(url.startsWith(CALLBACK)).toBe(true);
    expect(new URL(url).searchParams.get('error')).toBe('invalid_request');
  });

  test.each([
    'https://evil.example/callback',
    'http://evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.1@evil.example/callback',
    'http://127.0.0.1:45678/elsewhere',
    'http://localhost:45678/callback',
    'http://192.168.0.1:45678/callback',
  ])('the redirect URI %s is refused on a page, without a redirect', async (redirectUri) => {
    const response = await createHttpSession().get(
      authorizationUrl(issuer, createPkce(), { redirect_uri: redirectUri }),
    );
    expect(response.status).toBe(400);
    expect(response.headers.get('location')).toBeNull();
    expect(await response.text()).toContain('invalid_redirect_uri');
  });

  test('of an unknown client is refused with a page', async () => {
    const response = await createHttpSession().get(authorizationUrl(issuer, createPkce(), { client_id: '<b>x</b>' }));
    expect(response.status).toBe(400);
    expect(await response.text()).not.toContain('<b>x');
  });
});

describe('the token endpoint', () => {
  test('a wrong code_verifier is refused', async () => {
    const { code } = await codeFor();
    const { status, body } = await redeem({ code, verifier: createPkce().verifier });
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  });

  test('a code can be used once', async () => {
    const { code, pkce } = await codeFor();
    expect((await redeem({ code, verifier: pkce.verifier })).status).toBe(200);
    expect((await redeem({ code, verifier: pkce.verifier })).body['error']).toBe('invalid_grant');
  });

  test('offline_access with consent gives a refresh token, which is rotated and accepted once', async () => {
    const { code, pkce } = await codeFor('viewer@example.com', {
      scope: 'openid email offline_access',
      prompt: 'consent',
    });
    const first = await redeem({ code, verifier: pkce.verifier });
    const form = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) };
    const second = await exchange(issuer, form);
    expect(second.status).toBe(200);
    const { payload } = await verified(String(second.body['access_token']));
    expect(payload).toMatchObject({ aud: AUDIENCE, email: 'viewer@example.com', email_verified: true });
    expect(second.body['refresh_token']).not.toBe(form.refresh_token);
    expect((await exchange(issuer, form)).body['error']).toBe('invalid_grant');
  });

  test('without offline_access there is no refresh token', async () => {
    const { code, pkce } = await codeFor();
    expect((await redeem({ code, verifier: pkce.verifier })).body).not.toHaveProperty('refresh_token');
  });

  test('a browser application on another loopback port may call it, one of another host may not', async () => {
    for (const [origin, allowed] of [
      ['http://127.0.0.1:5173', true],
      ['https://evil.example', false],
    ] as const) {
      const { code, pkce } = await codeFor();
      const response = await createHttpSession().post(
        `${issuer}/token`,
        {
          client_id: CLIENT_ID,
          grant_type: 'authorization_code',
          code,
          code_verifier: pkce.verifier,
          redirect_uri: CALLBACK,
        },
        { origin, 'sec-fetch-site': 'same-site' },
      );
      expect(response.headers.get('access-control-allow-origin')).toBe(allowed ? origin : null);
      expect(response.ok).toBe(allowed);
    }
  });
});

describe('the userinfo endpoint', () => {
  const userinfo = (token: string) => fetch(`${issuer}/me`, { headers: { authorization: `Bearer ${token}` } });

  test('answers the same subject and the verified email for an access token', async () => {
    const { accessToken } = await obtainToken({ issuer, email: 'viewer@example.com', scope: 'openid email' });
    const { payload } = await verified(accessToken);
    expect(await (await userinfo(accessToken)).json()).toEqual({
      sub: payload.sub,
      email: 'viewer@example.com',
      email_verified: true,
    });
  });

  test('leaves the email out without the email scope', async () => {
    const { accessToken } = await obtainToken({ issuer, email: 'viewer@example.com', scope: 'openid' });
    expect(Object.keys((await (await userinfo(accessToken)).json()) as object)).toEqual(['sub']);
  });

  test('refuses an ID token, a damaged token, a token of another provider, and a request without a token', async () => {
    const other = await startServer();
    const { accessToken, idToken } = await obtainToken({ issuer, email: 'viewer@example.com' });
    const foreign = await obtainToken({ issuer: other.issuer, email: 'viewer@example.com' });
    await other.close();
    const [header, , signature] = accessToken.split('.');
    const forged = `${header}.${Buffer.from('{"sub":"x"}').toString('base64url')}.${signature}`;
    for (const token of [idToken, forged, foreign.accessToken, 'a.b.c', 'opaque']) {
      const response = await userinfo(token);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
    }
    expect((await fetch(`${issuer}/me`)).status).toBe(401);
  });
});

describe('a browser that signs in again', () => {
  test('is offered its account, and gets a code for it', async () => {
    const browser = createHttpSession();
    await signIn({ issuer, browser, email: 'someone@example.com' });
    const page = await open(browser, authorizationUrl(issuer, createPkce()));
    expect(page.html).toContain('Continue as someone@example.com');
    const end = await submit(browser, page.url, { email: 'someone@example.com' });
    expect(new URL(end.url).searchParams.get('code')).toBeTruthy();
  });

  test('can change to another account without a script', async () => {
    const browser = createHttpSession();
    await signIn({ issuer, browser, email: 'admin@example.com' });
    const { params, pkce } = await signIn({ issuer, browser, email: 'viewer@example.com' });
    const { body } = await redeem({ code: params.get('code') ?? '', verifier: pkce.verifier });
    const { payload } = await verified(String(body['access_token']));
    expect(payload['email']).toBe('viewer@example.com');
    const page = await open(browser, authorizationUrl(issuer, createPkce()));
    expect(page.html).toContain('Continue as Vic Viewer');
  });

  test('gets access_denied at its callback when it cancels', async () => {
    const browser = createHttpSession();
    const page = await open(browser, authorizationUrl(issuer, createPkce()));
    const { url } = await submit(browser, page.url, { abort: 'yes' });
    expect(new URL(url).searchParams.get('error')).toBe('access_denied');
  });
});
