import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpSession } from '../src/http-session.ts';
import { SECRET_HEADER } from '../src/unlock.ts';
import type { DevServer } from './server.ts';
import { AUDIENCE, CLIENT_ID, exchange, open, startServer, submit, unlockedBrowser } from './server.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

let server: DevServer;
let issuer: string;

beforeAll(async () => {
  server = await startServer();
  ({ issuer } = server);
});
afterAll(() => server.close());

type DeviceAuthorization = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
};

async function startDevice(scope = 'openid email offline_access'): Promise<DeviceAuthorization> {
  const form = { client_id: CLIENT_ID, scope };
  const response = await createHttpSession().post(`${issuer}/device/auth`, form, { [SECRET_HEADER]: server.secret });
  expect(response.status).toBe(200);
  return (await response.json()) as DeviceAuthorization;
}

const poll = (deviceCode: string) => exchange(issuer, { grant_type: DEVICE_GRANT, device_code: deviceCode });

const xsrfIn = (html: string) => /name="xsrf" value="([^"]+)"/.exec(html)?.[1] ?? '';

test('a device signs in with its code on the pages, and can refresh its token', async () => {
  const device = await startDevice();
  expect(device.verification_uri).toBe(`${issuer}/device`);
  expect((await poll(device.device_code)).body['error']).toBe('authorization_pending');

  const browser = await unlockedBrowser(server);
  const input = await open(browser, device.verification_uri);
  const confirm = await submit(browser, input.url, { xsrf: xsrfIn(input.html), user_code: device.user_code });
  expect(confirm.html).toContain(device.user_code);
  const page = await submit(browser, confirm.url, {
    xsrf: xsrfIn(confirm.html),
    user_code: device.user_code,
    confirm: 'yes',
  });
  expect(page.html).toContain('Choose an account');
  const done = await submit(browser, page.url, { email: 'viewer@example.com' });
  expect(done.html).toContain('Your device is connected');

  const { status, body } = await poll(device.device_code);
  expect(status).toBe(200);
  expect(decodeJwt(String(body['access_token']))).toMatchObject({ aud: AUDIENCE, email: 'viewer@example.com' });

  const refreshed = await exchange(issuer, {
    grant_type: 'refresh_token',
    refresh_token: String(body['refresh_token']),
  });
  expect(decodeJwt(String(refreshed.body['access_token']))).toMatchObject({ email: 'viewer@example.com' });
  expect((await poll(device.device_code)).body['error']).toBe('invalid_grant');
});

test('a browser that is signed in with another account can sign a device in with this one', async () => {
  const browser = createHttpSession();
  for (const email of ['admin@example.com', 'viewer@example.com']) {
    const device = await startDevice('openid email');
    const input = await open(browser, device.verification_uri_complete);
    const form = { user_code: device.user_code, confirm: 'yes' };
    const page = await submit(browser, `${issuer}/device`, { xsrf: xsrfIn(input.html), ...form });
    await submit(browser, page.url, { email });
    const { body } = await poll(device.device_code);
    expect(decodeJwt(String(body['access_token']))['email']).toBe(email);
  }
});

test('the address with the code fills it in, and submits nothing', async () => {
  const device = await startDevice();
  const page = await open(createHttpSession(), device.verification_uri_complete);
  expect(page.html).toContain(`value="${device.user_code}"`);
  expect(page.html).not.toContain('<script');
});

test('cancelling on the page denies the device', async () => {
  const device = await startDevice();
  const browser = createHttpSession();
  const input = await open(browser, device.verification_uri);
  const { html } = await submit(browser, input.url, {
    xsrf: xsrfIn(input.html),
    user_code: device.user_code,
    abort: 'yes',
  });
  expect(html).toContain('cancelled');
  expect((await poll(device.device_code)).body['error']).toBe('access_denied');
});

test('cancelling at the choice of an account denies the device', async () => {
  const device = await startDevice();
  const browser = createHttpSession();
  const input = await open(browser, device.verification_uri);
  const form = { xsrf: xsrfIn(input.html), user_code: device.user_code, confirm: 'yes' };
  const page = await submit(browser, input.url, form);
  await submit(browser, page.url, { abort: 'yes' });
  expect((await poll(device.device_code)).body['error']).toBe('access_denied');
});

test('an unknown code is shown again, escaped, with an error', async () => {
  const browser = createHttpSession();
  const input = await open(browser, `${issuer}/device`);
  const { html } = await submit(browser, input.url, { xsrf: xsrfIn(input.html), user_code: '"><img src=x>' });
  expect(html).toContain('not known');
  expect(html).toContain('role="alert"');
  expect(html).not.toContain('<img');
});

test('a form without the xsrf value of its page is refused', async () => {
  const device = await startDevice();
  const browser = createHttpSession();
  await open(browser, device.verification_uri);
  const response = await browser.post(`${issuer}/device`, { user_code: device.user_code, confirm: 'yes', xsrf: 'x' });
  expect(response.status).toBe(400);
  expect((await poll(device.device_code)).body['error']).toBe('authorization_pending');
});
