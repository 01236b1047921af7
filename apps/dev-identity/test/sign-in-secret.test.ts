import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createHttpSession } from '../src/http-session.ts';
import { runDevToken } from '../src/run-dev-token.ts';
import { obtainToken } from '../src/sign-in.ts';
import { createSignInSecret, readSignInSecret, SECRET_FILE_MEMBER } from '../src/sign-in-secret.ts';
import { SECRET_HEADER } from '../src/unlock.ts';
import { type Proxy, startProxy } from './proxy.ts';
import type { DevServer } from './server.ts';
import { authorizationUrl, CLIENT_ID, createPkce, exchange, open, startServer } from './server.ts';

let server: DevServer;
let proxy: Proxy;

beforeAll(async () => {
  server = await startServer();
  proxy = await startProxy(server.origin);
});
afterAll(async () => {
  await proxy.close();
  await server.close();
});

/** A browser that uses the server only through the proxy, also for redirects. */
function outsider() {
  const session = createHttpSession();
  const through = (url: string) => url.replace(server.origin, proxy.origin);
  return {
    get: (url: string) => session.get(through(url)),
    post: (url: string, form: Record<string, string>) => session.post(through(url), form),
  };
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

describe('regression: through a proxy that makes every request look local', () => {
  test.each([
    ['no secret', {}],
    ['an empty secret', { secret: '' }],
    ['another secret', { secret: 'x'.repeat(43) }],
  ])('a sign-in with %s is refused, and says what is missing', async (_name, form) => {
    const browser = outsider();
    const page = await open(browser, authorizationUrl(server.issuer, createPkce()));
    expect(page.html).not.toContain('admin@example.com');
    const refused = await browser.post(page.url, { email: 'admin@example.com', ...form });
    expect([refused.status, refused.headers.get('location')]).toEqual([403, null]);
    expect(refused.headers.getSetCookie().join()).not.toContain('qm_dev_sign_in');
    expect(await refused.text()).toMatch(/role="alert".*secret/);
  });

  test.each(['/device/auth', '/DEVICE/auth', '/device/auth/'])(
    'a device flow cannot be started without the secret: %s',
    async (path) => {
      const form = { client_id: CLIENT_ID, scope: 'openid email' };
      for (const headers of [{}, { [SECRET_HEADER]: 'wrong' }]) {
        const response = await createHttpSession().post(`${proxy.origin}/oidc${path}`, form, headers);
        const text = await response.text();
        expect([response.status, text]).toEqual([403, expect.stringContaining('access_denied')]);
        expect(text).not.toMatch(/device_code|user_code/);
      }
    },
  );

  test('a device flow that was started on the machine cannot be completed without the secret', async () => {
    const form = { client_id: CLIENT_ID, scope: 'openid email' };
    const headers = { [SECRET_HEADER]: server.secret };
    const started = await createHttpSession().post(`${server.issuer}/device/auth`, form, headers);
    const device = (await started.json()) as { device_code: string; user_code: string };
    const browser = outsider();
    const input = await open(browser, `${server.issuer}/device`);
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(input.html)?.[1] ?? '';
    const confirmation = { xsrf, user_code: device.user_code, confirm: 'yes' };
    const confirmed = await browser.post(`${server.issuer}/device`, confirmation);
    const page = await open(browser, new URL(confirmed.headers.get('location') ?? '', server.issuer).href);
    expect((await browser.post(page.url, { email: 'admin@example.com' })).status).toBe(403);
    const answer = await exchange(`${proxy.origin}/oidc`, {
      grant_type: DEVICE_GRANT,
      device_code: device.device_code,
    });
    expect(answer.body['error']).toBe('authorization_pending');
  });

  test.each([
    {
      grant_type: 'authorization_code',
      code: 'x',
      code_verifier: 'x'.repeat(43),
      redirect_uri: 'http://127.0.0.1/callback',
    },
    { grant_type: 'refresh_token', refresh_token: 'x' },
    { grant_type: DEVICE_GRANT, device_code: 'x' },
    { grant_type: 'client_credentials', scope: 'openid' },
    { grant_type: 'password', username: 'admin@example.com', password: 'x' },
  ])('a token request that no sign-in came before is refused: $grant_type', async (form) => {
    const answer = await exchange(`${proxy.origin}/oidc`, form);
    expect(answer.status).toBe(400);
    expect(answer.body).not.toHaveProperty('access_token');
  });

  test('obtainToken refuses to use it', async () => {
    const refused = obtainToken({ issuer: `${proxy.origin}/oidc`, email: 'admin@example.com' });
    await expect(refused).rejects.toMatchObject({ name: 'SignInError', code: 'no_provider' });
  });
});

describe('a browser with the secret', () => {
  test('is unlocked by the printed link, and then needs no secret', async () => {
    const browser = createHttpSession();
    expect(await (await browser.get(server.signInLink)).text()).toContain('may sign in');
    const page = await open(browser, authorizationUrl(server.issuer, createPkce()));
    expect(page.html).toContain('admin@example.com');
    expect((await browser.post(page.url, { email: 'admin@example.com' })).status).toBe(303);
  });

  test('is unlocked by typing the secret on the page', async () => {
    const browser = createHttpSession();
    const page = await open(browser, authorizationUrl(server.issuer, createPkce()));
    const unlocked = await browser.post(page.url, { secret: server.secret });
    expect([unlocked.status, await unlocked.text()]).toEqual([200, expect.stringContaining('admin@example.com')]);
    expect((await browser.post(page.url, { email: 'admin@example.com' })).status).toBe(303);
  });

  test('gets a cookie that is not the secret, HttpOnly and limited to the mount path', async () => {
    const response = await createHttpSession().get(server.signInLink);
    const cookie = response.headers.getSetCookie().join();
    expect(cookie).toMatch(/^qm_dev_sign_in_\d+=[\w-]{43}; path=\/oidc; samesite=lax; httponly$/i);
    expect(cookie).not.toContain(server.secret);
  });

  test.each(['', '?secret=', '?secret=wrong', '?secret=a&secret=b'])('is not unlocked by /sign-in%s', async (query) => {
    const response = await createHttpSession().get(`${server.issuer}/sign-in${query}`);
    expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
  });
});

describe('the file of the secret', () => {
  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'quartermaster-secret-'));
    onTestFinished(() => rm(path, { recursive: true }));
    return path;
  }

  test('is readable only by its owner, even if a file or link with its name existed before', async () => {
    const path = await folder();
    const [file, elsewhere] = [join(path, 'sign-in'), join(path, 'elsewhere')];
    const issuer = 'http://127.0.0.1:1/oidc';
    await writeFile(file, 'old');
    await chmod(file, 0o644);
    const first = await createSignInSecret({ file, issuer });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readSignInSecret({ file, issuer })).toBe(first.text);
    await rm(file);
    await writeFile(elsewhere, 'untouched');
    await symlink(elsewhere, file);
    const second = await createSignInSecret({ file, issuer });
    expect(await readFile(elsewhere, 'utf8')).toBe('untouched');
    expect(second.text).not.toBe(first.text);
    await second.remove();
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  test('is removed when the server stops', async () => {
    const other = await startServer();
    expect((await stat(other.secretFile)).mode & 0o777).toBe(0o600);
    await other.close();
    await expect(stat(other.secretFile)).rejects.toThrow('ENOENT');
  });

  test('a server that names another file does not get its content', async () => {
    const path = await folder();
    const [secretOfOther, text, large] = [server.secretFile, join(path, 'text'), join(path, 'large')];
    await writeFile(text, 'a private key');
    await writeFile(large, ' '.repeat(100_000));
    const posted: string[] = [];
    for (const file of [secretOfOther, text, large, path, '/dev/zero', 'relative', join(path, 'missing')]) {
      const hostile = await hostileServer(file, posted);
      const refused = obtainToken({ issuer: hostile, email: 'admin@example.com' });
      await expect(refused, file).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringContaining('secret'),
      });
    }
    expect(posted).toEqual([]);
  });

  test('dev-token reports why it cannot read the file', async () => {
    const hostile = await hostileServer('/nowhere/sign-in', []);
    let stderr = '';
    const stream = { write: (chunk: string) => (stderr += chunk) };
    const environment = { PORT: new URL(hostile).port };
    expect(await runDevToken({ argv: [], environment, stdout: stream, stderr: stream })).toBe(1);
    expect(stderr).toMatch(/^dev-token: .*\/nowhere\/sign-in cannot be read \(ENOENT\): .*same machine.*\n$/);
  });
});

/** A server that imitates a development identity provider and records what is posted to it. */
async function hostileServer(file: string, posted: string[]): Promise<string> {
  let issuer = '';
  const hostile = http.createServer((req, res) => {
    req.setEncoding('utf8').on('data', (chunk: string) => posted.push(chunk));
    const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
    res.end(JSON.stringify({ issuer, ...endpoints, [SECRET_FILE_MEMBER]: file }));
  });
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => hostile.close().closeAllConnections());
  issuer = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}/oidc`;
  return issuer;
}
