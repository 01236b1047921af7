import { describe, expect, test } from 'vitest';
import { reasonOf, SECOND, type World, world } from './support/oidc-issuer.ts';

const USERINFO = '/userinfo';

describe('the email of a token', () => {
  async function emailOf({ issuer, verifier }: World, claims: Record<string, unknown>) {
    const token = await issuer.sign(claims);
    return verifier.emailOf(token, await verifier.verify(token));
  }

  test.each<[string, Record<string, unknown>, unknown]>([
    ['verified', { email: 'a@b.example', email_verified: true }, { email: 'a@b.example', verified: true }],
    ['verified, as text', { email: 'a@b.example', email_verified: 'true' }, { email: 'a@b.example', verified: true }],
    ['unverified', { email: 'a@b.example', email_verified: false }, { email: 'a@b.example', verified: false }],
    ['verified by a number', { email: 'a@b.example', email_verified: 1 }, { email: 'a@b.example', verified: false }],
  ])('%s in its claims: the issuer is not asked', async (_name, claims, expected) => {
    const here = await world();
    expect(await emailOf(here, claims)).toEqual(expected);
    expect(here.issuer.asked[USERINFO]).toBeUndefined();
  });

  test('can be in a configured claim, with its own verification claim', async () => {
    const here = await world({ emailClaim: 'https://example.com/email' });
    const claims = { 'https://example.com/email': 'a@b.example', 'https://example.com/email_verified': true };
    expect(await emailOf(here, claims)).toEqual({ email: 'a@b.example', verified: true });
  });

  test.each<[string, Record<string, unknown>, unknown]>([
    [
      'of the same subject',
      { sub: 'someone', email: 'a@b.example', email_verified: true },
      { email: 'a@b.example', verified: true },
    ],
    [
      'that says nothing of verification',
      { sub: 'someone', email: 'a@b.example' },
      { email: 'a@b.example', verified: null },
    ],
    ['of another subject', { sub: 'other', email: 'a@b.example', email_verified: true }, null],
    ['without a subject', { email: 'a@b.example', email_verified: true }, null],
    ['without an email', { sub: 'someone' }, null],
  ])('comes from a userinfo answer %s', async (_name, body, expected) => {
    const here = await world();
    here.issuer.answers[USERINFO] = (req) =>
      req.headers.authorization?.startsWith('Bearer ey') ? { body } : { status: 401 };
    expect(await emailOf(here, {})).toEqual(expected);
  });

  test.each<[string, Record<string, unknown>, unknown]>([
    ['only email_verified', { upn: 'a@b.example', email_verified: true }, null],
    ['only email_verified, as text', { upn: 'a@b.example', email_verified: 'true' }, null],
    ['a verified standard email claim', { upn: 'a@b.example', email: 'b@b.example', email_verified: true }, null],
    ['its own verification claim', { upn: 'a@b.example', upn_verified: true, email_verified: false }, true],
    ['its own verification claim, as text', { upn: 'a@b.example', upn_verified: 'true' }, true],
    [
      'its own verification claim with the value false',
      { upn: 'a@b.example', upn_verified: false, email_verified: true },
      false,
    ],
  ])('regression: another claim is verified by its own flag alone: %s', async (_name, said, verified) => {
    const inToken = await world({ emailClaim: 'upn' });
    expect(await emailOf(inToken, said)).toEqual({ email: 'a@b.example', verified });
    const inUserinfo = await world({ emailClaim: 'upn' });
    inUserinfo.issuer.answers[USERINFO] = () => ({ body: { sub: 'someone', ...said } });
    expect(await emailOf(inUserinfo, {})).toEqual({ email: 'a@b.example', verified });
  });

  test('comes from the email of the userinfo answer if that lacks the configured claim', async () => {
    const here = await world({ emailClaim: 'upn' });
    const body = { sub: 'someone', email: 'a@b.example', email_verified: true, upn_verified: true };
    here.issuer.answers[USERINFO] = () => ({ body });
    expect(await emailOf(here, {})).toEqual({ email: 'a@b.example', verified: true });
    const flag = { ...body, email_verified: undefined };
    const other = await world({ emailClaim: 'upn' });
    other.issuer.answers[USERINFO] = () => ({ body: flag });
    expect(await emailOf(other, {})).toEqual({ email: 'a@b.example', verified: null });
  });

  test.each<[string, Record<string, unknown>, boolean]>([
    ['no flag', {}, true],
    ['a flag that is true', { email_verified: true }, true],
    ['a flag that is false', { email_verified: false }, false],
    ['a flag that is false, as text', { email_verified: 'false' }, false],
  ])('of an issuer whose emails are trusted, with %s', async (_name, flag, verified) => {
    const said = { email: 'a@b.example', ...flag };
    const inToken = await world({ trustsEmails: true });
    expect(await emailOf(inToken, said)).toEqual({ email: 'a@b.example', verified });
    expect(inToken.issuer.asked[USERINFO]).toBeUndefined();
    const inUserinfo = await world({ trustsEmails: true });
    inUserinfo.issuer.answers[USERINFO] = () => ({ body: { sub: 'someone', ...said } });
    expect(await emailOf(inUserinfo, {})).toEqual({ email: 'a@b.example', verified });
  });

  test('is requested once a minute, even if the issuer returns none', async () => {
    const { issuer, verifier, pass } = await world();
    issuer.answers[USERINFO] = () => ({ status: 403 });
    const token = await issuer.sign();
    const verified = await verifier.verify(token);
    const ask = () => verifier.emailOf(token, verified);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([null, null, null]);
    pass(59 * SECOND);
    expect(await ask()).toBeNull();
    expect(issuer.asked[USERINFO]).toBe(1);
    pass(SECOND);
    expect(await ask()).toBeNull();
    expect(issuer.asked[USERINFO]).toBe(2);
  });

  test('causes 503 while the endpoint is unreachable, and is requested again after five seconds', async () => {
    const { issuer, verifier, pass } = await world();
    issuer.answers[USERINFO] = () => ({ status: 500 });
    const token = await issuer.sign();
    const verified = await verifier.verify(token);
    const ask = () => verifier.emailOf(token, verified);
    expect(await reasonOf(ask())).toBe('identity_provider_unavailable');
    issuer.answers[USERINFO] = () => ({ body: { sub: 'someone', email: 'a@b.example', email_verified: true } });
    expect(await reasonOf(ask())).toBe('identity_provider_unavailable');
    pass(5 * SECOND);
    expect(await ask()).toEqual({ email: 'a@b.example', verified: true });
  });
});
