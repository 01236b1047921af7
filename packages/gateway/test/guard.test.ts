import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGuard, describeDenial, GuardError, type GuardOptions, type Use } from '../src/guard.ts';
import { API_KEY, type FarSide, GATEWAY_ID, grants, grantsDigest, startFarSide, SUBJECT } from '../testing/far-side.ts';

const tool = (name: string, provider = 'files'): Use => ({ provider, kind: 'tool', name });

let farSide: FarSide;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  farSide = await startFarSide();
  farSide.grantTools('echo');
});

afterEach(async () => {
  vi.useRealTimers();
  await farSide.stop();
});

function guardOf(options: Partial<GuardOptions> = {}) {
  return createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID, ...options });
}

/** A test that wants an error says its code, and its reason after a space. */
async function errorOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (failure: unknown) => failure,
  );
  if (!(error instanceof GuardError)) return `no GuardError: ${String(error)}`;
  return error.reason === null ? error.code : `${error.code} ${error.reason}`;
}

describe('a session', () => {
  it('allows what the service lists, by id, name or alias of the provider, without a question', async () => {
    const session = await guardOf().session(farSide.newToken());
    expect(session.allows(tool('echo', 'files'))).toBe(true);
    expect(session.allows(tool('echo', 'prov_files'))).toBe(true);
    expect(session.allows(tool('echo', 'file-server'))).toBe(true);
    expect(session.allows(tool('secret'))).toBe(false);
    expect(session.allows(tool('echo', 'openai'))).toBe(false);
    expect(session.allows({ provider: 'files', kind: 'prompt', name: 'echo' })).toBe(false);
    expect(await session.decide(tool('echo'))).toMatchObject({ allowed: true, wouldDeny: false, mode: 'enforce' });
    expect(farSide.questions()).toEqual([]);
    expect(session.subject).toBe(SUBJECT);
    expect(session.known).toMatchObject({ from: 'service', revocation: 'checked', mode: 'enforce' });
  });

  it('asks the service about everything else, which counts it', async () => {
    const session = await guardOf().session(farSide.newToken());
    const decision = await session.decide(tool('secret'));
    expect(decision).toMatchObject({ allowed: false, reason: 'not_in_inventory', observationId: 'obs_1' });
    expect(describeDenial(tool('secret'), decision)).toContain(`${farSide.issuer}/console/inbox?observation=obs_1`);
    expect(farSide.questions()).toEqual(['secret 1']);
  });

  it('keeps a denial for a second, and reports the attempts in between with the next question', async () => {
    const session = await guardOf().session(farSide.newToken());
    const denials = await Promise.all([1, 2, 3].map(() => session.decide(tool('secret'))));
    expect(denials.map(({ allowed }) => allowed)).toEqual([false, false, false]);
    await session.decide(tool('secret'));
    await session.decide({ ...tool('secret'), attempts: 1500 });
    expect(farSide.questions()).toHaveLength(1);
    vi.advanceTimersByTime(1000);
    await session.decide(tool('secret'));
    vi.advanceTimersByTime(1000);
    await session.decide(tool('secret'));
    const reported = farSide.questions().map((question) => Number(question.replace('secret ', '')));
    expect(reported.slice(1).every((attempts) => attempts <= 1000)).toBe(true);
    expect(reported.reduce((sum, attempts) => sum + attempts)).toBe(3 + 1 + 1500 + 1 + 1);
  });

  it('allows what was approved since, in the same session', async () => {
    const session = await guardOf().session(farSide.newToken());
    expect((await session.decide(tool('secret'))).allowed).toBe(false);
    farSide.grantTools('secret');
    vi.advanceTimersByTime(1000);
    expect((await session.decide(tool('secret'))).allowed).toBe(true);
    expect(session.allows(tool('secret'))).toBe(false);
    vi.advanceTimersByTime(1000);
    await session.refresh();
    expect(session.allows(tool('secret'))).toBe(true);
  });

  it('reads the list again after freshSeconds, and denies what is not in it any more', async () => {
    const session = await guardOf().session(farSide.newToken());
    farSide.state.granted = [];
    vi.advanceTimersByTime(1999);
    expect(session.allows(tool('echo'))).toBe(true);
    vi.advanceTimersByTime(1);
    expect(session.allows(tool('echo'))).toBe(false);
    expect((await session.decide(tool('echo'))).allowed).toBe(false);
  });

  it('reads an unchanged list with 304, which tells the mode and the end', async () => {
    const session = await guardOf().session(farSide.newToken());
    farSide.state.mode = 'observe';
    vi.advanceTimersByTime(2000);
    await Promise.all([session.refresh(), session.refresh()]);
    expect(farSide.asked.filter(({ path }) => path.endsWith('/session')).map(({ status }) => status)).toEqual([
      200, 304,
    ]);
    expect(session.known.mode).toBe('observe');
  });

  it('lets the service decide names that only it can resolve', async () => {
    farSide.state.granted.push({ provider: 'openai', kind: 'model', name: 'gpt-5' });
    const session = await guardOf().session(farSide.newToken());
    const snapshot: Use = { provider: 'openai', kind: 'model', name: 'gpt-5-2026-01-01' };
    expect(session.allows(snapshot)).toBe(false);
    expect((await session.decide(snapshot)).allowed).toBe(true);
  });

  it('hides in filter what is not permitted, and counts nothing', async () => {
    const session = await guardOf().session(farSide.newToken());
    const names = ['echo', 'secret'];
    expect(session.filter(names, (name) => tool(name))).toEqual(['echo']);
    farSide.state.complete = false;
    farSide.grantTools('other');
    vi.advanceTimersByTime(2000);
    await session.refresh();
    expect(session.filter(names, (name) => tool(name))).toEqual(names);
    expect(farSide.questions()).toEqual([]);
  });

  it('denies a name that is longer than any that can be declared, without a question', async () => {
    const long = tool('x'.repeat(513));
    const enforcing = await guardOf().session(farSide.newToken());
    expect(await enforcing.decide(long)).toMatchObject({ allowed: false, reason: 'not_in_inventory' });
    farSide.state.mode = 'observe';
    const observing = await guardOf().session(farSide.newToken());
    expect(await observing.decide(long)).toMatchObject({ allowed: true, wouldDeny: true });
    expect(farSide.questions()).toEqual([]);
  });

  it('allows everything in the mode observe, and asks so that the service counts it', async () => {
    farSide.state.mode = 'observe';
    const session = await guardOf().session(farSide.newToken());
    expect(session.allows(tool('echo'))).toBe(true);
    expect(session.allows(tool('secret'))).toBe(false);
    expect(session.filter(['echo', 'secret'], (name) => tool(name))).toEqual(['echo', 'secret']);
    expect(await session.decide(tool('secret'))).toMatchObject({ allowed: true, wouldDeny: true, mode: 'observe' });
    expect(farSide.questions()).toEqual(['secret 1']);
  });

  it.each(['revoked', 'item_blocked'])('ends for good when the service says so: %s', async (reason) => {
    const session = await guardOf().session(farSide.newToken());
    farSide.endSession(session.id, reason);
    vi.advanceTimersByTime(2000);
    expect(await errorOf(session.decide(tool('echo')))).toBe(`ended ${reason}`);
    expect(session.allows(tool('echo'))).toBe(false);
    const before = farSide.asked.length;
    expect(await errorOf(session.decide(tool('echo')))).toBe(`ended ${reason}`);
    expect(farSide.asked).toHaveLength(before);
  });

  it('ends with its token', async () => {
    const session = await guardOf({ offline: true }).session(farSide.newToken({ ttlSeconds: 60, claims: { grants } }));
    vi.advanceTimersByTime(60_000);
    expect(session.allows(tool('echo'))).toBe(false);
    expect(await errorOf(session.decide(tool('echo')))).toBe('ended expired');
  });

  it('is the same one for the same token', async () => {
    const guard = guardOf();
    const token = farSide.newToken();
    const [first, second] = await Promise.all([guard.session(token), guard.session(token)]);
    expect(first).toBe(second);
    expect(farSide.requests('/session')).toBe(1);
  });
});

