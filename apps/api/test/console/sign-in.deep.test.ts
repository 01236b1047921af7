import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newBrowser, signedInBrowser } from '../support/browser.ts';
import { accountWithKey, joinPlace, registeredUser, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const port = () => new URL(server.url).port;
const sessionCookie = () => `quartermaster_session_${port()}`;

describe('a sign-in', () => {
  test('works in two tabs at the same time', async () => {
    const browser = newBrowser(server);
    await browser.open(server.devSignIn?.link ?? '');
    browser.cookies.delete(sessionCookie());
    const starts = [await browser.send('GET', '/console/sign-in'), await browser.send('GET', '/console/sign-in')];
    for (const start of starts) {
      const page = await browser.open(start.headers.get('location') ?? '');
      expect(page.url).toBe(`${server.url}/console/`);
    }
  });

  test('started again and again in one browser still works, because the oldest starts are given up', async () => {
    const browser = newBrowser(server);
    await browser.open(server.devSignIn?.link ?? '');
    browser.cookies.delete(sessionCookie());
    let start = await browser.send('GET', '/console/sign-in');
    for (let count = 0; count < 60; count += 1) {
      start = await browser.send('GET', `/console/sign-in?returnTo=/console/${'a'.repeat(1900)}`);
      expect(start.status).toBe(303);
    }
    const page = await browser.open(start.headers.get('location') ?? '');
    expect(new URL(page.url).pathname).toMatch(/^\/console\/a+$/);
    expect((await browser.call('GET', '/v1/me')).status).toBe(200);
  });

  test('with a returnTo that is too long when it is encoded ends at the start page', async () => {
    const browser = newBrowser(server);
    await browser.open(server.devSignIn?.link ?? '');
    const returnTo = encodeURIComponent(`/console/?text=${'€'.repeat(1000)}`);
    expect((await browser.open(`/console/sign-in?returnTo=${returnTo}`)).url).toBe(`${server.url}/console/`);
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

  test('is one of at most twenty of its user: another sign-in ends the oldest', async () => {
    const { person, browser } = await operator();
    const as = { token: person.token };
    const [oldest] = (await server.ok('GET', '/v1/me/sessions', { as })).items;
    for (let count = 0; count < 20; count += 1) {
      server.travel(1);
      await signedInBrowser(server, person.email);
    }
    expect((await browser.call('GET', '/v1/me')).status).toBe(401);
    const { items } = await server.ok('GET', '/v1/me/sessions?limit=100', { as });
    expect(items).toHaveLength(20);
    const path = `/v1/audit-events?operation=end_oldest_console_session&actor_id=${person.id}`;
    const ended = await server.ok('GET', path, { as: server.admin });
    const target = { type: 'console_session', id: oldest.id };
    expect(ended.items).toMatchObject([{ actor: { type: 'user', id: person.id }, scheme: 'session', target }]);
  });
});
