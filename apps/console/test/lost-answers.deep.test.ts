import { unique } from '@quartermaster/api/test/support/people.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Tab } from '../testing/tab.ts';
import { startWorld, type World } from '../testing/world.ts';

let world: World;
let tenantId: string;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
  tenantId = unique('lost');
  const body = { id: 'agent', name: 'agent', tenantId };
  await world.server.ok('POST', '/v1/service-accounts', { as: world.server.admin, body });
});
afterAll(() => world.close());

const read = async (path: string) => (await world.server.ok('GET', path, { as: world.server.admin })).items;

/** The server carries out the next write to a path, but its answer does not reach the page. */
async function loseNextAnswer({ page, expectErrors }: Tab, method: string, path: string): Promise<void> {
  expectErrors(/net::ERR_FAILED/);
  const pattern = new RegExp(`${path}(\\?|$)`);
  let isLost = false;
  await page.route(pattern, async (route) => {
    if (isLost || route.request().method() !== method) return route.continue();
    isLost = true;
    await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } });
    await route.abort();
  });
}

/** Presses the button of a form twice, as its first answer is lost. */
async function pressTwice(page: Page, name: string): Promise<void> {
  const button = page.getByRole('dialog').getByRole('button', { name, exact: true });
  await button.click();
  await page.getByRole('dialog').getByText('The server did not answer.').waitFor();
  await button.click();
}

test('a key whose answer was lost is shown when the form is sent again, and there is no second one', async () => {
  const tab = await world.open(`/accounts/agent?of=${tenantId}`);
  const { page, done } = tab;
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('only one');
  await page.getByRole('checkbox', { name: 'traces:write' }).check();
  const path = '/v1/service-accounts/agent/keys';
  await loseNextAnswer(tab, 'POST', path);
  await pressTwice(page, 'Create the key');
  await page.getByRole('button', { name: 'I have stored it' }).click();
  expect(await read(`${path}?tenant_id=${tenantId}`)).toHaveLength(1);
  await done();
});

test('a provider whose answer was lost is saved when the form is sent again', async () => {
  const tab = await world.open(`/providers?tenant=${tenantId}&new=1`);
  const { page, done } = tab;
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('openai');
  await loseNextAnswer(tab, 'POST', '/v1/providers');
  await pressTwice(page, 'Declare');
  await page.getByRole('heading', { level: 1, name: 'openai' }).waitFor();
  await done();
});

test('the message of a slow answer names the item that was blocked, not the one that is shown by then', async () => {
  const as = world.server.admin;
  const { id } = await world.server.ok('POST', '/v1/providers', { as, body: { name: 'openai', kind: 'llm' } });
  for (const name of ['one', 'two'])
    await world.server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: { kind: 'model', name } });
  const { page, done } = await world.open(`/providers/${id}`);
  const { promise: isShown, resolve: answer } = Promise.withResolvers<void>();
  await page.route(/\/inventory\//, async (route) => {
    if (route.request().method() === 'PUT') await isShown;
    await route.continue();
  });
  await page.getByRole('row', { name: /one/ }).click({ position: { x: 5, y: 5 } });
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('row', { name: /two/ }).click({ position: { x: 5, y: 5 } });
  await page.getByRole('heading', { level: 2, name: 'two' }).waitFor();
  answer();
  await page.getByText('one is blocked.').waitFor();
  await done();
});
