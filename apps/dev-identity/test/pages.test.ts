import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpSession } from '../src/http-session.ts';
import type { DevServer } from './server.ts';
import { authorizationUrl, createPkce, open, startServer, submit, unlockedBrowser } from './server.ts';

let server: DevServer;
let issuer: string;

beforeAll(async () => {
  server = await startServer();
  ({ issuer } = server);
});
afterAll(() => server.close());

const NASTY = `"><script>alert(1)</script>'&@example.com`;

describe('the sign-in page', () => {
  test('lists the seeded accounts, escaped, and says that there are no passwords', async () => {
    const { html } = await open(await unlockedBrowser(server), authorizationUrl(issuer, createPkce()));
    expect(html).toContain('value="admin@example.com"');
    expect(html).toContain('value="viewer@example.com"');
    expect(html).toContain('Ada &#60;Admin&#62;');
    expect(html).toContain('There are no passwords');
  });

  test('escapes a login_hint', async () => {
    const browser = await unlockedBrowser(server);
    const { html } = await open(browser, authorizationUrl(issuer, createPkce(), { login_hint: NASTY }));
    expect(html).toContain('value="&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#39;&#38;@example.com"');
    expect(html).not.toContain('<script');
  });

  test.each([NASTY, '', 'nobody', 'a@b c', `${'x'.repeat(250)}@example.com`, 'a@b\r\nset-cookie: x=1'])(
    'answers 400 and asks again for the email %j',
    async (email) => {
      const browser = createHttpSession();
      const page = await open(browser, authorizationUrl(issuer, createPkce()));
      const { response, html } = await submit(browser, page.url, { email });
      expect(response.status).toBe(400);
      expect(html).toContain('role="alert"');
      expect(html).not.toContain('<script');
    },
  );
});

test('an error page escapes values of the request', async () => {
  const url = authorizationUrl(issuer, createPkce(), { client_id: '"><script>x</script>', redirect_uri: '<i>' });
  const { response, html } = await open(createHttpSession(), url);
  expect(response.status).toBe(400);
  expect(html).not.toContain('<script');
  expect(html).not.toContain('<i>');
});

test('every page has a strict content security policy, loads nothing from outside, and is not cached', async () => {
  const browser = createHttpSession();
  const signIn = await open(browser, authorizationUrl(issuer, createPkce()));
  const pages = [
    signIn,
    await open(browser, server.signInLink),
    await open(browser, authorizationUrl(issuer, createPkce())),
    await open(browser, `${issuer}/device`),
    await open(browser, authorizationUrl(issuer, createPkce(), { client_id: 'nobody' })),
    await open(browser, `${issuer}/interaction/unknown`),
  ];
  for (const { response, html } of pages) {
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|script-src/);
    expect(response.headers.get('cache-control')).toContain('no-store');
    expect(response.headers.get('referrer-policy')).toBe('same-origin');
    expect(html).toMatch(/<html lang="en">/);
    expect(html).not.toMatch(/<script|<link|<img|@import|url\(|\son[a-z]+=|style="/);
  }
  // Browsers apply form-action to redirects too, so it has to contain the callback.
  expect(signIn.response.headers.get('content-security-policy')).toContain(
    "form-action 'self' http://127.0.0.1:45678;",
  );
});

test('cookies are HttpOnly, SameSite, and limited to the mount path', async () => {
  const response = await createHttpSession().get(authorizationUrl(issuer, createPkce()));
  const cookies = response.headers.getSetCookie();
  expect(cookies.length).toBeGreaterThan(0);
  for (const cookie of cookies) {
    expect(cookie).toMatch(/^qm_dev_/);
    expect(cookie).toMatch(/; path=\/oidc/i);
    expect(cookie).toMatch(/; httponly/i);
    expect(cookie).toMatch(/; samesite=lax/i);
  }
});

test('with response_mode=form_post the policy allows only the script of that page', async () => {
  const browser = createHttpSession();
  const page = await open(browser, authorizationUrl(issuer, createPkce(), { response_mode: 'form_post' }));
  const { response, html } = await submit(browser, page.url, { email: 'admin@example.com' });
  expect(html).toContain('action="http://127.0.0.1:45678/callback"');
  expect(response.headers.get('content-security-policy')).toMatch(/script-src 'sha256-[^' ]+';/);
});