describe('without the service', () => {
  const outages = [404, 429, 500, 503].map((status) => ({ status, body: 'not JSON' }));

  it.each([...outages, { status: 200, body: '<html>' }, { status: 200, body: {} }, { status: 302 }])(
    'allows nothing after freshSeconds: $status $body',
    async (outage) => {
      const session = await guardOf().session(farSide.newToken());
      farSide.state.outage = outage;
      expect((await session.decide(tool('echo'))).allowed).toBe(true);
      expect(await errorOf(session.decide(tool('secret')))).toBe('unavailable');
      vi.advanceTimersByTime(2000);
      expect(await errorOf(session.decide(tool('echo')))).toBe('unavailable');
      farSide.state.outage = null;
      vi.advanceTimersByTime(1000);
      expect((await session.decide(tool('echo'))).allowed).toBe(true);
    },
  );

  it('asks at most once in a second', async () => {
    const session = await guardOf().session(farSide.newToken());
    farSide.state.outage = { status: 503 };
    vi.advanceTimersByTime(2000);
    await errorOf(session.decide(tool('echo')));
    const before = farSide.asked.length;
    await errorOf(session.decide(tool('echo')));
    expect(farSide.asked).toHaveLength(before);
  });

  it('regression: a question that the service refuses does not make the last answer count for longer', async () => {
    const session = await guardOf({ trustLastAnswerSeconds: 600, offline: true }).session(
      farSide.newToken({ claims: { grants } }),
    );
    farSide.state.outage = { status: 422 };
    expect(await errorOf(session.decide(tool('unreadable')))).toBe('unavailable');
    farSide.state.outage = null;
    farSide.endSession(session.id, 'revoked');
    vi.advanceTimersByTime(2000);
    expect(session.allows(tool('echo'))).toBe(false);
    expect(await errorOf(session.decide(tool('echo')))).toBe('ended revoked');
  });

  it('trusts the last answer for trustLastAnswerSeconds, and says so', async () => {
    const session = await guardOf({ trustLastAnswerSeconds: 10 }).session(farSide.newToken());
    await farSide.stop();
    vi.advanceTimersByTime(3000);
    expect((await session.decide(tool('echo'))).allowed).toBe(true);
    expect(await errorOf(session.decide(tool('secret')))).toBe('unavailable');
    expect(session.known).toMatchObject({ from: 'service', revocation: 'unknown' });
    vi.advanceTimersByTime(9000);
    expect(await errorOf(session.decide(tool('echo')))).toBe('unavailable');
  });

  it('decides by the grants of the token only with offline, until it expires', async () => {
    const strict = guardOf();
    const lax = guardOf({ offline: true });
    // The keys have to be known.
    await Promise.all([strict.session(farSide.newToken()), lax.session(farSide.newToken())]);
    const token = farSide.newToken({ claims: { grants } });
    farSide.state.outage = { status: 503 };
    expect(await errorOf(strict.session(token))).toBe('unavailable');
    const session = await lax.session(token);
    expect((await session.decide(tool('écho "1"'))).allowed).toBe(true);
    expect(await errorOf(session.decide(tool('echo')))).toBe('unavailable');
    expect(session.known).toMatchObject({ checkedAt: null, from: 'token', revocation: 'unknown', mode: null });
  });

  it('does not allow offline what the service did not list before', async () => {
    farSide.grantTools('écho "1"');
    const session = await guardOf({ offline: true }).session(farSide.newToken({ claims: { grants } }));
    farSide.state.granted = [];
    vi.advanceTimersByTime(2000);
    await session.refresh();
    farSide.state.outage = { status: 503 };
    vi.advanceTimersByTime(2000);
    expect(await errorOf(session.decide(tool('écho "1"')))).toBe('unavailable');
  });

  it('accepts grants of the caller only if the token has their digest', async () => {
    const guard = guardOf({ offline: true });
    await guard.session(farSide.newToken());
    const claims = { grants_digest: grantsDigest };
    const other = [{ ...grants[0], providerName: 'other', providerId: 'prov_files', items: [] }];
    farSide.state.outage = { status: 503 };
    const session = await guard.session(farSide.newToken({ claims }), { grants });
    expect((await session.decide(tool('écho "1"'))).allowed).toBe(true);
    expect(await errorOf(guard.session(farSide.newToken({ claims }), { grants: other }))).toBe(
      'token_invalid grants_digest',
    );
    expect(await errorOf(guard.session(farSide.newToken({ claims })))).toBe('unavailable');
  });
});

