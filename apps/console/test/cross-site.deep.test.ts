import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

/** Starts a website on a free port. Its page is empty, and the tests run scripts in it. */
async function startWebsite(host: string): Promise<string> {
  const server = createServer((_req, res) => {
    res.setHeader('content-type', 'text/html').end('<!doctype html><title>Another site</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://${host}:${(server.address() as AddressInfo).port}/`;
}

/** A task that can be claimed. Claiming takes a body of any media type, so browsers send it without a CORS preflight. */
async function openTask(): Promise<{ path: string; status: () => Promise<string> }> {
  const { items } = await world.server.ok('GET', '/v1/operator/tasks?status=open&limit=1', { as: world.server.admin });
  const path = `/v1/operator/tasks/${items[0].id}`;
  return { path, status: async () => (await world.server.ok('GET', path, { as: world.server.admin })).status };
}

/** Submits a form of the page to a URL in a new tab. Returns the status of the answer. */
async function submitForm(page: Page, action: string): Promise<number> {
  const context = page.context();
  const [response, popup] = await Promise.all([
    context.waitForEvent('response', (one) => one.url() === action),
    context.waitForEvent('page'),
    // As text, because the types of the tests are those of Node, without `document`.
    page.evaluate(`{
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: ${JSON.stringify(action)}, target: '_blank' });
      document.body.append(form);
      form.submit();
    }`),
  ]);
  await popup.close();
  return response.status();
}

type Forged = { method?: string; mode?: 'no-cors'; headers?: Record<string, string>; body?: string };

/** Sends each request with fetch in the page. Returns the status or the name of the error. */
function fetchEach(page: Page, url: string, requests: Forged[]): Promise<(number | string)[]> {
  return page.evaluate(
    ([target, inits]) =>
      Promise.all(
        inits.map((init) =>
          fetch(target, { credentials: 'include', ...init }).then(
            ({ status }) => status,
            (error: Error) => error.name,
          ),
        ),
      ),
    [url, requests] as const,
  );
}

const FORGED: Forged[] = [
  { method: 'POST', mode: 'no-cors', body: '{}' },
  { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
  { method: 'POST', headers: { 'x-quartermaster-console': '1' } },
];

test.each([
  // Another site: the browser does not send the SameSite=Strict cookie.
  ['another site', 'localhost', 401],
  // Cookies are shared between ports, so the browser sends it. The check of Sec-Fetch-Site protects.
  ['another port of the same host', '127.0.0.1', 403],
])('a page of %s neither writes nor reads with the session of a signed-in person', async (_what, host, status) => {
  const { page: consolePage, done } = await world.open('/profile');
  // A separate window with the same session, because the browser writes every refusal to the console.
  const { context } = await world.open('/profile');
  const task = await openTask();
  const claim = `${world.server.url}${task.path}/claim`;
  const page = await context.newPage();
  await page.goto(await startWebsite(host));

  expect(await submitForm(page, claim)).toBe(status);
  // The first one is sent, and Cross-Origin-Resource-Policy hides the answer. The CORS preflight of the others fails.
  expect(await fetchEach(page, claim, FORGED)).toEqual(['TypeError', 'TypeError', 'TypeError']);
  expect(await fetchEach(page, `${world.server.url}/v1/me`, [{}, { mode: 'no-cors' }])).toEqual([
    'TypeError',
    'TypeError',
  ]);
  expect(await submitForm(page, `${world.server.url}/console/sign-out`)).toBe(403);
  expect(await task.status()).toBe('open');

  // The same requests from the console's own page succeed, so the others were refused because of their origin.
  const console = { headers: { 'x-quartermaster-console': '1' } };
  expect(await fetchEach(consolePage, '/v1/me', [console])).toEqual([200]);
  expect(await fetchEach(consolePage, claim, [{ method: 'POST', ...console }])).toEqual([200]);
  expect(await task.status()).toBe('claimed');
  await context.close();
  await done();
});
