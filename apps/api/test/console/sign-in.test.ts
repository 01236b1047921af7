import { CONSOLE_IDLE_HOURS, CONSOLE_MAX_HOURS } from '@quartermaster/contracts/console-sessions.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newBrowser, signedInBrowser } from '../support/browser.ts';
import { accountWithKey, joinPlace, registeredUser, startConsoleSession, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const port = () => new URL(server.url).port;
const sessionCookie = () => `quartermaster_session_${port()}`;

describe('a sign-in', () => {
  test('with the printed link takes one click, and ends at the console', async () => {
    const browser = newBrowser(server);
    const page = await browser.open(server.devSignIn?.link ?? '');
    expect(page.url).toBe(`${server.url}/console/`);
    const { body } = await browser.call('GET', '/v1/me');
    expect(body).toMatchObject({ email: 'admin@example.com', authentication: { scheme: 'session' } });
  });

  test('sets a cookie that is HttpOnly and SameSite, and removes the cookie of the sign-in', async () => {
    const { email } = await registeredUser(server);
    const browser = await signedInBrowser(server, email);
    expect([...browser.cookies.keys()].filter((name) => name.startsWith('quartermaster'))).toEqual([sessionCookie()]);
    const secret = new URL(server.devSignIn?.link ?? '').searchParams.get('secret') ?? '';
    const other = newBrowser(server);
    const page = await other.open('/console/sign-in');
    let answer = await other.send('POST', page.url, { form: { email, secret } });
    while (!answer.url.includes('/console/callback')) {
      answer = await other.send('GET', new URL(answer.headers.get('location') ?? '', answer.url).href);
    }
    const set = answer.headers.getSetCookie().find((header) => header.startsWith(sessionCookie())) ?? '';
    expect(set).toMatch(/; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    // A further sign-in in the same browser replaces its session.
    const { body } = await other.call('GET', '/v1/me');
    expect(body).toMatchObject({ email });
  });

  test.each([
    ['/console/inbox?view=new#row', '/console/inbox?view=new#row'],
    ['/console/', '/console/'],
    ['https://evil.example/console/', '/console/'],
    ['//evil.example/console/', '/console/'],
    ['/console/../oidc', '/console/'],
    ['/console/\\evil.example', '/console/'],
    ['/docs', '/console/'],
  ])('with returnTo %s ends at %s', async (returnTo, end) => {
    const browser = newBrowser(server);
    await browser.open(server.devSignIn?.link ?? '');
    let answer = await browser.send('GET', `/console/sign-in?returnTo=${encodeURIComponent(returnTo)}`);
    while (!answer.url.includes('/console/callback')) {
      answer = await browser.send('GET', new URL(answer.headers.get('location') ?? '', answer.url).href);
    }
    expect(answer.headers.get('location')).toBe(server.url + end);
  });

  test('at another host name continues at the public address', async () => {
    const browser = newBrowser(server);
    const answer = await browser.send('GET', `http://localhost:${port()}/console/sign-in?returnTo=/console/map`);
    const location = new URL(answer.headers.get('location') ?? '');
    expect(location.origin).toBe(server.url);
    expect(location.searchParams.get('returnTo')).toBe('/console/map');
  });

  test('ends the session that the browser had, although its cookie is not sent with the way back from another site', async () => {
    const { email, token } = await registeredUser(server);
    const browser = await signedInBrowser(server, email);
    const start = await browser.send('GET', '/console/sign-in');
    browser.cookies.delete(sessionCookie());
    await browser.open(start.headers.get('location') ?? '');
    expect((await browser.call('GET', '/v1/me')).body).toMatchObject({ email });
    const { items } = await server.ok('GET', '/v1/me/sessions', { as: { token } });
    expect(items).toHaveLength(1);
  });

  test.each([
    ['without a state', ''],
    ['with a state that this browser did not start', '?code=x&state=unknown'],
  ])('callback %s is refused on a page', async (_, query) => {
    const page = await newBrowser(server).open(`/console/callback${query}`);
    expect([page.status, page.text]).toEqual([401, expect.stringContaining('started in another browser')]);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  });

  test('callback with a code that the provider did not issue is refused', async () => {
    const browser = newBrowser(server);
    const answer = await browser.send('GET', '/console/sign-in');
    const state = new URL(answer.headers.get('location') ?? '').searchParams.get('state') ?? '';
    const { issuer } = server.trustedIssuer;
    const query = new URLSearchParams({ code: 'made-up', state, iss: issuer ?? '' });
    const page = await browser.open(`/console/callback?${query.toString()}`);
    expect([page.status, page.text]).toEqual([401, expect.stringContaining('did not complete the sign-in')]);
    expect([...browser.cookies.keys()]).toEqual([]);
  });

  test('of a person who never registered is refused with a page', async () => {
    const email = `${unique('stranger')}@example.com`;
    await expect(signedInBrowser(server, email)).rejects.toThrow('No user is registered');
  });

  test('that is cancelled shows a page', async () => {
    const browser = newBrowser(server);
    const page = await browser.open('/console/sign-in');
    const end = await browser.open(page.url, { form: { abort: '1' } });
    expect([end.status, end.text]).toEqual([401, expect.stringContaining('did not complete the sign-in')]);
  });

  test('has an audit event, and the session acts as the user', async () => {
    const { id, email } = await registeredUser(server);
    await signedInBrowser(server, email);
    const path = `/v1/audit-events?operation=sign_in&actor_id=${id}`;
    const { items } = await server.ok('GET', path, { as: server.admin });
    expect(items).toMatchObject([{ scheme: 'session', target: { type: 'console_session' }, tenantId: null }]);
  });

  test('without a configured client is off, and a page says so', async () => {
    const other = await startTestServer({ QM_PUBLIC_URL: 'https://qm.example.com' });
    const page = await newBrowser(other).open('/console/sign-in');
    await other.stop();
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('QM_OIDC_CLIENT_ID')]);
    // Trying again would not help.
    expect(page.text).toContain('API keys work without it');
    expect(page.text).not.toContain('Sign in again');
  });

  test('over plain http on a network is off, because the cookie could be read', async () => {
    const environment = {
      QM_PUBLIC_URL: 'http://qm.example.com',
      QM_OIDC_ISSUER: 'https://id.example.com',
      QM_OIDC_CLIENT_ID: 'console',
    };
    const other = await startTestServer(environment);
    const page = await newBrowser(other).open('/console/sign-in');
    await other.stop();
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('over https only')]);
  });
});

