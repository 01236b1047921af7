import { createHmac } from 'node:crypto';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDevIdentity, type DevIdentity } from '@quartermaster/dev-identity/provider.ts';
import { obtainToken } from '@quartermaster/dev-identity/sign-in.ts';
import { CompactEncrypt, exportSPKI, generateKeyPair } from 'jose';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTokenVerifier } from '../src/auth/bearer.ts';
import { databaseFile } from './support/environment.ts';
import {
  AUDIENCE,
  encoded,
  forged,
  parts,
  reasonOf,
  refusal,
  SECOND,
  type SigningKey,
  START,
  signingKey,
  startIssuer,
  type TestIssuer,
  world,
} from './support/oidc-issuer.ts';

async function symmetric(issuer: TestIssuer, secret: string | Buffer): Promise<string> {
  const [header, payload] = parts(await forged(issuer, { alg: 'HS256' }));
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
  return `${header}.${payload}.${signature}`;
}

describe('the development identity provider', () => {
  async function startDevIdentity(): Promise<DevIdentity> {
    let handle: DevIdentity['handle'] = () => {};
    const server = http.createServer((req, res) => handle(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const identity = await createDevIdentity({
      issuer: `http://127.0.0.1:${port}/oidc`,
      audience: AUDIENCE,
      allowedHosts: [`127.0.0.1:${port}`],
      accounts: [{ email: 'ada@example.com', displayName: 'Ada' }],
      secretFile: `${await databaseFile()}.sign-in`,
    });
    handle = identity.handle;
    return identity;
  }

  test('its access token is accepted with subject and verified email; its ID token is refused', async () => {
    const { issuer } = await startDevIdentity();
    const verifier = createTokenVerifier({
      issuer,
      audience: AUDIENCE,
      tokenTypes: ['at+jwt'],
      emailClaim: 'email',
      trustsEmails: false,
      now: () => new Date(),
    });
    const { accessToken, idToken } = await obtainToken({ issuer, email: 'ada@example.com' });
    const verified = await verifier.verify(accessToken);
    expect(verified).toMatchObject({ issuer, subject: expect.stringMatching(/^dev-/) });
    expect(await verifier.emailOf(accessToken, verified)).toEqual({ email: 'ada@example.com', verified: true });
    expect(await reasonOf(verifier.verify(idToken))).toBe('credentials_invalid');
  });

  test('an email that is not in the configured claim is read from its userinfo endpoint', async () => {
    const { issuer } = await startDevIdentity();
    const verifier = createTokenVerifier({
      issuer,
      audience: AUDIENCE,
      tokenTypes: ['at+jwt'],
      emailClaim: 'upn',
      trustsEmails: false,
      now: () => new Date(),
    });
    const { accessToken } = await obtainToken({ issuer, email: 'ada@example.com' });
    const verified = await verifier.verify(accessToken);
    expect(await verifier.emailOf(accessToken, verified)).toEqual({ email: 'ada@example.com', verified: true });
  });
});

describe('accepted', () => {
  const time = START / SECOND;
  const good: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['a plain access token', {}, {}],
    ['a typ with application/ in another letter case', {}, { typ: 'Application/AT+JWT' }],
    ['several audiences including ours', { aud: ['other', AUDIENCE] }, {}],
    ['expired within the allowed clock skew', { iat: time - 600, exp: time - 59 }, {}],
    ['nbf and iat in the future within the allowed clock skew', { iat: time + 59, nbf: time + 59 }, {}],
    ['no kid if the issuer has one key', {}, { kid: undefined }],
  ];
  test.each(good)('%s', async (_name, claims, header) => {
    const { issuer, verifier } = await world();
    expect(await verifier.verify(await issuer.sign(claims, header))).toMatchObject({ subject: 'someone' });
  });

  test.each(['RS256', 'PS384', 'ES512', 'EdDSA'])('%s', async (alg) => {
    const { issuer, verifier } = await world({}, await signingKey('key', alg));
    expect(await verifier.verify(await issuer.sign())).toMatchObject({ subject: 'someone' });
  });

  test('a configured token type, in any spelling', async () => {
    const { issuer, verifier } = await world({ tokenTypes: ['application/JWT'] });
    expect(await verifier.verify(await issuer.sign({}, { typ: 'jwt' }))).toMatchObject({ subject: 'someone' });
    expect(await reasonOf(verifier.verify(await issuer.sign()))).toBe('credentials_invalid');
  });

  test('no token type, if none is configured', async () => {
    const { issuer, verifier } = await world({ tokenTypes: ['none'] });
    expect(await verifier.verify(await issuer.sign({}, { typ: undefined }))).toMatchObject({ subject: 'someone' });
    expect(await reasonOf(verifier.verify(await issuer.sign()))).toBe('credentials_invalid');
  });
});

describe('refused', () => {
  const time = START / SECOND;
  const own = { 'private-canary': 'CANARY' };

  /** Generated once: an RSA key takes longer than everything else in these tests. */
  let keys: SigningKey[];
  beforeAll(async () => {
    keys = [await signingKey('rsa-1', 'RS256'), await signingKey('ec-1')];
  });

  /** Each token is for an issuer with an RSA and an EC key. `evil` is a server that must not get any request. */
  const attacks: [string, (issuer: TestIssuer, evil: TestIssuer) => string | Promise<string>][] = [
    ...['none', 'None', 'NONE', 'nOnE'].flatMap((alg): [string, (issuer: TestIssuer) => Promise<string>][] => [
      [`alg ${alg}`, (issuer) => forged(issuer, { alg })],
      [`alg ${alg} with an empty signature`, (issuer) => forged(issuer, { alg }, '')],
    ]),
    [
      'HS256 signed with the RSA public key, PEM',
      async (issuer) => symmetric(issuer, await exportSPKI(rsaOf(issuer).publicKey)),
    ],
    ['HS256 signed with the RSA public key, JWK', (issuer) => symmetric(issuer, JSON.stringify(rsaOf(issuer).jwk))],
    [
      'HS256 signed with the modulus',
      (issuer) => symmetric(issuer, Buffer.from(rsaOf(issuer).jwk.n ?? '', 'base64url')),
    ],
    [
      'a key of another provider with our kid',
      async (issuer) => issuer.sign(own, {}, await signingKey(rsaOf(issuer).kid, 'RS256')),
    ],
    ['an algorithm that does not fit the key', (issuer) => forged(issuer, { alg: 'PS256' })],
    ...['../../etc/passwd', "' OR 1=1 --", 'a\0b', 'k'.repeat(10_240), '', 7, null, { a: 1 }].map(
      (kid): [string, (issuer: TestIssuer) => Promise<string>] => [
        `kid ${JSON.stringify(kid).slice(0, 24)}`,
        (issuer) => forged(issuer, { alg: 'RS256', kid }),
      ],
    ),
    [
      'jku to a key set of the attacker',
      (issuer, evil) => evil.sign({ ...own, iss: issuer.url }, { jku: `${evil.url}/jwks` }),
    ],
    [
      'x5u to a certificate of the attacker',
      (issuer, evil) => evil.sign({ ...own, iss: issuer.url }, { x5u: `${evil.url}/x5u` }),
    ],
    [
      'jwk, the attacker’s own key',
      (issuer, evil) => evil.sign({ ...own, iss: issuer.url }, { jwk: evil.keys[0]?.jwk }),
    ],
    ['jku on an otherwise valid token', (issuer, evil) => issuer.sign(own, { jku: `${evil.url}/jwks` })],
    ['x5c on an otherwise valid token', (issuer) => issuer.sign(own, { x5c: ['AAAA'] })],
    ['crit with an unknown extension', (issuer) => forged(issuer, { alg: 'RS256', crit: ['exp'], exp: 1 })],
    ['crit with b64', (issuer) => forged(issuer, { alg: 'RS256', crit: ['b64'], b64: false })],
    ['an empty signature', async (issuer) => (await issuer.sign(own)).replace(/[^.]+$/, '')],
    [
      'a signature of another token',
      async (issuer) => {
        const [header, , signature] = parts(await issuer.sign());
        return `${header}.${parts(await issuer.sign({ sub: 'admin' }))[1]}.${signature}`;
      },
    ],
    [
      'a header changed after signing',
      async (issuer) => {
        const [, payload, signature] = parts(await issuer.sign());
        return `${encoded({ alg: 'RS256', typ: 'at+jwt', kid: rsaOf(issuer).kid, extra: 1 })}.${payload}.${signature}`;
      },
    ],
    [
      'a JWE',
      async (issuer) => {
        const { publicKey } = await generateKeyPair('RSA-OAEP-256');
        const header = { alg: 'RSA-OAEP-256', enc: 'A256GCM', typ: 'at+jwt', kid: rsaOf(issuer).kid };
        return new CompactEncrypt(Buffer.from('{}')).setProtectedHeader(header).encrypt(publicKey);
      },
    ],
    ['an ID token (typ JWT)', (issuer) => issuer.sign(own, { typ: 'JWT' })],
    ['no typ', (issuer) => issuer.sign(own, { typ: undefined })],
    ['a session token of this service', (issuer) => issuer.sign(own, { typ: 'qm-session+jwt' })],
    ['another audience', (issuer) => issuer.sign({ ...own, aud: 'other' })],
    [
      'other audiences, as an array',
      (issuer) => issuer.sign({ ...own, aud: ['other', `${AUDIENCE}2`, AUDIENCE.toUpperCase()] }),
    ],
    ['no audience', (issuer) => issuer.sign({ ...own, aud: undefined })],
    ['an issuer with a trailing slash', (issuer) => issuer.sign({ ...own, iss: `${issuer.url}/` })],
    ['another issuer', (issuer, evil) => issuer.sign({ ...own, iss: evil.url })],
    ['an array of issuers', (issuer) => issuer.sign({ ...own, iss: [issuer.url] })],
    ['no issuer', (issuer) => issuer.sign({ ...own, iss: undefined })],
    ['expired beyond the allowed clock skew', (issuer) => issuer.sign({ ...own, iat: time - 600, exp: time - 60 })],
    ['no exp', (issuer) => issuer.sign({ ...own, exp: undefined })],
    ['exp as a string', (issuer) => issuer.sign({ ...own, exp: String(time + 300) })],
    ['exp null', (issuer) => issuer.sign({ ...own, exp: null })],
    ['nbf beyond the allowed clock skew', (issuer) => issuer.sign({ ...own, nbf: time + 61 })],
    ['nbf as a string', (issuer) => issuer.sign({ ...own, nbf: String(time) })],
    ['iat beyond the allowed clock skew', (issuer) => issuer.sign({ ...own, iat: time + 61 })],
    ['no iat', (issuer) => issuer.sign({ ...own, iat: undefined })],
    ['iat as a string', (issuer) => issuer.sign({ ...own, iat: String(time) })],
    ['no sub', (issuer) => issuer.sign({ ...own, sub: undefined })],
    ['an array sub', (issuer) => issuer.sign({ ...own, sub: ['someone'] })],
    ['an empty sub', (issuer) => issuer.sign({ ...own, sub: '' })],
    ['a sub with NUL', (issuer) => issuer.sign({ ...own, sub: 'some\0one' })],
    ['a sub with a lone surrogate', (issuer) => issuer.sign({ ...own, sub: 'some\ud800one' })],
    ['a sub of 256 characters', (issuer) => issuer.sign({ ...own, sub: 's'.repeat(256) })],
    ['a token of 17 KiB', (issuer) => issuer.sign({ ...own, padding: 'x'.repeat(17 * 1024) })],
    ['the empty string', () => ''],
    [
      'two parts',
      async (issuer) =>
        parts(await issuer.sign())
          .slice(0, 2)
          .join('.'),
    ],
    ['four parts', async (issuer) => `${await issuer.sign()}.AAAA`],
    ['a header that is not JSON', async (issuer) => `AAAA.${parts(await issuer.sign())[1]}.AAAA`],
    ['a header that is an array', async (issuer) => `${encoded(['alg'])}.${parts(await issuer.sign())[1]}.AAAA`],
    ['a payload that is not an object', async (issuer) => `${parts(await issuer.sign())[0]}.${encoded('text')}.AAAA`],
  ];

  function rsaOf(issuer: TestIssuer): SigningKey {
    const key = issuer.keys.find(({ alg }) => alg === 'RS256');
    if (!key) throw new Error('the issuer has no RSA key');
    return key;
  }

  test.each(attacks)('%s', async (_name, attack) => {
    const { issuer, verifier } = await world({}, ...keys);
    const evil = await startIssuer(() => new Date(START));
    const error = await refusal(verifier.verify(await attack(issuer, evil)));
    expect([error.reason, error.status]).toEqual(['credentials_invalid', 401]);
    const challenge = error.headers['WWW-Authenticate'];
    expect(challenge).toMatch(/^Bearer error="invalid_token", error_description="[a-z ]+"$/);
    expect(`${challenge}${error.message}`).not.toMatch(/CANARY|someone|evil|passwd|127\.0\.0\.1/);
    expect(evil.asked).toEqual({});
    // The verifier still accepts valid tokens.
    expect(await verifier.verify(await issuer.sign())).toMatchObject({ subject: 'someone' });
  });

  test('two keys with the same kid, and a token without a kid if there are several keys', async () => {
    const twins = [await signingKey('twin'), await signingKey('twin')];
    const { issuer, verifier } = await world({}, ...twins);
    expect(await reasonOf(verifier.verify(await issuer.sign()))).toBe('credentials_invalid');
    expect(await reasonOf(verifier.verify(await issuer.sign({}, { kid: undefined })))).toBe('credentials_invalid');
  });

  test('malformed tokens cause no request to the issuer', async () => {
    const { issuer, verifier } = await world();
    for (const header of [
      { alg: 'none' },
      { alg: 'HS256' },
      { alg: 'ES256', typ: 'JWT' },
      { alg: 'ES256', crit: [] },
    ]) {
      expect(await reasonOf(verifier.verify(await forged(issuer, header)))).toBe('credentials_invalid');
    }
    expect(issuer.asked).toEqual({});
  });
});
