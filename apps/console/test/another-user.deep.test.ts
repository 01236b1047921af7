import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInByForm } from '../testing/sign-in.ts';
import type { Tab } from '../testing/tab.ts';
import { startWorld, type World } from '../testing/world.ts';

const PRIYA = 'priya.nair@northwind.example';
const ADA = 'ada.fischer@northwind.example';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

/** A form that Priya began to fill, in a browser in which Ada has then signed in in another tab. */
async function begunForm(): Promise<Tab> {
  const tab = await world.open('/accounts?tenant=northwind&new=1', { as: null });
  await signInByForm(tab.page, world.server, PRIYA);
  await idOf(tab).fill('night-agent');
  const second = await tab.context.newPage();
  await second.goto(`${world.server.url}/console/sign-in?prompt=login`);
  await signInByForm(second, world.server, ADA);
  await second.getByRole('button', { name: /Ada Fischer/ }).waitFor();
  await second.close();
  return tab;
}

function idOf({ page }: Tab) {
  return page.getByRole('dialog', { name: 'Create a service account' }).getByRole('textbox', { name: 'Id' });
}

async function expectPageOfAda(tab: Tab): Promise<void> {
  await tab.page.getByRole('button', { name: /Ada Fischer/ }).waitFor();
  await idOf(tab).waitFor();
  expect(await idOf(tab).inputValue()).toBe('');
}

test('regression: a write of a page is not done as another user who has signed in in another tab', async () => {
  const tab = await begunForm();
  tab.expectAnswers(401);
  await tab.page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
  await expectPageOfAda(tab);
  const account = '/v1/service-accounts/night-agent?tenant_id=northwind';
  expect((await world.server.call('GET', account, { as: world.server.admin })).status).toBe(404);
  await tab.done();
});

test('regression: a page that one returns to is loaded again if another user has signed in meanwhile', async () => {
  const tab = await begunForm();
  // What a browser does when its user comes back to a tab.
  await tab.page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await expectPageOfAda(tab);
  await tab.done();
});
