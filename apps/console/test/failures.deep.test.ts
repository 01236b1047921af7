import type { Route } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shownLater } from '../testing/clock.ts';
import { startWorld, type World } from '../testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
});
afterAll(() => world.close());

test('an error of the console is told apart from a server that cannot be reached, and its details can be copied', async () => {
  const { page, context, expectErrors, done } = await world.open('/profile');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  // An agent without its usage, which the contract does not allow.
  const broken = {
    items: [{ id: 'agt_1', name: 'half', declared: true, observations: [], accounts: [] }],
    nextCursor: null,
  };
  await page.route('**/v1/agents?*', (route) => route.fulfill({ json: broken }));
  expectErrors(/TypeError/);
  await page.getByRole('link', { name: 'Agents' }).click();
  const alert = page.getByRole('alert');
  await page.getByRole('heading', { name: 'The console has a fault' }).waitFor();
  expect(await alert.textContent()).toMatch(/Cannot read properties of undefined/);
  expect(await page.getByText('The server cannot be reached').count()).toBe(0);
  await alert.getByRole('button', { name: 'Copy details' }).click();
  await alert.getByRole('button', { name: 'Copied' }).waitFor();
  const details = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(details).toMatch(/^Console fault: Cannot read properties.*\nPage: \/console\/agents\n/);
  expect(details).toMatch(/\n {4}at .*\/console\/assets\//);
  await page.unroute('**/v1/agents?*');
  await alert.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByText('No agent yet').waitFor();
  await done();
});

test('a refusal and a failure of the server are shown with status, code and request id', async () => {
  const { page, expectAnswers, moveTo, done } = await world.open('/profile', { ownWindow: true });
  await page.clock.install();
  const answer = (status: number, code: string) =>
    page.route('**/v1/agents?*', (route) =>
      route.fulfill({
        status,
        contentType: 'application/problem+json',
        headers: { 'x-request-id': 'request-7' },
        body: JSON.stringify({ type: 'about:blank', title: 'Title', detail: 'What the server says.', status, code }),
      }),
    );
  expectAnswers(422);
  await answer(422, 'validation_failed');
  await moveTo('/agents');
  const alert = page.getByRole('alert');
  await alert.getByText('422 · validation_failed · request request-7').waitFor();
  expect(await alert.getByRole('heading').textContent()).toBe('The server refused this');
  expect(await alert.textContent()).toContain('What the server says.');
  expectAnswers(500);
  await page.unroute('**/v1/agents?*');
  await answer(500, 'internal_error');
  await moveTo('/agents');
  await shownLater(alert.getByText('500 · internal_error · request request-7'));
  expect(await alert.getByRole('heading').textContent()).toBe('The server failed');
  await done();
});

test('a server that cannot be reached is named as such, and the page goes on once it answers', async () => {
  const { page, expectAnswers, expectErrors, done } = await world.open('/profile', { ownWindow: true });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.clock.install();
  expectErrors(/net::ERR_FAILED/);
  let isAway = true;
  // The routes stay until the end: a request that is on its way while its route is removed is never answered.
  for (const path of ['**/v1/agents?*', '**/readyz']) {
    await page.route(path, (route) => (isAway ? route.abort() : route.continue()));
  }
  await page.getByRole('link', { name: 'Agents' }).click();
  await shownLater(page.getByRole('heading', { name: 'The server cannot be reached' }));
  isAway = false;
  await shownLater(page.getByText('No agent yet'));

  // A proxy in front of the server answers for it.
  expectAnswers(502);
  isAway = true;
  const answer = { status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' };
  for (const path of ['**/v1/traces?*', '**/readyz']) {
    await page.route(path, (route) => (isAway ? route.fulfill(answer) : route.continue()));
  }
  await page.getByRole('link', { name: 'Traces' }).click();
  await shownLater(page.getByRole('heading', { name: 'The server cannot be reached' }));
  isAway = false;
  await shownLater(page.getByText('No trace yet'));
  await done();
});

test('a button can be pressed again as soon as its failure is shown, while the page is still read again', async () => {
  const { server } = world;
  const body = { name: 'anthropic', kind: 'llm' };
  const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const { page, expectAnswers, done } = await world.open(`/providers/${id}`);
  await page.getByRole('button', { name: 'Disable' }).click();
  const disable = page.getByRole('button', { name: 'Disable the provider' });
  await disable.waitFor();
  const held: Route[] = [];
  const path = `**/v1/providers/${id}*`;
  await page.route(path, async (route) => {
    if (route.request().method() === 'PUT') await route.fulfill({ status: 502, body: 'Bad Gateway' });
    else held.push(route);
  });
  expectAnswers(502);
  await disable.click();
  await page.getByText('The server did not answer.').waitFor();
  await page.waitForFunction("document.querySelector('[data-loading=true]') === null");
  expect(held.length).toBeGreaterThan(0);
  await Promise.all(held.map((route) => route.continue()));
  await page.unroute(path);
  await done();
});

test('a form says at each field in words what the server refuses, and says how long to wait', async () => {
  const { page, expectAnswers, done } = await world.open('/tenants?new=1');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('x'.repeat(201));
  await dialog.getByRole('textbox', { name: 'Id' }).fill('not an id');
  const create = dialog.getByRole('button', { name: 'Create' });
  expectAnswers(422);
  await create.click();
  await dialog
    .getByRole('alert')
    .getByText(/^Please correct: (Id, Name|Name, Id)$/)
    .waitFor();
  // Regression: it stood above the button, with the regular expression.
  for (const [name, error] of [
    ['Name', 'String should have at most 200 characters'],
    ['Id', 'Use letters, digits, dots, colons, hyphens and underscores, and begin with a letter or a digit'],
  ] as const) {
    const field = dialog.getByRole('textbox', { name });
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    const described = (await field.getAttribute('aria-describedby'))?.split(/\s+/) ?? [];
    const texts = await Promise.all(described.map((id) => page.locator(`[id="${id}"]`).textContent()));
    expect(texts, name).toContain(error);
  }
  await page.route('**/v1/tenants', (route) => {
    const limited = {
      status: 429,
      headers: { 'Retry-After': '7' },
      json: { detail: 'Too many', code: 'rate_limited' },
    };
    return route.request().method() === 'POST' ? route.fulfill(limited) : route.continue();
  });
  expectAnswers(429);
  await create.click();
  await dialog.getByRole('alert').getByText('There were too many requests. Try again in 7 seconds.').waitFor();
  await page.unroute('**/v1/tenants');
  await done();
});

test('a screen whose code takes long to load is announced, while the former one stays', async () => {
  const { page, expectFaultless, done } = await world.open('/profile');
  await page.getByRole('heading', { level: 1, name: 'Profile and sessions' }).waitFor();
  const code = Promise.withResolvers<void>();
  await page.route('**/assets/gateways-screen*.js', async (route) => {
    await code.promise;
    await route.continue();
  });
  const progress = page.getByRole('status', { name: 'Loading the screen' });
  await page.getByRole('link', { name: 'Gateways' }).click();
  await progress.waitFor();
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Profile and sessions');
  await expectFaultless('a screen that loads');
  code.resolve();
  await page.getByRole('heading', { level: 1, name: 'Gateways' }).waitFor();
  await progress.waitFor({ state: 'detached' });
  await done();
});

test('a part of the page that cannot be loaded is named as such', async () => {
  const { page, expectAnswers, expectErrors, done } = await world.open('/profile');
  await page.getByRole('heading', { level: 1 }).waitFor();
  // As if the page had been reloaded for the same reason just now.
  await page.evaluate(`sessionStorage.setItem('quartermaster-reloaded-at', String(Date.now()))`);
  expectErrors(/net::ERR_FAILED/);
  expectErrors(/A part of the page could not be loaded/);
  await page.route('**/assets/agents-screen*.js', (route) => route.abort());
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('heading', { name: 'A part of the page could not be loaded' }).waitFor();
  await page.unroute('**/assets/agents-screen*.js');
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByText('No agent yet').waitFor();

  // A proxy answers for a server that is away. The page stays, and reloads when the server is back.
  await page.evaluate(`sessionStorage.removeItem('quartermaster-reloaded-at')`);
  expectAnswers(502);
  let isAway = true;
  for (const path of ['**/assets/traces-screen*.js', '**/readyz', '**/console/traces*']) {
    await page.route(path, (route) =>
      isAway ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue(),
    );
  }
  await page.getByRole('link', { name: 'Traces' }).click();
  await page.getByText('The page reloads by itself as soon as the server is ready.').waitFor();
  isAway = false;
  await page.getByText('No trace').waitFor();
  await done();
});