describe('a token', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const refused: [title: string, token: () => string, reason: string][] = [
    ['that is no JWT', () => 'qm_key_1', 'malformed'],
    ['with a fourth part', () => `${farSide.newToken()}.x`, 'malformed'],
    ['that is too long', () => `${farSide.newToken()}${'A'.repeat(20_000)}`, 'malformed'],
    ['with alg none', () => farSide.newToken({ header: { alg: 'none' } }), 'header'],
    ['with another typ', () => farSide.newToken({ header: { typ: 'JWT' } }), 'header'],
    ['with crit', () => farSide.newToken({ header: { crit: ['b64'] } }), 'header'],
    ['of an unknown key', () => farSide.newToken({ header: { kid: 'sig_9' } }), 'key'],
    [
      'that was changed',
      () => farSide.newToken().replace(/\.[^.]+\./, `.${claimsPart({ sub: 'user:root' })}.`),
      'signature',
    ],
    ['without a signature', () => farSide.newToken().replace(/[^.]+$/, ''), 'signature'],
    ['of another issuer', () => farSide.newToken({ claims: { iss: 'https://elsewhere.example' } }), 'issuer'],
    ['of another gateway', () => farSide.newToken({ claims: { aud: 'gw_02' } }), 'audience'],
    ['of several gateways', () => farSide.newToken({ claims: { aud: [GATEWAY_ID, 'gw_02'] } }), 'audience'],
    ['without jti', () => farSide.newToken({ claims: { jti: null } }), 'claims'],
    ['that has expired', () => farSide.newToken({ claims: { exp: now() } }), 'expired'],
    ['from the future', () => farSide.newToken({ claims: { iat: now() + 60 } }), 'not_yet_valid'],
  ];
  const claimsPart = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url');

  it.each(refused)('%s is refused without asking about the session', async (_title, token, reason) => {
    expect(await errorOf(guardOf().session(token()))).toBe(`token_invalid ${reason}`);
    expect(farSide.requests('/session')).toBe(0);
  });

  it('may be issued up to 30 s in the future', async () => {
    await guardOf().session(farSide.newToken({ claims: { iat: now() + 25 } }));
  });

  it('of a session that the service does not know is refused', async () => {
    const token = farSide.newToken({ claims: { jti: 'ses_unknown' } });
    expect(await errorOf(guardOf().session(token))).toBe('token_invalid session_token_invalid');
  });

  it('of a new key makes the guard read the keys again, at most once in 5 s', async () => {
    const guard = guardOf();
    await guard.session(farSide.newToken());
    farSide.rotateKey();
    expect(await errorOf(guard.session(farSide.newToken()))).toBe('token_invalid key');
    vi.advanceTimersByTime(5000);
    await guard.session(farSide.newToken());
    await errorOf(guard.session(farSide.newToken({ header: { kid: 'sig_9' } })));
    expect(farSide.requests('jwks.json')).toBe(2);
  });

  it('is verified with the keys that are known while the service is away', async () => {
    const guard = guardOf({ offline: true });
    await guard.session(farSide.newToken());
    const token = farSide.newToken({ claims: { grants } });
    farSide.state.outage = { status: 503 };
    vi.advanceTimersByTime(301_000);
    expect((await guard.session(token)).known.from).toBe('token');
    expect(await errorOf(guardOf({ offline: true }).session(token))).toBe('unavailable');
  });
});