describe('a session', () => {
  async function operator() {
    const tenantId = unique('console');
    await accountWithKey(server, { tenantId });
    const person = await registeredUser(server);
    await joinPlace(server, person, { place: { tenantId }, role: 'operator' });
    const browser = await signedInBrowser(server, person.email);
    const newProvider = () => ({ name: unique('provider'), kind: 'llm', tenantId });
    return { tenantId, person, browser, newProvider };
  }

  test('has the rights of its user, and no others', async () => {
    const { tenantId, browser, newProvider } = await operator();
    expect((await browser.call('POST', '/v1/providers', { body: newProvider() })).status).toBe(200);
    const tenant = await browser.call('PUT', `/v1/tenants/${tenantId}`, { body: { displayName: 'x' } });
    expect(tenant.body).toMatchObject({ code: 'scope_missing' });
    expect((await browser.call('GET', '/v1/audit-events')).status).toBe(403);
  });

  test.each([
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another host of the domain', { 'sec-fetch-site': 'same-site' }],
    ['from the address bar', { 'sec-fetch-site': 'none' }],
    ['without the header of the console', { 'x-quartermaster-console': '' }],
    ['with another value of that header', { 'x-quartermaster-console': 'true' }],
  ])('is no credential for a write %s', async (_, headers) => {
    const { browser, newProvider } = await operator();
    const answer = await browser.call('POST', '/v1/providers', { body: newProvider(), headers });
    expect(answer.body).toMatchObject({ status: 403, code: 'cross_site_refused' });
  });

  test('does not authenticate a write without Sec-Fetch-Site', async () => {
    const { browser, newProvider } = await operator();
    const headers = { 'x-quartermaster-console': '1' };
    const answer = await browser.send('POST', '/v1/providers', { body: newProvider(), headers });
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'cross_site_refused' });
  });

  test.each(['cross-site', 'same-site', 'none'])(
    'does not authenticate a read with Sec-Fetch-Site %s',
    async (site) => {
      const { browser } = await operator();
      const answer = await browser.call('GET', '/v1/providers', { headers: { 'sec-fetch-site': site } });
      expect(answer.body).toMatchObject({ status: 401, code: 'credentials_missing' });
    },
  );

  test('is refused for a page that shows another user', async () => {
    const { browser } = await operator();
    const { id } = (await browser.call('GET', '/v1/me')).body;
    const { id: otherId } = await registeredUser(server);
    const as = (shown: unknown) =>
      browser.call('GET', '/v1/me', { headers: { 'x-quartermaster-user': String(shown) } });
    expect((await as(id)).status).toBe(200);
    expect((await as(otherId)).body).toMatchObject({ status: 401, code: 'session_ended' });
  });

  test('is ignored if the request has another credential', async () => {
    const { browser } = await operator();
    const account = await accountWithKey(server, { tenantId: unique('console') });
    const { body } = await browser.call('GET', '/v1/me', { headers: { 'x-api-key': account.key } });
    expect(body).toMatchObject({ kind: 'service_account', id: account.id });
  });

  test('expires after some hours without a request, and each request prolongs it', async () => {
    const { browser } = await operator();
    for (let count = 0; count < 3; count += 1) {
      server.travel(CONSOLE_IDLE_HOURS * HOUR_MS - MINUTE_MS);
      expect((await browser.call('GET', '/v1/me')).status).toBe(200);
    }
    server.travel(CONSOLE_IDLE_HOURS * HOUR_MS + MINUTE_MS);
    expect((await browser.call('GET', '/v1/me')).body).toMatchObject({ status: 401, code: 'session_ended' });
  });

  test('expires some hours after its sign-in, even if it is used', async () => {
    const { browser } = await operator();
    for (let hours = 0; hours < CONSOLE_MAX_HOURS - 1; hours += 1) {
      server.travel(HOUR_MS);
      expect((await browser.call('GET', '/v1/me')).status).toBe(200);
    }
    server.travel(HOUR_MS);
    expect((await browser.call('GET', '/v1/me')).status).toBe(401);
  });

  test('ends when its user is disabled, also after the user is enabled again', async () => {
    const { browser, person } = await operator();
    await server.ok('POST', `/v1/users/${person.id}/disable`, { as: server.admin });
    expect((await browser.call('GET', '/v1/me')).status).toBe(401);
    await server.ok('POST', `/v1/users/${person.id}/enable`, { as: server.admin });
    expect((await browser.call('GET', '/v1/me')).status).toBe(401);
  });

  test.each([
    ['disabled', (id: string) => server.ok('POST', `/v1/users/${id}/disable`, { as: server.admin })],
    ['deleted', (id: string) => server.ok('DELETE', `/v1/users/${id}`, { as: server.admin })],
  ])('does not begin for a user who was %s during the sign-in', async (_, end) => {
    const { id } = await registeredUser(server);
    await end(id);
    await expect(startConsoleSession(server, id)).rejects.toThrow('The user is disabled');
    const query = server.services.db.selectFrom('console_sessions').select('id').where('user_id', '=', id);
    expect(await query.execute()).toEqual([]);
  });

  test('of a user who deletes themselves is gone', async () => {
    const { browser, person } = await operator();
    expect((await browser.call('DELETE', `/v1/users/${person.id}`)).status).toBe(200);
    expect((await browser.call('GET', '/v1/me')).status).toBe(401);
    const rows = await server.services.db
      .selectFrom('console_sessions')
      .select('id')
      .where('user_id', '=', person.id)
      .execute();
    expect(rows).toEqual([]);
  });

  test('is stored as a digest: no table contains the cookie', async () => {
    const { browser } = await operator();
    const token = browser.cookies.get(sessionCookie()) ?? '';
    expect(token).toMatch(/^[\w-]{43}$/);
    const rows = await server.services.db.selectFrom('console_sessions').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token);
  });
});

