import { describe, expect, test } from 'vitest';
import {
  encoded,
  forged,
  MINUTE,
  parts,
  reasonOf,
  refusal,
  SECOND,
  signingKey,
  type TestIssuer,
  world,
} from './support/oidc-issuer.ts';

const JWKS = '/jwks';

describe('the key set', () => {
  test('is requested once in ten minutes', async () => {
    const { issuer, verifier, pass } = await world();
    const verify = async () => verifier.verify(await issuer.sign());
    await Promise.all([verify(), verify(), verify()]);
    pass(9 * MINUTE);
    await verify();
    expect(issuer.asked).toEqual({ '/.well-known/openid-configuration': 1, [JWKS]: 1 });
    pass(MINUTE);
    await verify();
    expect(issuer.asked).toEqual({ '/.well-known/openid-configuration': 2, [JWKS]: 2 });
  });

  test('a key that a rotation adds is accepted at once; a removed key is refused after the refresh', async () => {
    const { issuer, verifier, pass } = await world();
    const old = issuer.keys[0];
    await verifier.verify(await issuer.sign());
    issuer.keys = [await signingKey('second')];
    await verifier.verify(await issuer.sign());
    pass(10 * MINUTE);
    expect(await reasonOf(verifier.verify(await issuer.sign({}, {}, old)))).toBe('credentials_invalid');
    await verifier.verify(await issuer.sign());
  });

  test('a removed key is refused after ten minutes, even if no token with a new key came', async () => {
    const { issuer, verifier, pass } = await world();
    const old = issuer.keys[0];
    await verifier.verify(await issuer.sign());
    issuer.keys = [await signingKey('second')];
    pass(10 * MINUTE);
    expect(await reasonOf(verifier.verify(await issuer.sign({}, {}, old)))).toBe('credentials_invalid');
  });

  test.each([
    ['one after the other', false],
    ['at once', true],
  ])('1,000 random kids %s cause at most 2 fetches', async (_name, atOnce) => {
    const { issuer, verifier } = await world();
    const token = parts(await issuer.sign());
    const kids = Array.from({ length: 1000 }, (_, index) => {
      const header = encoded({ alg: 'ES256', typ: 'at+jwt', kid: `random-${index}` });
      return () => reasonOf(verifier.verify(`${header}.${token[1]}.${token[2]}`));
    });
    const reasons = new Set<string>();
    if (atOnce) for (const reason of await Promise.all(kids.map((kid) => kid()))) reasons.add(reason);
    else for (const kid of kids) reasons.add(await kid());
    expect([...reasons]).toEqual(['credentials_invalid']);
    expect(issuer.asked[JWKS]).toBeLessThanOrEqual(2);
  });

  test('is requested again for an unknown kid after 30 seconds', async () => {
    const { issuer, verifier, pass } = await world();
    await verifier.verify(await issuer.sign());
    const next = await signingKey('next');
    expect(await reasonOf(verifier.verify(await issuer.sign({}, {}, next)))).toBe('credentials_invalid');
    issuer.keys = [next];
    pass(29 * SECOND);
    expect(await reasonOf(verifier.verify(await issuer.sign()))).toBe('credentials_invalid');
    pass(SECOND);
    await verifier.verify(await issuer.sign());
    expect(issuer.asked[JWKS]).toBe(3);
  });

  test.each<[string, (issuer: TestIssuer) => void]>([
    [
      'a discovery document of another issuer',
      (issuer) => {
        issuer.answers['/.well-known/openid-configuration'] = () => ({
          body: { issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/jwks` },
        });
      },
    ],
    [
      'a discovery document without a key set',
      (issuer) => {
        issuer.answers['/.well-known/openid-configuration'] = () => ({ body: { issuer: issuer.url } });
      },
    ],
    [
      'a redirect',
      (issuer) => {
        issuer.answers[JWKS] = () => ({ status: 302, headers: { location: `${issuer.url}/elsewhere` } });
        issuer.answers['/elsewhere'] = () => ({ body: { keys: issuer.keys.map(({ jwk }) => jwk) } });
      },
    ],
    [
      'a key set of a megabyte',
      (issuer) => {
        issuer.answers[JWKS] = () => ({
          body: { keys: issuer.keys.map(({ jwk }) => jwk), padding: 'x'.repeat(2 ** 20) },
        });
      },
    ],
    [
      'a document that is not a key set',
      (issuer) => {
        issuer.answers[JWKS] = () => ({ body: { keys: 'none' } });
      },
    ],
    [
      'a document that is not JSON',
      (issuer) => {
        issuer.answers[JWKS] = () => ({ body: '<html>' });
      },
    ],
    [
      'an error',
      (issuer) => {
        issuer.answers[JWKS] = () => ({ status: 500 });
      },
    ],
  ])('%s is as good as no answer: 503, and again after the cool-down', async (_name, damage) => {
    const { issuer, verifier, pass } = await world();
    damage(issuer);
    const token = await issuer.sign();
    const error = await refusal(verifier.verify(token));
    expect([error.reason, error.status, error.headers['Retry-After']]).toEqual([
      'identity_provider_unavailable',
      503,
      '5',
    ]);
    expect(issuer.asked['/elsewhere']).toBeUndefined();
    issuer.answers = {};
    const asked = { ...issuer.asked };
    expect(await reasonOf(verifier.verify(token))).toBe('identity_provider_unavailable');
    expect(issuer.asked).toEqual(asked);
    pass(5 * SECOND);
    await verifier.verify(token);
  });
});

describe('while the provider is unreachable', () => {
  test('the cached keys are used for another hour, then tokens get 503 until the provider is back', async () => {
    const { issuer, verifier, pass } = await world();
    const verify = async () => verifier.verify(await issuer.sign());
    await verify();
    await issuer.close();
    pass(69 * MINUTE);
    await verify();
    await Promise.all([verify(), verify(), verify()]);
    pass(MINUTE);
    expect(await reasonOf(verify())).toBe('identity_provider_unavailable');
    await issuer.open();
    expect(await reasonOf(verify())).toBe('identity_provider_unavailable');
    pass(5 * SECOND);
    await verify();
  });

  test('a token with an unknown key is 503, never 401', async () => {
    const { issuer, verifier } = await world();
    await verifier.verify(await issuer.sign());
    await issuer.close();
    const next = await signingKey('next');
    const reasons = [];
    for (let count = 0; count < 3; count += 1)
      reasons.push(await reasonOf(verifier.verify(await issuer.sign({}, {}, next))));
    expect(new Set(reasons)).toEqual(new Set(['identity_provider_unavailable']));
  });

  test('the keys are requested at most once in five seconds', async () => {
    const { issuer, verifier, pass } = await world();
    issuer.answers[JWKS] = () => ({ status: 503 });
    const token = await issuer.sign();
    for (let count = 0; count < 50; count += 1) await reasonOf(verifier.verify(token));
    await Promise.all(Array.from({ length: 50 }, () => reasonOf(verifier.verify(token))));
    expect(issuer.asked[JWKS]).toBe(1);
    pass(5 * SECOND);
    await reasonOf(verifier.verify(token));
    expect(issuer.asked[JWKS]).toBe(2);
  });

  test('regression: a clock that is set back does not prolong the pause after a failure', async () => {
    const { issuer, verifier, pass } = await world();
    issuer.answers[JWKS] = () => ({ status: 503 });
    expect(await reasonOf(verifier.verify(await issuer.sign()))).toBe('identity_provider_unavailable');
    issuer.answers = {};
    pass(-60 * MINUTE);
    await verifier.verify(await issuer.sign());
  });

  test('a token that is invalid regardless of the keys is still 401', async () => {
    const { issuer, verifier } = await world();
    await issuer.close();
    expect(await reasonOf(verifier.verify(await forged(issuer, { alg: 'none' })))).toBe('credentials_invalid');
  });
});