describe('open', () => {
  it('opens a session with an API key', async () => {
    const session = await guardOf().open({ apiKey: API_KEY, subject: 'user:ada', ttlSeconds: 120 });
    expect(session.subject).toBe('user:ada');
    expect(session.allows(tool('echo'))).toBe(true);
    expect(session.expiresAt.getTime()).toBeLessThanOrEqual(Date.now() + 120_000);
  });

  it('fails if the key is refused, or the service is away', async () => {
    expect(await errorOf(guardOf().open({ apiKey: 'wrong' }))).toBe('open_refused credentials_invalid');
    farSide.state.outage = { status: 503 };
    expect(await errorOf(guardOf().open({ apiKey: API_KEY }))).toBe('unavailable');
  });

  it('renews the session at 80 % of its life, and keeps it if that fails', async () => {
    const session = await guardOf().open({ apiKey: API_KEY, ttlSeconds: 100 });
    const first = session.token;
    vi.advanceTimersByTime(79_000);
    await session.refresh();
    expect(session.token).toBe(first);
    farSide.state.outage = { status: 409, body: { code: 'session_limit_reached' } };
    vi.advanceTimersByTime(2000);
    await errorOf(session.refresh());
    expect(session.token).toBe(first);
    farSide.state.outage = null;
    vi.advanceTimersByTime(6000);
    expect((await session.decide(tool('echo'))).allowed).toBe(true);
    expect(session.token).not.toBe(first);
    expect(farSide.requests('/sessions')).toBe(3);
  });

  it('opens another session after it expired unused, and tries once in a second', async () => {
    const session = await guardOf().open({ apiKey: API_KEY, ttlSeconds: 60 });
    vi.advanceTimersByTime(3_600_000);
    farSide.state.outage = { status: 503 };
    expect(await errorOf(session.decide(tool('echo')))).toBe('unavailable');
    farSide.state.outage = null;
    expect(await errorOf(session.decide(tool('echo')))).toBe('unavailable');
    vi.advanceTimersByTime(1000);
    expect((await session.decide(tool('echo'))).allowed).toBe(true);
  });

  it('opens another session after a block has ended it, in the middle of a decision', async () => {
    const session = await guardOf().open({ apiKey: API_KEY });
    const first = session.id;
    farSide.state.granted = [];
    farSide.endSession(first, 'item_blocked');
    expect((await session.decide(tool('secret'))).allowed).toBe(false);
    expect(session.id).not.toBe(first);
    farSide.endSession(session.id, 'revoked');
    vi.advanceTimersByTime(2000);
    expect(await errorOf(session.decide(tool('echo')))).toBe('ended revoked');
    expect(farSide.requests('/sessions')).toBe(2);
  });
});

it('a guard refuses freshness beyond 5 s', () => {
  expect(() => guardOf({ freshSeconds: 6 })).toThrow(RangeError);
  expect(() => guardOf({ trustLastAnswerSeconds: -1 })).toThrow(RangeError);
});