describe('the question whether a browser is signed in', () => {
  const isSignedIn = async (browser: ReturnType<typeof newBrowser>) => {
    const answer = await browser.call('GET', '/console/session');
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    return answer.body['signedIn'];
  };

  test('is answered 200 with a session, without one and with one that has ended', async () => {
    const { email } = await registeredUser(server);
    expect(await isSignedIn(newBrowser(server))).toBe(false);
    const browser = await signedInBrowser(server, email);
    expect(await isSignedIn(browser)).toBe(true);
    server.travel(CONSOLE_IDLE_HOURS * HOUR_MS + MINUTE_MS);
    expect(await isSignedIn(browser)).toBe(false);
  });

  test('does not keep a session alive', async () => {
    const { email } = await registeredUser(server);
    const browser = await signedInBrowser(server, email);
    server.travel(CONSOLE_IDLE_HOURS * HOUR_MS - MINUTE_MS);
    expect(await isSignedIn(browser)).toBe(true);
    server.travel(2 * MINUTE_MS);
    expect(await isSignedIn(browser)).toBe(false);
  });
});

describe('a sign-out', () => {
  test('ends the session and removes the cookie', async () => {
    const { email, id } = await registeredUser(server);
    const browser = await signedInBrowser(server, email);
    const token = browser.cookies.get(sessionCookie()) ?? '';
    const { body } = await browser.call('POST', '/console/sign-out');
    expect(body).toEqual({ location: `${server.url}/console/signed-out` });
    expect(browser.cookies.has(sessionCookie())).toBe(false);
    browser.cookies.set(sessionCookie(), token);
    expect((await browser.call('GET', '/v1/me')).status).toBe(401);
    const path = `/v1/audit-events?operation=sign_out&actor_id=${id}`;
    expect((await server.ok('GET', path, { as: server.admin })).items).toHaveLength(1);
    const page = await browser.open(String(body['location']));
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('signed out')]);
  });

  test('from another site is refused', async () => {
    const { email } = await registeredUser(server);
    const browser = await signedInBrowser(server, email);
    const refused = await browser.call('POST', '/console/sign-out', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect(refused.body).toMatchObject({ status: 403, code: 'cross_site_refused' });
    expect((await browser.call('GET', '/v1/me')).status).toBe(200);
  });

  test('without a session succeeds', async () => {
    const { status } = await newBrowser(server).call('POST', '/console/sign-out');
    expect(status).toBe(200);
  });
});

test.each([
  ['POST', '/console/sign-in'],
  ['POST', '/console/callback'],
  ['POST', '/console/session'],
  ['GET', '/console/sign-out'],
])('%s %s is 405', async (method, path) => {
  const answer = await newBrowser(server).send(method, path);
  expect(answer.status).toBe(405);
});
