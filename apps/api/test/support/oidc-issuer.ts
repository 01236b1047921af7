import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from '../../src/auth/bearer.ts';
import { ApiError } from '../../src/platform/errors.ts';

export const AUDIENCE = 'quartermaster';
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const START = Date.parse('2026-03-01T12:00:00Z');

export type SigningKey = { alg: string; kid: string; privateKey: CryptoKey; publicKey: CryptoKey; jwk: JWK };

type Answer = { status?: number; body?: unknown; headers?: http.OutgoingHttpHeaders };

/** An OpenID provider for tests. It speaks real HTTP, and a test can change its keys and answers at any time. */
export type TestIssuer = {
  url: string;
  /** The keys that it serves. Changes take effect at once. */
  keys: SigningKey[];
  /** How many requests each path received. */
  asked: Record<string, number>;
  /** Answers that replace the default ones, by path. */
  answers: Record<string, (req: http.IncomingMessage) => Answer>;
  /** Signs an access token that is valid except for the given claims. The value undefined leaves a claim out. */
  sign: (claims?: Record<string, unknown>, header?: Record<string, unknown>, key?: SigningKey) => Promise<string>;
  /** Stops listening. `open` listens on the same port again. */
  close: () => Promise<void>;
  open: () => Promise<void>;
};

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export async function startIssuer(now: () => Date, ...given: SigningKey[]): Promise<TestIssuer> {
  const keys = given.length > 0 ? given : [await signingKey('first')];
  const server = http.createServer((req, res) => {
    const path = req.url ?? '';
    issuer.asked[path] = (issuer.asked[path] ?? 0) + 1;
    const { status = 200, body, headers } = issuer.answers[path]?.(req) ?? usual(path);
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  });
  const usual = (path: string): Answer => {
    if (path === '/.well-known/openid-configuration') {
      const { url } = issuer;
      return { body: { issuer: url, jwks_uri: `${url}/jwks`, userinfo_endpoint: `${url}/userinfo` } };
    }
    return path === '/jwks' ? { body: { keys: issuer.keys.map(({ jwk }) => jwk) } } : { status: 404 };
  };
  let port = 0;
  const issuer: TestIssuer = {
    url: '',
    keys,
    asked: {},
    answers: {},
    async sign(claims = {}, header = {}, key = issuer.keys[0]) {
      if (!key) throw new Error('the issuer has no key');
      const time = Math.floor(now().getTime() / 1000);
      const payload = { iss: issuer.url, aud: AUDIENCE, sub: 'someone', iat: time, exp: time + 300, ...claims };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
        .sign(key.privateKey);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    async open() {
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      ({ port } = server.address() as AddressInfo);
      issuer.url = `http://127.0.0.1:${port}`;
    },
  };
  await issuer.open();
  onTestFinished(() => (server.listening ? issuer.close() : undefined));
  return issuer;
}

export type World = { issuer: TestIssuer; verifier: TokenVerifier; now: () => Date; pass: (ms: number) => void };

/** An issuer, a verifier that trusts it, and their clock. */
export async function world(options: Partial<TokenVerifierOptions> = {}, ...keys: SigningKey[]): Promise<World> {
  let time = START;
  const now = () => new Date(time);
  const issuer = await startIssuer(now, ...keys);
  const verifier = createTokenVerifier({
    issuer: issuer.url,
    audience: AUDIENCE,
    tokenTypes: ['at+jwt'],
    emailClaim: 'email',
    trustsEmails: false,
    now,
    ...options,
  });
  return {
    issuer,
    verifier,
    now,
    pass: (ms) => {
      time += ms;
    },
  };
}

/** The ApiError that a promise was rejected with. Any other error is thrown. */
export async function refusal(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => new Error('it was accepted'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw error;
  return error;
}

export async function reasonOf(promise: Promise<unknown>): Promise<string> {
  return (await refusal(promise)).reason;
}

export function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function parts(token: string): [string, string, string] {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return [header, payload, signature];
}

/** A token with the claims of a valid one, the given header, and an invalid signature. */
export async function forged(issuer: TestIssuer, header: object, signature = 'AAAA'): Promise<string> {
  const [, payload] = parts(await issuer.sign());
  return `${encoded({ typ: 'at+jwt', kid: issuer.keys[0]?.kid, ...header })}.${payload}.${signature}`;
}
